//! The elementwise operations: this table is all there is to each of them.
//!
//! To add one, add one entry: its forward expression and the gradient for each input. Gradients are written in the inputs
//! `x(n)`, the result `y()`, and the gradient of the result `g()`; prefer `y()` where it is enough, since then the input
//! need not be kept.

use super::pointwise::{Pointwise, ResultType, Terms};
use crate::error::Result;
use crate::expr::{Binary, Expr, Unary};
use crate::tensor::Tensor;

type F = fn(&Terms) -> Expr;

macro_rules! unary {
    ($($(#[$doc:meta])* $name:ident($($scalar:ident),*) $node:literal $result:ident: $forward:expr, $grad:expr;)*) => {
        impl Tensor {$(
            $(#[$doc])*
            pub fn $name(&self, $($scalar: f64),*) -> Result<Tensor> {
                static OP: Pointwise = Pointwise {
                    name: stringify!($name),
                    node: $node,
                    result: ResultType::$result,
                    forward: $forward,
                    grads: &[$grad as F],
                };
                OP.apply(&[self], &[$($scalar),*])
            }
        )*}
    };
}

macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident($($scalar:ident),*) $node:literal $result:ident: $forward:expr, [$($grad:expr),*];)*) => {
        impl Tensor {$(
            $(#[$doc])*
            pub fn $name(&self, other: &Tensor, $($scalar: f64),*) -> Result<Tensor> {
                static OP: Pointwise = Pointwise {
                    name: stringify!($name),
                    node: $node,
                    result: ResultType::$result,
                    forward: $forward,
                    grads: &[$($grad as F),*],
                };
                OP.apply(&[self, other], &[$($scalar),*])
            }
        )*}
    };
}

/// 2 / sqrt(pi), the slope of erf at 0.
const ERF_SLOPE: f64 = std::f64::consts::FRAC_2_SQRT_PI;

fn sigmoid(x: Expr, t: &Terms) -> Expr {
    t.lit(1.0) / (t.lit(1.0) + (-x).un(Unary::Exp))
}

/// The inner function of gelu's tanh form, sqrt(2/pi) (x + 0.044715 x^3).
fn gelu_inner(t: &Terms) -> Expr {
    let x = t.x(0);
    let cube = x.clone() * x.clone() * x.clone();
    t.lit((2.0 / std::f64::consts::PI).sqrt()) * (x + t.lit(0.044715) * cube)
}

/// The gradient `g` before a ReLU whose result was `y`: a NaN lets it through, as PyTorch's does.
pub(super) fn past_relu(y: Expr, g: Expr, t: &Terms) -> Expr {
    y.bin(Binary::Le, t.lit(0.0)).select(t.lit(0.0), g)
}

unary! {
    /// -x.
    neg() "NegBackward0" Number: |t| -t.x(0), |t| -t.g();
    /// |x|.
    abs() "AbsBackward0" Number: |t| t.x(0).un(Unary::Abs), |t| t.g() * t.x(0).un(Unary::Sign);
    /// e to the x.
    exp() "ExpBackward0" Float: |t| t.x(0).un(Unary::Exp), |t| t.g() * t.y();
    /// Natural logarithm.
    log() "LogBackward0" Float: |t| t.x(0).un(Unary::Log), |t| t.g() / t.x(0);
    /// Natural logarithm of 1 + x, exact near 0.
    log1p() "Log1PBackward0" Float: |t| t.x(0).un(Unary::Log1p), |t| t.g() / (t.x(0) + t.lit(1.0));
    /// Square root.
    sqrt() "SqrtBackward0" Float: |t| t.x(0).un(Unary::Sqrt), |t| t.g() / (t.lit(2.0) * t.y());
    /// 1 / sqrt(x).
    rsqrt() "RsqrtBackward0" Float: |t| t.x(0).un(Unary::Rsqrt),
        |t| t.lit(-0.5) * t.g() * t.y() * t.y() * t.y();
    /// 1 / x.
    reciprocal() "ReciprocalBackward0" Float: |t| t.lit(1.0) / t.x(0), |t| -t.g() * t.y() * t.y();
    /// Sine.
    sin() "SinBackward0" Float: |t| t.x(0).un(Unary::Sin), |t| t.g() * t.x(0).un(Unary::Cos);
    /// Cosine.
    cos() "CosBackward0" Float: |t| t.x(0).un(Unary::Cos), |t| -t.g() * t.x(0).un(Unary::Sin);
    /// Hyperbolic tangent.
    tanh() "TanhBackward0" Float: |t| t.x(0).un(Unary::Tanh), |t| t.g() * (t.lit(1.0) - t.y() * t.y());
    /// Error function.
    erf() "ErfBackward0" Float: |t| t.x(0).un(Unary::Erf),
        |t| t.g() * t.lit(ERF_SLOPE) * (-(t.x(0) * t.x(0))).un(Unary::Exp);
    /// 1 / (1 + e^-x).
    sigmoid() "SigmoidBackward0" Float: |t| sigmoid(t.x(0), t), |t| t.g() * t.y() * (t.lit(1.0) - t.y());
    /// max(x, 0); NaN stays NaN.
    relu() "ReluBackward0" Number: |t| t.x(0).lt(t.lit(0.0)).select(t.lit(0.0), t.x(0)),
        |t| past_relu(t.y(), t.g(), t);
    /// x for positive x, `negative_slope` x below.
    leaky_relu(negative_slope) "LeakyReluBackward0" Number: |t| t.x(0).gt(t.lit(0.0)).select(t.x(0), t.x(0) * t.s(0)),
        |t| t.x(0).gt(t.lit(0.0)).select(t.g(), t.g() * t.s(0));
    /// x sigmoid(x).
    silu() "SiluBackward0" Float: |t| t.x(0) * sigmoid(t.x(0), t),
        |t| t.g() * sigmoid(t.x(0), t) * (t.lit(1.0) + t.x(0) * (t.lit(1.0) - sigmoid(t.x(0), t)));
    /// log(1 + e^x), x itself above 20.
    softplus() "SoftplusBackward0" Float:
        |t| t.x(0).gt(t.lit(20.0)).select(t.x(0), t.x(0).un(Unary::Exp).un(Unary::Log1p)),
        |t| t.x(0).gt(t.lit(20.0)).select(t.g(), t.g() * sigmoid(t.x(0), t));
    /// x times the standard normal's distribution function at x.
    gelu() "GeluBackward0" Float:
        |t| t.lit(0.5) * t.x(0) * (t.lit(1.0) + (t.x(0) * t.lit(std::f64::consts::FRAC_1_SQRT_2)).un(Unary::Erf)),
        |t| {
            let x = t.x(0);
            let cdf = t.lit(0.5) * (t.lit(1.0) + (x.clone() * t.lit(std::f64::consts::FRAC_1_SQRT_2)).un(Unary::Erf));
            let pdf = t.lit(0.5 * ERF_SLOPE * std::f64::consts::FRAC_1_SQRT_2)
                * (t.lit(-0.5) * x.clone() * x.clone()).un(Unary::Exp);
            t.g() * (cdf + x * pdf)
        };
    /// gelu by its tanh approximation (`approximate='tanh'`).
    gelu_tanh() "GeluBackward0" Float:
        |t| t.lit(0.5) * t.x(0) * (t.lit(1.0) + gelu_inner(t).un(Unary::Tanh)),
        |t| {
            let x = t.x(0);
            let th = gelu_inner(t).un(Unary::Tanh);
            let slope = t.lit((2.0 / std::f64::consts::PI).sqrt())
                * (t.lit(1.0) + t.lit(3.0 * 0.044715) * x.clone() * x.clone());
            let bend = t.lit(0.5) * x * (t.lit(1.0) - th.clone() * th.clone()) * slope;
            t.g() * (t.lit(0.5) * (t.lit(1.0) + th) + bend)
        };
    /// x kept within `min..=max`.
    clamp(min, max) "ClampBackward1" Number: |t| t.x(0).max(t.s(0)).min(t.s(1)),
        |t| {
            let inside = t.x(0).bin(Binary::Ge, t.s(0)).bin(Binary::And, t.x(0).bin(Binary::Le, t.s(1)));
            inside.select(t.g(), t.lit(0.0))
        };
    /// x * x.
    square() "PowBackward0" Number: |t| t.x(0) * t.x(0), |t| t.g() * t.lit(2.0) * t.x(0);
    /// x to a fixed power.
    pow_scalar(exponent) "PowBackward0" Float: |t| t.x(0).bin(Binary::Pow, t.s(0)),
        |t| t.s(0).equals(t.lit(0.0)).select(
            t.lit(0.0),
            t.g() * t.s(0) * t.x(0).bin(Binary::Pow, t.s(0) - t.lit(1.0)),
        );
    /// -1, 0 or 1.
    sign() "SignBackward0" Number: |t| t.x(0).un(Unary::Sign), |t| t.g() * t.lit(0.0);
    /// Down to an integer.
    floor() "FloorBackward0" Number: |t| t.x(0).un(Unary::Floor), |t| t.g() * t.lit(0.0);
    /// Up to an integer.
    ceil() "CeilBackward0" Number: |t| t.x(0).un(Unary::Ceil), |t| t.g() * t.lit(0.0);
    /// To the nearest integer, ties to even.
    round() "RoundBackward0" Number: |t| t.x(0).un(Unary::Round), |t| t.g() * t.lit(0.0);
}

binary! {
    /// self + other.
    add() "AddBackward0" Same: |t| t.x(0) + t.x(1), [|t| t.g(), |t| t.g()];
    /// self + alpha * other.
    add_scaled(alpha) "AddBackward0" Same: |t| t.x(0) + t.s(0) * t.x(1), [|t| t.g(), |t| t.g() * t.s(0)];
    /// self - other.
    sub() "SubBackward0" Number: |t| t.x(0) - t.x(1), [|t| t.g(), |t| -t.g()];
    /// self * other.
    mul() "MulBackward0" Same: |t| t.x(0) * t.x(1), [|t| t.g() * t.x(1), |t| t.g() * t.x(0)];
    /// self / other; integers divide to floats.
    div() "DivBackward0" Float: |t| t.x(0) / t.x(1),
        [|t| t.g() / t.x(1), |t| -t.g() * t.x(0) / (t.x(1) * t.x(1))];
    /// self to the power of other.
    pow() "PowBackward1" Float: |t| t.x(0).bin(Binary::Pow, t.x(1)), [
        |t| t.x(1).equals(t.lit(0.0)).select(
            t.lit(0.0),
            t.g() * t.x(1) * t.x(0).bin(Binary::Pow, t.x(1) - t.lit(1.0)),
        ),
        |t| t.x(0).equals(t.lit(0.0)).bin(Binary::And, t.x(1).bin(Binary::Ge, t.lit(0.0))).select(
            t.lit(0.0),
            t.g() * t.y() * t.x(0).un(Unary::Log),
        )
    ];
    /// The larger of each pair; NaN if either is. Equal pairs share the gradient.
    maximum() "MaximumBackward0" Same: |t| t.x(0).max(t.x(1)), [
        |t| share(t.x(0).gt(t.x(1)), t),
        |t| share(t.x(0).lt(t.x(1)), t)
    ];
    /// The smaller of each pair; NaN if either is. Equal pairs share the gradient.
    minimum() "MinimumBackward0" Same: |t| t.x(0).min(t.x(1)), [
        |t| share(t.x(0).lt(t.x(1)), t),
        |t| share(t.x(0).gt(t.x(1)), t)
    ];
    /// self == other.
    eq() "" Bool: |t| t.x(0).equals(t.x(1)), [];
    /// self != other.
    ne() "" Bool: |t| t.x(0).bin(Binary::Ne, t.x(1)), [];
    /// self < other.
    lt() "" Bool: |t| t.x(0).lt(t.x(1)), [];
    /// self <= other.
    le() "" Bool: |t| t.x(0).bin(Binary::Le, t.x(1)), [];
    /// self > other.
    gt() "" Bool: |t| t.x(0).gt(t.x(1)), [];
    /// self >= other.
    ge() "" Bool: |t| t.x(0).bin(Binary::Ge, t.x(1)), [];
}

/// The gradient where `wins`, half of it where the pair is equal.
fn share(wins: Expr, t: &Terms) -> Expr {
    let half = t.x(0).equals(t.x(1)).select(t.g() * t.lit(0.5), t.lit(0.0));
    wins.select(t.g(), half)
}

macro_rules! with_number {
    ($($(#[$doc:meta])* $name:ident $node:literal $result:ident: $forward:expr, $grad:expr;)*) => {
        impl Tensor {$(
            $(#[$doc])*
            pub fn $name(&self, value: f64) -> Result<Tensor> {
                static OP: Pointwise = Pointwise {
                    name: stringify!($name),
                    node: $node,
                    result: ResultType::$result,
                    forward: $forward,
                    grads: &[$grad as F],
                };
                self.promoted_with(value)?.as_ref().map_or_else(
                    || OP.apply(&[self], &[value]),
                    |float| OP.apply(&[float], &[value]),
                )
            }
        )*}
    };
}

with_number! {
    /// self + value.
    add_scalar "AddBackward0" Same: |t| t.x(0) + t.s(0), |t| t.g();
    /// self - value.
    sub_scalar "SubBackward0" Same: |t| t.x(0) - t.s(0), |t| t.g();
    /// value - self.
    rsub_scalar "RsubBackward1" Same: |t| t.s(0) - t.x(0), |t| -t.g();
    /// self * value.
    mul_scalar "MulBackward0" Same: |t| t.x(0) * t.s(0), |t| t.g() * t.s(0);
    /// self / value; integers divide to floats.
    div_scalar "DivBackward0" Float: |t| t.x(0) / t.s(0), |t| t.g() / t.s(0);
}

impl Tensor {
    /// An integer tensor meeting a number with a fraction becomes float32, as in PyTorch. `None` if it can stay.
    fn promoted_with(&self, value: f64) -> Result<Option<Tensor>> {
        let stays =
            self.dtype().is_float() || (value.fract() == 0.0 && self.dtype() != crate::DType::Bool);
        if stays {
            Ok(None)
        } else {
            self.to_dtype(crate::DType::F32).map(Some)
        }
    }

    /// Whether each element is NaN.
    pub fn isnan(&self) -> Result<Tensor> {
        static OP: Pointwise = Pointwise {
            name: "isnan",
            node: "",
            result: ResultType::Bool,
            forward: |t| t.x(0).un(Unary::IsNan),
            grads: &[],
        };
        OP.apply(&[self], &[])
    }

    /// Whether each element is neither infinite nor NaN.
    pub fn isfinite(&self) -> Result<Tensor> {
        static OP: Pointwise = Pointwise {
            name: "isfinite",
            node: "",
            result: ResultType::Bool,
            forward: |t| t.x(0).un(Unary::IsFinite),
            grads: &[],
        };
        OP.apply(&[self], &[])
    }

    /// Not each bool.
    pub fn logical_not(&self) -> Result<Tensor> {
        static OP: Pointwise = Pointwise {
            name: "logical_not",
            node: "",
            result: ResultType::Bool,
            forward: |t| t.x(0).equals(t.lit(0.0)),
            grads: &[],
        };
        OP.apply(&[self], &[])
    }

    /// `yes` where `self` (bool) holds, else `no` (`torch.where`).
    pub fn where_(&self, yes: &Tensor, no: &Tensor) -> Result<Tensor> {
        static OP: Pointwise = Pointwise {
            name: "where",
            node: "WhereBackward0",
            result: ResultType::Same,
            forward: |t| t.x(0).cast(crate::DType::Bool).select(t.x(1), t.x(2)),
            grads: &[
                |t| t.lit(0.0),
                |t| t.x(0).cast(crate::DType::Bool).select(t.g(), t.lit(0.0)),
                |t| t.x(0).cast(crate::DType::Bool).select(t.lit(0.0), t.g()),
            ],
        };
        if self.dtype() != crate::DType::Bool {
            return Err(crate::Error::ExpectedDType {
                expected: crate::DType::Bool,
                found: self.dtype(),
            });
        }
        OP.apply(&[self, yes, no], &[])
    }

    /// `value` where `mask` (bool) holds.
    pub fn masked_fill(&self, mask: &Tensor, value: f64) -> Result<Tensor> {
        static OP: Pointwise = Pointwise {
            name: "masked_fill",
            node: "MaskedFillBackward0",
            result: ResultType::Same,
            forward: |t| t.x(1).cast(crate::DType::Bool).select(t.s(0), t.x(0)),
            grads: &[
                |t| t.x(1).cast(crate::DType::Bool).select(t.lit(0.0), t.g()),
                |t| t.lit(0.0),
            ],
        };
        if mask.dtype() != crate::DType::Bool {
            return Err(crate::Error::ExpectedDType {
                expected: crate::DType::Bool,
                found: mask.dtype(),
            });
        }
        OP.apply(&[self, mask], &[value])
    }
}
