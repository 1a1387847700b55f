//! How close is close enough: one table, with a reason for every exception.

use tensor::DType;

/// Allowed difference: `rtol * |want| + atol * magnitude`, where the magnitude is what was accumulated on the way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Relative to the value wanted.
    pub rtol: f64,
    /// Relative to the magnitude.
    pub atol: f64,
}

/// The tolerance for an operation computed in `dtype`.
pub fn tolerance(op: &str, dtype: DType) -> Tolerance {
    let base = match dtype {
        // What two correct float64 programs differ by, with room for another order of summation.
        DType::F64 => Tolerance {
            rtol: 1e-9,
            atol: 1e-9,
        },
        DType::F32 => Tolerance {
            rtol: 1e-5,
            atol: 1e-6,
        },
        // Two units in the last place of the format, since both sides start from rounded inputs.
        DType::F16 => Tolerance {
            rtol: 2.0 / 1024.0,
            atol: 2.0 / 1024.0 * 1e-3,
        },
        DType::BF16 => Tolerance {
            rtol: 2.0 / 128.0,
            atol: 2.0 / 128.0 * 1e-3,
        },
        _ => Tolerance {
            rtol: 0.0,
            atol: 0.0,
        },
    };
    match (op, dtype) {
        // WGSL allows pow an error of that of exp2(y log2 x): the logarithm's rounding is multiplied by y log2 x.
        ("pow" | "pow_scalar", DType::F32) => Tolerance { rtol: 3e-5, ..base },
        _ => base,
    }
}

/// The first difference beyond the tolerance, in words; `magnitude` gives each element's own, or one for all.
pub fn differs(got: &[f64], want: &[f64], tol: Tolerance, magnitude: &[f64]) -> Option<String> {
    if got.len() != want.len() {
        return Some(format!("{} values, {} wanted", got.len(), want.len()));
    }
    let mut worst: Option<(f64, usize)> = None;
    for (i, (&g, &w)) in got.iter().zip(want).enumerate() {
        let m = magnitude
            .get(i)
            .or(magnitude.last())
            .copied()
            .unwrap_or(0.0)
            .max(w.abs());
        let allowed = tol.rtol * w.abs() + tol.atol * m;
        let same = g == w || (g.is_nan() && w.is_nan());
        let excess = if same {
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

    /// The comparer must see a planted error of 1e-3 wherever it is, in every type that it is used for.
    #[test]
    fn a_planted_error_is_seen() {
        let want: Vec<f64> = (0..257)
            .map(|i| (f64::from(i) - 128.0) / 16.0 + 0.03)
            .collect();
        for dtype in [DType::F64, DType::F32] {
            let tol = tolerance("add", dtype);
            assert_eq!(differs(&want, &want, tol, &[]), None);
            for i in 0..want.len() {
                let mut got = want.clone();
                got[i] += 1e-3 * got[i].abs().max(1.0);
                assert!(
                    differs(&got, &want, tol, &[8.0]).is_some(),
                    "{dtype} element {i}"
                );
                got[i] = f64::NAN;
                assert!(
                    differs(&got, &want, tol, &[8.0]).is_some(),
                    "{dtype} NaN at {i}"
                );
            }
        }
    }
}
