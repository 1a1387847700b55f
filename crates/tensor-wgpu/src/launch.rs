//! From a launch to dispatches: which variant, which bindings, how many workgroups.

use crate::binding::{Bound, Operand, bind};
use crate::device::{State, WgpuDevice, too_large};
use crate::forms::{conv2d_form, line_form, pool_plan, rows_form, singles};
use crate::matmul::{self, Plan};
use crate::memory::Block;
use crate::pipeline::Pipeline;
use std::sync::{Arc, OnceLock};
use tensor::Result;
use tensor::device::Buffer;
use tensor::dtype::DType;
use tensor::expr::Expr;
use tensor::kernel::{Binding, Check, Grid, Kernel, Launch, Map, Work};
use tensor::print::map::elements_per_invocation;
use tensor::print::vectors::WIDTH;
use tensor::print::{MapForm, MapVariant, params};
use tensor::trace::{EventKind, Record, Timing};

/// A dispatch may be reckoned to take this long; longer ones are cut. Drivers reset a device after about two seconds.
const LONGEST_MS: f64 = 300.0;
/// Elements from which an elementwise kernel takes the larger workgroups: enough of them are then left for every thread.
const WIDE: usize = 1 << 18;
/// WebGPU's limit of workgroups in a dimension, below which grids are folded.
const WIDEST: u32 = 65_535;

/// The size of a dispatch.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Size {
    /// Invocations, folded and cut as needed.
    Invocations(usize),
    /// Workgroups, folded and cut as needed.
    Groups(usize),
    /// Workgroups as they are.
    Exact([u32; 3]),
}

/// What a dispatch needs besides its pipeline.
pub(crate) struct Dispatch<'a> {
    pub name: &'static str,
    pub bound: &'a Bound,
    pub params: &'a [u8],
    pub size: Size,
    pub check: Option<Check>,
    pub bytes: u64,
    pub flops: u64,
}

impl WgpuDevice {
    pub(crate) fn launch_in(&self, state: &mut State, launch: &Launch<'_>) -> Result<()> {
        match &launch.work {
            Work::Map {
                map,
                shape,
                scalars,
            } => self.map_kernel(
                state,
                map,
                shape,
                scalars,
                launch.bindings,
                (launch.bytes, launch.flops),
            ),
            Work::Maps {
                map,
                lengths,
                scalars,
            } => self.map_sets(state, map, lengths, scalars, launch.bindings),
            Work::Reduce {
                reduce,
                shape,
                kept,
                scalars,
            } => self.reduction(
                state,
                reduce,
                (shape, *kept),
                scalars,
                launch.bindings,
                (launch.bytes, launch.flops),
            ),
            Work::Kernel {
                kernel,
                params,
                grid,
                check,
            } => self.hand_written(state, kernel, params, (*grid, *check), launch),
        }
    }

    pub(crate) fn map_kernel(
        &self,
        state: &mut State,
        map: &Arc<Map>,
        shape: &[usize],
        scalars: &[f64],
        bindings: &[Binding<'_>],
        (bytes, flops): (u64, u64),
    ) -> Result<()> {
        let n: usize = shape.iter().product();
        if n == 0 {
            return Ok(());
        }
        let line = shape.len() <= 1
            && bindings
                .iter()
                .enumerate()
                .all(|(k, b)| match b.strides.first() {
                    None | Some(1) => true,
                    Some(0) => !map.writes(k),
                    Some(_) => false,
                });
        if line {
            let largest = bindings.iter().map(|b| b.dtype.size()).max().unwrap_or(1);
            // In pieces that fit a binding; a multiple of 4096 elements keeps their starts aligned.
            let piece = self.limits.binding / largest / 4096 * 4096;
            if n > piece && piece > 0 {
                for first in (0..n).step_by(piece) {
                    let length = piece.min(n - first);
                    let part: Vec<Binding<'_>> = bindings
                        .iter()
                        .map(|b| narrowed(b, first, length))
                        .collect();
                    let share = |x: u64| (x as f64 * length as f64 / n as f64) as u64;
                    self.map_kernel(
                        state,
                        map,
                        &[length],
                        scalars,
                        &part,
                        (share(bytes), share(flops)),
                    )?;
                }
                return Ok(());
            }
        }
        let operands: Vec<Operand<'_, '_>> = bindings
            .iter()
            .enumerate()
            .map(|(k, binding)| Operand {
                binding,
                writes: map.writes(k),
            })
            .collect();
        let bound = self.bound(state, &operands, true, map.name)?;
        let form = if line {
            line_form(map, n, bindings, &bound)
        } else {
            rows_form(map, shape, bindings, &bound)
        };
        let variant = MapVariant {
            form: form.clone(),
            bindings: bound.bindings.clone(),
            group: if n < WIDE {
                self.limits.group
            } else {
                self.limits.wide_group
            },
        };
        let context = self.context(state.pool.stats());
        let pipeline = state.pipelines.map(map, variant, &context)?;
        let (block, invocations) = match form {
            MapForm::Vectors(_) => (
                params::contiguous(n, &pipeline.scalars, scalars, &[]),
                n / WIDTH,
            ),
            MapForm::Line => (
                params::contiguous(n, &pipeline.scalars, scalars, &singles(bindings)),
                n.div_ceil(elements_per_invocation(map)),
            ),
            MapForm::Strided => {
                let strides: Vec<&[isize]> = bindings.iter().map(|b| b.strides).collect();
                (
                    params::strided(shape, &strides, &pipeline.scalars, scalars),
                    n,
                )
            }
            MapForm::Sets => {
                let reason = "several sets have a launch of their own".to_owned();
                return Err(self.trouble.failure(map.name, reason));
            }
            MapForm::Rows(_) => {
                let last = shape.len() - 1;
                let mut fours = shape.to_vec();
                fours[last] /= WIDTH;
                let by_fours = |b: &Binding<'_>| {
                    let mut strides = b.strides.to_vec();
                    strides[last] *= WIDTH as isize;
                    strides
                };
                let strides: Vec<Vec<isize>> = bindings.iter().map(by_fours).collect();
                let strides: Vec<&[isize]> = strides.iter().map(Vec::as_slice).collect();
                (
                    params::strided(&fours, &strides, &pipeline.scalars, scalars),
                    n / WIDTH,
                )
            }
        };
        self.dispatch(
            state,
            &pipeline,
            &Dispatch {
                name: map.name,
                bound: &bound,
                params: bytemuck::cast_slice(&block),
                size: Size::Invocations(invocations),
                check: None,
                bytes,
                flops,
            },
        )
    }

    fn hand_written(
        &self,
        state: &mut State,
        kernel: &'static Kernel,
        block: &[u8],
        (grid, check): (Grid, Option<Check>),
        launch: &Launch<'_>,
    ) -> Result<()> {
        let operands: Vec<Operand<'_, '_>> = launch
            .bindings
            .iter()
            .zip(kernel.operands)
            .map(|(binding, slot)| Operand {
                binding,
                writes: slot.writes(),
            })
            .collect();
        let bound = self.bound(state, &operands, false, kernel.name)?;
        let group = self.limits.group;
        let plan = match grid {
            _ if kernel.stem == "matmul" => {
                let plan = if state.tuning {
                    matmul::plan_as
                } else {
                    matmul::plan
                };
                plan(block, &bound.offsets, state.matmul, group)
            }
            Grid::Invocations(n) if kernel.stem == "conv2d" => Plan {
                form: conv2d_form(block),
                size: Size::Invocations(n),
                group,
            },
            Grid::Invocations(n) if kernel.name == "max_pool2d_grad" => pool_plan(block, n, group),
            Grid::Invocations(n) => Plan {
                form: "",
                size: Size::Invocations(n),
                group,
            },
            Grid::Groups([n, 1, 1]) => Plan {
                form: "",
                size: Size::Groups(n as usize),
                group,
            },
            Grid::Groups(groups) => Plan {
                form: "",
                size: Size::Exact(groups),
                group,
            },
        };
        let context = self.context(state.pool.stats());
        let pipeline =
            state
                .pipelines
                .kernel(kernel, &bound.bindings, plan.form, plan.group, &context)?;
        self.dispatch(
            state,
            &pipeline,
            &Dispatch {
                name: kernel.name,
                bound: &bound,
                params: block,
                size: plan.size,
                check: check.filter(|_| kernel.checks),
                bytes: launch.bytes,
                flops: launch.flops,
            },
        )
    }

    /// Bind operands and hold them against the device's limits.
    pub(crate) fn bound(
        &self,
        state: &State,
        operands: &[Operand<'_, '_>],
        elementwise: bool,
        name: &'static str,
    ) -> Result<Bound> {
        let bound = bind(operands, elementwise, &state.spare, name, &self.trouble)?;
        for range in &bound.ranges {
            if range.end - range.start > self.limits.binding {
                return Err(too_large(
                    self.id,
                    name,
                    range.end - range.start,
                    self.limits.binding,
                ));
            }
        }
        if bound.ranges.len() > self.limits.storages {
            return Err(self.trouble.failure(
                name,
                format!(
                    "{} operands, where the device binds {}",
                    bound.ranges.len(),
                    self.limits.storages
                ),
            ));
        }
        Ok(bound)
    }

    /// Put a kernel into the batch, in pieces if it would keep the device busy for too long.
    pub(crate) fn dispatch(
        &self,
        state: &mut State,
        pipeline: &Arc<Pipeline>,
        work: &Dispatch<'_>,
    ) -> Result<()> {
        let start_ns = self.trace.now_ns();
        let group = pipeline.group as usize;
        let cost_ms = (work.bytes as f64 / state.rates.bytes_per_ms)
            .max(work.flops as f64 / state.rates.flops_per_ms);
        let (items, in_group) = match work.size {
            Size::Invocations(n) => (n, group),
            Size::Groups(n) => (n, 1),
            Size::Exact(_) => (1, 1),
        };
        if items == 0 {
            return Ok(());
        }
        if u32::try_from(items).is_err() {
            return Err(self.trouble.failure(
                work.name,
                format!("{items} invocations do not fit in 32 bits"),
            ));
        }
        let pieces =
            ((cost_ms / LONGEST_MS).ceil().max(1.0) as usize).min(items.div_ceil(in_group));
        let piece = items.div_ceil(pieces).next_multiple_of(in_group);
        let check = work.check.map_or(0, |c| state.faults.number(c));
        let mut ranges = work.bound.ranges.clone();
        if ranges.len() < pipeline.storages {
            ranges.push(state.faults.range());
        }
        let layout = state.pipelines.storage_layout(ranges.len()).clone();
        let mut total = [0u32; 3];
        for first in (0..items).step_by(piece) {
            let end = items.min(first + piece);
            let (grid, row) = match work.size {
                Size::Exact(grid) => (grid, grid[0]),
                _ => fold((end - first).div_ceil(in_group)),
            };
            if grid.iter().any(|&g| g > self.limits.grid) {
                return Err(self.trouble.failure(
                    work.name,
                    format!("a grid of {grid:?} workgroups is too large"),
                ));
            }
            let header = header(&work.bound.offsets, end as u32, row, check, first as u32);
            let share = (end - first) as f64 / items as f64;
            state.batch.push(
                pipeline,
                &layout,
                &ranges,
                bytemuck::bytes_of(&header),
                work.params,
                grid,
                cost_ms * share,
            );
            total = [
                total[0].max(grid[0]),
                total[1] + grid[1],
                total[2].max(grid[2]),
            ];
        }
        let record = Record::new(EventKind::Launch, work.name, &self.name, Timing::Enqueue);
        self.trace.record(Record {
            source: Some(&pipeline.source),
            grid: total,
            workgroup: [pipeline.group, 1, 1],
            bytes: work.bytes,
            flops: work.flops,
            start_ns,
            duration_ns: self.trace.now_ns().saturating_sub(start_ns),
            ..record
        });
        Ok(())
    }

    /// Copy bytes between two buffers at any alignment.
    pub(crate) fn copy_bytes(
        &self,
        state: &mut State,
        src: &Buffer,
        dst: &Buffer,
        offset: usize,
        bytes: usize,
    ) -> Result<()> {
        static COPY: OnceLock<Arc<Map>> = OnceLock::new();
        let map =
            COPY.get_or_init(|| Arc::new(Map::new("copy", &[DType::U8], DType::U8, Expr::arg(0))));
        let bind = |buffer, offset| Binding {
            buffer,
            dtype: DType::U8,
            offset,
            span: (offset, offset + bytes),
            strides: &[1],
        };
        let bindings = [bind(src, 0), bind(dst, offset)];
        Block::of(dst, &self.trouble)?;
        self.map_kernel(state, map, &[bytes], &[], &bindings, (2 * bytes as u64, 0))
    }
}

/// The elements `first..first + length` of a dense operand, or all of a single one.
fn narrowed<'a>(b: &Binding<'a>, first: usize, length: usize) -> Binding<'a> {
    if b.strides.first() == Some(&0) {
        return *b;
    }
    let offset = b.offset + first;
    Binding {
        offset,
        span: (offset, offset + length),
        ..*b
    }
}

/// A grid of at least this many workgroups, and the length of its rows.
fn fold(groups: usize) -> ([u32; 3], u32) {
    let groups = groups as u32;
    if groups <= WIDEST {
        return ([groups, 1, 1], groups);
    }
    let rows = groups.div_ceil(WIDEST);
    let row = groups.div_ceil(rows);
    ([row, rows, 1], row)
}

/// What every kernel is told: the `Launch` block of its source.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(crate) struct Header {
    offset: [u32; 8],
    count: u32,
    row: u32,
    check: u32,
    first: u32,
    inf: u32,
    nan: u32,
    pad: [u32; 2],
}

fn header(offsets: &[u32], count: u32, row: u32, check: u32, first: u32) -> Header {
    let mut offset = [0; 8];
    for (to, from) in offset.iter_mut().zip(offsets) {
        *to = *from;
    }
    Header {
        offset,
        count,
        row,
        check,
        first,
        inf: f32::INFINITY.to_bits(),
        nan: 0x7fc0_0000,
        pad: [0; 2],
    }
}

#[cfg(test)]
mod tests;
