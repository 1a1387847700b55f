//! Tensors, layouts, autograd and the CPU device
pub mod memory;
pub mod trace;
