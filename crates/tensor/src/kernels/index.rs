//! Reading and adding at positions that a tensor of indices names.

use crate::kernel::{Kernel, Slot};
use bytemuck::{Pod, Zeroable};

/// Parameters: data is `[outer, size, inner]`, what is gathered `[outer, n, inner]`; element (o, j, i) takes the index at
/// `o * index_outer + j * index_n + i * index_inner`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct IndexParams {
    /// Product of the dimensions before.
    pub outer: u32,
    /// Size of the indexed dimension.
    pub size: u32,
    /// Product of the dimensions after.
    pub inner: u32,
    /// Size of that dimension in what is gathered.
    pub n: u32,
    /// Step in the indices per outer index.
    pub index_outer: u32,
    /// Step in the indices per element of the indexed dimension.
    pub index_n: u32,
    /// Step in the indices per inner index.
    pub index_inner: u32,
    /// To a multiple of 16 bytes.
    pub pad: u32,
}

const PARAMS: usize = size_of::<IndexParams>();

/// data, index, out.
pub static GATHER: Kernel = Kernel {
    name: "gather",
    stem: "index",
    operands: &[Slot::Float, Slot::Index, Slot::FloatOut],
    params: PARAMS,
    checks: true,
};

/// As [`GATHER`], of 64-bit integers, which no float holds.
pub static GATHER_I64: Kernel = Kernel {
    name: "gather_i64",
    stem: "index",
    operands: &[Slot::Index, Slot::Index, Slot::IndexOut],
    params: PARAMS,
    checks: true,
};

/// index, source, out: `out[o, index, i] += source[o, j, i]` from zero, by looking for each result's sources, so that no
/// two invocations add to one place and the order of additions is the same every time. Indices out of range add nothing.
pub static SCATTER_ADD: Kernel = Kernel {
    name: "scatter_add",
    stem: "index",
    operands: &[Slot::Index, Slot::Float, Slot::FloatOut],
    params: PARAMS,
    checks: false,
};

/// Raises the check if an index is outside `0..size`; `n` is their number.
pub static CHECK_INDEX: Kernel = Kernel {
    name: "check_index",
    stem: "index",
    operands: &[Slot::Index],
    params: PARAMS,
    checks: true,
};
