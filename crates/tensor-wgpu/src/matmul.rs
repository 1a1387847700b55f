//! Which form of the matrix kernel, and its grid.

use crate::launch::Size;
use tensor::kernels::matmul::MatmulParams;

/// Fewer 4 x 4 results than this leave a GPU mostly idle: then every result gets an invocation.
const FEW: usize = 2048;

/// Fewer 8 x 8 results than this occupy too few threads of a processor.
const FEW_LARGE: usize = 64;

/// Invocations of a workgroup in the register forms. They are long and few, and a software adapter hands out work to
/// threads by the workgroup.
const REGISTER_GROUP: u32 = 16;

/// The forms that the tuning run chooses between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tuned {
    /// Results in registers: for processors that play a GPU.
    Register,
    /// Operands in workgroup memory: for GPUs.
    Tile,
}

impl Tuned {
    /// Both, in the order in which the run reports them.
    pub(crate) const ALL: [Tuned; 2] = [Tuned::Register, Tuned::Tile];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Tuned::Register => "register",
            Tuned::Tile => "tile",
        }
    }
}

/// How a product is carried out: the kernel's form, its size and its workgroup's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub form: &'static str,
    pub size: Size,
    pub group: u32,
}

/// The plan for a product with these parameters on a device that allows workgroups of `group` invocations.
pub(crate) fn plan(block: &[u8], tuned: Tuned, group: u32) -> Plan {
    let p: MatmulParams = bytemuck::pod_read_unaligned(block);
    let (m, n, batch) = (p.m as usize, p.n as usize, p.batch as usize);
    let tiles = batch * m.div_ceil(4) * n.div_ceil(4);
    // On a software adapter an invocation costs more than it gains.
    if m < 4 || n < 4 || (tuned == Tuned::Tile && tiles < FEW) {
        return Plan {
            form: "small",
            size: Size::Invocations(batch * m * n),
            group,
        };
    }
    match tuned {
        Tuned::Tile => tile(m, n, batch, group),
        Tuned::Register => register(m, n, batch, group.min(REGISTER_GROUP)),
    }
}

/// The plan for a form, whatever the shape: what the tuning run compares.
pub(crate) fn plan_as(block: &[u8], tuned: Tuned, group: u32) -> Plan {
    let p: MatmulParams = bytemuck::pod_read_unaligned(block);
    let (m, n, batch) = (p.m as usize, p.n as usize, p.batch as usize);
    match tuned {
        Tuned::Tile => tile(m, n, batch, group),
        Tuned::Register => register(m, n, batch, group.min(REGISTER_GROUP)),
    }
}

fn tile(m: usize, n: usize, batch: usize, group: u32) -> Plan {
    let rows = group as usize / 4;
    Plan {
        form: "tile",
        size: Size::Groups(batch * m.div_ceil(rows) * n.div_ceil(64)),
        group,
    }
}

fn register(m: usize, n: usize, batch: usize, group: u32) -> Plan {
    let tiles = batch * m.div_ceil(4) * n.div_ceil(4);
    // The larger tile reads half as much, if the edges do not waste it and enough invocations are left.
    let large = batch * m.div_ceil(8) * n.div_ceil(8);
    if large >= FEW_LARGE && 2 * large < tiles {
        return Plan {
            form: "register8",
            size: Size::Invocations(large),
            group,
        };
    }
    Plan {
        form: "register",
        size: Size::Invocations(tiles),
        group,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(m: u32, n: u32, tuned: Tuned) -> &'static str {
        let params = MatmulParams {
            m,
            n,
            k: 9,
            batch: 1,
            ..bytemuck::Zeroable::zeroed()
        };
        plan(bytemuck::bytes_of(&params), tuned, 256).form
    }

    #[test]
    fn the_shape_decides_within_what_was_tuned() {
        assert_eq!(form(512, 512, Tuned::Tile), "tile");
        assert_eq!(form(64, 10, Tuned::Tile), "small");
        assert_eq!(form(512, 512, Tuned::Register), "register8");
        assert_eq!(form(64, 10, Tuned::Register), "register");
        assert_eq!(form(512, 1, Tuned::Register), "small");
    }
}
