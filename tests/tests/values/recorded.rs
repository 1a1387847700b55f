//! Every recorded operation, forward and backward, on every device, in every arrangement of its inputs.

use conformance::compare::{differs, tolerance};
use conformance::golden::{self, Case, Value64};
use conformance::layouts::Arrangement;
use conformance::{devices, ops};
use std::collections::HashMap;
use tensor::{DType, Device, Tensor};

/// What an operation adds up on its way: its result on absolute values bounds the rounding of a sum of products.
fn magnitude(want: &Value64) -> Vec<f64> {
    vec![
        want.values
            .iter()
            .fold(1.0, |m: f64, v| m.max(v.abs()).min(1e6)),
    ]
}

fn check(label: &str, got: &Tensor, want: &Value64, op: &str, dtype: DType) -> Result<(), String> {
    if got.shape() != want.shape {
        return Err(format!(
            "{label}: shape {:?}, want {:?}",
            got.shape(),
            want.shape
        ));
    }
    let values = pollster::block_on(got.to_f64s()).map_err(|e| format!("{label}: {e}"))?;
    let tol = tolerance(
        op,
        if got.dtype().is_float() {
            dtype
        } else {
            got.dtype()
        },
    );
    differs(&values, &want.values, tol, &magnitude(want))
        .map_or(Ok(()), |d| Err(format!("{label}: {d}")))
}

fn run(
    case: &Case,
    data: &HashMap<String, Value64>,
    device: &Device,
    dtype: DType,
    how: Arrangement,
) -> Result<(), String> {
    let label = format!("{} {} {dtype} {how:?}", case.id, device.id());
    let fail = |e: tensor::Error| format!("{label}: {e}");
    let mut inputs = Vec::new();
    for (n, key) in case.inputs.iter().enumerate() {
        let value = &data[key];
        let kind = if value.dtype.is_float() {
            dtype
        } else {
            value.dtype
        };
        let x = how.apply(&value.tensor(kind, device));
        if case.grads.get(n).is_some_and(Option::is_some) {
            x.requires_grad_(true).map_err(fail)?;
        }
        inputs.push(x);
    }
    let outputs = ops::apply(case, &inputs)
        .ok_or_else(|| format!("{label}: no such operation"))?
        .map_err(fail)?;
    for (n, (got, key)) in outputs.iter().zip(&case.outputs).enumerate() {
        check(
            &format!("{label} output {n}"),
            got,
            &data[key],
            &case.op,
            dtype,
        )?;
    }
    let mut flows = case.grad_outputs.iter();
    for out in outputs.iter().filter(|t| t.requires_grad()) {
        let key = flows
            .next()
            .ok_or_else(|| format!("{label}: more outputs than gradients"))?;
        out.backward_with(&data[key].tensor(dtype, device), true)
            .map_err(fail)?;
    }
    for (n, key) in case.grads.iter().enumerate() {
        let Some(key) = key else { continue };
        let grad = inputs[n]
            .grad()
            .ok_or_else(|| format!("{label}: input {n} has no gradient"))?;
        check(
            &format!("{label} gradient {n}"),
            &grad,
            &data[key],
            &case.op,
            dtype,
        )?;
    }
    Ok(())
}

#[test]
fn operations_and_gradients_are_pytorchs() {
    let data = golden::tensors("ops.safetensors");
    let mut failures = Vec::new();
    let mut count = 0;
    for device in devices::under_test() {
        for case in golden::cases() {
            for dtype in [DType::F64, DType::F32] {
                if !device.backend().supports(dtype) {
                    continue;
                }
                for how in Arrangement::ALL {
                    count += 1;
                    failures.extend(run(&case, &data, &device, dtype, how).err());
                }
            }
        }
    }
    println!("{count} runs of recorded operations");
    assert!(
        failures.is_empty(),
        "{} of {count} failed:\n{}",
        failures.len(),
        failures.join("\n")
    );
}
