//! From tensors to launches: broadcast, merge dimensions, bind.

use crate::device::Device;
use crate::error::{Error, Result};
use crate::kernel::{Binding, Check, Grid, Kernel, Launch, MAX_RANK, Map, Reduce, Work};
use crate::layout::{Layout, collapse};
use crate::tensor::Tensor;
use std::borrow::Cow;
use std::sync::Arc;

/// Run an elementwise kernel. Operands that are read are expanded to the shape of those that are stored to.
pub(crate) fn map(kernel: &Arc<Map>, operands: &[&Tensor], scalars: &[f64]) -> Result<()> {
    let Some((out, _)) = kernel.outputs.first() else {
        return Ok(());
    };
    let out = operands[*out as usize];
    if out.numel() == 0 {
        return Ok(());
    }
    let device = same_device(kernel.name, operands)?;
    let target: Vec<isize> = out.shape().iter().map(|&n| n as isize).collect();
    let mut held: Vec<Cow<'_, Layout>> = Vec::with_capacity(operands.len());
    for t in operands {
        held.push(if t.shape() == out.shape() {
            Cow::Borrowed(t.layout())
        } else {
            Cow::Owned(t.layout().expand(&target)?)
        });
    }
    let strides: Vec<&[isize]> = held.iter().map(|l| l.stride()).collect();
    let (shape, strides) = collapse(out.shape(), &strides);
    if shape.len() > MAX_RANK {
        return Err(Error::TooManyDims {
            op: kernel.name,
            rank: shape.len(),
            max: MAX_RANK,
        });
    }
    let bindings: Vec<Binding<'_>> = operands
        .iter()
        .zip(&held)
        .zip(&strides)
        .map(|((t, l), s)| bind(t, l, s))
        .collect();
    let bytes = operands
        .iter()
        .zip(&kernel.operands)
        .map(|(t, d)| (t.numel() * d.size()) as u64)
        .sum();
    let flops = out.numel() as u64 * kernel.outputs.iter().map(|(_, e)| e.flops()).sum::<u64>();
    let work = Work::Map {
        map: kernel,
        shape: &shape,
        scalars,
    };
    device.backend().launch(&Launch {
        work,
        bindings: &bindings,
        bytes,
        flops,
    })
}

/// Run an elementwise kernel over several sets of dense operands, each of one shape.
pub(crate) fn maps(kernel: &Arc<Map>, sets: &[&Vec<&Tensor>], scalars: &[f64]) -> Result<()> {
    let all: Vec<&Tensor> = sets.iter().flat_map(|set| set.iter().copied()).collect();
    let device = same_device(kernel.name, &all)?;
    let lengths: Vec<usize> = sets.iter().map(|set| set[0].numel()).collect();
    let bindings: Vec<Binding<'_>> = all.iter().map(|t| bind(t, t.layout(), &[1])).collect();
    let bytes = all.iter().map(|t| t.nbytes() as u64).sum();
    let each: u64 = kernel.outputs.iter().map(|(_, e)| e.flops()).sum();
    let flops = each * lengths.iter().sum::<usize>() as u64;
    let work = Work::Maps {
        map: kernel,
        lengths: &lengths,
        scalars,
    };
    device.backend().launch(&Launch {
        work,
        bindings: &bindings,
        bytes,
        flops,
    })
}

/// Run a reduction of `inputs` (of one shape) over `dims` (sorted) into `out`, a dense tensor of the kept dimensions.
pub(crate) fn reduce(
    kernel: &Arc<Reduce>,
    inputs: &[&Tensor],
    dims: &[usize],
    out: &Tensor,
    scalars: &[f64],
) -> Result<()> {
    if out.numel() == 0 {
        return Ok(());
    }
    let device = same_device(kernel.name, inputs)?;
    let shape = inputs[0].shape();
    let (mut kept, mut gone) = (Vec::new(), Vec::new());
    for d in 0..shape.len() {
        if dims.contains(&d) {
            gone.push(d)
        } else {
            kept.push(d)
        }
    }
    let pick = |from: &[usize], t: &Tensor| from.iter().map(|&d| t.stride()[d]).collect::<Vec<_>>();
    let sizes = |from: &[usize]| from.iter().map(|&d| shape[d]).collect::<Vec<_>>();
    let kept_shape = sizes(&kept);
    let out_strides = crate::layout::contiguous_strides(&kept_shape);

    let mut kept_strides: Vec<Vec<isize>> = inputs.iter().map(|t| pick(&kept, t)).collect();
    kept_strides.push(out_strides);
    let refs: Vec<&[isize]> = kept_strides.iter().map(Vec::as_slice).collect();
    let (kept_shape, kept_strides) = collapse(&kept_shape, &refs);

    let gone_strides: Vec<Vec<isize>> = inputs.iter().map(|t| pick(&gone, t)).collect();
    let refs: Vec<&[isize]> = gone_strides.iter().map(Vec::as_slice).collect();
    let (gone_shape, gone_strides) = collapse(&sizes(&gone), &refs);

    let full: Vec<usize> = kept_shape.iter().chain(&gone_shape).copied().collect();
    if full.len() > MAX_RANK {
        return Err(Error::TooManyDims {
            op: kernel.name,
            rank: full.len(),
            max: MAX_RANK,
        });
    }
    let strides: Vec<Vec<isize>> = kept_strides
        .iter()
        .zip(&gone_strides)
        .map(|(k, g)| k.iter().chain(g).copied().collect())
        .collect();
    let mut bindings: Vec<Binding<'_>> = inputs
        .iter()
        .zip(&strides)
        .map(|(t, s)| bind(t, t.layout(), s))
        .collect();
    bindings.push(bind(out, out.layout(), &kept_strides[inputs.len()]));
    let numel = inputs[0].numel() as u64;
    let bytes = inputs.iter().map(|t| t.nbytes() as u64).sum::<u64>() + out.nbytes() as u64;
    let flops = numel * (1 + kernel.pre.flops()) + out.numel() as u64 * kernel.post.flops();
    let work = Work::Reduce {
        reduce: kernel,
        shape: &full,
        kept: kept_shape.len(),
        scalars,
    };
    device.backend().launch(&Launch {
        work,
        bindings: &bindings,
        bytes,
        flops,
    })
}

/// What a hand-written kernel's launch is reckoned to cost.
#[derive(Clone, Copy, Default)]
pub(crate) struct Cost {
    pub bytes: u64,
    pub flops: u64,
}

/// Run a hand-written kernel. Its operands are dense unless its parameters carry their strides.
pub(crate) fn kernel<P: bytemuck::Pod>(
    kernel: &'static Kernel,
    operands: &[&Tensor],
    params: &P,
    grid: Grid,
    check: Option<Check>,
    cost: Cost,
) -> Result<()> {
    if matches!(grid, Grid::Invocations(0)) || matches!(grid, Grid::Groups(g) if g.contains(&0)) {
        return Ok(());
    }
    debug_assert_eq!(kernel.operands.len(), operands.len(), "{}", kernel.name);
    debug_assert_eq!(kernel.params, size_of::<P>(), "{}", kernel.name);
    let device = same_device(kernel.name, operands)?;
    let bindings: Vec<Binding<'_>> = operands.iter().map(|t| bind(t, t.layout(), &[])).collect();
    let bytes = if cost.bytes > 0 {
        cost.bytes
    } else {
        operands.iter().map(|t| t.nbytes() as u64).sum()
    };
    let work = Work::Kernel {
        kernel,
        params: bytemuck::bytes_of(params),
        grid,
        check,
    };
    device.backend().launch(&Launch {
        work,
        bindings: &bindings,
        bytes,
        flops: cost.flops,
    })
}

/// The one device of all operands, or the two that disagree.
fn same_device<'a>(op: &'static str, operands: &[&'a Tensor]) -> Result<&'a Device> {
    let first = operands[0];
    for other in &operands[1..] {
        if !first.device().same(other.device()) {
            return Err(mismatch(op, ("input", first), ("other", other)));
        }
    }
    Ok(first.device())
}

/// The error that names both operands and where they live.
pub(crate) fn mismatch(
    op: &'static str,
    left: (&'static str, &Tensor),
    right: (&'static str, &Tensor),
) -> Error {
    let side = |(name, t): (&'static str, &Tensor)| {
        Box::new(crate::error::Operand {
            name,
            device: t.device().id(),
            dtype: t.dtype(),
            shape: t.shape().to_vec(),
        })
    };
    Error::DeviceMismatch {
        op,
        left: side(left),
        right: side(right),
    }
}

fn bind<'a>(t: &'a Tensor, layout: &Layout, strides: &'a [isize]) -> Binding<'a> {
    Binding {
        buffer: t.storage().buffer(),
        dtype: t.dtype(),
        offset: layout.offset(),
        span: layout.span().unwrap_or((layout.offset(), layout.offset())),
        strides,
    }
}
