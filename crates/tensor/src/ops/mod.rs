//! Operations, one family a file, each with its gradient beside it.

pub(crate) mod check;
pub(crate) mod conv2d;
mod convert;
mod elementwise;
pub mod fused;
mod index;
mod inplace;
pub(crate) mod launch;
mod lines;
pub mod loss;
mod matmul;
mod norm;
mod operators;
pub mod pointwise;
mod pool2d;
mod reduce;
mod views;
