//! Elementwise kernels.

use super::cache::Programs;
use super::frame::Frame;
use super::operand::{Operand, failure};
use super::parallel;
use super::tile::Tiles;
use crate::error::Result;
use crate::kernel::{Binding, Map};
use crate::layout::collapse;
use std::borrow::Cow;
use std::sync::Arc;

/// Evaluate every output at every index of `shape`.
pub(crate) fn run(
    programs: &Programs,
    map: &Arc<Map>,
    shape: &[usize],
    scalars: &[f64],
    bindings: &[Binding<'_>],
) -> Result<()> {
    if bindings.len() != map.operands.len()
        || bindings
            .iter()
            .zip(&map.operands)
            .any(|(b, d)| b.dtype != *d)
    {
        return Err(failure(
            map.name,
            format!("operands {:?}, compiled for {:?}", bindings, map.operands),
        ));
    }
    let program = programs.map(map)?;
    let mut operands = bindings
        .iter()
        .map(|b| Operand::new(map.name, b, shape))
        .collect::<Result<Vec<_>>>()?;
    let numel: usize = shape.iter().product();
    if numel == 0 {
        return Ok(());
    }
    let shape = reorder(
        shape,
        &mut operands,
        program.writes.first().map_or(0, |w| w.operand),
    );

    // Values may be computed where they are stored only if nothing that is read, or stored later, lies there.
    let direct: Vec<bool> = program
        .writes
        .iter()
        .map(|w| {
            let others = operands.iter().enumerate().filter(|(i, _)| *i != w.operand);
            !w.also_read
                && !others
                    .into_iter()
                    .any(|(_, o)| o.overlaps(&operands[w.operand]))
        })
        .collect();
    let strides: Vec<&[isize]> = operands.iter().map(|o| o.strides.as_slice()).collect();
    let tiles = Tiles::new(&shape, &strides, program.block());
    let threads = parallel::threads(numel);
    let piece = tiles.len().div_ceil(threads * 8);
    parallel::split(tiles.len(), piece, threads, |range| {
        let mut frame = Frame::new(&program, scalars, tiles.largest());
        for i in range {
            let tile = tiles.get(i);
            // SAFETY: every index of the shape was checked to lie inside the operands; the device's lock keeps other
            // launches away, and boxes are disjoint.
            unsafe {
                frame.fetch(&tile, &operands);
                frame.aim(&tile, &operands, &direct);
                frame.run(tile.len());
                frame.store(&tile, &operands);
            }
        }
    });
    Ok(())
}

/// The same for several sets of dense operands, one after another.
pub(crate) fn run_all(
    programs: &Programs,
    map: &Arc<Map>,
    lengths: &[usize],
    scalars: &[f64],
    bindings: &[Binding<'_>],
) -> Result<()> {
    for (&length, set) in lengths.iter().zip(bindings.chunks(map.operands.len())) {
        run(programs, map, &[length], scalars, set)?;
    }
    Ok(())
}

/// Put the dimensions in the order in which the output lies in memory, and merge what then continues.
fn reorder<'a>(shape: &'a [usize], operands: &mut [Operand], out: usize) -> Cow<'a, [usize]> {
    let step = |o: &Operand, d: usize| o.strides[d].unsigned_abs();
    let sorted = (1..shape.len()).all(|d| step(&operands[out], d - 1) >= step(&operands[out], d));
    if sorted {
        return Cow::Borrowed(shape);
    }
    let mut order: Vec<usize> = (0..shape.len()).collect();
    order.sort_by_key(|&d| std::cmp::Reverse(step(&operands[out], d)));
    let sizes: Vec<usize> = order.iter().map(|&d| shape[d]).collect();
    let strides: Vec<Vec<isize>> = operands
        .iter()
        .map(|o| order.iter().map(|&d| o.strides[d]).collect())
        .collect();
    let refs: Vec<&[isize]> = strides.iter().map(Vec::as_slice).collect();
    let (sizes, strides) = collapse(&sizes, &refs);
    for (o, s) in operands.iter_mut().zip(strides) {
        o.strides = s;
    }
    Cow::Owned(sizes)
}
