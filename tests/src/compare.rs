//! How close is close enough: one table, with a reason for every exception.

use tensor::DType;

/// Allowed difference: `rtol * |want| + atol * magnitude + ulps` units in the last place of `want`, where the magnitude is
/// what was accumulated on the way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Relative to the value wanted.
    pub rtol: f64,
    /// Relative to the magnitude.
    pub atol: f64,
    /// Units in the last place of this type, around the value wanted.
    pub ulps: (f64, DType),
}

impl Tolerance {
    /// Nothing: integers, bools, and what is only moved.
    pub const EXACT: Tolerance = Tolerance {
        rtol: 0.0,
        atol: 0.0,
        ulps: (0.0, DType::F64),
    };

    /// Within `rtol` of the value and `atol` of the magnitude.
    pub const fn near(rtol: f64, atol: f64) -> Tolerance {
        Tolerance {
            rtol,
            atol,
            ..Tolerance::EXACT
        }
    }
}

/// Operations whose every result comes from one element of each input, by their names in `ops.json`.
const ELEMENTWISE: [&str; 36] = [
    "neg",
    "abs",
    "exp",
    "log",
    "sqrt",
    "rsqrt",
    "reciprocal",
    "sin",
    "cos",
    "tanh",
    "erf",
    "sigmoid",
    "relu",
    "square",
    "silu",
    "softplus",
    "gelu",
    "leaky_relu",
    "clamp",
    "pow_scalar",
    "add",
    "sub",
    "mul",
    "div",
    "maximum",
    "minimum",
    "pow",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "where",
    "masked_fill",
    "one_hot",
];

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A result.
    Value,
    /// The gradient of an input.
    Gradient,
}

/// The tolerance for an operation computed in `dtype`.
pub fn tolerance(op: &str, dtype: DType, part: Part) -> Tolerance {
    let half = matches!(dtype, DType::F16 | DType::BF16);
    let base = match dtype {
        // What two correct float64 programs differ by, with room for another order of summation.
        DType::F64 => Tolerance::near(1e-9, 1e-9),
        DType::F32 => Tolerance::near(1e-5, 1e-6),
        // Both sides start from rounded inputs: what is left is the result's own rounding.
        DType::F16 | DType::BF16 => Tolerance {
            ulps: (2.0, dtype),
            ..Tolerance::EXACT
        },
        _ => Tolerance::EXACT,
    };
    match op {
        // WGSL allows pow an error of that of exp2(y log2 x): the logarithm's rounding is multiplied by y log2 x.
        "pow" | "pow_scalar" if dtype == DType::F32 => Tolerance { rtol: 3e-5, ..base },
        // Sums of terms that were rounded: what cancels leaves the terms' rounding behind.
        op if half && !ELEMENTWISE.contains(&op) => Tolerance {
            atol: ulp(1.0, dtype),
            ..base
        },
        // Backward reads the result as half width holds it, as PyTorch does; div's slopes are summed over what was
        // broadcast.
        "tanh" | "sigmoid" | "rsqrt" | "div" if half && part == Part::Gradient => Tolerance {
            atol: ulp(1.0, dtype),
            ..base
        },
        _ => base,
    }
}

/// The distance from a value to the next of `dtype`, further from zero.
pub fn ulp(value: f64, dtype: DType) -> f64 {
    let (digits, lowest) = match dtype {
        DType::F16 => (10, -14),
        DType::BF16 => (7, -126),
        DType::F32 => (23, -126),
        _ => (52, -1022),
    };
    let exponent = if value == 0.0 || !value.is_finite() {
        lowest
    } else {
        (value.abs().log2().floor() as i32).max(lowest)
    };
    2f64.powi(exponent - digits)
}

/// The first difference beyond the tolerance, in words.
pub fn differs(got: &[f64], want: &[f64], tol: Tolerance, magnitude: f64) -> Option<String> {
    if got.len() != want.len() {
        return Some(format!("{} values, {} wanted", got.len(), want.len()));
    }
    let mut worst: Option<(f64, usize)> = None;
    for (i, (&g, &w)) in got.iter().zip(want).enumerate() {
        let (count, dtype) = tol.ulps;
        let allowed =
            tol.rtol * w.abs() + tol.atol * magnitude.max(w.abs()) + count * ulp(w, dtype);
        // What is too large for a narrow type is its infinity.
        let w = crate::problem::rounded(w, dtype);
        let excess = if g == w || (g.is_nan() && w.is_nan()) {
            0.0
        } else {
            (g - w).abs() / allowed.max(f64::MIN_POSITIVE)
        };
        // NaN compares as no excess, yet it is the worst of all.
        let excess = if excess.is_nan() {
            f64::INFINITY
        } else {
            excess
        };
        if excess > 1.0 && worst.is_none_or(|(x, _)| excess > x) {
            worst = Some((excess, i));
        }
    }
    worst.map(|(excess, i)| {
        format!(
            "element {i}: got {:e}, want {:e}, {excess:.3} times what is allowed",
            got[i], want[i]
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_in_the_last_place() {
        assert_eq!(ulp(1.0, DType::F16), 2f64.powi(-10));
        assert_eq!(ulp(-1.99, DType::F16), 2f64.powi(-10));
        assert_eq!(ulp(65504.0, DType::F16), 32.0);
        assert_eq!(ulp(0.0, DType::F16), 2f64.powi(-24));
        assert_eq!(ulp(3.0, DType::BF16), 2f64.powi(-6));
    }

    #[test]
    fn infinity_and_nan_are_only_like_themselves() {
        let tol = tolerance("exp", DType::F16, Part::Value);
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        assert_eq!(differs(&[inf, nan], &[1e6, nan], tol, 1.0), None);
        for (got, want) in [(1.0, inf), (inf, 1.0), (nan, 1.0), (1.0, nan), (-inf, inf)] {
            assert!(
                differs(&[got], &[want], tol, 1.0).is_some(),
                "{got} for {want}"
            );
        }
    }
}
