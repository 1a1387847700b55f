//! An operation with its inputs and the results that are right: recorded by PyTorch, or computed in float64 on the CPU,
//! whose own results the recorded ones prove.

use crate::compare::{Part, Tolerance, differs, tolerance};
use crate::golden::{Case, Value64};
use crate::ops;
use std::collections::HashMap;
use tensor::{DType, Device, Error, Tensor, bf16, f16};

/// What an operation is given, and what it has to give.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Inputs, in order.
    pub inputs: Vec<Value64>,
    /// Gradients that flow into the results which take one, in order.
    pub flows: Vec<Value64>,
    /// Results.
    pub outputs: Vec<Value64>,
    /// Gradient of each input that has one.
    pub grads: Vec<Option<Value64>>,
}

/// What an operation gave.
pub struct Answer {
    /// Results.
    pub outputs: Vec<Tensor>,
    /// Gradient of each input that has one.
    pub grads: Vec<Option<Tensor>>,
}

/// A value as `dtype` holds it.
pub fn rounded(value: f64, dtype: DType) -> f64 {
    match dtype {
        DType::F16 => f16::from_f64(value).to_f64(),
        DType::BF16 => bf16::from_f64(value).to_f64(),
        DType::F32 => f64::from(value as f32),
        _ => value,
    }
}

impl Value64 {
    /// With its floats as `dtype` holds them; integers and bools stay.
    pub fn rounded(&self, dtype: DType) -> Value64 {
        let mut out = self.clone();
        if self.dtype.is_float() {
            out.values = self.values.iter().map(|&v| rounded(v, dtype)).collect();
        }
        out
    }

    fn read(t: &Tensor) -> Result<Value64, Error> {
        Ok(Value64 {
            dtype: t.dtype(),
            shape: t.shape().to_vec(),
            values: pollster::block_on(t.to_f64s())?,
        })
    }
}

/// Apply the operation of `case` to `inputs`, whose gradients are wanted where `wanted` says so, and go back through it.
/// Where `flows` runs out a gradient of ones flows.
pub fn answer(
    case: &Case,
    inputs: &[Tensor],
    wanted: &[bool],
    flows: &[Value64],
) -> Result<Answer, Error> {
    for (x, _) in inputs.iter().zip(wanted).filter(|(_, w)| **w) {
        x.requires_grad_(true)?;
    }
    let outputs = ops::apply(case, inputs)
        .unwrap_or_else(|| panic!("{}: the engine has no operation {}", case.id, case.op))?;
    let mut flows = flows.iter();
    for out in outputs.iter().filter(|t| t.requires_grad()) {
        let flow = match flows.next() {
            Some(flow) => flow.tensor(out.dtype(), out.device()),
            None => out.ones_like()?,
        };
        out.backward_with(&flow, true)?;
    }
    let grads = inputs
        .iter()
        .zip(wanted)
        .map(|(x, &w)| if w { x.grad() } else { None })
        .collect();
    Ok(Answer { outputs, grads })
}

impl Problem {
    /// As PyTorch recorded it.
    pub fn recorded(case: &Case, data: &HashMap<String, Value64>) -> Problem {
        let all = |keys: &[String]| keys.iter().map(|k| data[k].clone()).collect();
        Problem {
            inputs: all(&case.inputs),
            flows: all(&case.grad_outputs),
            outputs: all(&case.outputs),
            grads: case
                .grads
                .iter()
                .map(|k| k.as_ref().map(|k| data[k].clone()))
                .collect(),
        }
    }

    /// For inputs and flows of one's own: what the CPU makes of them in float64, dense.
    pub fn computed(
        case: &Case,
        inputs: Vec<Value64>,
        flows: Vec<Value64>,
    ) -> Result<Problem, Error> {
        let cpu = Device::cpu();
        let tensors: Vec<Tensor> = inputs
            .iter()
            .map(|v| v.tensor(kind(v, DType::F64), &cpu))
            .collect();
        let wanted = wanted(case);
        let got = answer(case, &tensors, &wanted, &flows)?;
        Ok(Problem {
            inputs,
            flows,
            outputs: got
                .outputs
                .iter()
                .map(Value64::read)
                .collect::<Result<_, _>>()?,
            grads: got
                .grads
                .iter()
                .map(|g| g.as_ref().map(Value64::read).transpose())
                .collect::<Result<_, _>>()?,
        })
    }

    /// Solve it in `dtype` with inputs that `place` puts on a device, and say what is not as it should be.
    pub fn check(
        &self,
        case: &Case,
        label: &str,
        dtype: DType,
        place: impl Fn(&Value64, DType) -> Tensor,
    ) -> Result<(), String> {
        let tensors: Vec<Tensor> = self
            .inputs
            .iter()
            .map(|v| place(v, kind(v, dtype)))
            .collect();
        let got = answer(case, &tensors, &wanted(case), &self.flows)
            .map_err(|e| format!("{label}: {e}"))?;
        if got.outputs.len() != self.outputs.len() {
            return Err(format!("{label}: {} results", got.outputs.len()));
        }
        for (n, (got, want)) in got.outputs.iter().zip(&self.outputs).enumerate() {
            let tolerance = tolerance(&case.op, dtype, Part::Value);
            same(&format!("{label} output {n}"), got, want, dtype, tolerance)?;
        }
        for (n, (got, want)) in got.grads.iter().zip(&self.grads).enumerate() {
            let label = format!("{label} gradient {n}");
            let tolerance = tolerance(&case.op, dtype, Part::Gradient);
            match (got, want) {
                (Some(got), Some(want)) => same(&label, got, want, dtype, tolerance)?,
                (None, None) => {}
                (got, _) => return Err(format!("{label}: there is one: {}", got.is_some())),
            }
        }
        Ok(())
    }
}

/// Which inputs of a case have gradients.
pub fn wanted(case: &Case) -> Vec<bool> {
    case.grads.iter().map(Option::is_some).collect()
}

/// The type in which an input is given when its case is run in `dtype`.
fn kind(value: &Value64, dtype: DType) -> DType {
    if value.dtype.is_float() {
        dtype
    } else {
        value.dtype
    }
}

/// What an operation adds up on its way: its largest result bounds the rounding of a sum of products.
pub fn magnitude(want: &Value64) -> f64 {
    want.values
        .iter()
        .filter(|v| v.is_finite())
        .fold(1.0, |m: f64, v| m.max(v.abs()).min(1e6))
}

fn same(
    label: &str,
    got: &Tensor,
    want: &Value64,
    dtype: DType,
    tolerance: Tolerance,
) -> Result<(), String> {
    if got.shape() != want.shape {
        let (got, want) = (got.shape(), &want.shape);
        return Err(format!("{label}: shape {got:?}, want {want:?}"));
    }
    if got.dtype() != kind(want, dtype) {
        let (got, want) = (got.dtype(), kind(want, dtype));
        return Err(format!("{label}: type {got}, want {want}"));
    }
    let values = pollster::block_on(got.to_f64s()).map_err(|e| format!("{label}: {e}"))?;
    let tolerance = if got.dtype().is_float() {
        tolerance
    } else {
        Tolerance::EXACT
    };
    // WGSL lets a device take for zero what float32 holds as subnormal, and bfloat16 has its range.
    let flushes = !got.device().is_cpu() && got.dtype() == DType::BF16;
    let settled = |values: &[f64]| -> Vec<f64> {
        let subnormal = |v: f64| v.abs() < f64::from(f32::MIN_POSITIVE);
        values
            .iter()
            .map(|&v| if flushes && subnormal(v) { 0.0 } else { v })
            .collect()
    };
    let (values, wanted) = (settled(&values), settled(&want.values));
    differs(&values, &wanted, tolerance, magnitude(want))
        .map_or(Ok(()), |d| Err(format!("{label}: {d}")))
}
