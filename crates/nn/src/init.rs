//! Where a new layer's parameters lie and what they begin as.

use tensor::random::Generator;
use tensor::{DType, Device, Result, Tensor};

/// Device, type and random numbers for new layers.
#[derive(Clone, Copy)]
pub struct Init<'a> {
    /// Where parameters are made.
    pub device: &'a Device,
    /// Their element type.
    pub dtype: DType,
    /// Where random values come from: the same seed gives the same weights on every device and in every type.
    pub generator: &'a Generator,
}

impl<'a> Init<'a> {
    /// float32 parameters.
    pub fn new(device: &'a Device, generator: &'a Generator) -> Init<'a> {
        Init {
            device,
            dtype: DType::F32,
            generator,
        }
    }

    /// Uniform in `[-bound, bound)`, drawn on the host.
    pub fn uniform(&self, shape: &[usize], bound: f64) -> Result<Tensor> {
        Tensor::generate("uniform", shape, self.dtype, self.device, |count| {
            let mut values = vec![0f32; count];
            let bound = bound as f32;
            self.generator
                .reserve(count as u64)
                .uniform_f32_between(-bound, bound, &mut values);
            values.into_iter().map(f64::from)
        })
    }

    /// PyTorch's default for linear and convolutional layers, weight and bias alike: uniform within 1 / sqrt(fan_in).
    pub(crate) fn by_fan_in(&self, shape: &[usize], fan_in: usize) -> Result<Tensor> {
        self.uniform(shape, 1.0 / (fan_in.max(1) as f64).sqrt())
    }
}
