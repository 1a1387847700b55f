//! Inner loops one of whose operands is a single number, such as a learning rate: read once, where a block full of it would
//! take up the cache that a long expression needs.

use super::simd::{Level, for_each_level};
use super::steps::StepFn;
use crate::dtype::DType;
use crate::expr::Binary;
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// Which operand is the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    First,
    Second,
}

trait Two {
    type T: Copy;
    fn apply(a: Self::T, b: Self::T) -> Self::T;
}

for_each_level! {
    unsafe fn first<F: Two>(src: [*const u8; 3], dst: *mut u8, n: usize) {
        // SAFETY: the contract of `StepFn`, but for the first source, which holds one value or more.
        let (a, b) = unsafe { (*src[0].cast::<F::T>(), from_raw_parts(src[1].cast::<F::T>(), n)) };
        // SAFETY: as above.
        let d = unsafe { from_raw_parts_mut(dst.cast::<F::T>(), n) };
        for i in 0..n {
            d[i] = F::apply(a, b[i]);
        }
    }
}

for_each_level! {
    unsafe fn second<F: Two>(src: [*const u8; 3], dst: *mut u8, n: usize) {
        // SAFETY: the contract of `StepFn`, but for the second source, which holds one value or more.
        let (a, b) = unsafe { (from_raw_parts(src[0].cast::<F::T>(), n), *src[1].cast::<F::T>()) };
        // SAFETY: as above.
        let d = unsafe { from_raw_parts_mut(dst.cast::<F::T>(), n) };
        for i in 0..n {
            d[i] = F::apply(a[i], b);
        }
    }
}

macro_rules! op {
    ($side:expr, $level:expr, |$a:ident, $b:ident: $t:ty| $body:expr) => {{
        struct F;
        impl Two for F {
            type T = $t;
            #[inline(always)]
            fn apply($a: $t, $b: $t) -> $t {
                $body
            }
        }
        match $side {
            Side::First => first::<F>($level),
            Side::Second => second::<F>($level),
        }
    }};
}

macro_rules! arithmetic {
    ($f:expr, $side:expr, $l:expr, $t:ty) => {
        match $f {
            Binary::Add => op!($side, $l, |a, b: $t| a + b),
            Binary::Sub => op!($side, $l, |a, b: $t| a - b),
            Binary::Mul => op!($side, $l, |a, b: $t| a * b),
            Binary::Div => op!($side, $l, |a, b: $t| a / b),
            _ => return None,
        }
    };
}

/// The loop of an arithmetic function of floats whose one operand is a number; none for the others, which read a block.
pub(crate) fn binary(f: Binary, dtype: DType, side: Side, level: Level) -> Option<StepFn> {
    Some(match dtype {
        DType::F32 => arithmetic!(f, side, level, f32),
        DType::F64 => arithmetic!(f, side, level, f64),
        _ => return None,
    })
}
