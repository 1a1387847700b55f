//! Copies: into another layout, another type, another device.

use super::launch;
use crate::autograd::record;
use crate::device::{Device, wait};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::expr::Expr;
use crate::kernel::Map;
use crate::tensor::Tensor;
use std::sync::Arc;

/// The kernel that copies (and converts) operand 0 to operand 1.
pub(crate) fn copy_kernel(name: &'static str, from: DType, to: DType) -> Arc<Map> {
    let x = Expr::arg(0);
    let value = if from.compute() == to.compute() {
        x
    } else {
        x.cast(to)
    };
    Arc::new(Map::new(name, &[from], to, value))
}

impl Tensor {
    /// A dense copy without a place in the graph.
    pub(crate) fn dense_copy(&self, name: &'static str) -> Result<Tensor> {
        let out = Tensor::uninit(self.shape(), self.dtype(), self.device(), name)?;
        launch::map(
            &copy_kernel(name, self.dtype(), self.dtype()),
            &[self, &out],
            &[],
        )?;
        Ok(out)
    }

    /// A copy of the values in memory of its own (`torch.clone`); gradients flow through it.
    #[allow(clippy::should_implement_trait)] // it can fail, and copies: `Clone` would promise neither
    pub fn clone(&self) -> Result<Tensor> {
        record(
            self.dense_copy("clone")?,
            "CloneBackward0",
            &[self],
            &[],
            |f| Ok(vec![Some(f.grad.alias())]),
        )
    }

    /// This tensor if it is dense, else a dense copy.
    pub fn contiguous(&self) -> Result<Tensor> {
        if self.is_contiguous() {
            return Ok(self.alias());
        }
        record(
            self.dense_copy("contiguous")?,
            "CloneBackward0",
            &[self],
            &[],
            |f| Ok(vec![Some(f.grad.alias())]),
        )
    }

    /// The values converted to `dtype`; this very tensor if it has that type.
    pub fn to_dtype(&self, dtype: DType) -> Result<Tensor> {
        let from = self.dtype();
        if from == dtype {
            return Ok(self.alias());
        }
        let out = Tensor::uninit(self.shape(), dtype, self.device(), "to")?;
        launch::map(&copy_kernel("to", from, dtype), &[self, &out], &[])?;
        if !dtype.is_float() {
            return Ok(out);
        }
        record(out, "ToCopyBackward0", &[self], &[], move |f| {
            Ok(vec![Some(f.grad.to_dtype(from)?)])
        })
    }

    /// Copy to another device at once: always from the CPU; natively from any device, waiting for it; in a browser a GPU
    /// can only be read by [`Tensor::to`].
    pub fn to_device(&self, device: &Device) -> Result<Tensor> {
        if self.device().same(device) {
            return Ok(self.alias());
        }
        device.require("to", self.dtype())?;
        let bytes = wait(Box::pin(self.to_bytes()), self.device().id())?;
        self.arrived(&bytes, device)
    }

    /// Copy to a device and type, waiting for this tensor's values if they lie on a GPU; this very tensor if both are
    /// what it has.
    pub async fn to(&self, device: &Device, dtype: DType) -> Result<Tensor> {
        if self.device().same(device) {
            return self.to_dtype(dtype);
        }
        device.require("to", dtype)?;
        // Convert where the bytes are fewer to move, unless the type cannot live on the other side.
        let first = dtype.size() <= self.dtype().size() || !device.backend().supports(self.dtype());
        let from = if first && self.device().backend().supports(dtype) {
            self.to_dtype(dtype)?
        } else {
            self.alias()
        };
        let bytes = from.to_bytes().await?;
        from.arrived(&bytes, device)?.to_dtype(dtype)
    }

    fn arrived(&self, bytes: &[u8], device: &Device) -> Result<Tensor> {
        let out = Tensor::from_bytes(bytes, self.shape(), self.dtype(), device)?;
        let home = self.device().clone();
        record(out, "ToCopyBackward0", &[self], &[], move |f| {
            Ok(vec![Some(f.grad.to_device(&home)?)])
        })
    }

    /// Sum over whatever `expand` or broadcasting repeated, so that the result has this shape.
    pub fn sum_to(&self, shape: &[usize]) -> Result<Tensor> {
        if self.shape() == shape {
            return Ok(self.alias());
        }
        if shape.len() > self.rank() {
            return Err(Error::BroadcastTo {
                op: "sum_to",
                out: shape.to_vec(),
                shape: self.shape().to_vec(),
            });
        }
        let lead = self.rank() - shape.len();
        let dims: Vec<isize> = (0..self.rank())
            .filter(|&d| d < lead || (shape[d - lead] == 1 && self.shape()[d] != 1))
            .map(|d| d as isize)
            .collect();
        let summed = if dims.is_empty() {
            self.alias()
        } else {
            self.sum(&dims, true)?
        };
        summed.reshape_to(shape)
    }
}
