//! Reading values back. On a GPU this waits, so it is async; what the CPU holds is ready at once.

use super::Tensor;
use crate::device::wait;
use crate::dtype::{Bool, DType, Element};
use crate::error::{Error, Result};
use crate::storage::Shared;
use half::{bf16, f16};

impl Tensor {
    /// All elements as raw bytes, row-major.
    pub async fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.nbytes()];
        self.read_into(&mut bytes).await?;
        Ok(bytes)
    }

    async fn read_into(&self, bytes: &mut [u8]) -> Result<()> {
        let dense = self.detach().contiguous()?;
        if bytes.is_empty() {
            // Nothing to copy, yet a bad value found before must not go unsaid.
            return dense.device().synchronize().await;
        }
        let at = dense.layout().offset() * dense.dtype().size();
        let backend = dense.device().backend();
        backend.download(dense.storage().buffer(), at, bytes).await
    }

    /// All elements, row-major (`tolist`). `T` must be the tensor's own type.
    pub async fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        if T::DTYPE != self.dtype() {
            return Err(Error::ElementType {
                asked: T::DTYPE,
                found: self.dtype(),
            });
        }
        let mut values: Vec<T> = vec![bytemuck::Zeroable::zeroed(); self.numel()];
        self.read_into(bytemuck::cast_slice_mut(&mut values))
            .await?;
        Ok(values)
    }

    /// All elements of any type as float64, row-major.
    pub async fn to_f64s(&self) -> Result<Vec<f64>> {
        fn all<T: Element>(bytes: &[u8]) -> Vec<f64> {
            bytes
                .chunks_exact(size_of::<T>())
                .map(|c| bytemuck::pod_read_unaligned::<T>(c).to_f64())
                .collect()
        }
        let bytes = self.to_bytes().await?;
        Ok(match self.dtype() {
            DType::Bool => all::<Bool>(&bytes),
            DType::U8 => all::<u8>(&bytes),
            DType::I32 => all::<i32>(&bytes),
            DType::I64 => all::<i64>(&bytes),
            DType::F16 => all::<f16>(&bytes),
            DType::BF16 => all::<bf16>(&bytes),
            DType::F32 => all::<f32>(&bytes),
            DType::F64 => all::<f64>(&bytes),
        })
    }

    /// The one element as a float64.
    pub async fn item(&self) -> Result<f64> {
        if self.numel() != 1 {
            return Err(Error::NotScalar {
                numel: self.numel(),
            });
        }
        Ok(self.to_f64s().await?[0])
    }

    /// [`Tensor::to_vec`] without `await`: always for the CPU, natively for every device.
    pub fn to_vec_now<T: Element>(&self) -> Result<Vec<T>> {
        wait(Box::pin(self.to_vec()), self.device().id())
    }

    /// [`Tensor::to_f64s`] without `await`: always for the CPU, natively for every device.
    pub fn to_f64s_now(&self) -> Result<Vec<f64>> {
        wait(Box::pin(self.to_f64s()), self.device().id())
    }

    /// [`Tensor::item`] without `await`: always for the CPU, natively for every device.
    pub fn item_now(&self) -> Result<f64> {
        wait(Box::pin(self.item()), self.device().id())
    }

    /// The memory of a dense CPU tensor as an array that shares it (`Tensor.numpy`).
    pub fn shared<T: Element>(&self) -> Result<Shared<T>> {
        if self.requires_grad() {
            return Err(Error::ReadRequiresGrad);
        }
        if T::DTYPE != self.dtype() {
            return Err(Error::ElementType {
                asked: T::DTYPE,
                found: self.dtype(),
            });
        }
        if !self.device().is_cpu() {
            return Err(Error::ReadBackIsAsync {
                device: self.device().id(),
            });
        }
        if !self.is_contiguous() {
            return Err(Error::argument(
                "shared",
                "the tensor is not contiguous",
                "share x.contiguous(), which is a copy",
            ));
        }
        Ok(Shared::over(
            self.storage().clone(),
            self.layout().offset(),
            self.numel(),
        ))
    }
}
