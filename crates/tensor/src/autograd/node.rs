//! One recorded operation.

use super::graph;
use crate::device::DeviceId;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::tensor::Tensor;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What a backward function gets: the gradient of its output, what it saved, and which inputs want a gradient.
pub(crate) struct Flow<'a> {
    pub grad: &'a Tensor,
    pub saved: &'a [Tensor],
    pub needs: &'a [bool],
}

impl Flow<'_> {
    /// `f()` if input `n` wants a gradient.
    pub fn for_input(
        &self,
        n: usize,
        f: impl FnOnce() -> Result<Tensor>,
    ) -> Result<Option<Tensor>> {
        if self.needs[n] {
            f().map(Some)
        } else {
            Ok(None)
        }
    }
}

pub(crate) type Backward = Box<dyn Fn(&Flow<'_>) -> Result<Vec<Option<Tensor>>> + Send + Sync>;

/// Where a gradient goes next.
pub(crate) enum Edge {
    /// Into the operation that made the input.
    Node(Arc<Node>),
    /// Into a leaf's `grad`.
    Leaf(Tensor),
}

/// A tensor kept for backward, and the state in which it was kept.
struct Saved {
    tensor: Tensor,
    version: u32,
    producer: Option<&'static str>,
}

enum Store {
    Kept(Vec<Saved>),
    Freed,
}

/// A recorded operation: PyTorch's `grad_fn`.
pub struct Node {
    seq: u64,
    name: &'static str,
    edges: Vec<Option<Edge>>,
    needs: Vec<bool>,
    store: Mutex<Store>,
    saved_bytes: usize,
    backward: Backward,
    pub(super) shape: Vec<usize>,
    pub(super) dtype: DType,
    pub(super) device: DeviceId,
}

impl Node {
    pub(super) fn new(
        name: &'static str,
        out: &Tensor,
        inputs: &[&Tensor],
        saved: &[&Tensor],
        backward: Backward,
    ) -> Node {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let edges: Vec<Option<Edge>> = inputs
            .iter()
            .map(|t| match t.grad_fn() {
                Some(node) => Some(Edge::Node(node)),
                None if t.requires_grad() => Some(Edge::Leaf(t.alias())),
                None => None,
            })
            .collect();
        let saved: Vec<Saved> = saved
            .iter()
            .map(|t| Saved {
                tensor: t.detach(),
                version: t.version(),
                producer: if t.is(out) {
                    Some(name)
                } else {
                    t.grad_fn().map(|n| n.name())
                },
            })
            .collect();
        let saved_bytes = saved.iter().map(|s| s.tensor.nbytes()).sum();
        graph::count(1, saved_bytes as i64);
        Node {
            seq: NEXT.fetch_add(1, Ordering::Relaxed),
            name,
            needs: edges.iter().map(Option::is_some).collect(),
            edges,
            store: Mutex::new(Store::Kept(saved)),
            saved_bytes,
            backward,
            shape: out.shape().to_vec(),
            dtype: out.dtype(),
            device: out.device().id(),
        }
    }

    /// PyTorch's name of it, such as `MulBackward0`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Rises with every recorded operation of the process.
    pub fn sequence(&self) -> u64 {
        self.seq
    }

    pub(super) fn edges(&self) -> &[Option<Edge>] {
        &self.edges
    }

    /// Bytes of what it keeps for backward now.
    pub fn saved_bytes(&self) -> usize {
        match &*self.store.lock().unwrap_or_else(PoisonError::into_inner) {
            Store::Kept(_) => self.saved_bytes,
            Store::Freed => 0,
        }
    }

    /// Shapes of what it keeps for backward now.
    pub(super) fn saved_shapes(&self) -> Vec<(Vec<usize>, DType, u64)> {
        match &*self.store.lock().unwrap_or_else(PoisonError::into_inner) {
            Store::Kept(saved) => saved
                .iter()
                .map(|s| {
                    (
                        s.tensor.shape().to_vec(),
                        s.tensor.dtype(),
                        s.tensor.storage_id(),
                    )
                })
                .collect(),
            Store::Freed => Vec::new(),
        }
    }

    /// Run the backward function; afterwards let go of what was saved, unless the graph is retained.
    pub(super) fn apply(&self, grad: &Tensor, retain: bool) -> Result<Vec<Option<Tensor>>> {
        let saved = self.unpack(retain)?;
        (self.backward)(&Flow {
            grad,
            saved: &saved,
            needs: &self.needs,
        })
    }

    fn unpack(&self, retain: bool) -> Result<Vec<Tensor>> {
        let mut store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        let Store::Kept(saved) = &*store else {
            return Err(Error::BackwardTwice);
        };
        for s in saved {
            if s.tensor.version() != s.version {
                return Err(Error::InplaceModified {
                    dtype: s.tensor.dtype(),
                    device: s.tensor.device().id(),
                    shape: s.tensor.shape().to_vec(),
                    producer: s.producer,
                    version: s.tensor.version(),
                    expected: s.version,
                });
            }
        }
        let tensors = saved.iter().map(|s| s.tensor.alias()).collect();
        // A node that saved nothing can run again: there is nothing that was freed.
        if !retain && !saved.is_empty() {
            *store = Store::Freed;
            graph::count(0, -(self.saved_bytes as i64));
        }
        Ok(tensors)
    }
}

impl Drop for Node {
    /// Chains can be long: take them apart in a loop, or the stack would hold one frame per operation.
    fn drop(&mut self) {
        graph::count(-1, -(self.saved_bytes() as i64));
        let mut pending: Vec<Edge> = self.edges.drain(..).flatten().collect();
        while let Some(edge) = pending.pop() {
            if let Edge::Node(node) = edge
                && let Some(mut node) = Arc::into_inner(node)
            {
                pending.extend(node.edges.drain(..).flatten());
            }
        }
    }
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<{} {}>", self.name, self.seq)
    }
}
