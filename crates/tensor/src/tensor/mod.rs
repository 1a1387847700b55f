//! The tensor: a view into a storage, an element type, and its place in the autograd graph.

mod create;
mod random;
mod read;

use crate::autograd::Node;
use crate::device::Device;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::storage::Storage;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An n-dimensional array on a device.
///
/// A `Tensor` is a handle. There is no `Clone` trait on purpose: [`Tensor::clone`] copies the values, as PyTorch's does,
/// and [`Tensor::alias`] gives a second handle to the same tensor, as binding another name does in Python.
pub struct Tensor(Arc<Inner>);

struct Inner {
    id: u64,
    storage: Arc<Storage>,
    layout: Layout,
    dtype: DType,
    grad: Mutex<Grad>,
}

#[derive(Default)]
struct Grad {
    requires: bool,
    value: Option<Tensor>,
    node: Option<Arc<Node>>,
    /// Whether this is a view of a tensor that is recorded: in-place changes would have to reach that one's graph.
    of_recorded: bool,
}

impl Tensor {
    pub(crate) fn from_parts(storage: Arc<Storage>, layout: Layout, dtype: DType) -> Tensor {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Tensor(Arc::new(Inner {
            id,
            storage,
            layout,
            dtype,
            grad: Mutex::default(),
        }))
    }

    /// A dense tensor with undefined contents.
    pub(crate) fn uninit(
        shape: &[usize],
        dtype: DType,
        device: &Device,
        op: &'static str,
    ) -> Result<Tensor> {
        device.require(op, dtype)?;
        let bytes = shape
            .iter()
            .try_fold(dtype.size(), |n, &d| n.checked_mul(d))
            .filter(|&n| n <= isize::MAX as usize)
            .ok_or_else(|| {
                Error::argument(
                    op,
                    format!("a tensor of shape {shape:?} has too many bytes to count"),
                    "use a smaller shape",
                )
            })?;
        let storage = Storage::uninit(device, bytes)?;
        Ok(Tensor::from_parts(
            storage,
            Layout::contiguous(shape),
            dtype,
        ))
    }

    /// Another view of the same storage, without a place in the graph.
    pub(crate) fn with_layout(&self, layout: Layout) -> Tensor {
        Tensor::from_parts(self.0.storage.clone(), layout, self.0.dtype)
    }

    /// Another handle to the same tensor.
    pub fn alias(&self) -> Tensor {
        Tensor(self.0.clone())
    }

    /// Whether both are handles to one tensor (Python's `is`).
    pub fn is(&self, other: &Tensor) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// A number that no other tensor of this process has had.
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// Size of each dimension.
    pub fn shape(&self) -> &[usize] {
        self.0.layout.shape()
    }

    /// Shape, strides and offset.
    pub fn layout(&self) -> &Layout {
        &self.0.layout
    }

    /// Elements to step in the storage per step of each dimension.
    pub fn stride(&self) -> &[isize] {
        self.0.layout.stride()
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.0.layout.rank()
    }

    /// Number of elements.
    pub fn numel(&self) -> usize {
        self.0.layout.numel()
    }

    /// Size of one dimension, counted from the front or, negative, from the back.
    pub fn size(&self, dim: isize) -> Result<usize> {
        let d = self.0.layout.dim(dim)?;
        Ok(self.shape().get(d).copied().unwrap_or(1))
    }

    /// Type of the elements.
    pub fn dtype(&self) -> DType {
        self.0.dtype
    }

    /// Where it lives.
    pub fn device(&self) -> &Device {
        self.0.storage.device()
    }

    /// Bytes of its elements (its storage may hold more).
    pub fn nbytes(&self) -> usize {
        self.numel() * self.dtype().size()
    }

    /// The memory it is a view of.
    pub fn storage(&self) -> &Arc<Storage> {
        &self.0.storage
    }

    /// The number of the memory it is a view of.
    pub fn storage_id(&self) -> u64 {
        self.0.storage.id()
    }

    /// Whether both are views of one storage.
    pub fn shares_storage(&self, other: &Tensor) -> bool {
        self.storage_id() == other.storage_id()
    }

    /// Dense and row-major.
    pub fn is_contiguous(&self) -> bool {
        self.0.layout.is_contiguous()
    }

    /// How many in-place operations have changed its storage.
    pub fn version(&self) -> u32 {
        self.0.storage.version()
    }

    fn grad_state(&self) -> MutexGuard<'_, Grad> {
        self.0.grad.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether operations on it are recorded.
    pub fn requires_grad(&self) -> bool {
        let g = self.grad_state();
        g.requires || g.node.is_some()
    }

    /// Ask for gradients on this leaf, or no longer.
    pub fn requires_grad_(&self, requires: bool) -> Result<&Tensor> {
        if requires && !self.dtype().is_float() {
            return Err(Error::RequiresGradDType {
                dtype: self.dtype(),
            });
        }
        let mut g = self.grad_state();
        if g.node.is_some() {
            return if requires {
                Ok(self)
            } else {
                Err(Error::RequiresGradNonLeaf)
            };
        }
        g.requires = requires;
        drop(g);
        Ok(self)
    }

    /// Whether no recorded operation made it.
    pub fn is_leaf(&self) -> bool {
        self.grad_state().node.is_none()
    }

    /// The gradient that has accumulated here.
    pub fn grad(&self) -> Option<Tensor> {
        self.grad_state().value.as_ref().map(Tensor::alias)
    }

    /// Replace the gradient; `None` clears it, as `zero_grad` does.
    pub fn set_grad(&self, grad: Option<Tensor>) {
        // The old one is dropped outside the lock.
        let _old = std::mem::replace(&mut self.grad_state().value, grad);
    }

    /// The recorded operation that made it.
    pub fn grad_fn(&self) -> Option<Arc<Node>> {
        self.grad_state().node.clone()
    }

    pub(crate) fn set_grad_fn(&self, node: Arc<Node>) {
        let _old = self.grad_state().node.replace(node);
    }

    pub(crate) fn mark_view_of_recorded(&self) {
        self.grad_state().of_recorded = true;
    }

    pub(crate) fn is_view_of_recorded(&self) -> bool {
        self.grad_state().of_recorded
    }

    /// The same values outside the graph, sharing the storage.
    pub fn detach(&self) -> Tensor {
        self.with_layout(self.0.layout.clone())
    }
}

impl fmt::Debug for Tensor {
    /// Shape, type and place; never the values, which would have to be waited for.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Tensor({:?}, dtype={}, device={}",
            self.shape(),
            self.dtype(),
            self.device().id()
        )?;
        if let Some(node) = self.grad_fn() {
            write!(f, ", grad_fn={}", node.name())?;
        } else if self.requires_grad() {
            write!(f, ", requires_grad=True")?;
        }
        write!(f, ")")
    }
}
