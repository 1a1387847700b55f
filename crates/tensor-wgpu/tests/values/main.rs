//! What generated kernels compute, element by element, against the CPU device.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test that unwraps what it did not get has failed

#[path = "../adapter/mod.rs"]
mod adapter;
mod maps;
mod products;
mod raw;
mod reductions;
mod samples;

fn device() -> Option<tensor::Device> {
    adapter::open(tensor_wgpu::OpenOptions::default())
}
