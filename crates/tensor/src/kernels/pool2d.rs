//! Two-dimensional pooling and its gradients, of dense operands.

use crate::kernel::{Kernel, Slot};
use bytemuck::{Pod, Zeroable};

/// Parameters of the pooling kernels: the input is `[planes, height, width]`, the result `[planes, out_h, out_w]`.
///
/// Adaptive pooling reads only those sizes: its window for result `i` of `n` over a size `s` is
/// `i * s / n .. ((i + 1) * s + n - 1) / n`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Pool2dParams {
    /// Images times channels.
    pub planes: u32,
    /// Rows of the input.
    pub height: u32,
    /// Columns of the input.
    pub width: u32,
    /// Rows of the result.
    pub out_h: u32,
    /// Columns of the result.
    pub out_w: u32,
    /// Rows of a window.
    pub kernel_h: u32,
    /// Columns of a window.
    pub kernel_w: u32,
    /// Rows from window to window.
    pub stride_h: u32,
    /// Columns from window to window.
    pub stride_w: u32,
    /// Rows by which the first window begins above the input.
    pub pad_h: u32,
    /// Columns by which the first window begins left of the input.
    pub pad_w: u32,
    /// To a multiple of 16 bytes.
    pub pad: u32,
}

const fn pool(name: &'static str, operands: &'static [Slot]) -> Kernel {
    Kernel {
        name,
        stem: "pool2d",
        operands,
        params: size_of::<Pool2dParams>(),
        checks: false,
    }
}

/// input, out, and where in its plane each maximum was found (row times width plus column).
pub static MAX_POOL2D: Kernel = pool("max_pool2d", &[Slot::Float, Slot::FloatOut, Slot::Words]);

/// Gradient of the result, where the maxima were, gradient of the input.
pub static MAX_POOL2D_GRAD: Kernel = pool(
    "max_pool2d_grad",
    &[Slot::Float, Slot::Words, Slot::FloatOut],
);

/// input, out. Padding counts as zeros.
pub static AVG_POOL2D: Kernel = pool("avg_pool2d", &[Slot::Float, Slot::FloatOut]);

/// Gradient of the result, gradient of the input.
pub static AVG_POOL2D_GRAD: Kernel = pool("avg_pool2d_grad", &[Slot::Float, Slot::FloatOut]);

/// input, out.
pub static ADAPTIVE_AVG_POOL2D: Kernel =
    pool("adaptive_avg_pool2d", &[Slot::Float, Slot::FloatOut]);

/// Gradient of the result, gradient of the input.
pub static ADAPTIVE_AVG_POOL2D_GRAD: Kernel =
    pool("adaptive_avg_pool2d_grad", &[Slot::Float, Slot::FloatOut]);
