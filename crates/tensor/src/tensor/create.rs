//! Making tensors: from values, from one number, from shared memory, at random.

use super::Tensor;
use crate::device::Device;
use crate::dtype::{DType, Element};
use crate::error::{Error, Result};
use crate::expr::Expr;
use crate::kernel::Map;
use crate::layout::{Layout, checked_numel};
use crate::ops::launch;
use crate::storage::{Shared, Storage};
use half::{bf16, f16};
use std::sync::Arc;

impl Tensor {
    /// Copy values in (`torch.tensor`).
    pub fn from_slice<T: Element>(
        values: &[T],
        shape: &[usize],
        device: &Device,
    ) -> Result<Tensor> {
        if checked_numel(shape) != Some(values.len()) {
            return Err(Error::DataLength {
                numel: values.len(),
                shape: shape.to_vec(),
            });
        }
        device.require("tensor", T::DTYPE)?;
        let storage = Storage::from_bytes(device, bytemuck::cast_slice(values))?;
        Ok(Tensor::from_parts(
            storage,
            Layout::contiguous(shape),
            T::DTYPE,
        ))
    }

    /// Copy raw bytes in, as a checkpoint holds them.
    pub fn from_bytes(
        bytes: &[u8],
        shape: &[usize],
        dtype: DType,
        device: &Device,
    ) -> Result<Tensor> {
        let wanted = checked_numel(shape).and_then(|numel| numel.checked_mul(dtype.size()));
        if wanted != Some(bytes.len()) {
            return Err(Error::DataLength {
                numel: bytes.len() / dtype.size(),
                shape: shape.to_vec(),
            });
        }
        device.require("tensor", dtype)?;
        let storage = Storage::from_bytes(device, bytes)?;
        Ok(Tensor::from_parts(
            storage,
            Layout::contiguous(shape),
            dtype,
        ))
    }

    /// Share an array's memory (`torch.from_numpy`): a change on either side is seen by the other.
    pub fn from_shared<T: Element>(array: &Shared<T>, shape: &[usize]) -> Result<Tensor> {
        if checked_numel(shape) != Some(array.len()) {
            return Err(Error::DataLength {
                numel: array.len(),
                shape: shape.to_vec(),
            });
        }
        let dense = Layout::contiguous(shape);
        let layout = Layout::new(shape.to_vec(), dense.stride().to_vec(), array.offset);
        Ok(Tensor::from_parts(array.storage.clone(), layout, T::DTYPE))
    }

    /// A tensor without dimensions.
    pub fn scalar<T: Element>(value: T, device: &Device) -> Result<Tensor> {
        Tensor::from_slice(&[value], &[], device)
    }

    /// Every element the same number.
    pub fn full(shape: &[usize], value: f64, dtype: DType, device: &Device) -> Result<Tensor> {
        let out = Tensor::uninit(shape, dtype, device, "full")?;
        // An i64 beyond 2^53 cannot pass through the launch's f64 scalars, but no float64 caller can name one either.
        let fill = Map::new("fill", &[], dtype, Expr::scalar(0, dtype));
        launch::map(&Arc::new(fill), &[&out], &[value])?;
        Ok(out)
    }

    /// Zeros.
    pub fn zeros(shape: &[usize], dtype: DType, device: &Device) -> Result<Tensor> {
        Tensor::full(shape, 0.0, dtype, device)
    }

    /// Ones.
    pub fn ones(shape: &[usize], dtype: DType, device: &Device) -> Result<Tensor> {
        Tensor::full(shape, 1.0, dtype, device)
    }

    /// Zeros like this tensor in shape, type and place.
    pub fn zeros_like(&self) -> Result<Tensor> {
        Tensor::zeros(self.shape(), self.dtype(), self.device())
    }

    /// Ones like this tensor in shape, type and place.
    pub fn ones_like(&self) -> Result<Tensor> {
        Tensor::ones(self.shape(), self.dtype(), self.device())
    }

    /// Values that the host makes once the device has room for them: a program that asks the host for too much just ends.
    pub(super) fn prepared<T: Element>(
        op: &'static str,
        shape: &[usize],
        device: &Device,
        values: impl FnOnce(usize) -> Vec<T>,
    ) -> Result<Tensor> {
        let out = Tensor::uninit(shape, T::DTYPE, device, op)?;
        let values = values(out.numel());
        if values.len() != out.numel() {
            return Err(Error::DataLength {
                numel: values.len(),
                shape: shape.to_vec(),
            });
        }
        if !values.is_empty() {
            let bytes = bytemuck::cast_slice(&values);
            device.backend().upload(out.storage().buffer(), 0, bytes)?;
        }
        Ok(out)
    }

    /// As many values as `shape` has elements, converted to `dtype` on the host, which is asked for them once the device
    /// has room.
    pub fn generate<I: Iterator<Item = f64>>(
        op: &'static str,
        shape: &[usize],
        dtype: DType,
        device: &Device,
        values: impl FnOnce(usize) -> I,
    ) -> Result<Tensor> {
        macro_rules! of {
            ($element:ty) => {
                Tensor::prepared(op, shape, device, |n| {
                    values(n).take(n).map(<$element>::from_f64).collect()
                })
            };
        }
        match dtype {
            DType::Bool => of!(crate::Bool),
            DType::U8 => of!(u8),
            DType::I32 => of!(i32),
            DType::I64 => of!(i64),
            DType::F16 => of!(f16),
            DType::BF16 => of!(bf16),
            DType::F32 => of!(f32),
            DType::F64 => of!(f64),
        }
    }

    /// `start`, `start + step`, ... below (above, for a negative step) `end`.
    pub fn arange(
        start: f64,
        end: f64,
        step: f64,
        dtype: DType,
        device: &Device,
    ) -> Result<Tensor> {
        let count = ((end - start) / step).ceil();
        if step == 0.0 || !count.is_finite() || count < 0.0 {
            return Err(Error::argument(
                "arange",
                "upper bound and lower bound inconsistent with step sign",
                "step away from start towards end, by a step that is not 0",
            ));
        }
        Tensor::generate("arange", &[count as usize], dtype, device, |n| {
            (0..n).map(|i| start + i as f64 * step)
        })
    }

    /// Values given as float64, converted to `dtype` on the host.
    pub fn from_f64s(
        values: impl Iterator<Item = f64>,
        shape: &[usize],
        dtype: DType,
        device: &Device,
    ) -> Result<Tensor> {
        fn of<T: Element>(
            values: impl Iterator<Item = f64>,
            shape: &[usize],
            device: &Device,
        ) -> Result<Tensor> {
            let values: Vec<T> = values.map(T::from_f64).collect();
            Tensor::from_slice(&values, shape, device)
        }
        match dtype {
            DType::Bool => of::<crate::Bool>(values, shape, device),
            DType::U8 => of::<u8>(values, shape, device),
            DType::I32 => of::<i32>(values, shape, device),
            DType::I64 => of::<i64>(values, shape, device),
            DType::F16 => of::<f16>(values, shape, device),
            DType::BF16 => of::<bf16>(values, shape, device),
            DType::F32 => of::<f32>(values, shape, device),
            DType::F64 => of::<f64>(values, shape, device),
        }
    }

    /// The identity matrix.
    pub fn eye(n: usize, dtype: DType, device: &Device) -> Result<Tensor> {
        Tensor::generate("eye", &[n, n], dtype, device, |count| {
            (0..count).map(|i| if i / n == i % n { 1.0 } else { 0.0 })
        })
    }
}
