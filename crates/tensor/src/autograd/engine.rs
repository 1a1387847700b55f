//! The walk from a result back to the leaves.

use super::mode::{NoGrad, check_backward};
use super::node::{Edge, Node};
use crate::error::{Error, Result};
use crate::ops::launch::mismatch;
use crate::tensor::Tensor;
use std::collections::{BTreeMap, btree_map::Entry};
use std::sync::Arc;

pub(super) fn backward(root: &Tensor, grad: Option<&Tensor>, retain: bool) -> Result<()> {
    if !root.requires_grad() {
        return Err(Error::NoGradFn);
    }
    let seed = match grad {
        Some(g) if g.shape() != root.shape() => {
            return Err(Error::GradShape {
                expected: root.shape().to_vec(),
                got: g.shape().to_vec(),
            });
        }
        Some(g) if !g.device().same(root.device()) => {
            return Err(mismatch("backward", ("output", root), ("gradient", g)));
        }
        // As in PyTorch a gradient of another type is converted.
        Some(g) => g.detach().to_dtype(root.dtype())?,
        None if root.numel() != 1 => {
            return Err(Error::BackwardNonScalar {
                shape: root.shape().to_vec(),
            });
        }
        None => root.ones_like()?,
    };
    let _off = NoGrad::new();
    let Some(node) = root.grad_fn() else {
        return accumulate(root, seed);
    };

    // Ready nodes by number. A node's number is above those of all its inputs' nodes, so when the highest is taken
    // every gradient that flows into it has arrived.
    let mut ready: BTreeMap<u64, (Arc<Node>, Tensor)> = BTreeMap::new();
    ready.insert(node.sequence(), (node, seed));
    while let Some((_, (node, grad))) = ready.pop_last() {
        let grads = node.apply(&grad, retain)?;
        drop(grad);
        check_backward(&grads, node.name())?;
        for (edge, grad) in node.edges().iter().zip(grads) {
            let (Some(edge), Some(grad)) = (edge, grad) else {
                continue;
            };
            match edge {
                Edge::Leaf(leaf) => accumulate(leaf, grad)?,
                Edge::Node(next) => match ready.entry(next.sequence()) {
                    Entry::Vacant(free) => {
                        free.insert((next.clone(), grad));
                    }
                    Entry::Occupied(mut held) => {
                        let sum = held.get().1.add(&grad)?;
                        held.get_mut().1 = sum;
                    }
                },
            }
        }
    }
    Ok(())
}

/// Add to a leaf's gradient. The sum is a new tensor: gradients handed out earlier keep their values.
fn accumulate(leaf: &Tensor, grad: Tensor) -> Result<()> {
    debug_assert_eq!((leaf.shape(), leaf.dtype()), (grad.shape(), grad.dtype()));
    let grad = match leaf.grad() {
        Some(before) => before.add(&grad)?,
        // A gradient that nothing else looks at is taken over; one that shares its memory is copied.
        None if grad.is_contiguous() && Arc::strong_count(grad.storage()) == 1 => grad,
        None => grad.clone()?,
    };
    leaf.set_grad(Some(grad));
    Ok(())
}
