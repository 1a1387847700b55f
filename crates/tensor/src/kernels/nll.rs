//! The negative log likelihood of class indices, of log-probabilities or of logits.

use crate::kernel::{Kernel, Slot};
use bytemuck::{Pod, Zeroable};

/// Parameters: log-probabilities (or logits) are `[batch, classes, inner]`, targets `[batch, inner]`.
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
    /// 1 if the loss is the (weighted) mean, 0 if it is the sum ([`CROSS_ENTROPY`] only).
    pub mean: u32,
    /// To a multiple of 16 bytes.
    pub pad: [u32; 2],
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

/// logits, targets, class weights, probabilities, loss, sum of the weights: softmax, loss and its mean by one workgroup.
pub static CROSS_ENTROPY: Kernel = Kernel {
    name: "cross_entropy",
    stem: "nll",
    operands: &[
        Slot::Float,
        Slot::Index,
        Slot::Float,
        Slot::FloatOut,
        Slot::FloatOut,
        Slot::FloatOut,
    ],
    params: PARAMS,
    checks: true,
};

/// probabilities, targets, class weights, sum of the weights, gradient of the loss, gradient of the logits.
pub static CROSS_ENTROPY_BACKWARD: Kernel = Kernel {
    name: "cross_entropy_backward",
    stem: "nll",
    operands: &[
        Slot::Float,
        Slot::Index,
        Slot::Float,
        Slot::Float,
        Slot::Float,
        Slot::FloatOut,
    ],
    params: PARAMS,
    checks: false,
};
