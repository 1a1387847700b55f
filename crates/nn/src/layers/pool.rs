//! Pooling and flattening.

use crate::module::Module;
use tensor::{Result, Tensor};

macro_rules! pooling {
    ($(#[$doc:meta])* $name:ident $method:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name {
            kernel: [usize; 2],
            stride: [usize; 2],
            padding: [usize; 2],
        }

        impl $name {
            /// Windows of `kernel` side by side.
            pub fn new(kernel: usize) -> $name {
                $name { kernel: [kernel; 2], stride: [kernel; 2], padding: [0; 2] }
            }

            /// Windows of any size, stride and padding.
            pub fn with(kernel: [usize; 2], stride: [usize; 2], padding: [usize; 2]) -> $name {
                $name { kernel, stride, padding }
            }
        }

        impl Module for $name {
            fn name(&self) -> &'static str {
                stringify!($name)
            }

            fn forward(&self, x: &Tensor) -> Result<Tensor> {
                x.$method(self.kernel, Some(self.stride), self.padding)
            }
        }
    };
}

pooling!(
    /// The largest value of each window.
    MaxPool2d max_pool2d
);
pooling!(
    /// The mean of each window, padding counted as zeros.
    AvgPool2d avg_pool2d
);

/// Merge all dimensions from the second on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flatten;

impl Module for Flatten {
    fn name(&self) -> &'static str {
        "Flatten"
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.flatten(1, -1)
    }
}
