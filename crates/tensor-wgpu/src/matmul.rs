//! Which form of the matrix kernel, and its grid.

use crate::launch::Size;
use tensor::kernels::matmul::MatmulParams;

/// Fewer 4 x 4 results than this leave a GPU mostly idle: then every result gets an invocation.
const FEW: usize = 2048;

/// Fewer 8 x 8 results than this occupy too few threads of a processor.
const FEW_LARGE: usize = 64;

/// The form's name and size for a product with these parameters. `tuned` is the tuning run's choice.
pub(crate) fn plan(block: &[u8], tuned: &'static str, group: u32) -> (&'static str, Size) {
    let p: MatmulParams = bytemuck::pod_read_unaligned(block);
    let (m, n, batch) = (p.m as usize, p.n as usize, p.batch as usize);
    let tiles = batch * m.div_ceil(4) * n.div_ceil(4);
    // On a software adapter (`register` there) an invocation costs more than it gains.
    if m < 4 || n < 4 || (tuned == "tile" && tiles < FEW) {
        return ("small", Size::Invocations(batch * m * n));
    }
    if tuned == "tile" {
        let rows = group as usize / 4;
        return (
            "tile",
            Size::Groups(batch * m.div_ceil(rows) * n.div_ceil(64)),
        );
    }
    // The larger tile reads half as much, if the edges do not waste it and enough invocations are left.
    let large = batch * m.div_ceil(8) * n.div_ceil(8);
    if large >= FEW_LARGE && 2 * large < tiles {
        return ("register8", Size::Invocations(large));
    }
    ("register", Size::Invocations(tiles))
}
