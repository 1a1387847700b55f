//! Random tensors: the same seed gives the same values on every device.

use super::Tensor;
use crate::device::Device;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernel::Grid;
use crate::kernels::random::{RandomParams, UNIFORM};
use crate::ops::launch::{self, Cost};
use crate::random::Generator;

impl Tensor {
    /// Uniform in `[0, 1)`, made on the device.
    pub fn rand(shape: &[usize], generator: &Generator, device: &Device) -> Result<Tensor> {
        let out = Tensor::uninit(shape, DType::F32, device, "rand")?;
        let count = u32::try_from(out.numel()).map_err(|_| {
            Error::argument(
                "rand",
                "more than 2^32 numbers at once",
                "make them in parts",
            )
        })?;
        let draw = generator.reserve(u64::from(count));
        let params = RandomParams {
            counter: draw.counter,
            key: draw.key,
            count,
            pad: 0,
        };
        let cost = Cost {
            bytes: 0,
            flops: 20 * u64::from(count),
        };
        launch::kernel(
            &UNIFORM,
            &[&out],
            &params,
            Grid::Invocations(out.numel()),
            None,
            cost,
        )?;
        Ok(out)
    }

    /// Standard normal, made on the host so that every device gets the same values.
    pub fn randn(shape: &[usize], generator: &Generator, device: &Device) -> Result<Tensor> {
        Tensor::prepared("randn", shape, device, |count| {
            let mut values = vec![0f32; count];
            generator
                .reserve(2 * count as u64)
                .normal_f32(0.0, 1.0, &mut values);
            values
        })
    }

    /// A random order of `0..n`, as int64.
    pub fn randperm(n: usize, generator: &Generator, device: &Device) -> Result<Tensor> {
        Tensor::prepared("randperm", &[n], device, |n| {
            let order = generator.permutation(n).into_iter();
            order.map(|i| i as i64).collect()
        })
    }

    /// Zero each element with probability `p` and scale the others by 1 / (1 - p).
    pub fn dropout(&self, p: f64, generator: &Generator) -> Result<Tensor> {
        if !(0.0..=1.0).contains(&p) {
            return Err(Error::argument(
                "dropout",
                format!("dropout probability has to be between 0 and 1, but got {p}"),
                "give the share of elements to drop",
            ));
        }
        if p == 1.0 {
            return self.mul(&self.zeros_like()?);
        }
        let threshold = Tensor::scalar(p as f32, self.device())?;
        let keep = Tensor::rand(self.shape(), generator, self.device())?.ge(&threshold)?;
        let scale = keep.to_dtype(self.dtype())?.mul_scalar(1.0 / (1.0 - p))?;
        self.mul(&scale)
    }
}
