//! Normalisation layers.

use super::entry;
use crate::init::Init;
use crate::module::{Entry, Kind, Module, Parameter};
use std::sync::atomic::{AtomicBool, Ordering};
use tensor::{DType, Error, Result, Tensor};

/// What both batch normalisations hold.
struct BatchNorm {
    weight: Parameter,
    bias: Parameter,
    running_mean: Parameter,
    running_var: Parameter,
    num_batches_tracked: Parameter,
    eps: f64,
    momentum: f64,
    training: AtomicBool,
}

impl BatchNorm {
    fn new(features: usize, init: &Init<'_>) -> Result<BatchNorm> {
        let shape = [features];
        Ok(BatchNorm {
            weight: Parameter::new(Tensor::ones(&shape, init.dtype, init.device)?)?,
            bias: Parameter::new(Tensor::zeros(&shape, init.dtype, init.device)?)?,
            running_mean: Parameter::buffer(Tensor::zeros(&shape, init.dtype, init.device)?),
            running_var: Parameter::buffer(Tensor::ones(&shape, init.dtype, init.device)?),
            num_batches_tracked: Parameter::buffer(Tensor::zeros(&[], DType::I64, init.device)?),
            eps: 1e-5,
            momentum: 0.1,
            training: AtomicBool::new(true),
        })
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let training = self.training.load(Ordering::Relaxed);
        if training {
            self.num_batches_tracked.tensor().add_scalar_(1.0)?;
        }
        x.batch_norm(
            Some(&self.weight.tensor()),
            Some(&self.bias.tensor()),
            Some(&self.running_mean.tensor()),
            Some(&self.running_var.tensor()),
            training,
            self.momentum,
            self.eps,
        )
    }

    fn collect(&self, prefix: &str, into: &mut Vec<Entry>) {
        entry(into, prefix, "weight", Kind::Parameter, &self.weight);
        entry(into, prefix, "bias", Kind::Parameter, &self.bias);
        entry(
            into,
            prefix,
            "running_mean",
            Kind::Buffer,
            &self.running_mean,
        );
        entry(into, prefix, "running_var", Kind::Buffer, &self.running_var);
        entry(
            into,
            prefix,
            "num_batches_tracked",
            Kind::Buffer,
            &self.num_batches_tracked,
        );
    }
}

macro_rules! batch_norm {
    ($(#[$doc:meta])* $name:ident, $ranks:pat, $wants:literal) => {
        $(#[$doc])*
        pub struct $name(BatchNorm);

        impl $name {
            /// Weights of 1, biases of 0, running mean 0 and variance 1.
            pub fn new(features: usize, init: &Init<'_>) -> Result<$name> {
                BatchNorm::new(features, init).map($name)
            }
        }

        impl Module for $name {
            fn name(&self) -> &'static str {
                stringify!($name)
            }

            fn forward(&self, x: &Tensor) -> Result<Tensor> {
                if !matches!(x.rank(), $ranks) {
                    return Err(Error::argument(
                        stringify!($name),
                        format!("expected {} input (got {}D input)", $wants, x.rank()),
                        "give the batch first, then the channels",
                    ));
                }
                self.0.forward(x)
            }

            fn collect(&self, prefix: &str, into: &mut Vec<Entry>) {
                self.0.collect(prefix, into);
            }

            fn train(&self, on: bool) {
                self.0.training.store(on, Ordering::Relaxed);
            }
        }
    };
}

batch_norm!(
    /// Batch normalisation of `[N, C]` or `[N, C, L]`.
    BatchNorm1d, 2 | 3, "2D or 3D"
);
batch_norm!(
    /// Batch normalisation of `[N, C, H, W]`.
    BatchNorm2d, 4, "4D"
);

/// Normalisation over the last dimensions of each sample.
pub struct LayerNorm {
    /// Scale, of the normalised shape.
    pub weight: Parameter,
    /// Shift, of the normalised shape.
    pub bias: Parameter,
    shape: Vec<usize>,
    eps: f64,
}

impl LayerNorm {
    /// Weights of 1, biases of 0.
    pub fn new(normalized_shape: &[usize], init: &Init<'_>) -> Result<LayerNorm> {
        Ok(LayerNorm {
            weight: Parameter::new(Tensor::ones(normalized_shape, init.dtype, init.device)?)?,
            bias: Parameter::new(Tensor::zeros(normalized_shape, init.dtype, init.device)?)?,
            shape: normalized_shape.to_vec(),
            eps: 1e-5,
        })
    }
}

impl Module for LayerNorm {
    fn name(&self) -> &'static str {
        "LayerNorm"
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.layer_norm(
            &self.shape,
            Some(&self.weight.tensor()),
            Some(&self.bias.tensor()),
            self.eps,
        )
    }

    fn collect(&self, prefix: &str, into: &mut Vec<Entry>) {
        entry(into, prefix, "weight", Kind::Parameter, &self.weight);
        entry(into, prefix, "bias", Kind::Parameter, &self.bias);
    }
}
