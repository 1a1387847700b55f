//! The same values under other strides: what every operation must not notice.

use crate::golden::Value64;
use tensor::Tensor;

/// How an input is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// Dense from the storage's start.
    Dense,
    /// Dense, but from an odd offset of a larger storage.
    Offset,
    /// Stored with its dimensions reversed.
    Transposed,
    /// Every second element of a storage twice as wide.
    Stepped,
    /// One slice of the first dimension that has several, shown for all of them; for values that [`repeated`] made so.
    Broadcast,
}

/// The dimension that is broadcast: the first with more than one element.
fn repeats(shape: &[usize]) -> Option<usize> {
    shape.iter().position(|&n| n > 1)
}

/// The first slice of the first dimension that has several, in place of all of them.
pub fn repeated(x: &Value64) -> Value64 {
    let mut out = x.clone();
    if let Some(dim) = repeats(&x.shape).filter(|_| !x.values.is_empty()) {
        let inner: usize = x.shape[dim..].iter().product();
        let slice = inner / x.shape[dim];
        for block in out.values.chunks_exact_mut(inner) {
            let (first, rest) = block.split_at_mut(slice);
            for other in rest.chunks_exact_mut(slice) {
                other.copy_from_slice(first);
            }
        }
    }
    out
}

/// Nothing of dimension `dim`, if it has `size` elements.
pub fn emptied(x: &Value64, dim: usize, size: usize) -> Value64 {
    let mut out = x.clone();
    if x.shape.get(dim) == Some(&size) {
        out.shape[dim] = 0;
        out.values.clear();
    }
    out
}

impl Arrangement {
    /// Those that hold any values.
    pub const ALL: [Arrangement; 4] = [
        Arrangement::Dense,
        Arrangement::Offset,
        Arrangement::Transposed,
        Arrangement::Stepped,
    ];

    /// A tensor equal to `x` under this arrangement.
    pub fn apply(self, x: &Tensor) -> Tensor {
        let shape: Vec<isize> = x.shape().iter().map(|&n| n as isize).collect();
        match self {
            Arrangement::Dense => x.clone().unwrap(),
            Arrangement::Offset => {
                let n = x.numel();
                let room = Tensor::zeros(&[n + 3], x.dtype(), x.device()).unwrap();
                let inner = room.narrow(0, 3, n).unwrap();
                inner
                    .copy_(&x.reshape(&[-1]).unwrap_or_else(|_| x.view(&[0]).unwrap()))
                    .unwrap();
                inner.view(&shape).unwrap()
            }
            Arrangement::Transposed => {
                let back: Vec<isize> = (0..x.rank() as isize).rev().collect();
                x.permute(&back)
                    .unwrap()
                    .clone()
                    .unwrap()
                    .permute(&back)
                    .unwrap()
            }
            Arrangement::Stepped => {
                if x.rank() == 0 {
                    return x.clone().unwrap();
                }
                let mut wide = x.shape().to_vec();
                wide[x.rank() - 1] *= 2;
                let room = Tensor::full(&wide, 3.0, x.dtype(), x.device()).unwrap();
                let every = room.slice(-1, 0, isize::MAX, 2).unwrap();
                every.copy_(x).unwrap();
                every
            }
            Arrangement::Broadcast => match repeats(x.shape()) {
                Some(dim) => {
                    let first = x.narrow(dim as isize, 0, 1).unwrap().clone().unwrap();
                    first.expand(&shape).unwrap()
                }
                None => x.clone().unwrap(),
            },
        }
    }
}
