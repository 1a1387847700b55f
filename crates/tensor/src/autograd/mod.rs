//! Reverse-mode automatic differentiation: what an operation records, and how gradients flow back.
//!
//! An operation that has an input requiring a gradient hangs a [`Node`] on its result. The node keeps what its backward
//! needs (detached, so that no node is held by what it saved) and edges to the nodes of its inputs. Numbers rise as nodes
//! are made, so walking from the highest number down is always an order in which gradients are complete.

mod engine;
pub mod graph;
mod mode;
mod node;

pub use mode::{NoGrad, detect_anomaly, is_anomaly_enabled, is_grad_enabled, no_grad};
pub(crate) use node::Flow;
pub use node::Node;

use crate::error::Result;
use crate::tensor::Tensor;
use std::sync::Arc;

/// Hang a node on `out`, unless nothing asks for a gradient. Every differentiable operation ends here.
///
/// `inputs` are the operands in the order in which `backward` returns their gradients; `saved` is what backward reads,
/// in the order in which it finds them.
pub(crate) fn record(
    out: Tensor,
    name: &'static str,
    inputs: &[&Tensor],
    saved: &[&Tensor],
    backward: impl Fn(&Flow<'_>) -> Result<Vec<Option<Tensor>>> + Send + Sync + 'static,
) -> Result<Tensor> {
    mode::check_forward(&out, name)?;
    if mode::is_grad_enabled() && inputs.iter().any(|t| t.requires_grad()) {
        let node = Node::new(name, &out, inputs, saved, Box::new(backward));
        out.set_grad_fn(Arc::new(node));
    }
    Ok(out)
}

/// [`record`] for a view: in addition, in-place changes of the result are refused while `base` is recorded.
pub(crate) fn record_view(
    out: Tensor,
    name: &'static str,
    base: &Tensor,
    backward: impl Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'static,
) -> Result<Tensor> {
    if mode::is_grad_enabled() && base.requires_grad() {
        out.mark_view_of_recorded();
        let node = Node::new(
            name,
            &out,
            &[base],
            &[],
            Box::new(move |f| Ok(vec![Some(backward(f.grad)?)])),
        );
        out.set_grad_fn(Arc::new(node));
    }
    Ok(out)
}

impl Tensor {
    /// Accumulate d(self)/d(leaf) into every leaf that requires a gradient. `self` holds one element.
    pub fn backward(&self) -> Result<()> {
        engine::backward(self, None, false)
    }

    /// [`Tensor::backward`], keeping what the graph saved so that it can run again.
    pub fn backward_retain_graph(&self) -> Result<()> {
        engine::backward(self, None, true)
    }

    /// Backward from a tensor of any shape, given the gradient of the final result with respect to it.
    pub fn backward_with(&self, grad: &Tensor, retain_graph: bool) -> Result<()> {
        engine::backward(self, Some(grad), retain_graph)
    }
}

#[cfg(test)]
mod tests;
