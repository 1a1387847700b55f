//! Searches for bad values.

use crate::kernel::{Kernel, Slot};
use bytemuck::{Pod, Zeroable};

/// Parameters of the searches.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct CheckParams {
    /// Number of elements.
    pub count: u32,
    /// To a multiple of 16 bytes.
    pub pad: [u32; 3],
}

/// Raises the launch's check if any element is NaN.
pub static CHECK_NAN: Kernel = Kernel {
    name: "check_nan",
    stem: "check",
    operands: &[Slot::Float],
    params: size_of::<CheckParams>(),
    checks: true,
};
