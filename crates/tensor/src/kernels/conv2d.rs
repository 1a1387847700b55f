//! Two-dimensional convolution and its gradients, of dense operands.

use crate::kernel::{Kernel, Slot};
use bytemuck::{Pod, Zeroable};

/// Neighbouring columns of the result that one invocation computes.
pub const CONV_COLUMNS: usize = 4;

/// Channels of the result that one invocation computes.
pub const CONV_CHANNELS: usize = 4;

/// Neighbouring taps of a filter's row whose gradients one invocation computes.
pub const CONV_TAPS: usize = 5;

/// Parameters of the convolution kernels.
///
/// The input is `[batch, channels, height, width]`, the weight `[filters, channels / groups, kernel_h, kernel_w]`, the
/// result `[batch, filters, out_h, out_w]`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Conv2dParams {
    /// Images.
    pub batch: u32,
    /// Channels of the input.
    pub channels: u32,
    /// Rows of the input.
    pub height: u32,
    /// Columns of the input.
    pub width: u32,
    /// Channels of the result.
    pub filters: u32,
    /// Rows of a filter.
    pub kernel_h: u32,
    /// Columns of a filter.
    pub kernel_w: u32,
    /// Groups into which both kinds of channels are split; divides both.
    pub groups: u32,
    /// Rows of the result.
    pub out_h: u32,
    /// Columns of the result.
    pub out_w: u32,
    /// Rows between neighbours of the result.
    pub stride_h: u32,
    /// Columns between neighbours of the result.
    pub stride_w: u32,
    /// Rows of zeros above and below.
    pub pad_h: u32,
    /// Columns of zeros left and right.
    pub pad_w: u32,
    /// Rows between neighbours of a filter.
    pub dilation_h: u32,
    /// Columns between neighbours of a filter.
    pub dilation_w: u32,
    /// Whether there is a bias; without one the weight stands in for that operand.
    pub bias: u32,
    /// Parts into which the batch is cut for the weight's gradient: image `i` belongs to part `i * parts / batch`.
    pub parts: u32,
    /// Whether results below zero are stored as zero.
    pub relu: u32,
    /// To a multiple of 16 bytes.
    pub pad: u32,
}

/// input, weight, bias, out.
pub static CONV2D: Kernel = Kernel {
    name: "conv2d",
    stem: "conv2d",
    operands: &[Slot::Float, Slot::Float, Slot::Float, Slot::FloatOut],
    params: size_of::<Conv2dParams>(),
    checks: false,
};

/// Gradient of the result, weight, gradient of the input.
pub static CONV2D_GRAD_INPUT: Kernel = Kernel {
    name: "conv2d_grad_input",
    stem: "conv2d",
    operands: &[Slot::Float, Slot::Float, Slot::FloatOut],
    params: size_of::<Conv2dParams>(),
    checks: false,
};

/// Gradient of the result, input, `[parts, filters, channels / groups, kernel_h, kernel_w]`: what each part of the batch
/// adds to the weight's gradient.
pub static CONV2D_GRAD_WEIGHT: Kernel = Kernel {
    name: "conv2d_grad_weight",
    stem: "conv2d",
    operands: &[Slot::Float, Slot::Float, Slot::FloatOut],
    params: size_of::<Conv2dParams>(),
    checks: false,
};
