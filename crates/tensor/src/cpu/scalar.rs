//! An expression evaluated for one index: slow, plain, and the yardstick that the fast path is tested against.

use super::steps::int_pow;
use crate::dtype::DType;
use crate::expr::{Binary, Expr, Unary};
use half::{bf16, f16};

/// One value of a compute type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value {
    Bool(bool),
    U8(u8),
    I32(i32),
    I64(i64),
    F32(f32),
    F64(f64),
}

use Value::*;

macro_rules! by_type {
    ($value:expr, $x:ident => $body:expr) => {
        match $value {
            Bool(b) => {
                let $x = u8::from(b);
                $body
            }
            U8($x) => $body,
            I32($x) => $body,
            I64($x) => $body,
            F32($x) => $body,
            F64($x) => $body,
        }
    };
}

impl Value {
    pub(crate) fn of(value: f64, dtype: DType) -> Value {
        F64(value).cast(dtype)
    }

    pub(crate) fn truth(self) -> bool {
        match self {
            F32(x) => x != 0.0,
            F64(x) => x != 0.0,
            other => by_type!(other, x => x as i64 != 0),
        }
    }

    pub(crate) fn cast(self, dtype: DType) -> Value {
        match dtype.compute() {
            DType::Bool => Bool(self.truth()),
            DType::U8 => U8(match self {
                // Through a signed integer, as compilers of C do it: -1.0 becomes 255.
                F32(x) => x as i32 as u8,
                F64(x) => x as i32 as u8,
                other => by_type!(other, x => x as u8),
            }),
            DType::I32 => I32(by_type!(self, x => x as i32)),
            DType::I64 => I64(by_type!(self, x => x as i64)),
            DType::F64 => F64(by_type!(self, x => x as f64)),
            _ => F32(by_type!(self, x => x as f32)),
        }
    }

    /// The element at `at`.
    ///
    /// # Safety
    /// `at` must hold an initialised element of type `dtype`.
    pub(crate) unsafe fn load(at: *const u8, dtype: DType) -> Value {
        // SAFETY: promised by the caller; unaligned reads need no more.
        unsafe {
            match dtype {
                DType::Bool => Bool(at.read() != 0),
                DType::U8 => U8(at.read()),
                DType::I32 => I32(at.cast::<i32>().read_unaligned()),
                DType::I64 => I64(at.cast::<i64>().read_unaligned()),
                DType::F16 => F32(at.cast::<f16>().read_unaligned().to_f32()),
                DType::BF16 => F32(at.cast::<bf16>().read_unaligned().to_f32()),
                DType::F32 => F32(at.cast::<f32>().read_unaligned()),
                DType::F64 => F64(at.cast::<f64>().read_unaligned()),
            }
        }
    }

    /// Store it to the element at `at`.
    ///
    /// # Safety
    /// `at` must have room for an element of type `dtype` that nobody else touches.
    pub(crate) unsafe fn store(self, at: *mut u8, dtype: DType) {
        // SAFETY: promised by the caller.
        unsafe {
            match (self.cast(dtype), dtype) {
                (F32(x), DType::F16) => at.cast::<f16>().write_unaligned(f16::from_f32(x)),
                (F32(x), DType::BF16) => at.cast::<bf16>().write_unaligned(bf16::from_f32(x)),
                (Bool(x), _) => at.write(u8::from(x)),
                (U8(x), _) => at.write(x),
                (I32(x), _) => at.cast::<i32>().write_unaligned(x),
                (I64(x), _) => at.cast::<i64>().write_unaligned(x),
                (F32(x), _) => at.cast::<f32>().write_unaligned(x),
                (F64(x), _) => at.cast::<f64>().write_unaligned(x),
            }
        }
    }
}

macro_rules! float_unary {
    ($f:expr, $x:expr, $t:ty, $wrap:ident) => {{
        let x: $t = $x;
        match $f {
            Unary::Neg => $wrap(-x),
            Unary::Abs => $wrap(x.abs()),
            Unary::Exp => $wrap(x.exp()),
            Unary::Log => $wrap(x.ln()),
            Unary::Log1p => $wrap(x.ln_1p()),
            Unary::Sqrt => $wrap(x.sqrt()),
            Unary::Rsqrt => $wrap(1.0 / x.sqrt()),
            Unary::Sin => $wrap(x.sin()),
            Unary::Cos => $wrap(x.cos()),
            Unary::Tanh => $wrap(x.tanh()),
            Unary::Erf => $wrap(libm::erf(f64::from(x)) as $t),
            Unary::Floor => $wrap(x.floor()),
            Unary::Ceil => $wrap(x.ceil()),
            Unary::Round => $wrap(x.round_ties_even()),
            Unary::Sign => $wrap(if x > 0.0 {
                1.0
            } else if x < 0.0 {
                -1.0
            } else {
                x
            }),
            Unary::Not => Bool(x == 0.0),
            Unary::IsNan => Bool(x.is_nan()),
            Unary::IsFinite => Bool(x.is_finite()),
        }
    }};
}

fn int_unary(f: Unary, x: i64) -> i64 {
    match f {
        Unary::Neg => x.wrapping_neg(),
        Unary::Abs => x.wrapping_abs(),
        Unary::Sign => x.signum(),
        _ => x,
    }
}

pub(crate) fn unary(f: Unary, x: Value) -> Value {
    match (f, x) {
        (_, F32(v)) => float_unary!(f, v, f32, F32),
        (_, F64(v)) => float_unary!(f, v, f64, F64),
        (Unary::Not, v) => Bool(!v.truth()),
        (Unary::IsNan, _) => Bool(false),
        (Unary::IsFinite, _) => Bool(true),
        (_, U8(v)) => U8(int_unary(f, i64::from(v)) as u8),
        (_, I32(v)) => I32(int_unary(f, i64::from(v)) as i32),
        (_, I64(v)) => I64(int_unary(f, v)),
        (_, Bool(v)) => Bool(v),
    }
}

fn compare<T: PartialOrd>(f: Binary, a: T, b: T) -> bool {
    match f {
        Binary::Lt => a < b,
        Binary::Le => a <= b,
        Binary::Gt => a > b,
        Binary::Ge => a >= b,
        Binary::Eq => a == b,
        _ => a != b,
    }
}

macro_rules! float_binary {
    ($f:expr, $a:expr, $b:expr) => {
        match $f {
            Binary::Add => $a + $b,
            Binary::Sub => $a - $b,
            Binary::Mul => $a * $b,
            Binary::Div => $a / $b,
            Binary::Pow => $a.powf($b),
            Binary::Max => {
                if $a > $b || $a.is_nan() {
                    $a
                } else {
                    $b
                }
            }
            _ => {
                if $a < $b || $a.is_nan() {
                    $a
                } else {
                    $b
                }
            }
        }
    };
}

macro_rules! int_binary {
    ($f:expr, $a:expr, $b:expr, $t:ty) => {
        match $f {
            Binary::Add => $a.wrapping_add($b),
            Binary::Sub => $a.wrapping_sub($b),
            Binary::Mul => $a.wrapping_mul($b),
            Binary::Div => $a.checked_div($b).unwrap_or(0),
            Binary::Pow => int_pow(i64::from($a), i64::from($b)) as $t,
            Binary::Max => $a.max($b),
            _ => $a.min($b),
        }
    };
}

pub(crate) fn binary(f: Binary, a: Value, b: Value) -> Value {
    match f {
        Binary::And => return Bool(a.truth() && b.truth()),
        Binary::Or => return Bool(a.truth() || b.truth()),
        _ => {}
    }
    match (a, b) {
        (Bool(a), Bool(b)) if f.compares() => Bool(compare(f, a, b)),
        (U8(a), U8(b)) if f.compares() => Bool(compare(f, a, b)),
        (I32(a), I32(b)) if f.compares() => Bool(compare(f, a, b)),
        (I64(a), I64(b)) if f.compares() => Bool(compare(f, a, b)),
        (F32(a), F32(b)) if f.compares() => Bool(compare(f, a, b)),
        (F64(a), F64(b)) if f.compares() => Bool(compare(f, a, b)),
        (Bool(a), Bool(b)) => Bool(match f {
            Binary::Mul | Binary::Min => a && b,
            Binary::Sub => a != b,
            _ => a || b,
        }),
        (U8(a), U8(b)) => U8(int_binary!(f, a, b, u8)),
        (I32(a), I32(b)) => I32(int_binary!(f, a, b, i32)),
        (I64(a), I64(b)) => I64(int_binary!(f, a, b, i64)),
        (F32(a), F32(b)) => F32(float_binary!(f, a, b)),
        (F64(a), F64(b)) => F64(float_binary!(f, a, b)),
        // Operands of one type are the expression's own rule; the left one decides where it was broken.
        (a, b) => binary(f, a, b.cast(a.dtype())),
    }
}

impl Value {
    fn dtype(self) -> DType {
        match self {
            Bool(_) => DType::Bool,
            U8(_) => DType::U8,
            I32(_) => DType::I32,
            I64(_) => DType::I64,
            F32(_) => DType::F32,
            F64(_) => DType::F64,
        }
    }
}

/// The value of an expression at one index.
pub(crate) fn evaluate(expr: &Expr, args: &[Value], scalars: &[f64]) -> Value {
    match expr {
        Expr::Arg(n) => args[*n as usize],
        Expr::Scalar(n, dtype) => {
            Value::of(scalars.get(*n as usize).copied().unwrap_or(0.0), *dtype)
        }
        Expr::Const(bits, dtype) => Value::of(f64::from_bits(*bits), *dtype),
        Expr::Unary(f, x) => unary(*f, evaluate(x, args, scalars)),
        Expr::Binary(f, a, b) => binary(*f, evaluate(a, args, scalars), evaluate(b, args, scalars)),
        Expr::Select(c, a, b) => {
            if evaluate(c, args, scalars).truth() {
                evaluate(a, args, scalars)
            } else {
                evaluate(b, args, scalars)
            }
        }
        Expr::Cast(dtype, x) => evaluate(x, args, scalars).cast(*dtype),
    }
}
