//! Layers, losses, optimisers and schedulers with PyTorch's names.
//!
//! A [`Parameter`] is a place that holds a tensor: [`Module::to`] and optimisers change what it holds, so everything that
//! was built on it stays connected, as in PyTorch. Losses are methods of `Tensor`.

mod checkpoint;
mod init;
pub mod layers;
pub mod models;
mod module;
pub mod optim;
mod scaler;
pub mod scheduler;

pub use checkpoint::{load_safetensors, save_safetensors};
pub use init::Init;
pub use layers::{
    AvgPool2d, BatchNorm1d, BatchNorm2d, Conv2d, Dropout, Flatten, Gelu, LayerNorm, LeakyRelu,
    Linear, MaxPool2d, Relu, Sequential, Sigmoid, Silu, Tanh,
};
pub use module::{Entry, Kind, Module, ModuleExt, Parameter, StateDict};
pub use optim::{Adam, AdamW, Optimizer, RmsProp, Sgd, clip_grad_norm};
pub use scaler::GradScaler;
