//! Random numbers made where they are used.

use crate::kernel::{Kernel, Slot};
use bytemuck::{Pod, Zeroable};

/// Parameters: a [`crate::random::Draw`], and how many of its words are wanted.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct RandomParams {
    /// First counter.
    pub counter: [u32; 4],
    /// Low and high word of the seed.
    pub key: [u32; 2],
    /// How many numbers.
    pub count: u32,
    /// To a multiple of 16 bytes.
    pub pad: u32,
}

/// out: uniform in `[0, 1)`, the same bits as on the host.
pub static UNIFORM: Kernel = Kernel {
    name: "uniform_random",
    stem: "random",
    operands: &[Slot::FloatOut],
    params: size_of::<RandomParams>(),
    checks: false,
};
