//! Matrix products, batched, of operands with any strides.

use crate::kernel::{Kernel, Slot};
use bytemuck::{Pod, Zeroable};

/// Most batch dimensions after neighbours have been merged.
pub const MATMUL_BATCH_RANK: usize = 4;

/// Parameters of [`MATMUL`]: `out[z, i, j] = sum_k a[z, i, k] b[z, k, j] + bias[j]`, strides in elements, `out` dense.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct MatmulParams {
    /// Rows of `a` and of the result.
    pub m: u32,
    /// Columns of `b` and of the result.
    pub n: u32,
    /// Columns of `a`, rows of `b`.
    pub k: u32,
    /// Number of products.
    pub batch: u32,
    /// Stride between rows of `a`.
    pub a_row: i32,
    /// Stride between columns of `a`.
    pub a_col: i32,
    /// Stride between rows of `b`.
    pub b_row: i32,
    /// Stride between columns of `b`.
    pub b_col: i32,
    /// Sizes of the batch dimensions, leading ones 1.
    pub batch_shape: [u32; MATMUL_BATCH_RANK],
    /// Strides of `a` over them; 0 where it is repeated.
    pub a_batch: [i32; MATMUL_BATCH_RANK],
    /// Strides of `b` over them; 0 where it is repeated.
    pub b_batch: [i32; MATMUL_BATCH_RANK],
    /// Whether there is a bias; without one `b` stands in for that operand.
    pub bias: u32,
    /// Whether sums below zero are stored as zero.
    pub relu: u32,
    /// To a multiple of 16 bytes.
    pub pad: [u32; 2],
}

impl MatmulParams {
    /// One product of an m x k and a k x n matrix, both dense.
    pub fn dense(m: u32, n: u32, k: u32) -> MatmulParams {
        MatmulParams {
            m,
            n,
            k,
            batch: 1,
            a_row: k as i32,
            a_col: 1,
            b_row: n as i32,
            b_col: 1,
            batch_shape: [1; MATMUL_BATCH_RANK],
            ..MatmulParams::zeroed()
        }
    }
}

/// a, b, bias, out.
pub static MATMUL: Kernel = Kernel {
    name: "matmul",
    stem: "matmul",
    operands: &[Slot::Float, Slot::Float, Slot::Float, Slot::FloatOut],
    params: size_of::<MatmulParams>(),
    checks: false,
};
