//! Elementwise kernels of one's own: several inputs and outputs in one launch, some changed in place.

use super::launch;
use crate::error::{Error, Result};
use crate::kernel::Map;
use crate::tensor::Tensor;
use std::sync::Arc;

/// Run `kernel` over tensors of the outputs' shape (others broadcast), outside the graph.
///
/// Those stored to count as changed in place: a graph that saved them notices. This is how optimisers update parameters
/// and state in one launch each.
pub fn update(kernel: &Arc<Map>, operands: &[&Tensor], scalars: &[f64]) -> Result<()> {
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
    launch::map(kernel, operands, scalars)?;
    for (n, t) in operands.iter().enumerate() {
        if kernel.writes(n) {
            t.storage().bump();
        }
    }
    Ok(())
}
