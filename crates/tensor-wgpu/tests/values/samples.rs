//! Values worth trying in each type, and when two of them count as equal.

use tensor::DType;

/// Types that the device stores.
pub const STORED: [DType; 7] = [
    DType::Bool,
    DType::U8,
    DType::I32,
    DType::I64,
    DType::F16,
    DType::BF16,
    DType::F32,
];

/// Values worth trying, as bytes of `dtype`.
pub fn samples(dtype: DType) -> Vec<u8> {
    let floats: Vec<f32> = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        1.5,
        2.5,
        -2.5,
        1e-3,
        -1e-3,
        1e-7,
        -1e-7,
        0.3,
        0.7,
        0.9,
        0.99,
        1.01,
        1.0001,
        3.0,
        -3.0,
        3.25,
        -7.75,
        10.0,
        -10.0,
        20.0,
        80.0,
        -80.0,
        88.5,
        89.5,
        -87.0,
        100.0,
        255.0,
        256.0,
        1000.5,
        -1000.5,
        65504.0,
        65520.0,
        1e5,
        2147483648.0,
        -2147483648.0,
        4e9,
        -4e9,
        1e15,
        -1e15,
        1e20,
        1e38,
        -1e38,
        1e-38,
        6e-5,
        5.9e-8,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        std::f32::consts::PI,
        -100.25,
        7.0,
        0.25,
        1e-20,
        12.0,
        -12.0,
    ]
    .into();
    match dtype {
        DType::F32 => floats.iter().flat_map(|v| v.to_le_bytes()).collect(),
        DType::F16 => floats
            .iter()
            .flat_map(|v| tensor::f16::from_f32(*v).to_le_bytes())
            .collect(),
        DType::BF16 => floats
            .iter()
            .flat_map(|v| tensor::bf16::from_f32(*v).to_le_bytes())
            .collect(),
        DType::I32 => [
            0,
            1,
            -1,
            2,
            3,
            -7,
            100,
            255,
            256,
            -128,
            65536,
            i32::MAX,
            i32::MIN,
            16777217,
            -16777219,
            5,
        ]
        .iter()
        .flat_map(|v: &i32| v.to_le_bytes())
        .collect(),
        DType::I64 => [
            0,
            1,
            -1,
            2,
            3,
            -7,
            255,
            256,
            1 << 31,
            1 << 32,
            -(1 << 32),
            (1 << 53) + 1,
            i64::MAX,
            i64::MIN,
            0xffff_ffff,
            0x1234_5678_9abc_def0,
            -0x1234_5678_9abc_def0,
            (1 << 40) - 1,
            0x00ff_ffff_8000_0000,
            0x0100_0000_8000_0001,
        ]
        .iter()
        .flat_map(|v: &i64| v.to_le_bytes())
        .collect(),
        DType::U8 => (0..=255)
            .step_by(5)
            .chain([1, 2, 3])
            .map(|v: i32| v as u8)
            .collect(),
        _ => vec![0, 1, 1, 0, 1],
    }
}

/// Every sample against every sample: two operands of equal length.
pub fn pairs(dtype: DType) -> (Vec<u8>, Vec<u8>) {
    let (all, size) = (samples(dtype), dtype.size());
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for x in all.chunks(size) {
        for y in all.chunks(size) {
            a.extend_from_slice(x);
            b.extend_from_slice(y);
        }
    }
    (a, b)
}

pub fn value(dtype: DType, bytes: &[u8]) -> f64 {
    match dtype {
        DType::F32 => f64::from(f32::from_le_bytes(bytes.try_into().unwrap())),
        DType::F16 => tensor::f16::from_le_bytes(bytes.try_into().unwrap()).to_f64(),
        DType::BF16 => tensor::bf16::from_le_bytes(bytes.try_into().unwrap()).to_f64(),
        _ => unreachable!("only floats are compared by value"),
    }
}

/// The same with zeros in place of what float32 holds as subnormal numbers.
pub fn without_subnormals(dtype: DType, bytes: &[u8]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    if matches!(dtype, DType::F32 | DType::BF16) {
        for element in out.chunks_mut(dtype.size()) {
            if value(dtype, element).abs() < f64::from(f32::MIN_POSITIVE) {
                let sign = element.last().copied().unwrap_or_default() & 0x80;
                element.fill(0);
                if let Some(last) = element.last_mut() {
                    *last = sign;
                }
            }
        }
    }
    out
}

/// Floats may differ by this, relative to the CPU's; whatever is subnormal may be flushed to zero.
pub fn close(dtype: DType, got: &[u8], want: &[u8], tolerance: f64) -> bool {
    if got == want {
        return true;
    }
    if !dtype.is_float() {
        return false;
    }
    let (g, w) = (value(dtype, got), value(dtype, want));
    let ulp = match dtype {
        DType::F16 => 2f64.powi(-10),
        DType::BF16 => 2f64.powi(-7),
        _ => 0.0,
    };
    let smallest = if dtype == DType::F16 { 6e-8 } else { 1.2e-38 };
    (g.is_nan() && w.is_nan()) || g == w || (g - w).abs() <= (tolerance + ulp) * w.abs() + smallest
}
