//! From expressions to source text that a device compiles and a learner reads.
//!
//! [`text`] prints an [`crate::expr::Expr`] as C-like statements; what differs between languages (names of types and
//! functions, literals, conversions) stands behind [`Dialect`]. [`wgsl`] is the dialect of WGSL and [`map`] and
//! [`reduce`] are its two kernel skeletons: bindings, index arithmetic, loads and stores. Another language brings a
//! dialect and skeletons of its own.

pub mod describe;
pub mod library;
pub mod map;
pub mod params;
pub mod reduce;
pub mod sets;
mod text;
pub mod vectors;
pub mod wgsl;

pub use map::{MapForm, MapVariant, print_map};
pub use reduce::{ReduceVariant, Way, print_reduce};
pub use text::{Dialect, Text};

use crate::dtype::DType;

/// Bytes that every launch has for its parameters.
pub const PARAMS_BYTES: usize = 1024;

/// A generated kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Printed {
    /// The whole module; its entry point is `main`.
    pub source: String,
    /// Run-time numbers in the order in which the parameter block holds them: which one, as which type.
    pub scalars: Vec<(u8, DType)>,
}

/// The language has no such operation on this type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// The type.
    pub dtype: DType,
}
