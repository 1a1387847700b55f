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

/// The plan for a product with these parameters, whose operands begin at these elements of their bindings, on a device that
/// allows workgroups of `group` invocations.
pub(crate) fn plan(block: &[u8], offsets: &[u32], tuned: Tuned, group: u32) -> Plan {
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
        Tuned::Register => register(&p, offsets, group.min(REGISTER_GROUP)),
    }
}

/// The plan for a form, whatever the shape: what the tuning run compares.
pub(crate) fn plan_as(block: &[u8], offsets: &[u32], tuned: Tuned, group: u32) -> Plan {
    let p: MatmulParams = bytemuck::pod_read_unaligned(block);
    let (m, n, batch) = (p.m as usize, p.n as usize, p.batch as usize);
    match tuned {
        Tuned::Tile => tile(m, n, batch, group),
        Tuned::Register => register(&p, offsets, group.min(REGISTER_GROUP)),
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

fn register(p: &MatmulParams, offsets: &[u32], group: u32) -> Plan {
    let (m, n, batch) = (p.m as usize, p.n as usize, p.batch as usize);
    let tiles = batch * m.div_ceil(4) * n.div_ceil(4);
    // The larger tile reads half as much, if the edges do not waste it and enough invocations are left.
    let large = batch * m.div_ceil(8) * n.div_ceil(8);
    if large >= FEW_LARGE && 2 * large < tiles {
        return Plan {
            form: vectors(p, offsets).unwrap_or("register8"),
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

/// The form that reads and writes by fours, if both operands have neighbours along one dimension and everything begins and
/// ends at a multiple of four.
fn vectors(p: &MatmulParams, offsets: &[u32]) -> Option<&'static str> {
    let whole = |n: i64| n.rem_euclid(4) == 0;
    // Along which of its dimensions an operand has neighbours: the first (k) or the other. `along` and `other` are its
    // steps there, `count` the size of the other dimension.
    let runs_along_k = |along: i32, other: i32, count: u32| {
        if along == 1 && whole(other.into()) {
            Some(true)
        } else if other == 1 && whole(along.into()) && whole(count.into()) {
            Some(false)
        } else {
            None
        }
    };
    let batches = p.a_batch.iter().chain(&p.b_batch);
    // Steps are divided by four, which would spoil those that go back.
    if [p.a_row, p.a_col, p.b_row, p.b_col].iter().any(|&s| s < 0)
        || !whole(p.k.into())
        || !whole(p.n.into())
        || !batches.copied().all(|s| whole(s.into()))
        || !offsets.iter().all(|&o| whole(o.into()))
    {
        return None;
    }
    let a = runs_along_k(p.a_col, p.a_row, p.m)?;
    let b = runs_along_k(p.b_row, p.b_col, p.n)?;
    Some(match (a, b) {
        (true, false) => "vectors_kn",
        (true, true) => "vectors_kk",
        (false, false) => "vectors_mn",
        (false, true) => "vectors_mk",
    })
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
        plan(bytemuck::bytes_of(&params), &[0; 3], tuned, 256).form
    }

    #[test]
    fn the_shape_decides_within_what_was_tuned() {
        assert_eq!(form(512, 512, Tuned::Tile), "tile");
        assert_eq!(form(64, 10, Tuned::Tile), "small");
        assert_eq!(form(512, 512, Tuned::Register), "register8");
        assert_eq!(form(64, 10, Tuned::Register), "register");
        assert_eq!(form(512, 1, Tuned::Register), "small");
    }

    #[test]
    fn operands_with_neighbours_are_read_by_fours() {
        let form = |a: [i32; 2], b: [i32; 2], offset: u32, sizes: [u32; 3]| {
            let [m, n, k] = sizes;
            let p = MatmulParams {
                m,
                n,
                k,
                batch: 1,
                a_row: a[0],
                a_col: a[1],
                b_row: b[0],
                b_col: b[1],
                ..bytemuck::Zeroable::zeroed()
            };
            vectors(&p, &[0, offset, 0])
        };
        let sizes = [66, 72, 64];
        assert_eq!(form([64, 1], [72, 1], 4, sizes), Some("vectors_kn"));
        assert_eq!(form([64, 1], [1, 64], 4, sizes), Some("vectors_kk"));
        assert_eq!(form([1, 68], [72, 1], 4, [68, 72, 64]), Some("vectors_mn"));
        assert_eq!(form([1, 68], [1, 64], 4, [68, 72, 64]), Some("vectors_mk"));
        // A line that is no multiple of four, a start that is none, elements apart, and a step back.
        assert_eq!(form([1, 68], [72, 1], 4, sizes), None);
        assert_eq!(form([64, 1], [72, 1], 3, sizes), None);
        assert_eq!(form([128, 2], [72, 1], 4, sizes), None);
        assert_eq!(form([-64, 1], [72, 1], 4, sizes), None);
        assert_eq!(form([64, 1], [72, 1], 4, [66, 72, 63]), None);
    }
}
