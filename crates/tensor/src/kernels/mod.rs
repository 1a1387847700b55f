//! The hand-written kernels: one file a family with its parameter block, and the list of all.
//!
//! Each has a twin in `shaders/`, `kernels/` and `cpu/` under the same stem and name.

pub mod check;
pub mod conv2d;
pub mod index;
pub mod lines;
pub mod matmul;
pub mod nll;
pub mod pool2d;
pub mod random;

use crate::kernel::Kernel;

/// Every hand-written kernel, for devices that build pipelines and for the test that looks for twins.
pub const ALL: &[&Kernel] = &[
    &check::CHECK_NAN,
    &index::CHECK_INDEX,
    &index::GATHER,
    &index::GATHER_I64,
    &index::SCATTER_ADD,
    &lines::ARG_EXTREME,
    &lines::CUMSUM,
    &lines::CUMSUM_I64,
    &lines::SOFTMAX,
    &lines::SOFTMAX_BACKWARD,
    &lines::TOPK,
    &matmul::MATMUL,
    &nll::NLL,
    &nll::NLL_BACKWARD,
    &nll::CROSS_ENTROPY,
    &nll::CROSS_ENTROPY_BACKWARD,
    &random::UNIFORM,
    &conv2d::CONV2D,
    &conv2d::CONV2D_GRAD_INPUT,
    &conv2d::CONV2D_GRAD_WEIGHT,
    &pool2d::MAX_POOL2D,
    &pool2d::MAX_POOL2D_GRAD,
    &pool2d::AVG_POOL2D,
    &pool2d::AVG_POOL2D_GRAD,
    &pool2d::ADAPTIVE_AVG_POOL2D,
    &pool2d::ADAPTIVE_AVG_POOL2D_GRAD,
];
