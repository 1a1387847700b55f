//! The inner loops: one for every function and type, over a block of contiguous values.

use super::math;
use super::simd::{Level, for_each_level};
use crate::dtype::DType;
use crate::expr::{Binary, Unary};
use half::{f16, slice::HalfFloatSliceExt};
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// One inner loop: `n` values from up to three sources to a destination.
///
/// # Safety
/// The sources that the loop reads hold `n` initialised values of its types, aligned; the destination has room for
/// `n` and overlaps none of them.
pub(crate) type StepFn = unsafe fn([*const u8; 3], *mut u8, usize);

trait One {
    type A: Copy;
    type R;
    fn apply(a: Self::A) -> Self::R;
}

trait Two {
    type A: Copy;
    type R;
    fn apply(a: Self::A, b: Self::A) -> Self::R;
}

for_each_level! {
    unsafe fn each_one<F: One>(src: [*const u8; 3], dst: *mut u8, n: usize) {
        // SAFETY: the contract of `StepFn`.
        let (a, d) = unsafe { (from_raw_parts(src[0].cast::<F::A>(), n), from_raw_parts_mut(dst.cast::<F::R>(), n)) };
        for i in 0..n {
            d[i] = F::apply(a[i]);
        }
    }
}

for_each_level! {
    unsafe fn each_two<F: Two>(src: [*const u8; 3], dst: *mut u8, n: usize) {
        // SAFETY: the contract of `StepFn`.
        let (a, b) = unsafe { (from_raw_parts(src[0].cast::<F::A>(), n), from_raw_parts(src[1].cast::<F::A>(), n)) };
        // SAFETY: as above.
        let d = unsafe { from_raw_parts_mut(dst.cast::<F::R>(), n) };
        for i in 0..n {
            d[i] = F::apply(a[i], b[i]);
        }
    }
}

for_each_level! {
    unsafe fn choose<T: Copy>(src: [*const u8; 3], dst: *mut u8, n: usize) {
        // SAFETY: the contract of `StepFn`.
        let (c, a) = unsafe { (from_raw_parts(src[0], n), from_raw_parts(src[1].cast::<T>(), n)) };
        // SAFETY: as above.
        let (b, d) = unsafe { (from_raw_parts(src[2].cast::<T>(), n), from_raw_parts_mut(dst.cast::<T>(), n)) };
        for i in 0..n {
            d[i] = if c[i] != 0 { a[i] } else { b[i] };
        }
    }
}

macro_rules! one {
    ($level:expr, |$a:ident: $t:ty| -> $r:ty { $body:expr }) => {{
        struct F;
        impl One for F {
            type A = $t;
            type R = $r;
            #[inline(always)]
            fn apply($a: $t) -> $r {
                $body
            }
        }
        each_one::<F>($level)
    }};
}

macro_rules! two {
    ($level:expr, |$a:ident, $b:ident: $t:ty| -> $r:ty { $body:expr }) => {{
        struct F;
        impl Two for F {
            type A = $t;
            type R = $r;
            #[inline(always)]
            fn apply($a: $t, $b: $t) -> $r {
                $body
            }
        }
        each_two::<F>($level)
    }};
}

/// The loops that are the same for both floating types.
macro_rules! float_one {
    ($f:expr, $l:expr, $t:ty, $exp:path, $log:path, $log1p:path, $tanh:path) => {
        match $f {
            Unary::Neg => one!($l, |x: $t| -> $t { -x }),
            Unary::Abs => one!($l, |x: $t| -> $t { x.abs() }),
            Unary::Exp => one!($l, |x: $t| -> $t { $exp(x) }),
            Unary::Log => one!($l, |x: $t| -> $t { $log(x) }),
            Unary::Log1p => one!($l, |x: $t| -> $t { $log1p(x) }),
            Unary::Sqrt => one!($l, |x: $t| -> $t { x.sqrt() }),
            Unary::Rsqrt => one!($l, |x: $t| -> $t { 1.0 / x.sqrt() }),
            Unary::Sin => one!($l, |x: $t| -> $t { x.sin() }),
            Unary::Cos => one!($l, |x: $t| -> $t { x.cos() }),
            Unary::Tanh => one!($l, |x: $t| -> $t { $tanh(x) }),
            Unary::Erf => one!($l, |x: $t| -> $t { libm::erf(x as f64) as $t }),
            Unary::Floor => one!($l, |x: $t| -> $t { x.floor() }),
            Unary::Ceil => one!($l, |x: $t| -> $t { x.ceil() }),
            Unary::Round => one!($l, |x: $t| -> $t { x.round_ties_even() }),
            Unary::Sign => one!($l, |x: $t| -> $t {
                if x > 0.0 {
                    1.0
                } else if x < 0.0 {
                    -1.0
                } else {
                    x
                }
            }),
            Unary::Not => one!($l, |x: $t| -> u8 { u8::from(x == 0.0) }),
            Unary::IsNan => one!($l, |x: $t| -> u8 { u8::from(x.is_nan()) }),
            Unary::IsFinite => one!($l, |x: $t| -> u8 { u8::from(x.abs() < <$t>::INFINITY) }),
        }
    };
}

macro_rules! int_one {
    ($f:expr, $l:expr, $t:ty, $sign:expr) => {
        match $f {
            Unary::Neg => one!($l, |x: $t| -> $t { x.wrapping_neg() }),
            Unary::Abs => one!($l, |x: $t| -> $t {
                if x < 1 {
                    x.wrapping_mul((0 as $t).wrapping_sub(1))
                } else {
                    x
                }
            }),
            Unary::Sign => one!($l, |x: $t| -> $t { $sign(x) }),
            Unary::Not => one!($l, |x: $t| -> u8 { u8::from(x == 0) }),
            Unary::IsNan => one!($l, |_x: $t| -> u8 { 0 }),
            Unary::IsFinite => one!($l, |_x: $t| -> u8 { 1 }),
            Unary::Floor | Unary::Ceil | Unary::Round => one!($l, |x: $t| -> $t { x }),
            _ => return None,
        }
    };
}

/// The loop of a function of one value, if it is defined for this compute type.
pub(crate) fn unary(f: Unary, dtype: DType, l: Level) -> Option<StepFn> {
    Some(match dtype {
        DType::F32 => float_one!(f, l, f32, math::exp, math::log, math::log1p, math::tanh),
        DType::F64 => float_one!(f, l, f64, f64::exp, f64::ln, f64::ln_1p, f64::tanh),
        DType::I64 => int_one!(f, l, i64, i64::signum),
        DType::I32 => int_one!(f, l, i32, i32::signum),
        DType::U8 => match f {
            Unary::Abs => one!(l, |x: u8| -> u8 { x }),
            _ => int_one!(f, l, u8, |x: u8| u8::from(x > 0)),
        },
        DType::Bool if f == Unary::Not => one!(l, |x: u8| -> u8 { u8::from(x == 0) }),
        _ => return None,
    })
}

macro_rules! compare {
    ($f:expr, $l:expr, $t:ty) => {
        match $f {
            Binary::Lt => Some(two!($l, |a, b: $t| -> u8 { u8::from(a < b) })),
            Binary::Le => Some(two!($l, |a, b: $t| -> u8 { u8::from(a <= b) })),
            Binary::Gt => Some(two!($l, |a, b: $t| -> u8 { u8::from(a > b) })),
            Binary::Ge => Some(two!($l, |a, b: $t| -> u8 { u8::from(a >= b) })),
            Binary::Eq => Some(two!($l, |a, b: $t| -> u8 { u8::from(a == b) })),
            Binary::Ne => Some(two!($l, |a, b: $t| -> u8 { u8::from(a != b) })),
            _ => None,
        }
    };
}

macro_rules! float_two {
    ($f:expr, $l:expr, $t:ty) => {
        match $f {
            Binary::Add => two!($l, |a, b: $t| -> $t { a + b }),
            Binary::Sub => two!($l, |a, b: $t| -> $t { a - b }),
            Binary::Mul => two!($l, |a, b: $t| -> $t { a * b }),
            Binary::Div => two!($l, |a, b: $t| -> $t { a / b }),
            Binary::Pow => two!($l, |a, b: $t| -> $t { a.powf(b) }),
            Binary::Max => two!($l, |a, b: $t| -> $t {
                if a > b || a.is_nan() { a } else { b }
            }),
            Binary::Min => two!($l, |a, b: $t| -> $t {
                if a < b || a.is_nan() { a } else { b }
            }),
            _ => return compare!($f, $l, $t),
        }
    };
}

macro_rules! int_two {
    ($f:expr, $l:expr, $t:ty) => {
        match $f {
            Binary::Add => two!($l, |a, b: $t| -> $t { a.wrapping_add(b) }),
            Binary::Sub => two!($l, |a, b: $t| -> $t { a.wrapping_sub(b) }),
            Binary::Mul => two!($l, |a, b: $t| -> $t { a.wrapping_mul(b) }),
            Binary::Div => two!($l, |a, b: $t| -> $t { a.checked_div(b).unwrap_or(0) }),
            Binary::Pow => two!($l, |a, b: $t| -> $t { int_pow(a as i64, b as i64) as $t }),
            Binary::Max => two!($l, |a, b: $t| -> $t { if a > b { a } else { b } }),
            Binary::Min => two!($l, |a, b: $t| -> $t { if a < b { a } else { b } }),
            _ => return compare!($f, $l, $t),
        }
    };
}

/// The loop of a function of two values of one compute type, if there is one.
pub(crate) fn binary(f: Binary, dtype: DType, l: Level) -> Option<StepFn> {
    Some(match dtype {
        DType::F32 => float_two!(f, l, f32),
        DType::F64 => float_two!(f, l, f64),
        DType::I64 => int_two!(f, l, i64),
        DType::I32 => int_two!(f, l, i32),
        DType::U8 => int_two!(f, l, u8),
        // Any byte but zero is true, whoever wrote it.
        DType::Bool => match f {
            Binary::And | Binary::Mul | Binary::Min => {
                two!(l, |a, b: u8| -> u8 { u8::from(a != 0) & u8::from(b != 0) })
            }
            Binary::Or | Binary::Add | Binary::Max => {
                two!(l, |a, b: u8| -> u8 { u8::from((a | b) != 0) })
            }
            Binary::Eq => two!(l, |a, b: u8| -> u8 { u8::from((a != 0) == (b != 0)) }),
            Binary::Ne | Binary::Sub => {
                two!(l, |a, b: u8| -> u8 { u8::from((a != 0) != (b != 0)) })
            }
            Binary::Lt => two!(l, |a, b: u8| -> u8 { u8::from(a == 0) & u8::from(b != 0) }),
            Binary::Gt => two!(l, |a, b: u8| -> u8 { u8::from(a != 0) & u8::from(b == 0) }),
            Binary::Le => two!(l, |a, b: u8| -> u8 { u8::from(a == 0) | u8::from(b != 0) }),
            Binary::Ge => two!(l, |a, b: u8| -> u8 { u8::from(a != 0) | u8::from(b == 0) }),
            Binary::Div | Binary::Pow => return None,
        },
        _ => return None,
    })
}

/// `base` to the power of `exponent`, wrapping; a negative exponent gives what truncates from the true value.
pub(crate) fn int_pow(base: i64, exponent: i64) -> i64 {
    match (base, exponent) {
        (_, e) if e >= 0 => {
            let (mut result, mut square, mut e) = (1i64, base, e);
            while e > 0 {
                if e & 1 == 1 {
                    result = result.wrapping_mul(square);
                }
                square = square.wrapping_mul(square);
                e >>= 1;
            }
            result
        }
        (1, _) => 1,
        (-1, e) => {
            if e % 2 == 0 {
                1
            } else {
                -1
            }
        }
        _ => 0,
    }
}

/// The loop that takes the second where the first (a bool) holds, else the third.
pub(crate) fn select(dtype: DType, level: Level) -> StepFn {
    match dtype.size() {
        1 => choose::<u8>(level),
        4 => choose::<u32>(level),
        _ => choose::<u64>(level),
    }
}

/// The loop that copies values of this many bytes.
pub(crate) fn copy(bytes: usize) -> StepFn {
    unsafe fn run<T: Copy>(src: [*const u8; 3], dst: *mut u8, n: usize) {
        // SAFETY: the contract of `StepFn`.
        unsafe {
            dst.cast::<T>()
                .copy_from_nonoverlapping(src[0].cast::<T>(), n)
        }
    }
    match bytes {
        1 => run::<u8>,
        2 => run::<u16>,
        4 => run::<u32>,
        _ => run::<u64>,
    }
}

macro_rules! from_number {
    ($to:expr, $l:expr, $t:ty, $zero:expr, |$x:ident| $to_u8:expr) => {
        match $to {
            DType::Bool => one!($l, |x: $t| -> u8 { u8::from(x != $zero) }),
            DType::U8 => one!($l, |$x: $t| -> u8 { $to_u8 }),
            DType::I32 => one!($l, |x: $t| -> i32 { x as i32 }),
            DType::I64 => one!($l, |x: $t| -> i64 { x as i64 }),
            DType::F64 => one!($l, |x: $t| -> f64 { x as f64 }),
            _ => one!($l, |x: $t| -> f32 { x as f32 }),
        }
    };
}

/// The loop that converts between two different compute types.
#[allow(clippy::unnecessary_cast)]
pub(crate) fn cast(from: DType, to: DType, l: Level) -> StepFn {
    match from {
        DType::Bool => match to {
            DType::I32 => one!(l, |x: u8| -> i32 { i32::from(x != 0) }),
            DType::I64 => one!(l, |x: u8| -> i64 { i64::from(x != 0) }),
            DType::F32 => one!(l, |x: u8| -> f32 { u8::from(x != 0) as f32 }),
            DType::F64 => one!(l, |x: u8| -> f64 { u8::from(x != 0) as f64 }),
            _ => one!(l, |x: u8| -> u8 { u8::from(x != 0) }),
        },
        DType::U8 => from_number!(to, l, u8, 0, |x| x),
        DType::I32 => from_number!(to, l, i32, 0, |x| x as u8),
        DType::I64 => from_number!(to, l, i64, 0, |x| x as u8),
        // Through a signed integer, as compilers of C do it: -1.0 becomes 255.
        DType::F64 => from_number!(to, l, f64, 0.0, |x| x as i32 as u8),
        _ => from_number!(to, l, f32, 0.0, |x| x as i32 as u8),
    }
}

/// The loop that widens a half-width float to f32.
pub(crate) fn widen(from: DType, l: Level) -> StepFn {
    unsafe fn from_f16(src: [*const u8; 3], dst: *mut u8, n: usize) {
        // SAFETY: the contract of `StepFn`.
        let (a, d) = unsafe {
            (
                from_raw_parts(src[0].cast::<f16>(), n),
                from_raw_parts_mut(dst.cast::<f32>(), n),
            )
        };
        a.convert_to_f32_slice(d);
    }
    match from {
        DType::F16 => from_f16,
        _ => one!(l, |x: u16| -> f32 { f32::from_bits(u32::from(x) << 16) }),
    }
}

/// The loop that rounds f32 to a half-width float, ties to even.
pub(crate) fn narrow(to: DType, l: Level) -> StepFn {
    unsafe fn to_f16(src: [*const u8; 3], dst: *mut u8, n: usize) {
        // SAFETY: the contract of `StepFn`.
        let (a, d) = unsafe {
            (
                from_raw_parts(src[0].cast::<f32>(), n),
                from_raw_parts_mut(dst.cast::<f16>(), n),
            )
        };
        d.convert_from_f32_slice(a);
    }
    match to {
        DType::F16 => to_f16,
        _ => one!(l, |x: f32| -> u16 { round_to_bf16(x) }),
    }
}

/// The upper half of an f32, rounded to nearest, ties to even; a NaN stays one.
#[inline(always)]
fn round_to_bf16(x: f32) -> u16 {
    let bits = x.to_bits();
    let rounded = (bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16) as u16;
    let nan = ((bits >> 16) | 0x40) as u16;
    if x.is_nan() { nan } else { rounded }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::bf16;

    #[test]
    fn bf16_rounds_as_the_half_crate_does() {
        for bits in (0..u32::MAX).step_by(65_521) {
            let x = f32::from_bits(bits);
            assert_eq!(
                round_to_bf16(x),
                bf16::from_f32(x).to_bits(),
                "{x:e} ({bits:#x})"
            );
        }
    }
}
