//! Activations as modules.

use crate::module::Module;
use tensor::{Result, Tensor};

macro_rules! activation {
    ($($(#[$doc:meta])* $name:ident $class:literal $method:ident $is_relu:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $name;

        impl Module for $name {
            fn name(&self) -> &'static str {
                $class
            }
            fn forward(&self, x: &Tensor) -> Result<Tensor> {
                x.$method()
            }
            fn is_relu(&self) -> bool {
                $is_relu
            }
        }
    )*};
}

activation! {
    /// max(x, 0).
    Relu "ReLU" relu true;
    /// 1 / (1 + e^-x).
    Sigmoid "Sigmoid" sigmoid false;
    /// Hyperbolic tangent.
    Tanh "Tanh" tanh false;
    /// x times the normal distribution function.
    Gelu "GELU" gelu false;
    /// x sigmoid(x).
    Silu "SiLU" silu false;
}

/// x for positive x, `negative_slope` x below.
#[derive(Clone, Copy, Debug)]
pub struct LeakyRelu {
    /// Slope below zero.
    pub negative_slope: f64,
}

impl Default for LeakyRelu {
    fn default() -> Self {
        LeakyRelu {
            negative_slope: 0.01,
        }
    }
}

impl Module for LeakyRelu {
    fn name(&self) -> &'static str {
        "LeakyReLU"
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.leaky_relu(self.negative_slope)
    }
}
