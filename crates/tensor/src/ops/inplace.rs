//! Operations that change a tensor where it is: PyTorch's trailing underscore.

use super::convert::copy_kernel;
use super::launch;
use crate::autograd::{Flow, is_grad_enabled, record};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::expr::Expr;
use crate::kernel::Map;
use crate::layout::broadcast;
use crate::tensor::Tensor;
use std::sync::Arc;

impl Tensor {
    /// Whether an in-place change is allowed, by PyTorch's rules.
    fn writable(&self, op: &'static str) -> Result<()> {
        if is_grad_enabled() && self.requires_grad() {
            if self.is_leaf() {
                return Err(Error::InplaceLeaf);
            }
            if self.is_view_of_recorded() {
                return Err(Error::InplaceView { op });
            }
        }
        if self.layout().overlaps_itself() {
            return Err(Error::InplaceOverlap {
                op,
                shape: self.shape().to_vec(),
                stride: self.stride().to_vec(),
            });
        }
        Ok(())
    }

    fn check_grows(&self, op: &'static str, other: &Tensor) -> Result<()> {
        let shape = broadcast(self.shape(), other.shape())?;
        if shape != self.shape() {
            return Err(Error::BroadcastTo {
                op,
                out: self.shape().to_vec(),
                shape,
            });
        }
        Ok(())
    }

    /// Change it, then make it the result of a node that stands on its old place in the graph.
    fn update(
        &self,
        kernel: &Arc<Map>,
        operands: &[&Tensor],
        scalars: &[f64],
        node: &'static str,
        inputs: &[&Tensor],
        backward: impl Fn(&Flow<'_>) -> Result<Vec<Option<Tensor>>> + Send + Sync + 'static,
    ) -> Result<&Tensor> {
        launch::map(kernel, operands, scalars)?;
        self.storage().bump();
        let changed = record(self.detach(), node, inputs, &[], backward)?;
        if let Some(node) = changed.grad_fn() {
            self.set_grad_fn(node);
        }
        Ok(self)
    }

    /// self += alpha * other.
    pub fn add_scaled_(&self, other: &Tensor, alpha: f64) -> Result<&Tensor> {
        self.writable("add_")?;
        self.check_grows("add_", other)?;
        let (own, theirs) = (self.dtype(), other.dtype());
        if own.promote(theirs).category() > own.category() {
            return Err(Error::ResultCast {
                from: own.promote(theirs),
                to: own,
            });
        }
        let moved = if other.rank() == 0 && other.device().is_cpu() && !self.device().is_cpu() {
            other.to_device(self.device())?
        } else {
            other.alias()
        };
        if !self.device().same(moved.device()) {
            return Err(launch::mismatch("add_", ("self", self), ("other", other)));
        }
        let theirs_as_own = Expr::arg(1).cast(own);
        let value = Expr::arg(0) + Expr::scalar(0, own) * theirs_as_own;
        let kernel = Arc::new(Map {
            name: "add_",
            operands: vec![own, theirs],
            outputs: vec![(0, value)],
        });
        let shape = other.shape().to_vec();
        let like = other.dtype();
        // An operand that overlaps what is written would be read half changed.
        let source = if moved.shares_storage(self) && !moved.is(self) {
            moved.dense_copy("add_")?
        } else {
            moved
        };
        let inputs = [self, other];
        self.update(
            &kernel,
            &[self, &source],
            &[alpha],
            "AddBackward0",
            &inputs,
            move |f| {
                Ok(vec![
                    f.for_input(0, || Ok(f.grad.alias()))?,
                    f.for_input(1, || {
                        f.grad.mul_scalar(alpha)?.sum_to(&shape)?.to_dtype(like)
                    })?,
                ])
            },
        )
    }

    /// self += other.
    pub fn add_(&self, other: &Tensor) -> Result<&Tensor> {
        self.add_scaled_(other, 1.0)
    }

    /// self -= other.
    pub fn sub_(&self, other: &Tensor) -> Result<&Tensor> {
        self.add_scaled_(other, -1.0)
    }

    /// self = self * scale + shift.
    fn affine_(
        &self,
        name: &'static str,
        node: &'static str,
        scale: f64,
        shift: f64,
    ) -> Result<&Tensor> {
        self.writable(name)?;
        let own = self.dtype();
        if !own.is_float() && (scale.fract() != 0.0 || shift.fract() != 0.0) {
            return Err(Error::ResultCast {
                from: DType::F32,
                to: own,
            });
        }
        let value = Expr::arg(0) * Expr::scalar(0, own) + Expr::scalar(1, own);
        let kernel = Arc::new(Map {
            name,
            operands: vec![own],
            outputs: vec![(0, value)],
        });
        self.update(&kernel, &[self], &[scale, shift], node, &[self], move |f| {
            Ok(vec![Some(f.grad.mul_scalar(scale)?)])
        })
    }

    /// self += value.
    pub fn add_scalar_(&self, value: f64) -> Result<&Tensor> {
        self.affine_("add_", "AddBackward0", 1.0, value)
    }

    /// self *= value.
    pub fn mul_scalar_(&self, value: f64) -> Result<&Tensor> {
        self.affine_("mul_", "MulBackward0", value, 0.0)
    }

    /// Every element becomes `value`.
    pub fn fill_(&self, value: f64) -> Result<&Tensor> {
        self.writable("fill_")?;
        let fill = Map {
            name: "fill_",
            operands: vec![self.dtype()],
            outputs: vec![(0, Expr::scalar(0, self.dtype()))],
        };
        self.update(
            &Arc::new(fill),
            &[self],
            &[value],
            "FillBackward0",
            &[self],
            |f| Ok(vec![Some(f.grad.zeros_like()?)]),
        )
    }

    /// Every element becomes 0.
    pub fn zero_(&self) -> Result<&Tensor> {
        self.fill_(0.0)
    }

    /// Take over the (broadcast, converted) values of `source`, from this device or, waiting natively, another.
    pub fn copy_(&self, source: &Tensor) -> Result<&Tensor> {
        self.writable("copy_")?;
        self.check_grows("copy_", source)?;
        let here = source.to_device(self.device())?;
        let here = if here.shares_storage(self) {
            here.dense_copy("copy_")?
        } else {
            here
        };
        let kernel = copy_kernel("copy_", here.dtype(), self.dtype());
        let (shape, dtype, home) = (
            source.shape().to_vec(),
            source.dtype(),
            source.device().clone(),
        );
        self.update(
            &kernel,
            &[&here, self],
            &[],
            "CopyBackwards",
            &[self, source],
            move |f| {
                Ok(vec![
                    f.for_input(0, || f.grad.zeros_like())?,
                    f.for_input(1, || {
                        f.grad.sum_to(&shape)?.to_dtype(dtype)?.to_device(&home)
                    })?,
                ])
            },
        )
    }
}
