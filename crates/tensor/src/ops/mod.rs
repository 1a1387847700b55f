//! Operations, one family a file, each with its gradient beside it.

pub(crate) mod check;
mod convert;
mod elementwise;
mod index;
mod inplace;
pub(crate) mod launch;
mod lines;
pub mod loss;
mod matmul;
mod operators;
pub mod pointwise;
mod reduce;
mod views;
