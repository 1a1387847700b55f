// Functions that kernels may use. The device puts those in front of a kernel that its text names, and no others.
// Functions are separated by blank lines; the comment above a function travels with it.

// Element at which operand k begins in its binding.
fn off(k: u32) -> u32 {
    return launch.offset[k >> 2u][k & 3u];
}

// Number of this invocation; workgroups are folded into rows of launch.row.
fn linear_index(wid: vec3<u32>, lid: u32) -> u32 {
    return launch.first + (wid.x + wid.y * launch.row) * WG + lid;
}

// Number of this workgroup.
fn group_index(wid: vec3<u32>) -> u32 {
    return launch.first + wid.x + wid.y * launch.row;
}

// Note a bad value. The first one wins: it claims the record, then fills it.
fn raise(value: vec2<u32>) {
    if (atomicMax(&fault[0], 1u) == 0u) {
        atomicStore(&fault[1], launch.check);
        atomicStore(&fault[2], value.x);
        atomicStore(&fault[3], value.y);
    }
}

// Infinity and NaN come from the launch's header, because WGSL refuses them as constants.
fn inf() -> f32 {
    return bitcast<f32>(launch.inf);
}

fn nan() -> f32 {
    return bitcast<f32>(launch.nan);
}

// By bits: the compiler may assume that a float is never NaN.
fn is_nan(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

// By bits: neither infinite nor NaN.
fn is_finite(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u;
}

fn max_nan(a: f32, b: f32) -> f32 {
    return select(select(max(a, b), b, is_nan(b)), a, is_nan(a));
}

fn min_nan(a: f32, b: f32) -> f32 {
    return select(select(min(a, b), b, is_nan(b)), a, is_nan(a));
}

// Byte i & 3 of a word.
fn byte_at(word: u32, i: u32) -> u32 {
    return (word >> ((i & 3u) * 8u)) & 0xffu;
}

// Half i & 1 of a word.
fn half_at(word: u32, i: u32) -> u32 {
    return (word >> ((i & 1u) * 16u)) & 0xffffu;
}

// x * 2^k for k of any size, in two steps so that neither factor leaves the range of f32.
fn scale2(x: f32, k: i32) -> f32 {
    let n = clamp(k, -252, 252);
    let a = n / 2;
    return x * bitcast<f32>(u32(a + 127) << 23u) * bitcast<f32>(u32(n - a + 127) << 23u);
}

// e^x: x = k ln 2 + r with |r| <= ln 2 / 2, a polynomial for e^r, then times 2^k.
fn exp_(x: f32) -> f32 {
    if (is_nan(x)) { return x; }
    if (x > 88.72284) { return inf(); }
    if (x < -104.0) { return 0.0; }
    let k = round(x * 1.44269504);
    let r = (x - k * 0.693359375) + k * 2.12194440e-4;
    let q = r * r * ((((((1.9875691500e-4 * r + 1.3981999507e-3) * r + 8.3334519073e-3) * r + 4.1665795894e-2) * r
        + 1.6666665459e-1) * r + 5.0000001201e-1));
    return scale2(1.0 + (r + q), i32(k));
}

// e^x - 1 without cancellation near zero.
fn expm1_(x: f32) -> f32 {
    if (abs(x) > 0.5) { return exp_(x) - 1.0; }
    let q = ((((((2.48015873e-5 * x + 1.9841270e-4) * x + 1.3888889e-3) * x + 8.3333333e-3) * x + 4.16666667e-2) * x
        + 1.66666667e-1) * x + 0.5) * x * x;
    return x + q;
}

// ln(1 + f) for 1 + f in sqrt(1/2)..sqrt(2), plus k ln 2: the atanh series in s = f / (2 + f).
fn log_sum(f: f32, k: f32) -> f32 {
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let r = z * (0.66666662693 + w * 0.28498786688) + w * (0.40000972152 + w * 0.24279078841);
    let h = 0.5 * f * f;
    return (s * (h + r) + k * 9.0580006145e-6) - h + f + k * 0.69313812256;
}

// Natural logarithm: x = 2^k (1 + f).
fn log_(x: f32) -> f32 {
    if (is_nan(x) || x < 0.0) { return nan(); }
    var bits = bitcast<u32>(x) & 0x7fffffffu;
    if (bits == 0u) { return -inf(); }
    if (bits == 0x7f800000u) { return x; }
    var k = -127;
    if (bits < 0x00800000u) {
        // A subnormal: its value is its bits times 2^-149, and the bits convert exactly.
        bits = bitcast<u32>(f32(bits));
        k -= 149;
    }
    bits += 0x3f800000u - 0x3f3504f3u;
    k += i32(bits >> 23u);
    let f = bitcast<f32>((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0;
    return log_sum(f, f32(k));
}

// ln(1 + x): the rounding error of 1 + x is put back, so that a small x keeps its digits.
fn log1p_(x: f32) -> f32 {
    if (is_nan(x) || x < -1.0) { return nan(); }
    if (x == -1.0) { return -inf(); }
    if (!is_finite(x)) { return x; }
    if (abs(x) < 5.9604645e-8) { return x; }
    if (x > -0.29289 && x < 0.41421) { return log_sum(x, 0.0); }
    let u = 1.0 + x;
    let lost = select(x - (u - 1.0), 1.0 - (u - x), x >= 1.0);
    return log_(u) + lost / u;
}

// sin and cos of r in -pi/4..pi/4 by their series.
fn sin_part(r: f32) -> f32 {
    let z = r * r;
    return r + r * z * (-1.6666654611e-1 + z * (8.3321608736e-3 - z * 1.9515295891e-4));
}

fn cos_part(r: f32) -> f32 {
    let z = r * r;
    return 1.0 - 0.5 * z + z * z * (4.166664568298827e-2 + z * (-1.388731625493765e-3 + z * 2.443315711809948e-5));
}

// x less the nearest multiple of pi/2 (in .x), pi/2 taken in four pieces, and which multiple modulo 4 (in .y).
fn quarter_turns(x: f32) -> vec2<f32> {
    let k = round(x * 0.63661977);
    let r = ((x - k * 1.5703125) - k * 4.8351287841796875e-4) - k * 3.1385570764541626e-7 - k * 6.0771005065061922e-11;
    return vec2<f32>(r, k - 4.0 * floor(k * 0.25));
}

fn sin_(x: f32) -> f32 {
    if (!is_finite(x)) { return nan(); }
    let q = quarter_turns(x);
    let odd = q.y == 1.0 || q.y == 3.0;
    let value = select(sin_part(q.x), cos_part(q.x), odd);
    return select(value, -value, q.y >= 2.0);
}

fn cos_(x: f32) -> f32 {
    if (!is_finite(x)) { return nan(); }
    let q = quarter_turns(x);
    let odd = q.y == 1.0 || q.y == 3.0;
    let value = select(cos_part(q.x), sin_part(q.x), odd);
    return select(value, -value, q.y == 1.0 || q.y == 2.0);
}

// A polynomial near zero, where 1 - 2 / (e^2x + 1) would cancel.
fn tanh_(x: f32) -> f32 {
    if (is_nan(x)) { return x; }
    let a = abs(x);
    if (a < 0.625) {
        let z = x * x;
        return x + x * z * ((((-5.70498872745e-3 * z + 2.06390887954e-2) * z - 5.37397155531e-2) * z
            + 1.33314422036e-1) * z - 3.33332819422e-1);
    }
    let t = 1.0 - 2.0 / (exp_(2.0 * min(a, 20.0)) + 1.0);
    return select(t, -t, x < 0.0);
}

// Near zero the series 2/sqrt(pi) x (1 - x^2/3 + ...); further out 1 - e^(-x^2) times a rational approximation
// of the rest (erfc's polynomial in t = 1 / (1 + x/2), from its Chebyshev expansion).
fn erf_(x: f32) -> f32 {
    if (is_nan(x)) { return x; }
    let a = abs(x);
    if (a < 0.9) {
        let z = x * x;
        return x * (1.1283791671 + z * (-3.7612638903e-1 + z * (1.1283791671e-1 + z * (-2.6866170645e-2
            + z * (5.2239776254e-3 + z * (-8.5483270234e-4 + z * (1.2055332982e-4 + z * (-1.4925650358e-5
            + z * (1.6462114366e-6 + z * -1.6365844691e-7)))))))));
    }
    let b = min(a, 6.0);
    let t = 1.0 / (1.0 + 0.5 * b);
    let q = t * exp_(-b * b - 1.26551223 + t * (1.00002368 + t * (0.37409196 + t * (0.09678418 + t * (-0.18628806
        + t * (0.27886807 + t * (-1.13520398 + t * (1.48851587 + t * (-0.82215223 + t * 0.17087277)))))))));
    return select(1.0 - q, q - 1.0, x < 0.0);
}

// x^y as C's pow: a negative base takes an integer exponent, anything to the zero is one, one to anything is one.
fn pow_(x: f32, y: f32) -> f32 {
    if (y == 0.0 || x == 1.0) { return 1.0; }
    if (is_nan(x) || is_nan(y)) { return nan(); }
    let a = abs(x);
    let whole = !is_finite(y) || floor(y) == y;
    let odd = is_finite(y) && whole && abs(y) < 16777216.0 && (i32(y) & 1) == 1;
    let negative = (bitcast<u32>(x) >> 31u) == 1u;
    if (negative && a > 0.0 && is_finite(x) && !whole) { return nan(); }
    var size = 0.0;
    if (!is_finite(y)) {
        if (a == 1.0) { return 1.0; }
        size = select(0.0, inf(), (a > 1.0) == (y > 0.0));
    } else if (a == 0.0 || !is_finite(x)) {
        size = select(0.0, inf(), (a > 0.0) == (y > 0.0));
    } else {
        size = pow_positive(a, y);
    }
    return select(size, -size, negative && odd);
}

// a^y for finite a > 0: small whole exponents by multiplication, others through log2 with a correction term.
fn pow_positive(a: f32, y: f32) -> f32 {
    let n = abs(y);
    if (n <= 16.0 && floor(n) == n) {
        var left = u32(n);
        var base = a;
        var product = 1.0;
        while (left > 0u) {
            if ((left & 1u) == 1u) { product *= base; }
            left = left >> 1u;
            if (left > 0u) { base *= base; }
        }
        return select(product, 1.0 / product, y < 0.0);
    }
    if (y == 0.5) { return sqrt(a); }
    if (y == -0.5) { return 1.0 / sqrt(a); }
    return exp_log(a, y);
}

// e^(y ln a) with ln a split into k ln 2 and the rest, so that a large product keeps its digits.
fn exp_log(a: f32, y: f32) -> f32 {
    var bits = bitcast<u32>(a);
    var k = -127;
    if (bits < 0x00800000u) {
        bits = bitcast<u32>(f32(bits));
        k -= 149;
    }
    bits += 0x3f800000u - 0x3f3504f3u;
    k += i32(bits >> 23u);
    let rest = log_sum(bitcast<f32>((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0, 0.0);
    // y * k is exact in two pieces; its whole part is a power of two, its fraction joins the exponent.
    let whole = y * f32(k);
    let lost = fma(y, f32(k), -whole);
    if (whole + y * rest * 1.442695 > 130.0) { return inf(); }
    if (whole + y * rest * 1.442695 < -160.0) { return 0.0; }
    let n = round(whole);
    let fraction = (whole - n) + lost;
    let inner = y * rest;
    let k2 = round(inner * 1.44269504);
    let r = ((inner - k2 * 0.693359375) + k2 * 2.12194440e-4) + fraction * 0.69314718;
    return scale2(exp_(r), i32(n + k2));
}

// float16 bits to f32: exact, subnormals included.
fn f32_of_f16(h: u32) -> f32 {
    let sign = (h & 0x8000u) << 16u;
    let e = (h >> 10u) & 0x1fu;
    let m = h & 0x3ffu;
    // A subnormal is m * 2^-24, which f32 holds as a normal number.
    let small = bitcast<u32>(f32(m) * 5.9604645e-8);
    let normal = ((e + 112u) << 23u) | (m << 13u);
    let special = 0x7f800000u | (m << 13u);
    return bitcast<f32>(sign | select(select(normal, small, e == 0u), special, e == 31u));
}

// f32 to float16 bits, to nearest, ties to even; from 65520 on infinite.
fn f16_of_f32(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    let sign = (bits >> 16u) & 0x8000u;
    let a = bits & 0x7fffffffu;
    if (a > 0x7f800000u) { return sign | 0x7e00u; }
    if (a >= 0x477ff000u) { return sign | 0x7c00u; }
    if (a >= 0x38800000u) { return sign | ((a + 0xfffu + ((a >> 13u) & 1u) - 0x38000000u) >> 13u); }
    // Below 2^-14: the significand counts in units of 2^-24 after a shift.
    let shift = 126u - (a >> 23u);
    if (shift > 24u) { return sign; }
    let m = (a & 0x7fffffu) | 0x800000u;
    let q = m >> shift;
    let rest = m & ((1u << shift) - 1u);
    let tie = 1u << (shift - 1u);
    let up = rest > tie || (rest == tie && (q & 1u) == 1u);
    return sign | (q + select(0u, 1u, up));
}

// bfloat16 bits to f32: they are its upper half.
fn f32_of_bf16(h: u32) -> f32 {
    return bitcast<f32>(h << 16u);
}

// f32 to bfloat16 bits, to nearest, ties to even.
fn bf16_of_f32(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    let rounded = (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
    return select(rounded, (bits >> 16u) | 0x40u, (bits & 0x7fffffffu) > 0x7f800000u);
}

// Truncated and clamped to the type's range; NaN gives 0.
fn i32_of_f32(x: f32) -> i32 {
    if (is_nan(x)) { return 0; }
    if (x >= 2147483648.0) { return 2147483647; }
    if (x <= -2147483648.0) { return i32(-2147483648); }
    return i32(x);
}

// By repeated squaring; a negative exponent leaves only 1 and -1.
fn i32_pow(base: i32, exponent: i32) -> i32 {
    if (exponent < 0) {
        if (base == 1) { return 1; }
        if (base == -1) { return select(1, -1, (exponent & 1) == 1); }
        return 0;
    }
    var left = exponent;
    var b = base;
    var product = 1;
    while (left > 0) {
        if ((left & 1) == 1) { product *= b; }
        b *= b;
        left = left >> 1u;
    }
    return product;
}

fn u8_pow(base: u32, exponent: u32) -> u32 {
    var left = exponent;
    var b = base;
    var product = 1u;
    while (left > 0u) {
        if ((left & 1u) == 1u) { product = (product * b) & 0xffu; }
        b = (b * b) & 0xffu;
        left = left >> 1u;
    }
    return product;
}

// An int64 is two words, low and high.
fn i64_of(x: i32) -> vec2<u32> {
    return vec2<u32>(u32(x), select(0u, 0xffffffffu, x < 0));
}

// The low word: right for values that fit an int32.
fn i32_of(v: vec2<u32>) -> i32 {
    return i32(v.x);
}

fn index_in(v: vec2<u32>, size: u32) -> bool {
    return v.y == 0u && v.x < size;
}

fn i64_add(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = a.x + b.x;
    return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}

fn i64_sub(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}

fn i64_neg(a: vec2<u32>) -> vec2<u32> {
    return i64_sub(vec2<u32>(0u, 0u), a);
}

// The product of two words, both words of it, by 16-bit halves.
fn wide_mul(a: u32, b: u32) -> vec2<u32> {
    let low = (a & 0xffffu) * (b & 0xffffu);
    let mid1 = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
    let mid2 = (a & 0xffffu) * (b >> 16u) + (mid1 & 0xffffu);
    return vec2<u32>((mid2 << 16u) | (low & 0xffffu), (a >> 16u) * (b >> 16u) + (mid1 >> 16u) + (mid2 >> 16u));
}

fn i64_mul(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = wide_mul(a.x, b.x);
    return vec2<u32>(low.x, low.y + a.x * b.y + a.y * b.x);
}

fn i64_lt(a: vec2<u32>, b: vec2<u32>) -> bool {
    return i32(a.y) < i32(b.y) || (a.y == b.y && a.x < b.x);
}

fn i64_min(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return select(b, a, i64_lt(a, b));
}

fn i64_max(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return select(a, b, i64_lt(a, b));
}

fn i64_abs(a: vec2<u32>) -> vec2<u32> {
    return select(a, i64_neg(a), i32(a.y) < 0);
}

fn i64_sign(a: vec2<u32>) -> vec2<u32> {
    if (i32(a.y) < 0) { return vec2<u32>(0xffffffffu, 0xffffffffu); }
    return vec2<u32>(select(0u, 1u, a.x != 0u || a.y != 0u), 0u);
}

// Truncated and clamped; exact below 2^63, since f32 holds both words of such a number exactly.
fn i64_of_f32(x: f32) -> vec2<u32> {
    if (is_nan(x)) { return vec2<u32>(0u, 0u); }
    if (x >= 9223372036854775808.0) { return vec2<u32>(0xffffffffu, 0x7fffffffu); }
    if (x <= -9223372036854775808.0) { return vec2<u32>(0u, 0x80000000u); }
    let a = floor(abs(x));
    let high = floor(a * 2.3283064e-10);
    let size = vec2<u32>(u32(a - high * 4294967296.0), u32(high));
    return select(size, i64_neg(size), x < 0.0);
}

// To nearest, ties to even: the leading 24 bits, rounded by what follows them.
fn f32_of_i64(v: vec2<u32>) -> f32 {
    let size = i64_abs(v);
    var top = size.y;
    var rest = size.x;
    var shift = 32;
    if (top == 0u) {
        top = size.x;
        rest = 0u;
        shift = 0;
    }
    if (top == 0u) { return 0.0; }
    let lead = countLeadingZeros(top);
    if (lead > 0u) {
        top = (top << lead) | (rest >> (32u - lead));
        rest = rest << lead;
    }
    let below = top & 0xffu;
    let kept = top >> 8u;
    let up = below > 0x80u || (below == 0x80u && (rest != 0u || (kept & 1u) == 1u));
    let value = scale2(f32(kept + select(0u, 1u, up)), shift + 8 - i32(lead));
    return select(value, -value, i32(v.y) < 0);
}


// Division by zero, and the one quotient that does not fit, give 0.
fn i32_div(a: i32, b: i32) -> i32 {
    if (b == 0 || (b == -1 && a == i32(-2147483648))) { return 0; }
    return a / b;
}

fn u8_div(a: u32, b: u32) -> u32 {
    if (b == 0u) { return 0u; }
    return a / b;
}

// NaN stays NaN.
fn sign_nan(x: f32) -> f32 {
    return select(sign(x), x, is_nan(x));
}

// The root of a negative number is NaN, also where a driver would give something else.
fn sqrt_(x: f32) -> f32 {
    return select(sqrt(abs(x)), nan(), x < 0.0 || is_nan(x));
}

fn rsqrt_(x: f32) -> f32 {
    if (x == 0.0) { return inf(); }
    return select(1.0 / sqrt(abs(x)), nan(), x < 0.0 || is_nan(x));
}
