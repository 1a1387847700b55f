//! The negative log likelihood of class indices.

use crate::kernel::{Kernel, Slot};
use bytemuck::{Pod, Zeroable};

/// Parameters: log-probabilities are `[batch, classes, inner]`, targets `[batch, inner]`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct NllParams {
    /// Samples.
    pub batch: u32,
    /// Classes.
    pub classes: u32,
    /// Product of the dimensions after the classes.
    pub inner: u32,
    /// The target that counts for nothing.
    pub ignore: i32,
    /// 1 if there are class weights (else that operand is not read).
    pub weighted: u32,
    /// To a multiple of 16 bytes.
    pub pad: [u32; 3],
}

const PARAMS: usize = size_of::<NllParams>();

/// log-probabilities, targets, class weights, losses, weight of each loss (0 where the target is ignored).
pub static NLL: Kernel = Kernel {
    name: "nll",
    stem: "nll",
    operands: &[
        Slot::Float,
        Slot::Index,
        Slot::Float,
        Slot::FloatOut,
        Slot::FloatOut,
    ],
    params: PARAMS,
    checks: true,
};

/// targets, class weights, gradient of each loss, gradient of the log-probabilities.
pub static NLL_BACKWARD: Kernel = Kernel {
    name: "nll_backward",
    stem: "nll",
    operands: &[Slot::Index, Slot::Float, Slot::Float, Slot::FloatOut],
    params: PARAMS,
    checks: false,
};
