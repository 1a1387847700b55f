//! Random chains of operations: drawn as numbers, given meaning by the shape that they meet.

use proptest::prelude::*;
use proptest::sample::Index;
use tensor::{Layout, Tensor};

/// An operation with arguments that fit the shape it is applied to.
#[derive(Clone, Debug)]
pub enum Op {
    Transpose(usize, usize),
    Permute(Vec<usize>),
    /// `narrow` where the step is one.
    Slice {
        dim: usize,
        start: usize,
        length: usize,
        step: usize,
    },
    Select(usize, usize),
    Expand(Vec<usize>),
    Squeeze(usize),
    Unsqueeze(usize),
    Diagonal {
        shift: isize,
        a: usize,
        b: usize,
    },
    Reshape(Vec<usize>),
    Flip(Vec<usize>),
    Contiguous,
}

/// Numbers from which an operation is made once the shape is known.
#[derive(Clone, Debug)]
pub struct Seed {
    kind: u8,
    picks: [Index; 4],
    order: Vec<usize>,
    /// Whether dimensions are counted from the back.
    negative: bool,
}

pub fn seeds(kinds: std::ops::Range<u8>) -> impl Strategy<Value = Vec<Seed>> {
    let order = Just((0..8).collect::<Vec<usize>>()).prop_shuffle();
    let seed = (kinds, any::<[Index; 4]>(), order, any::<bool>());
    prop::collection::vec(
        seed.prop_map(|(kind, picks, order, negative)| Seed {
            kind,
            picks,
            order,
            negative,
        }),
        0..7,
    )
}

pub fn shapes() -> impl Strategy<Value = Vec<usize>> {
    let size = prop_oneof![1 => Just(0_usize), 3 => Just(1), 12 => 2..5_usize];
    prop::collection::vec(size, 0..4)
}

/// Kinds below this are views whatever the strides; the others may copy.
pub const VIEWS: u8 = 9;
pub const ALL: u8 = 12;

/// Shapes with as many elements: factors moved between neighbours, ones put in.
pub fn reshaped(shape: &[usize], seed: &Seed) -> Vec<usize> {
    let mut numel: usize = shape.iter().product();
    let mut target = Vec::new();
    if numel == 0 {
        return seed
            .order
            .iter()
            .take(1 + seed.picks[0].index(3))
            .map(|&n| if n < 4 { 0 } else { n })
            .chain([0])
            .collect();
    }
    for pick in &seed.picks {
        let divisors: Vec<usize> = (1..=numel).filter(|d| numel.is_multiple_of(*d)).collect();
        let factor = divisors[pick.index(divisors.len())];
        target.push(factor);
        numel /= factor;
    }
    target.push(numel);
    // Without the ones on either end, half of the time.
    if seed.order[0] < 4 {
        target.retain(|&n| n != 1);
    }
    target
}

impl Seed {
    pub fn op(&self, shape: &[usize]) -> Option<Op> {
        let rank = shape.len();
        let [p, q, r, s] = &self.picks;
        Some(match self.kind {
            7 => Op::Unsqueeze(p.index(rank + 1)),
            8 => {
                let lead = (0..q.index(2)).map(|_| r.index(4));
                let widened = shape.iter().map(|&n| if n == 1 { s.index(4) } else { n });
                let target: Vec<usize> = lead.chain(widened).collect();
                if target.len() > 5 {
                    return None;
                }
                Op::Expand(target)
            }
            9 => Op::Reshape(reshaped(shape, self)),
            10 => Op::Flip(
                self.order
                    .iter()
                    .copied()
                    .filter(|&d| d < rank)
                    .take(1 + p.index(3))
                    .collect(),
            ),
            11 => Op::Contiguous,
            _ if rank == 0 => return None,
            0 => Op::Transpose(p.index(rank), q.index(rank)),
            1 => Op::Permute(self.order.iter().copied().filter(|&d| d < rank).collect()),
            2 | 3 => {
                let dim = p.index(rank);
                let start = q.index(shape[dim] + 1);
                let step = if self.kind == 2 { 1 } else { 1 + s.index(3) };
                let most = (shape[dim] - start).div_ceil(step);
                Op::Slice {
                    dim,
                    start,
                    length: if self.kind == 2 {
                        r.index(most + 1)
                    } else {
                        most
                    },
                    step,
                }
            }
            4 => {
                let dim = p.index(rank);
                (shape[dim] > 0).then(|| Op::Select(dim, q.index(shape[dim])))?
            }
            5 => Op::Squeeze(p.index(rank)),
            _ => {
                let (a, b) = (p.index(rank), q.index(rank));
                if a == b {
                    return None;
                }
                Op::Diagonal {
                    shift: r.index(9) as isize - 4,
                    a,
                    b,
                }
            }
        })
    }

    /// A dimension as the caller may write it.
    fn dim(&self, dim: usize, rank: usize) -> isize {
        if self.negative {
            dim as isize - rank as isize
        } else {
            dim as isize
        }
    }
}

pub fn signed(list: &[usize]) -> Vec<isize> {
    list.iter().map(|&n| n as isize).collect()
}

pub fn on_layout(x: &Layout, op: &Op, seed: &Seed) -> tensor::Result<Layout> {
    let dim = |d: usize| seed.dim(d, x.rank());
    match op {
        Op::Transpose(a, b) => x.transpose(dim(*a), dim(*b)),
        Op::Permute(dims) => x.permute(&dims.iter().map(|&d| dim(d)).collect::<Vec<_>>()),
        Op::Slice {
            dim: d,
            start,
            length,
            step: 1,
        } => x.narrow(dim(*d), *start as isize, *length),
        Op::Slice {
            dim: d,
            start,
            step,
            ..
        } => x.slice(dim(*d), *start as isize, isize::MAX, *step as isize),
        Op::Select(d, at) => x.select(dim(*d), seed.dim(*at, x.shape()[*d])),
        Op::Expand(shape) => x.expand(&signed(shape)),
        Op::Squeeze(d) => x.squeeze(dim(*d)),
        Op::Unsqueeze(d) => x.unsqueeze(seed.dim(*d, x.rank() + 1)),
        Op::Diagonal { shift, a, b } => x.diagonal(*shift, dim(*a), dim(*b)),
        Op::Reshape(_) | Op::Flip(_) | Op::Contiguous => unreachable!("not a view of a layout"),
    }
}

pub fn on_tensor(x: &Tensor, op: &Op, seed: &Seed) -> tensor::Result<Tensor> {
    let dim = |d: usize| seed.dim(d, x.rank());
    match op {
        Op::Transpose(a, b) => x.transpose(dim(*a), dim(*b)),
        Op::Permute(dims) => x.permute(&dims.iter().map(|&d| dim(d)).collect::<Vec<_>>()),
        Op::Slice {
            dim: d,
            start,
            length,
            step: 1,
        } => x.narrow(dim(*d), *start as isize, *length),
        Op::Slice {
            dim: d,
            start,
            step,
            ..
        } => x.slice(dim(*d), *start as isize, isize::MAX, *step as isize),
        Op::Select(d, at) => x.select(dim(*d), seed.dim(*at, x.shape()[*d])),
        Op::Expand(shape) => x.expand(&signed(shape)),
        Op::Squeeze(d) => x.squeeze(dim(*d)),
        Op::Unsqueeze(d) => x.unsqueeze(seed.dim(*d, x.rank() + 1)),
        Op::Diagonal { shift, a, b } => x.diagonal(*shift, dim(*a), dim(*b)),
        Op::Reshape(shape) => x.reshape(&signed(shape)),
        Op::Flip(dims) => x.flip(&dims.iter().map(|&d| dim(d)).collect::<Vec<_>>()),
        Op::Contiguous => x.contiguous(),
    }
}
