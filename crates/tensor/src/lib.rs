//! Tensors, layouts, autograd and the CPU device.
//!
//! No GPU and no web dependency: devices implement [`device::Backend`] in crates of their own.

pub mod autograd;
pub mod cpu;
pub mod device;
pub mod dtype;
pub mod error;
pub mod expr;
pub mod kernel;
pub mod kernels;
pub mod layout;
pub mod memory;
mod ops;
pub mod print;
pub mod random;
mod storage;
mod tensor;
pub mod trace;

pub use device::{Device, DeviceId, DeviceKind};
pub use dtype::{Bool, DType, Element};
pub use error::{Error, Result};
pub use half::{bf16, f16};
pub use layout::Layout;
pub use ops::conv2d::Conv2dOptions;
pub use ops::fused;
pub use ops::loss::{ClassLoss, Reduction};
pub use ops::pointwise;
pub use storage::{Shared, Storage};
pub use tensor::Tensor;
