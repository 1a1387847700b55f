//! Views: other shapes and strides over the same storage, and the copies that stand in where there is no such view.

use crate::autograd::record_view;
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::tensor::Tensor;

impl Tensor {
    fn view_of(
        &self,
        layout: Layout,
        node: &'static str,
        backward: impl Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'static,
    ) -> Result<Tensor> {
        record_view(self.with_layout(layout), node, self, backward)
    }

    /// Swap two dimensions.
    pub fn transpose(&self, a: isize, b: isize) -> Result<Tensor> {
        let layout = self.layout().transpose(a, b)?;
        self.view_of(layout, "TransposeBackward0", move |g| g.transpose(a, b))
    }

    /// Transpose of a matrix.
    pub fn t(&self) -> Result<Tensor> {
        match self.rank() {
            0 | 1 => Ok(self.alias()),
            2 => self.transpose(0, 1),
            n => Err(Error::argument(
                "t",
                format!("t() expects a tensor with <= 2 dimensions, but self is {n}D"),
                "name the two dimensions with transpose",
            )),
        }
    }

    /// Reorder all dimensions.
    pub fn permute(&self, dims: &[isize]) -> Result<Tensor> {
        let layout = self.layout().permute(dims)?;
        let mut inverse = vec![0isize; dims.len()];
        for (to, &from) in dims.iter().enumerate() {
            inverse[self.layout().dim(from)?] = to as isize;
        }
        self.view_of(layout, "PermuteBackward0", move |g| g.permute(&inverse))
    }

    /// A view whose gradient is laid back into zeros of this tensor's shape.
    fn part(
        &self,
        layout: Layout,
        node: &'static str,
        pick: impl Fn(&Layout) -> Result<Layout> + Send + Sync + 'static,
    ) -> Result<Tensor> {
        let shape = self.shape().to_vec();
        self.view_of(layout, node, move |g| {
            let whole = Tensor::zeros(&shape, g.dtype(), g.device())?;
            whole.with_layout(pick(whole.layout())?).copy_(g)?;
            Ok(whole)
        })
    }

    /// `length` steps of `dim` from `start`.
    pub fn narrow(&self, dim: isize, start: isize, length: usize) -> Result<Tensor> {
        let layout = self.layout().narrow(dim, start, length)?;
        self.part(layout, "SliceBackward0", move |l| {
            l.narrow(dim, start, length)
        })
    }

    /// One index of `dim`, which disappears.
    pub fn select(&self, dim: isize, index: isize) -> Result<Tensor> {
        let layout = self.layout().select(dim, index)?;
        self.part(layout, "SelectBackward0", move |l| l.select(dim, index))
    }

    /// `start..stop` of `dim` in steps of `step`, clamped as Python's slices are.
    pub fn slice(&self, dim: isize, start: isize, stop: isize, step: isize) -> Result<Tensor> {
        let layout = self.layout().slice(dim, start, stop, step)?;
        self.part(layout, "SliceBackward0", move |l| {
            l.slice(dim, start, stop, step)
        })
    }

    /// The diagonal of two dimensions as a new last dimension.
    pub fn diagonal(&self, offset: isize, dim1: isize, dim2: isize) -> Result<Tensor> {
        let layout = self.layout().diagonal(offset, dim1, dim2)?;
        self.part(layout, "DiagonalBackward0", move |l| {
            l.diagonal(offset, dim1, dim2)
        })
    }

    /// Repeat dimensions of size one, and new leading ones, without copying. `-1` keeps a size.
    pub fn expand(&self, shape: &[isize]) -> Result<Tensor> {
        let layout = self.layout().expand(shape)?;
        let own = self.shape().to_vec();
        self.view_of(layout, "ExpandBackward0", move |g| g.sum_to(&own))
    }

    /// Drop `dim` if its size is one.
    pub fn squeeze(&self, dim: isize) -> Result<Tensor> {
        let layout = self.layout().squeeze(dim)?;
        let own = self.shape().to_vec();
        self.view_of(layout, "SqueezeBackward1", move |g| g.reshape_to(&own))
    }

    /// Insert a dimension of size one before `dim`.
    pub fn unsqueeze(&self, dim: isize) -> Result<Tensor> {
        let layout = self.layout().unsqueeze(dim)?;
        let own = self.shape().to_vec();
        self.view_of(layout, "UnsqueezeBackward0", move |g| g.reshape_to(&own))
    }

    /// The same elements under another shape, never copying. One `-1` is inferred.
    pub fn view(&self, shape: &[isize]) -> Result<Tensor> {
        let target = self.layout().resolve_shape(shape)?;
        let Some(layout) = self.layout().view(&target) else {
            return Err(Error::ViewIncompatible {
                shape: self.shape().to_vec(),
                stride: self.stride().to_vec(),
                target,
            });
        };
        let own = self.shape().to_vec();
        self.view_of(layout, "ViewBackward0", move |g| g.reshape_to(&own))
    }

    /// The same elements under another shape: a view where the strides allow it, else a copy.
    pub fn reshape(&self, shape: &[isize]) -> Result<Tensor> {
        let target = self.layout().resolve_shape(shape)?;
        self.reshape_to(&target)
    }

    /// [`Tensor::reshape`] to sizes that are all known.
    pub(crate) fn reshape_to(&self, shape: &[usize]) -> Result<Tensor> {
        if self.shape() == shape {
            return Ok(self.alias());
        }
        let target: Vec<isize> = shape.iter().map(|&n| n as isize).collect();
        match self.layout().view(shape) {
            Some(_) => self.view(&target),
            None => self.contiguous()?.view(&target),
        }
    }

    /// Whether `reshape` to this shape would copy.
    pub fn reshape_copies(&self, shape: &[isize]) -> Result<bool> {
        let target = self.layout().resolve_shape(shape)?;
        Ok(self.layout().view(&target).is_none())
    }

    /// Merge the dimensions from `start` to `end`, both included.
    pub fn flatten(&self, start: isize, end: isize) -> Result<Tensor> {
        if self.rank() == 0 {
            return self.reshape(&[1]);
        }
        let (a, b) = (self.layout().dim(start)?, self.layout().dim(end)?);
        if a > b {
            return Err(Error::argument(
                "flatten",
                "flatten() has invalid args: start_dim cannot come after end_dim",
                "give the first dimension first",
            ));
        }
        let s = self.shape();
        let mut target = s[..a].to_vec();
        target.push(s[a..=b].iter().product());
        target.extend_from_slice(&s[b + 1..]);
        self.reshape_to(&target)
    }

    /// Reverse dimensions. A copy, as in PyTorch, whose strides cannot be negative.
    pub fn flip(&self, dims: &[isize]) -> Result<Tensor> {
        let mut wrapped = Vec::with_capacity(dims.len());
        for &d in dims {
            let d = self.layout().dim(d)?;
            if wrapped.contains(&d) {
                return Err(Error::DuplicateDim { op: "flip", dim: d });
            }
            wrapped.push(d);
        }
        let out = self
            .with_layout(self.layout().reversed(&wrapped))
            .dense_copy("flip")?;
        let dims = dims.to_vec();
        crate::autograd::record(out, "FlipBackward0", &[self], &[], move |f| {
            Ok(vec![Some(f.grad.flip(&dims)?)])
        })
    }
}
