//! Conversions between float32 and the half-width formats, bit for bit.

use conformance::{devices, golden};
use serde::Deserialize;
use tensor::{DType, Element, Tensor, bf16, f16};

/// Bit patterns: of each float32, and of what PyTorch makes of it.
#[derive(Deserialize)]
struct Formats {
    f32: Vec<i32>,
    f16: Vec<i16>,
    bf16: Vec<i16>,
}

/// NaNs are one value: which of its bits survive is nobody's contract.
fn same(got: u16, want: u16, nan: impl Fn(u16) -> bool) -> bool {
    got == want || (nan(got) && nan(want))
}

fn bits<T: Element>(t: &Tensor) -> Vec<T> {
    pollster::block_on(t.to_vec::<T>()).unwrap()
}

#[test]
fn conversions_have_pytorchs_bits() {
    let formats: Formats = golden::json("formats.json");
    let values: Vec<f32> = formats
        .f32
        .iter()
        .map(|&b| f32::from_bits(b as u32))
        .collect();
    let n = values.len();
    for device in devices::under_test() {
        let label = device.id();
        let x = Tensor::from_slice(&values, &[n], &device).unwrap();
        let h = x.to_dtype(DType::F16).unwrap();
        let b = x.to_dtype(DType::BF16).unwrap();
        for (i, (got, want)) in bits::<f16>(&h).iter().zip(&formats.f16).enumerate() {
            let (got, want) = (got.to_bits(), *want as u16);
            let ok = same(got, want, |v| f16::from_bits(v).is_nan());
            assert!(
                ok,
                "{label}: float16 of {:e}: {got:#06x}, want {want:#06x}",
                values[i]
            );
        }
        for (i, (got, want)) in bits::<bf16>(&b).iter().zip(&formats.bf16).enumerate() {
            let (got, want) = (got.to_bits(), *want as u16);
            let ok = same(got, want, |v| bf16::from_bits(v).is_nan());
            assert!(
                ok,
                "{label}: bfloat16 of {:e}: {got:#06x}, want {want:#06x}",
                values[i]
            );
        }
        // Back again every value is exact.
        let wide = bits::<f32>(&h.to_dtype(DType::F32).unwrap());
        for (got, &want) in wide.iter().zip(&formats.f16) {
            let want = f16::from_bits(want as u16).to_f32();
            assert!(
                got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan()),
                "{label}: {want:e} in float16 became {got:e}"
            );
        }
        let wide = bits::<f32>(&b.to_dtype(DType::F32).unwrap());
        for (got, &want) in wide.iter().zip(&formats.bf16) {
            let want = bf16::from_bits(want as u16).to_f32();
            assert!(
                got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan()),
                "{label}: {want:e} in bfloat16 became {got:e}"
            );
        }
    }
}

/// Every float16 there is survives the way through float32 and through arithmetic that changes nothing.
#[test]
fn every_float16_comes_back() {
    let all: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
    for device in devices::under_test() {
        let x = Tensor::from_slice(&all, &[all.len()], &device).unwrap();
        let back = x
            .to_dtype(DType::F32)
            .unwrap()
            .to_dtype(DType::F16)
            .unwrap();
        let same_value = x.mul_scalar(1.0).unwrap();
        for (name, t) in [("through float32", back), ("times 1", same_value)] {
            for (got, want) in bits::<f16>(&t).iter().zip(&all) {
                assert!(
                    got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan()),
                    "{}: {:#06x} {name} is {:#06x}",
                    device.id(),
                    want.to_bits(),
                    got.to_bits()
                );
            }
        }
    }
}
