//! The WGSL device: WebGPU in the browser; Vulkan, Metal and DX12 natively.
//!
//! [`adapters`] lists what there is, [`open`] gives a [`tensor::Device`]. Elementwise kernels and reductions are printed
//! from their expression by `tensor::print`, the others stand in `shaders/`. Launches are collected and submitted in
//! batches; what goes wrong on the device surfaces as a typed error at the next call or await.

mod adapter;
mod batch;
mod binding;
mod device;
mod fault;
mod forms;
mod launch;
mod matmul;
mod memory;
mod open;
mod pipeline;
mod read;
mod reduce;
mod sets;
pub mod shader;
mod signal;
mod trouble;
mod tune;
#[cfg(target_arch = "wasm32")]
mod web;

pub use adapter::{AdapterFacts, adapters};
pub use device::WgpuDevice;
pub use open::{ForcedLimits, OpenOptions, open, open_with};
