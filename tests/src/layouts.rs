//! The same values under other strides: what every operation must not notice.

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
}

impl Arrangement {
    /// All of them.
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
        }
    }
}
