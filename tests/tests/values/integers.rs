//! Integers and bools: PyTorch's result types, wrapping, division, and values beyond what a float can hold.
//!
//! WGSL has no 64-bit integers: what a device cannot compute on one is a typed error there, never another number.

use conformance::devices;
use tensor::{Bool, DType, Device, Element, Error, Result, Tensor};

/// A tensor of `dtype`, exactly.
fn make(values: &[i64], shape: &[usize], dtype: DType, device: &Device) -> Tensor {
    fn all<T: Element>(v: &[i64], shape: &[usize], d: &Device, f: impl Fn(i64) -> T) -> Tensor {
        let v: Vec<T> = v.iter().map(|&v| f(v)).collect();
        Tensor::from_slice(&v, shape, d).unwrap()
    }
    match dtype {
        DType::Bool => all(values, shape, device, |v| Bool::new(v != 0)),
        DType::U8 => all(values, shape, device, |v| u8::try_from(v).unwrap()),
        DType::I32 => all(values, shape, device, |v| i32::try_from(v).unwrap()),
        DType::I64 => all(values, shape, device, |v| v),
        float => Tensor::from_f64s(values.iter().map(|&v| v as f64), shape, float, device).unwrap(),
    }
}

fn line(values: &[i64], dtype: DType, device: &Device) -> Tensor {
    make(values, &[values.len()], dtype, device)
}

/// Integers exactly; floats must be whole.
fn read(t: &Tensor) -> Result<Vec<i64>> {
    pollster::block_on(async {
        Ok(match t.dtype() {
            DType::Bool => t
                .to_vec::<Bool>()
                .await?
                .iter()
                .map(|b| i64::from(b.get()))
                .collect(),
            DType::U8 => t.to_vec::<u8>().await?.into_iter().map(i64::from).collect(),
            DType::I32 => t
                .to_vec::<i32>()
                .await?
                .into_iter()
                .map(i64::from)
                .collect(),
            DType::I64 => t.to_vec::<i64>().await?,
            _ => {
                let values = t.to_f64s().await?;
                assert!(values.iter().all(|v| v.fract() == 0.0), "{values:?}");
                values.into_iter().map(|v| v as i64).collect()
            }
        })
    })
}

/// The types that a device holds.
fn held(device: &Device) -> Vec<DType> {
    DType::ALL
        .into_iter()
        .filter(|&d| device.backend().supports(d))
        .collect()
}

fn unsupported(e: &Error) -> bool {
    matches!(e, Error::UnsupportedDType { .. })
}

#[test]
fn two_types_meet_in_pytorchs_type() {
    use DType::{BF16, Bool, F16, F32, F64, I32, I64, U8};
    // torch.promote_types, rows and columns in the order of DType::ALL.
    let table = [
        [Bool, U8, I32, I64, F16, BF16, F32, F64],
        [U8, U8, I32, I64, F16, BF16, F32, F64],
        [I32, I32, I32, I64, F16, BF16, F32, F64],
        [I64, I64, I64, I64, F16, BF16, F32, F64],
        [F16, F16, F16, F16, F16, F32, F32, F64],
        [BF16, BF16, BF16, BF16, F32, BF16, F32, F64],
        [F32, F32, F32, F32, F32, F32, F32, F64],
        [F64, F64, F64, F64, F64, F64, F64, F64],
    ];
    let mut failures = Vec::new();
    for device in devices::under_test() {
        for (i, a) in DType::ALL.into_iter().enumerate() {
            for (j, b) in DType::ALL.into_iter().enumerate() {
                let held = held(&device);
                if !held.contains(&a) || !held.contains(&b) {
                    continue;
                }
                let want = table[i][j];
                let x = line(&[1, 0, 1], a, &device);
                let y = line(&[1, 0, 0], b, &device);
                let sum = if want == DType::Bool {
                    [1, 0, 1]
                } else {
                    [2, 0, 1]
                };
                let got: Vec<(&str, Result<Tensor>, DType, [i64; 3])> = vec![
                    ("add", x.add(&y), want, sum),
                    ("maximum", x.maximum(&y), want, [1, 0, 1]),
                    ("eq", x.eq(&y), DType::Bool, [1, 1, 0]),
                    ("gt", x.gt(&y), DType::Bool, [0, 0, 1]),
                    ("where", x.eq(&y).unwrap().where_(&x, &y), want, [1, 0, 0]),
                    (
                        "cat",
                        Tensor::cat(&[&x, &y], 0).and_then(|t| t.narrow(0, 2, 3)),
                        want,
                        [1, 1, 0],
                    ),
                    ("mul", x.mul(&y), want, [1, 0, 0]),
                ];
                for (op, got, dtype, values) in got {
                    let label = format!("{op} of {a} and {b} on {}", device.id());
                    match got.and_then(|t| Ok((t.dtype(), read(&t)?))) {
                        Ok(got) if got == (dtype, values.to_vec()) => {}
                        Err(e) if unsupported(&e) && op == "mul" && want == I64 => {}
                        got => failures.push(format!("{label}: {got:?}, want {dtype} {values:?}")),
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// A tensor without dimensions changes the result's type only by a higher kind: bool, integer, float.
#[test]
fn a_zero_dimensional_operand_yields() {
    use DType::{Bool, F16, F32, F64, I32, I64, U8};
    let rows = [
        (I64, F32, F32),
        (I64, F16, F16),
        (U8, I64, U8),
        (I32, I64, I32),
        (Bool, I64, I64),
        (I32, Bool, I32),
        (F16, F64, F16),
        (F16, F32, F16),
        (F32, F64, F32),
        (F32, I64, F32),
    ];
    for device in devices::under_test() {
        for (many, zero, want) in rows {
            let x = line(&[1, 0, 1], many, &device);
            // The CPU's zero-dimensional tensors meet those of every device.
            let z = make(&[1], &[], zero, &Device::cpu());
            for (got, order) in [(x.add(&z), "first"), (z.add(&x), "second")] {
                let label = format!("{many}[3] {order} with {zero}[] on {}", device.id());
                let got = got.unwrap_or_else(|e| panic!("{label}: {e}"));
                assert_eq!(got.dtype(), want, "{label}");
                assert_eq!(read(&got).unwrap(), [2, 1, 2], "{label}");
                assert!(got.device().same(&device), "{label}");
            }
        }
    }
}

/// Name, function, inputs, and what PyTorch gives.
struct Row {
    name: &'static str,
    dtype: DType,
    inputs: &'static [&'static [i64]],
    f: fn(&[Tensor]) -> Result<Tensor>,
    want: std::result::Result<(DType, &'static [i64]), &'static str>,
}

const fn row(
    name: &'static str,
    dtype: DType,
    inputs: &'static [&'static [i64]],
    f: fn(&[Tensor]) -> Result<Tensor>,
    want: std::result::Result<(DType, &'static [i64]), &'static str>,
) -> Row {
    Row {
        name,
        dtype,
        inputs,
        f,
        want,
    }
}

const I32_MAX: i64 = i32::MAX as i64;
const I32_MIN: i64 = i32::MIN as i64;
/// Two neighbours that float64 cannot tell apart.
const BIG: i64 = (1 << 53) + 1;

#[rustfmt::skip]
const ROWS: &[Row] = &[
    // Overflow wraps.
    row("add", DType::I32, &[&[I32_MAX, -5], &[1, 7]], |x| x[0].add(&x[1]), Ok((DType::I32, &[I32_MIN, 2]))),
    row("add", DType::U8, &[&[250, 3], &[10, 4]], |x| x[0].add(&x[1]), Ok((DType::U8, &[4, 7]))),
    row("add", DType::I64, &[&[i64::MAX, 0xFFFF_FFFF], &[1, 1]], |x| x[0].add(&x[1]), Ok((DType::I64, &[i64::MIN, 1 << 32]))),
    row("add", DType::Bool, &[&[1, 1, 0], &[1, 0, 0]], |x| x[0].add(&x[1]), Ok((DType::Bool, &[1, 1, 0]))),
    row("sub", DType::U8, &[&[3, 9], &[5, 9]], |x| x[0].sub(&x[1]), Ok((DType::U8, &[254, 0]))),
    row("sub", DType::I32, &[&[I32_MIN], &[1]], |x| x[0].sub(&x[1]), Ok((DType::I32, &[I32_MAX]))),
    row("sub", DType::I64, &[&[0, BIG], &[1, BIG - 2]], |x| x[0].sub(&x[1]), Ok((DType::I64, &[-1, 2]))),
    row("mul", DType::I32, &[&[65536, -3], &[65536, 7]], |x| x[0].mul(&x[1]), Ok((DType::I32, &[0, -21]))),
    row("mul", DType::U8, &[&[16, 3], &[17, 5]], |x| x[0].mul(&x[1]), Ok((DType::U8, &[16, 15]))),
    row("mul", DType::Bool, &[&[1, 1, 0], &[1, 0, 0]], |x| x[0].mul(&x[1]), Ok((DType::Bool, &[1, 0, 0]))),
    row("mul", DType::I64, &[&[1 << 40, -3], &[8, 7]], |x| x[0].mul(&x[1]), Ok((DType::I64, &[1 << 43, -21]))),
    row("neg", DType::I32, &[&[I32_MIN, 5]], |x| x[0].neg(), Ok((DType::I32, &[I32_MIN, -5]))),
    row("neg", DType::U8, &[&[1, 0]], |x| x[0].neg(), Ok((DType::U8, &[255, 0]))),
    row("neg", DType::I64, &[&[i64::MIN, 5]], |x| x[0].neg(), Ok((DType::I64, &[i64::MIN, -5]))),
    row("abs", DType::I32, &[&[I32_MIN, -5, 3]], |x| x[0].abs(), Ok((DType::I32, &[I32_MIN, 5, 3]))),
    row("abs", DType::U8, &[&[200, 0]], |x| x[0].abs(), Ok((DType::U8, &[200, 0]))),
    row("square", DType::I32, &[&[-7, 65536]], |x| x[0].square(), Ok((DType::I32, &[49, 0]))),
    row("sign", DType::I32, &[&[-7, 0, 9]], |x| x[0].sign(), Ok((DType::I32, &[-1, 0, 1]))),
    row("sign", DType::U8, &[&[200, 0]], |x| x[0].sign(), Ok((DType::U8, &[1, 0]))),
    row("floor", DType::I32, &[&[-7, 0, 9]], |x| x[0].floor(), Ok((DType::I32, &[-7, 0, 9]))),
    row("relu", DType::I32, &[&[-7, 0, 9]], |x| x[0].relu(), Ok((DType::I32, &[0, 0, 9]))),
    row("clamp", DType::I32, &[&[-7, 0, 9]], |x| x[0].clamp(-1.0, 4.0), Ok((DType::I32, &[-1, 0, 4]))),
    row("add a number", DType::I32, &[&[I32_MAX]], |x| x[0].add_scalar(1.0), Ok((DType::I32, &[I32_MIN]))),
    row("add a number", DType::U8, &[&[255, 7]], |x| x[0].add_scalar(1.0), Ok((DType::U8, &[0, 8]))),
    row("add a number", DType::I64, &[&[BIG, -1]], |x| x[0].add_scalar(1.0), Ok((DType::I64, &[BIG + 1, 0]))),
    row("take from a number", DType::I32, &[&[3, 9]], |x| x[0].rsub_scalar(5.0), Ok((DType::I32, &[2, -4]))),
    row("times a fraction", DType::I32, &[&[4, 10]], |x| x[0].mul_scalar(0.5), Ok((DType::F32, &[2, 5]))),
    row("times a number", DType::U8, &[&[100, 3]], |x| x[0].mul_scalar(3.0), Ok((DType::U8, &[44, 9]))),
    // Division leaves the integers.
    row("div", DType::I32, &[&[8, -9, 0], &[2, 3, 5]], |x| x[0].div(&x[1]), Ok((DType::F32, &[4, -3, 0]))),
    row("div", DType::U8, &[&[8, 250], &[2, 5]], |x| x[0].div(&x[1]), Ok((DType::F32, &[4, 50]))),
    row("div", DType::I64, &[&[8, -9], &[2, 3]], |x| x[0].div(&x[1]), Ok((DType::F32, &[4, -3]))),
    row("div", DType::Bool, &[&[1, 0], &[1, 1]], |x| x[0].div(&x[1]), Ok((DType::F32, &[1, 0]))),
    row("is it infinite", DType::I32, &[&[1, -1], &[0, 0]], |x| x[0].div(&x[1])?.isfinite(), Ok((DType::Bool, &[0, 0]))),
    row("0 / 0", DType::I32, &[&[0], &[0]], |x| x[0].div(&x[1])?.isnan(), Ok((DType::Bool, &[1]))),
    row("sqrt", DType::I32, &[&[16, 0]], |x| x[0].sqrt(), Ok((DType::F32, &[4, 0]))),
    row("exp", DType::Bool, &[&[0, 0]], |x| x[0].exp(), Ok((DType::F32, &[1, 1]))),
    // Comparison sees every bit.
    row("eq", DType::I32, &[&[16_777_217, 5], &[16_777_216, 5]], |x| x[0].eq(&x[1]), Ok((DType::Bool, &[0, 1]))),
    row("lt", DType::I32, &[&[16_777_216, -1], &[16_777_217, 1]], |x| x[0].lt(&x[1]), Ok((DType::Bool, &[1, 1]))),
    row("gt", DType::U8, &[&[200, 5], &[100, 6]], |x| x[0].gt(&x[1]), Ok((DType::Bool, &[1, 0]))),
    row("eq", DType::I64, &[&[BIG, 7], &[BIG - 1, 7]], |x| x[0].eq(&x[1]), Ok((DType::Bool, &[0, 1]))),
    row("lt", DType::I64, &[&[-1, BIG - 1, 1 << 32], &[0, BIG, 1]], |x| x[0].lt(&x[1]), Ok((DType::Bool, &[1, 1, 0]))),
    row("ge", DType::I64, &[&[-1, i64::MIN, 3], &[-1, i64::MAX, -3]], |x| x[0].ge(&x[1]), Ok((DType::Bool, &[1, 0, 1]))),
    row("maximum", DType::I32, &[&[16_777_217, -9], &[16_777_216, -8]], |x| x[0].maximum(&x[1]), Ok((DType::I32, &[16_777_217, -8]))),
    row("minimum", DType::I64, &[&[BIG, -9], &[BIG - 1, 9]], |x| x[0].minimum(&x[1]), Ok((DType::I64, &[BIG - 1, -9]))),
    row("maximum", DType::Bool, &[&[1, 0], &[0, 0]], |x| x[0].maximum(&x[1]), Ok((DType::Bool, &[1, 0]))),
    row("not", DType::Bool, &[&[1, 0]], |x| x[0].logical_not(), Ok((DType::Bool, &[0, 1]))),
    row("not", DType::I64, &[&[1 << 40, 0]], |x| x[0].logical_not(), Ok((DType::Bool, &[0, 1]))),
    row("isnan", DType::I32, &[&[1]], |x| x[0].isnan(), Ok((DType::Bool, &[0]))),
    row("isfinite", DType::I64, &[&[1 << 40]], |x| x[0].isfinite(), Ok((DType::Bool, &[1]))),
    row("masked_fill", DType::I64, &[&[BIG, 5]], |x| x[0].masked_fill(&x[0].eq(&x[0].narrow(0, 1, 1)?)?, 9.0), Ok((DType::I64, &[BIG, 9]))),
    // Reductions: sums and products count in int64.
    row("sum", DType::Bool, &[&[1, 1, 0, 1]], |x| x[0].sum_all(), Ok((DType::I64, &[3]))),
    row("sum", DType::U8, &[&[200, 200, 200]], |x| x[0].sum_all(), Ok((DType::I64, &[600]))),
    row("sum", DType::I32, &[&[I32_MAX, I32_MAX]], |x| x[0].sum_all(), Ok((DType::I64, &[2 * I32_MAX]))),
    row("sum", DType::I64, &[&[BIG, 1, -3]], |x| x[0].sum_all(), Ok((DType::I64, &[BIG - 2]))),
    row("prod", DType::I32, &[&[65536, 65536, 3]], |x| x[0].prod(0, false), Ok((DType::I64, &[3 << 32]))),
    row("amax", DType::I32, &[&[I32_MIN, -7]], |x| x[0].amax(&[], false), Ok((DType::I32, &[-7]))),
    row("amin", DType::I32, &[&[16_777_217, 16_777_216]], |x| x[0].amin(&[], false), Ok((DType::I32, &[16_777_216]))),
    row("amax", DType::U8, &[&[3, 200]], |x| x[0].amax(&[], false), Ok((DType::U8, &[200]))),
    row("amax", DType::I64, &[&[BIG - 1, BIG, -1]], |x| x[0].amax(&[], false), Ok((DType::I64, &[BIG]))),
    row("amin", DType::Bool, &[&[1, 0]], |x| x[0].amin(&[], false), Ok((DType::Bool, &[0]))),
    row("argmax", DType::I32, &[&[16_777_216, 16_777_217, 5]], |x| x[0].argmax(None, false), Ok((DType::I64, &[1]))),
    row("argmin", DType::I64, &[&[BIG, BIG - 1, BIG]], |x| x[0].argmin(None, false), Ok((DType::I64, &[1]))),
    row("argmax", DType::Bool, &[&[0, 1, 1]], |x| x[0].argmax(None, false), Ok((DType::I64, &[1]))),
    row("cumsum", DType::I32, &[&[I32_MAX, 1, 2]], |x| x[0].cumsum(0), Ok((DType::I64, &[I32_MAX, I32_MAX + 1, I32_MAX + 3]))),
    // Moving: every bit stays.
    row("flip", DType::I64, &[&[BIG, -BIG, 3]], |x| x[0].flip(&[0])?.contiguous(), Ok((DType::I64, &[3, -BIG, BIG]))),
    row("step", DType::U8, &[&[1, 2, 3, 4, 5]], |x| x[0].slice(0, 0, 5, 2)?.contiguous(), Ok((DType::U8, &[1, 3, 5]))),
    row("cat", DType::I64, &[&[BIG], &[-BIG]], |x| Tensor::cat(&[&x[0], &x[1]], 0), Ok((DType::I64, &[BIG, -BIG]))),
    row("cat", DType::U8, &[&[1, 2, 3], &[4, 5]], |x| Tensor::cat(&[&x[0], &x[1]], 0), Ok((DType::U8, &[1, 2, 3, 4, 5]))),
    row("cat", DType::Bool, &[&[1, 0, 1], &[1]], |x| Tensor::cat(&[&x[0], &x[1]], 0), Ok((DType::Bool, &[1, 0, 1, 1]))),
    row("gather", DType::I64, &[&[BIG, -BIG, 3], &[1, 0, 2, 0]], |x| x[0].gather(0, &x[1]), Ok((DType::I64, &[-BIG, BIG, 3, BIG]))),
    row("index_select", DType::I64, &[&[BIG, -BIG, 3], &[2, 0]], |x| x[0].index_select(0, &x[1]), Ok((DType::I64, &[3, BIG]))),
    row("pad", DType::I32, &[&[I32_MAX]], |x| x[0].pad(&[1, 1], -4.0), Ok((DType::I32, &[-4, I32_MAX, -4]))),
    row("tril", DType::I64, &[&[BIG, 2, 3, 4]], |x| x[0].view(&[2, 2])?.tril(0), Ok((DType::I64, &[BIG, 0, 3, 4]))),
    row("one-hot", DType::I64, &[&[1, 0]], |x| x[0].one_hot(3), Ok((DType::I64, &[0, 1, 0, 1, 0, 0]))),
    // Conversion.
    row("to int32", DType::I64, &[&[(1 << 32) + 5, -1, I32_MAX + 1]], |x| x[0].to_dtype(DType::I32), Ok((DType::I32, &[5, -1, I32_MIN]))),
    row("to uint8", DType::I64, &[&[300, -1, 5]], |x| x[0].to_dtype(DType::U8), Ok((DType::U8, &[44, 255, 5]))),
    row("to uint8", DType::I32, &[&[300, -1, 5]], |x| x[0].to_dtype(DType::U8), Ok((DType::U8, &[44, 255, 5]))),
    row("to bool", DType::I64, &[&[1 << 40, 0, -1]], |x| x[0].to_dtype(DType::Bool), Ok((DType::Bool, &[1, 0, 1]))),
    row("to bool", DType::U8, &[&[7, 0]], |x| x[0].to_dtype(DType::Bool), Ok((DType::Bool, &[1, 0]))),
    row("to int64", DType::I32, &[&[I32_MIN, -1, 7]], |x| x[0].to_dtype(DType::I64), Ok((DType::I64, &[I32_MIN, -1, 7]))),
    row("to int64", DType::U8, &[&[255]], |x| x[0].to_dtype(DType::I64), Ok((DType::I64, &[255]))),
    row("to float32", DType::I32, &[&[16_777_217, I32_MIN]], |x| x[0].to_dtype(DType::F32), Ok((DType::F32, &[16_777_216, I32_MIN]))),
    row("to float32", DType::I64, &[&[-(1 << 40), (1 << 40) + 1, (1 << 24) + 1]], |x| x[0].to_dtype(DType::F32), Ok((DType::F32, &[-(1 << 40), 1 << 40, 1 << 24]))),
    row("to float16", DType::I32, &[&[2049, -3]], |x| x[0].to_dtype(DType::F16), Ok((DType::F16, &[2048, -3]))),
    row("float to int", DType::F32, &[&[-17, 9]], |x| x[0].div_scalar(10.0)?.to_dtype(DType::I32), Ok((DType::I32, &[-1, 0]))),
    row("float to int64", DType::F32, &[&[-(1 << 40), 5]], |x| x[0].to_dtype(DType::I64), Ok((DType::I64, &[-(1 << 40), 5]))),
    row("float to bool", DType::F32, &[&[-3, 0]], |x| x[0].mul_scalar(0.1)?.to_dtype(DType::Bool), Ok((DType::Bool, &[1, 0]))),
    row("NaN to bool", DType::F32, &[&[0]], |x| x[0].div(&x[0])?.to_dtype(DType::Bool), Ok((DType::Bool, &[1]))),
    // In place.
    row("add_", DType::U8, &[&[250], &[10]], |x| x[0].add_(&x[1]).map(Tensor::alias), Ok((DType::U8, &[4]))),
    row("add_", DType::I64, &[&[BIG], &[1]], |x| x[0].add_(&x[1]).map(Tensor::alias), Ok((DType::I64, &[BIG + 1]))),
    row("fill_", DType::I64, &[&[BIG, 3]], |x| x[0].fill_(-4.0).map(Tensor::alias), Ok((DType::I64, &[-4, -4]))),
    row("copy_", DType::I64, &[&[0, 0], &[BIG, -1]], |x| x[0].copy_(&x[1]).map(Tensor::alias), Ok((DType::I64, &[BIG, -1]))),
    row("add_ a fraction", DType::I32, &[&[1]], |x| x[0].add_scalar_(0.5).map(Tensor::alias), Err("result type Float can't be cast to the desired output type Int")),
    // Refusals.
    row("sub", DType::Bool, &[&[1], &[1]], |x| x[0].sub(&x[1]), Err("Subtraction, the `-` operator, with two bool tensors is not supported.")),
    row("neg", DType::Bool, &[&[1]], |x| x[0].neg(), Err("Negation, the `-` operator, on a bool tensor is not supported.")),
    row("relu", DType::Bool, &[&[1]], |x| x[0].relu(), Err("Boolean inputs not supported for relu")),
    row("mean", DType::I64, &[&[1, 3]], |x| x[0].mean_all(), Err("mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: Long")),
    row("softmax", DType::I64, &[&[1, 3]], |x| x[0].softmax(0), Err("not implemented for 'Long'")),
    row("requires_grad", DType::I64, &[&[1]], |x| x[0].requires_grad_(true).map(Tensor::alias), Err("only Tensors of floating point dtype can require gradients")),
];

#[test]
fn integers_are_pytorchs() {
    let mut failures = Vec::new();
    let mut refused = Vec::new();
    for device in devices::under_test() {
        for r in ROWS {
            let inputs: Vec<Tensor> = r.inputs.iter().map(|v| line(v, r.dtype, &device)).collect();
            let label = format!("{} of {} on {}", r.name, r.dtype, device.id());
            let got = (r.f)(&inputs).and_then(|t| Ok((t.dtype(), read(&t)?)));
            match (&got, r.want) {
                (Ok((dtype, values)), Ok((want, wanted))) if *dtype == want && values == wanted => {
                }
                (Err(e), Err(text)) if e.to_string().contains(text) => {}
                (Err(e), Ok(_)) if !device.is_cpu() && unsupported(e) => refused.push(label),
                (_, want) => failures.push(format!("{label}: {got:?}, want {want:?}")),
            }
        }
    }
    println!("refused, and said so: {}", refused.join(", "));
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
