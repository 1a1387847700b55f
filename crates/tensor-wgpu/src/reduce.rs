//! Reductions: which way, in how many parts, in one pass or two.

use crate::binding::{Bound, Operand};
use crate::device::{State, WgpuDevice};
use crate::launch::{Dispatch, Size};
use std::sync::Arc;
use tensor::Result;
use tensor::kernel::{Binding, Reduce};
use tensor::print::reduce::second_pass;
use tensor::print::vectors::WIDTH;
use tensor::print::{ReduceVariant, Way, params};

/// How a reduction is carried out.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Plan {
    way: Way,
    /// Parts into which each output's elements are dealt; more than one needs a second pass.
    chunks: usize,
    /// Whether the parts of one output are neighbours in the grid.
    parts_first: bool,
}

/// Choose by shape and adapter. `inner` is whether neighbours in memory belong to one output.
fn plan(outputs: usize, reduced: usize, inner: bool, software: bool, group: usize) -> Plan {
    // Enough invocations to keep the device busy.
    let busy = if software { 2048 } else { 1 << 16 };
    let alone = Plan {
        way: Way::Each,
        chunks: 1,
        parts_first: false,
    };
    if software {
        // A barrier costs more than a second pass.
        if outputs >= busy / 4 || reduced <= 256 {
            return alone;
        }
        let chunks = (busy / outputs).clamp(1, reduced.div_ceil(64));
        return Plan {
            way: Way::Each,
            chunks,
            parts_first: inner,
        };
    }
    if reduced <= 32 || (!inner && outputs >= busy / 4) {
        return alone;
    }
    if inner {
        // One workgroup an output; several where the outputs alone would leave the device idle.
        let chunks = (busy / (outputs * group)).clamp(1, reduced.div_ceil(16 * group));
        return Plan {
            way: Way::Group,
            chunks,
            parts_first: true,
        };
    }
    let chunks = (busy / outputs).clamp(1, reduced.div_ceil(32));
    Plan {
        way: Way::Each,
        chunks,
        parts_first: false,
    }
}

/// Whether the elements of the one reduced dimension are neighbours in every input, and everything begins and ends at a
/// multiple of four.
fn by_fours(dims: &[usize], kept: usize, bindings: &[Binding<'_>], bound: &Bound) -> bool {
    let inputs = &bindings[..bindings.len() - 1];
    let output = bound.bindings[inputs.len()];
    dims.len() == kept + 1
        && dims[kept].is_multiple_of(WIDTH)
        && inputs.iter().enumerate().all(|(k, b)| {
            let multiple = |s: &isize| s.rem_euclid(WIDTH as isize) == 0;
            b.dtype.size() <= 4
                && bound.bindings[k] != output
                && (bound.offsets[k] as usize).is_multiple_of(WIDTH)
                && b.strides.get(kept) == Some(&1)
                && b.strides[..kept].iter().all(multiple)
        })
}

impl WgpuDevice {
    pub(crate) fn reduction(
        &self,
        state: &mut State,
        reduce: &Arc<Reduce>,
        (shape, kept): (&[usize], usize),
        scalars: &[f64],
        bindings: &[Binding<'_>],
        (bytes, flops): (u64, u64),
    ) -> Result<()> {
        let outputs: usize = shape[..kept].iter().product();
        let reduced: usize = shape[kept..].iter().product();
        if outputs == 0 {
            return Ok(());
        }
        // Kernels expect one reduced dimension at least.
        let mut dims = shape.to_vec();
        if dims.len() == kept {
            dims.push(1);
        }
        let inner = bindings[0].strides.last().is_none_or(|s| s.abs() == 1) || kept == 0;
        let plan = plan(
            outputs,
            reduced,
            inner,
            self.software,
            self.limits.group as usize,
        );
        if plan.chunks == 1 {
            return self.pass(
                state,
                reduce,
                (&dims, kept),
                scalars,
                bindings,
                plan,
                false,
                (bytes, flops),
            );
        }

        let acc = reduce.acc.compute();
        let count = outputs * plan.chunks;
        let parts = self.alloc_in(state, count * acc.size(), "reduction")?;
        let second = Arc::new(second_pass(reduce));
        let result = (|| {
            let mut first = bindings.to_vec();
            let Some(out) = first.pop() else {
                return Ok(());
            };
            let whole = Binding {
                buffer: &parts,
                dtype: acc,
                offset: 0,
                span: (0, count),
                strides: &[],
            };
            first.push(whole);
            self.pass(
                state,
                reduce,
                (&dims, kept),
                scalars,
                &first,
                plan,
                true,
                (bytes, flops),
            )?;
            // The second pass: outputs as they were, then the parts of each, dense.
            let mut dims = dims[..kept].to_vec();
            let mut strides = tensor::layout::contiguous_strides(&dims);
            strides.iter_mut().for_each(|s| *s *= plan.chunks as isize);
            dims.push(plan.chunks);
            strides.push(1);
            let source = Binding {
                strides: &strides,
                ..whole
            };
            let way = if self.software || plan.chunks <= 32 {
                Way::Each
            } else {
                Way::Group
            };
            let last = Plan {
                way,
                chunks: 1,
                parts_first: false,
            };
            let bytes = (count * acc.size()) as u64;
            self.pass(
                state,
                &second,
                (&dims, kept),
                scalars,
                &[source, out],
                last,
                false,
                (bytes, count as u64),
            )
        })();
        state.pool.free(parts.block);
        result
    }

    #[allow(clippy::too_many_arguments)] // one pass is described by all of these
    fn pass(
        &self,
        state: &mut State,
        reduce: &Arc<Reduce>,
        (dims, kept): (&[usize], usize),
        scalars: &[f64],
        bindings: &[Binding<'_>],
        plan: Plan,
        partial: bool,
        (bytes, flops): (u64, u64),
    ) -> Result<()> {
        let last = bindings.len() - 1;
        let operands: Vec<Operand<'_, '_>> = bindings
            .iter()
            .enumerate()
            .map(|(k, binding)| Operand {
                binding,
                writes: k == last,
            })
            .collect();
        let bound = self.bound(state, &operands, false, reduce.name)?;
        let vectors = by_fours(dims, kept, bindings, &bound);
        let variant = ReduceVariant {
            way: plan.way,
            vectors,
            partial,
            bindings: bound.bindings.clone(),
            group: self.limits.group,
        };
        let context = self.context(state.pool.stats());
        let pipeline = state.pipelines.reduce(reduce, variant, &context)?;
        let strides: Vec<&[isize]> = bindings.iter().map(|b| b.strides).collect();
        let mut counted = dims.to_vec();
        if vectors {
            counted[kept] /= WIDTH;
        }
        let block = params::reduction(
            &counted,
            kept,
            plan.chunks,
            plan.parts_first,
            &strides,
            &pipeline.scalars,
            scalars,
        );
        let parts = dims[..kept].iter().product::<usize>() * plan.chunks;
        let size = match plan.way {
            Way::Each => Size::Invocations(parts),
            Way::Group => Size::Groups(parts),
        };
        self.dispatch(
            state,
            &pipeline,
            &Dispatch {
                name: reduce.name,
                bound: &bound,
                params: bytemuck::cast_slice(&block),
                size,
                check: None,
                bytes,
                flops,
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_sums_are_shared_out() {
        let full = plan(1, 1 << 24, true, false, 256);
        assert_eq!((full.way, full.chunks), (Way::Group, 256));
        let software = plan(1, 1 << 24, true, true, 64);
        assert_eq!((software.way, software.chunks), (Way::Each, 2048));
        assert_eq!(plan(4096, 10, true, false, 256).way, Way::Each);
        assert_eq!(plan(0x10000, 1000, false, false, 256).chunks, 1);
    }
}
