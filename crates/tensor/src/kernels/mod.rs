//! The hand-written kernels: one file a family with its parameter block, and the list of all.
//!
//! Each has a twin in `shaders/`, `kernels/` and `cpu/` under the same stem and name.

pub mod check;
pub mod matmul;

use crate::kernel::Kernel;

/// Every hand-written kernel, for devices that build pipelines and for the test that looks for twins.
pub const ALL: &[&Kernel] = &[&check::CHECK_NAN, &matmul::MATMUL];
