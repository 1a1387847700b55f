//! How a reduction combines a block of values into its accumulators.

use super::simd::{Level, for_each_level};
use super::tile::RANK;
use crate::dtype::DType;
use crate::kernel::Combine;
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// A dimension of a block of values: its size, and how far the accumulator moves with it (zero where it is reduced).
pub(crate) type FoldDim = (usize, usize);

/// The loops of one way to combine one type.
#[derive(Clone, Copy)]
pub(crate) struct Folder {
    /// Combine a dense block of values, of these dimensions, into accumulators. Their number is that of the dims.
    pub fold: unsafe fn(*const FoldDim, usize, *const u8, *mut u8),
    /// Combine accumulators into others of the same number.
    pub join: unsafe fn(*mut u8, *const u8, usize),
    /// Set accumulators to the value that changes nothing.
    pub reset: unsafe fn(*mut u8, usize),
    /// Turn accumulators into values of the compute type.
    pub finish: unsafe fn(*const u8, *mut u8, usize),
}

trait Fold {
    type Value: Copy;
    type Acc: Copy;
    const IDENTITY: Self::Acc;
    fn put(acc: Self::Acc, value: Self::Value) -> Self::Acc;
    fn join(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    fn finish(acc: Self::Acc) -> Self::Value;
}

/// Independent accumulators along a row: enough to fill the pipelines of a processor's vector units.
const LANES: usize = 32;

#[inline(always)]
fn row<F: Fold>(acc: F::Acc, values: &[F::Value]) -> F::Acc {
    let mut acc = acc;
    let mut rest = values;
    if values.len() >= LANES {
        let mut lanes = [F::IDENTITY; LANES];
        while let Some((head, tail)) = rest.split_first_chunk::<LANES>() {
            for i in 0..LANES {
                lanes[i] = F::put(lanes[i], head[i]);
            }
            rest = tail;
        }
        let mut width = LANES / 2;
        while width > 0 {
            for i in 0..width {
                lanes[i] = F::join(lanes[i], lanes[i + width]);
            }
            width /= 2;
        }
        acc = F::join(acc, lanes[0]);
    }
    // A few at once, since each addition waits for the one before it.
    while let Some((&[a, b, c, d], tail)) = rest.split_first_chunk::<4>() {
        let (a, b) = (F::put(F::IDENTITY, a), F::put(F::IDENTITY, b));
        acc = F::join(acc, F::join(F::put(a, c), F::put(b, d)));
        rest = tail;
    }
    for &value in rest {
        acc = F::put(acc, value);
    }
    acc
}

for_each_level! {
    unsafe fn fold_block<F: Fold>(dims: *const FoldDim, rank: usize, values: *const u8, acc: *mut u8) {
        // SAFETY: the caller gives `rank` dimensions.
        let dims = unsafe { from_raw_parts(dims, rank) };
        let (mut values, acc) = (values.cast::<F::Value>(), acc.cast::<F::Acc>());
        let Some((&(n, step), outer)) = dims.split_last() else {
            // SAFETY: one value and one accumulator.
            unsafe { *acc = F::put(*acc, *values) };
            return;
        };
        let mut index = [0usize; RANK];
        loop {
            let at: usize = index.iter().zip(outer).map(|(i, d)| i * d.1).sum();
            // SAFETY: the dimensions cover the block and the accumulators exactly.
            unsafe {
                let line = from_raw_parts(values, n);
                let to = acc.add(at);
                if step == 0 {
                    *to = row::<F>(*to, line);
                } else {
                    let to = from_raw_parts_mut(to, n);
                    for i in 0..n {
                        to[i] = F::put(to[i], line[i]);
                    }
                }
                values = values.add(n);
            }
            let mut d = outer.len();
            loop {
                if d == 0 {
                    return;
                }
                d -= 1;
                index[d] += 1;
                if index[d] < outer[d].0 {
                    break;
                }
                index[d] = 0;
            }
        }
    }
}

unsafe fn join<F: Fold>(acc: *mut u8, other: *const u8, n: usize) {
    // SAFETY: the caller gives `n` of each, apart from one another.
    let (a, b) = unsafe {
        (
            from_raw_parts_mut(acc.cast::<F::Acc>(), n),
            from_raw_parts(other.cast::<F::Acc>(), n),
        )
    };
    for (a, b) in a.iter_mut().zip(b) {
        *a = F::join(*a, *b);
    }
}

unsafe fn reset<F: Fold>(acc: *mut u8, n: usize) {
    // SAFETY: the caller gives room for `n`.
    unsafe { from_raw_parts_mut(acc.cast::<F::Acc>(), n) }.fill(F::IDENTITY);
}

unsafe fn finish<F: Fold>(acc: *const u8, values: *mut u8, n: usize) {
    // SAFETY: the caller gives `n` of each, apart from one another.
    let (a, v) = unsafe {
        (
            from_raw_parts(acc.cast::<F::Acc>(), n),
            from_raw_parts_mut(values.cast::<F::Value>(), n),
        )
    };
    for (v, a) in v.iter_mut().zip(a) {
        *v = F::finish(*a);
    }
}

macro_rules! folder {
    ($l:expr, $v:ty, $acc:ty, $id:expr, |$a:ident, $b:ident| $body:expr) => {{
        struct F;
        impl Fold for F {
            type Value = $v;
            type Acc = $acc;
            const IDENTITY: $acc = $id;
            #[inline(always)]
            fn put(acc: $acc, value: $v) -> $acc {
                let ($a, $b) = (acc, value as $acc);
                $body
            }
            #[inline(always)]
            fn join($a: $acc, $b: $acc) -> $acc {
                $body
            }
            #[inline(always)]
            fn finish(acc: $acc) -> $v {
                acc as $v
            }
        }
        Folder {
            fold: fold_block::<F>($l),
            join: join::<F>,
            reset: reset::<F>,
            finish: finish::<F>,
        }
    }};
}

macro_rules! float {
    ($combine:expr, $l:expr, $t:ty) => {
        match $combine {
            // The partial results of float32 are float64: a sum of millions keeps all digits.
            Combine::Sum => folder!($l, $t, f64, 0.0, |a, b| a + b),
            Combine::Prod => folder!($l, $t, f64, 1.0, |a, b| a * b),
            Combine::Max => folder!(
                $l,
                $t,
                $t,
                <$t>::NEG_INFINITY,
                |a, b| if b > a || b.is_nan() { b } else { a }
            ),
            Combine::Min => folder!($l, $t, $t, <$t>::INFINITY, |a, b| if b < a || b.is_nan() {
                b
            } else {
                a
            }),
        }
    };
}

macro_rules! integer {
    ($combine:expr, $l:expr, $t:ty) => {
        match $combine {
            Combine::Sum => folder!($l, $t, $t, 0, |a, b| a.wrapping_add(b)),
            Combine::Prod => folder!($l, $t, $t, 1, |a, b| a.wrapping_mul(b)),
            Combine::Max => folder!($l, $t, $t, <$t>::MIN, |a, b| if b > a { b } else { a }),
            Combine::Min => folder!($l, $t, $t, <$t>::MAX, |a, b| if b < a { b } else { a }),
        }
    };
}

/// The loops that combine values of this compute type.
#[allow(clippy::unnecessary_cast)] // the macro names one type twice
pub(crate) fn folder(combine: Combine, acc: DType, l: Level) -> Folder {
    match acc {
        DType::F64 => float!(combine, l, f64),
        DType::I64 => integer!(combine, l, i64),
        DType::I32 => integer!(combine, l, i32),
        DType::U8 => integer!(combine, l, u8),
        DType::Bool => match combine {
            Combine::Sum | Combine::Max => folder!(l, u8, u8, 0, |a, b| u8::from((a | b) != 0)),
            Combine::Prod | Combine::Min => {
                folder!(l, u8, u8, 1, |a, b| u8::from(a != 0) & u8::from(b != 0))
            }
        },
        _ => float!(combine, l, f32),
    }
}
