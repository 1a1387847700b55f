//! Kernels that treat a tensor as lines along one dimension: softmax, running sums, arg-reductions, the k largest.
//!
//! The tensor is seen as `[outer, n, inner]`; a line is the n elements of one outer and one inner index.

use crate::kernel::{Kernel, Slot};
use bytemuck::{Pod, Zeroable};

/// Parameters of all of them.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct LineParams {
    /// Product of the dimensions before.
    pub outer: u32,
    /// Elements of a line.
    pub n: u32,
    /// Product of the dimensions after.
    pub inner: u32,
    /// What the kernel's own comment says.
    pub flag: u32,
    /// How many are wanted of each line (`topk`).
    pub k: u32,
    /// To a multiple of 16 bytes.
    pub pad: [u32; 3],
}

const PARAMS: usize = size_of::<LineParams>();

/// x, out. `flag` 1: the logarithm of it.
pub static SOFTMAX: Kernel = Kernel {
    name: "softmax",
    stem: "lines",
    operands: &[Slot::Float, Slot::FloatOut],
    params: PARAMS,
    checks: false,
};

/// Gradient of the result, result, out. `flag` 1: of the logarithm.
pub static SOFTMAX_BACKWARD: Kernel = Kernel {
    name: "softmax_backward",
    stem: "lines",
    operands: &[Slot::Float, Slot::Float, Slot::FloatOut],
    params: PARAMS,
    checks: false,
};

/// x, out. `flag` 1: from the end.
pub static CUMSUM: Kernel = Kernel {
    name: "cumsum",
    stem: "lines",
    operands: &[Slot::Float, Slot::FloatOut],
    params: PARAMS,
    checks: false,
};

/// As [`CUMSUM`], of 64-bit integers.
pub static CUMSUM_I64: Kernel = Kernel {
    name: "cumsum_i64",
    stem: "lines",
    operands: &[Slot::Index, Slot::IndexOut],
    params: PARAMS,
    checks: false,
};

/// x, out: the index of the first largest element. `flag` 1: smallest. A NaN counts as both.
pub static ARG_EXTREME: Kernel = Kernel {
    name: "arg_extreme",
    stem: "lines",
    operands: &[Slot::Float, Slot::IndexOut],
    params: PARAMS,
    checks: false,
};

/// x, values, indices: the k largest in falling order. `flag` 1: the smallest in rising order.
pub static TOPK: Kernel = Kernel {
    name: "topk",
    stem: "lines",
    operands: &[Slot::Float, Slot::FloatOut, Slot::IndexOut],
    params: PARAMS,
    checks: false,
};
