//! The 400 recorded chains of view operations: shape, strides, offset, sharing and values must be PyTorch's.

use conformance::{devices, golden};
use serde::Deserialize;
use serde_json::Value;
use tensor::{DType, Device, Error, Result, Tensor};

#[derive(Deserialize)]
struct Chain {
    shape: Vec<usize>,
    chain: Vec<Vec<Value>>,
    out_shape: Vec<usize>,
    out_stride: Vec<isize>,
    offset: usize,
    contiguous: bool,
    shares_storage: bool,
    /// The first 64.
    values: Vec<f64>,
    views: Vec<View>,
}

/// Whether `view` reaches this shape, and with which strides.
#[derive(Deserialize)]
struct View {
    target: Vec<isize>,
    ok: bool,
    stride: Option<Vec<isize>>,
}

fn number(value: &Value) -> isize {
    value.as_i64().unwrap() as isize
}

fn numbers(value: &Value) -> Vec<isize> {
    value.as_array().unwrap().iter().map(number).collect()
}

fn apply(x: &Tensor, step: &[Value]) -> Result<Tensor> {
    let (name, args) = step.split_first().unwrap();
    match (name.as_str().unwrap(), args) {
        ("transpose", [a, b]) => x.transpose(number(a), number(b)),
        ("permute", [dims]) => x.permute(&numbers(dims)),
        ("narrow", [d, start, length]) => {
            x.narrow(number(d), number(start), number(length) as usize)
        }
        ("select", [d, index]) => x.select(number(d), number(index)),
        ("step", [d, k]) => x.slice(number(d), 0, isize::MAX, number(k)),
        ("expand", [shape]) => x.expand(&numbers(shape)),
        ("squeeze", [d]) => x.squeeze(number(d)),
        ("unsqueeze", [d]) => x.unsqueeze(number(d)),
        ("reshape", [shape]) => x.reshape(&numbers(shape)),
        ("contiguous", []) => x.contiguous(),
        other => panic!("no such operation: {other:?}"),
    }
}

fn replay(case: &Chain, device: &Device) {
    let numel: usize = case.shape.iter().product();
    let shape: Vec<isize> = case.shape.iter().map(|&n| n as isize).collect();
    let base = Tensor::arange(0.0, numel as f64, 1.0, DType::F32, device)
        .unwrap()
        .view(&shape)
        .unwrap();
    let mut x = base.alias();
    for step in &case.chain {
        x = apply(&x, step).unwrap();
    }
    assert_eq!(x.shape(), case.out_shape);
    assert_eq!(x.stride(), case.out_stride);
    assert_eq!(x.layout().offset(), case.offset);
    assert_eq!(x.is_contiguous(), case.contiguous);
    assert_eq!(x.shares_storage(&base), case.shares_storage);
    let values = x.to_f64s_now().unwrap();
    assert_eq!(values[..values.len().min(64)], case.values);

    for view in &case.views {
        match x.view(&view.target) {
            Ok(seen) => {
                assert!(view.ok, "view({:?}) should fail", view.target);
                assert_eq!(
                    Some(seen.stride()),
                    view.stride.as_deref(),
                    "view({:?})",
                    view.target
                );
                assert!(seen.shares_storage(&x));
                assert_eq!(seen.to_f64s_now().unwrap(), values);
            }
            Err(error) => {
                assert!(!view.ok, "view({:?}): {error}", view.target);
                assert!(matches!(error, Error::ViewIncompatible { .. }), "{error}");
                assert!(x.reshape_copies(&view.target).unwrap());
                assert_eq!(
                    x.reshape(&view.target).unwrap().to_f64s_now().unwrap(),
                    values
                );
            }
        }
    }
}

#[test]
fn layout_chains_are_pytorchs() {
    let cases: Vec<Chain> = golden::json("layout.json");
    assert_eq!(cases.len(), 400);
    for device in devices::under_test() {
        for (number, case) in cases.iter().enumerate() {
            let chain = || replay(case, &device);
            if std::panic::catch_unwind(std::panic::AssertUnwindSafe(chain)).is_err() {
                panic!(
                    "chain {number} on {}: {:?} then {:?}",
                    device.id(),
                    case.shape,
                    case.chain
                );
            }
        }
        println!("layout: 400 chains on {}", device.id());
    }
}
