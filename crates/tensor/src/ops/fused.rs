//! Work that is merged into fewer launches, and the switch that keeps it apart.
//!
//! A launch costs time whatever it computes. So a layer adds its bias and applies its ReLU while it stores, cross entropy
//! is one launch each way, and an optimiser changes all its parameters at once. [`unfused`] runs every operation for
//! itself, as PyTorch does: the results are the same to rounding, the launches are not.

use super::elementwise::past_relu;
use super::launch;
use super::pointwise::{Pointwise, ResultType};
use crate::autograd::no_grad;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernel::Map;
use crate::tensor::Tensor;
use std::cell::Cell;
use std::collections::HashSet;
use std::sync::Arc;

thread_local! {
    static FUSED: Cell<bool> = const { Cell::new(true) };
}

/// Whether operations of this thread are merged where they can be.
pub fn is_fused() -> bool {
    FUSED.get()
}

/// Run `f` with every operation in launches of its own.
pub fn unfused<T>(f: impl FnOnce() -> T) -> T {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            FUSED.set(self.0);
        }
    }
    let _restore = Restore(FUSED.replace(false));
    f()
}

/// The gradient before a ReLU whose result was `result`, if there was one: zero where nothing came through.
pub(crate) fn through_relu(grad: &Tensor, result: Option<&Tensor>) -> Result<Tensor> {
    static MASKED: Pointwise = Pointwise {
        name: "ReluBackward0",
        node: "ReluBackward0",
        result: ResultType::Same,
        forward: |t| past_relu(t.x(1), t.x(0), t),
        grads: &[],
    };
    match result {
        Some(y) => no_grad(|| MASKED.apply(&[grad, y], &[])),
        None => Ok(grad.alias()),
    }
}

/// Run `kernel` over tensors of the outputs' shape (others broadcast), outside the graph.
///
/// Those stored to count as changed in place: a graph that saved them notices. This is how an optimiser updates a
/// parameter and its state.
pub fn update(kernel: &Arc<Map>, operands: &[&Tensor], scalars: &[f64]) -> Result<()> {
    check(kernel, operands)?;
    launch::map(kernel, operands, scalars)?;
    bump(kernel, operands);
    Ok(())
}

/// [`update`] for many sets of operands, in as few launches as the device can: one on the CPU, one for all that share the
/// same segments of memory on a GPU.
///
/// What cannot be merged (operands that are not dense, or whose types have no vectors on the device) is launched alone.
pub fn update_all(kernel: &Arc<Map>, sets: &[Vec<&Tensor>], scalars: &[f64]) -> Result<()> {
    let (mut merged, mut alone) = (Vec::with_capacity(sets.len()), Vec::new());
    let mut bound = HashSet::new();
    for operands in sets {
        check(kernel, operands)?;
        let first = operands[0];
        let alike = |t: &&Tensor| {
            t.shape() == first.shape()
                && t.is_contiguous()
                && t.device().same(first.device())
                // So that vectors of four begin at one.
                && t.layout().offset().is_multiple_of(4)
        };
        let same_device = merged
            .first()
            .is_none_or(|set: &&Vec<&Tensor>| set[0].device().same(first.device()));
        let typed = first.device().is_cpu() || kernel.operands.iter().all(|d| *d == DType::F32);
        // What two sets share must be changed by one after the other.
        let apart = operands.iter().all(|t| !bound.contains(&t.storage_id()));
        let fits = typed && same_device && apart && operands.iter().all(alike);
        if is_fused() && first.numel() > 0 && fits {
            bound.extend(operands.iter().map(|t| t.storage_id()));
            merged.push(operands);
        } else {
            alone.push(operands);
        }
    }
    if merged.len() > 1 {
        launch::maps(kernel, &merged, scalars)?;
        merged.iter().for_each(|set| bump(kernel, set));
    } else {
        alone.append(&mut merged);
    }
    for operands in alone {
        update(kernel, operands, scalars)?;
    }
    Ok(())
}

fn check(kernel: &Map, operands: &[&Tensor]) -> Result<()> {
    if operands.len() != kernel.operands.len() {
        return Err(Error::argument(
            kernel.name,
            format!(
                "{} operands for a kernel of {}",
                operands.len(),
                kernel.operands.len()
            ),
            "bind one tensor for each operand",
        ));
    }
    for (t, &dtype) in operands.iter().zip(&kernel.operands) {
        if t.dtype() != dtype {
            return Err(Error::ExpectedDType {
                expected: dtype,
                found: t.dtype(),
            });
        }
    }
    Ok(())
}

fn bump(kernel: &Map, operands: &[&Tensor]) {
    for (n, t) in operands.iter().enumerate() {
        if kernel.writes(n) {
            t.storage().bump();
        }
    }
}
