//! Reductions.

use super::cache::{Programs, Reduction};
use super::fold::{FoldDim, Folder, folder};
use super::frame::Frame;
use super::operand::{Operand, failure};
use super::parallel;
use super::simd::Level;
use super::tile::{RANK, Tile, Tiles};
use crate::error::Result;
use crate::kernel::{Binding, Reduce};
use crate::layout::{collapse, contiguous_strides};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Parts that a large reduction is cut into. The cut depends on the shape alone, so that the result does not depend on
/// how many threads there are.
const PARTS: usize = 64;

/// Combine `pre` over the dimensions from `kept` on; store `post` of the result.
pub(crate) fn run(
    programs: &Programs,
    reduce: &Arc<Reduce>,
    shape: &[usize],
    kept: usize,
    scalars: &[f64],
    bindings: &[Binding<'_>],
) -> Result<()> {
    let declared = reduce.inputs.iter().chain([&reduce.out]);
    if kept > shape.len()
        || bindings.len() != reduce.inputs.len() + 1
        || bindings.iter().zip(declared).any(|(b, d)| b.dtype != *d)
    {
        return Err(failure(
            reduce.name,
            format!("{bindings:?} of {shape:?}, {kept} kept, for {reduce:?}"),
        ));
    }
    let (inputs, out) = bindings.split_at(reduce.inputs.len());
    let inputs = inputs
        .iter()
        .map(|b| Operand::new(reduce.name, b, shape))
        .collect::<Result<Vec<_>>>()?;
    let out = Operand::new(reduce.name, &out[0], &shape[..kept])?;
    if shape[..kept].contains(&0) {
        return Ok(());
    }
    let work = Reducing::new(
        programs.reduction(reduce)?,
        reduce,
        shape,
        kept,
        inputs,
        out,
        scalars,
    );
    work.run(shape.iter().product());
    Ok(())
}

struct Reducing<'a> {
    compiled: Arc<Reduction>,
    folder: Folder,
    scalars: &'a [f64],
    inputs: Vec<Operand>,
    /// The combined value (lent by the frame) and the output, over the kept dimensions.
    results: [Operand; 2],
    direct: bool,
    kept: Tiles,
    gone: Tiles,
    /// For each dimension of the inputs: whether it is kept, and which of the kept or of the gone it is.
    dims: Vec<(bool, usize)>,
}

impl<'a> Reducing<'a> {
    fn new(
        compiled: Arc<Reduction>,
        reduce: &Reduce,
        shape: &[usize],
        kept: usize,
        mut inputs: Vec<Operand>,
        mut out: Operand,
        scalars: &'a [f64],
    ) -> Reducing<'a> {
        // Walk the dimensions in the order in which the first input lies in memory.
        let mut order: Vec<usize> = (0..shape.len()).collect();
        if let Some(first) = inputs.first() {
            order.sort_by_key(|&d| {
                std::cmp::Reverse(match first.strides[d].unsigned_abs() {
                    0 => usize::MAX,
                    step => step,
                })
            });
        }
        let sizes: Vec<usize> = order.iter().map(|&d| shape[d]).collect();
        // Strides over the kept dimensions alone tell them from the reduced ones and keep the two from merging.
        let kept_sizes: Vec<usize> = order
            .iter()
            .filter(|d| **d < kept)
            .map(|&d| shape[d])
            .collect();
        let mut steps = contiguous_strides(&kept_sizes).into_iter();
        let marks: Vec<isize> = order
            .iter()
            .map(|&d| {
                if d < kept {
                    steps.next().unwrap_or(1)
                } else {
                    0
                }
            })
            .collect();
        let mut strides: Vec<Vec<isize>> = inputs
            .iter()
            .map(|o| order.iter().map(|&d| o.strides[d]).collect())
            .collect();
        strides.push(
            order
                .iter()
                .map(|&d| if d < kept { out.strides[d] } else { 0 })
                .collect(),
        );
        strides.push(marks);
        let refs: Vec<&[isize]> = strides.iter().map(Vec::as_slice).collect();
        let (sizes, mut strides) = collapse(&sizes, &refs);
        let marks = strides.pop().unwrap_or_default();
        let out_strides = strides.pop().unwrap_or_default();
        let (mut kept_count, mut gone_count) = (0, 0);
        let dims: Vec<(bool, usize)> = marks
            .iter()
            .map(|mark| {
                let count = if *mark != 0 {
                    &mut kept_count
                } else {
                    &mut gone_count
                };
                *count += 1;
                (*mark != 0, *count - 1)
            })
            .collect();

        let input_strides: Vec<&[isize]> = strides.iter().map(Vec::as_slice).collect();
        let boxes = Tiles::new(&sizes, &input_strides, super::frame::BLOCK / 2);
        let half = |keep: bool| {
            let pick = |from: &[usize]| -> Vec<usize> {
                dims.iter()
                    .zip(from)
                    .filter(|(d, _)| d.0 == keep)
                    .map(|(_, n)| *n)
                    .collect()
            };
            Tiles {
                shape: pick(&boxes.shape),
                size: pick(&boxes.size),
                count: pick(&boxes.count),
            }
        };
        let (kept, gone) = (half(true), half(false));
        out.strides = dims
            .iter()
            .zip(&out_strides)
            .filter(|(d, _)| d.0)
            .map(|(_, s)| *s)
            .collect();
        let direct = !inputs.iter().any(|i| i.overlaps(&out));
        for (o, s) in inputs.iter_mut().zip(strides) {
            o.strides = s;
        }
        let level = Level::here();
        let folder = folder(reduce.combine, reduce.acc.compute(), level);
        let results = [out.clone(), out];
        Reducing {
            compiled,
            folder,
            scalars,
            inputs,
            results,
            direct,
            kept,
            gone,
            dims,
        }
    }

    fn run(&self, numel: usize) {
        let (boxes, rounds) = (self.kept.len(), self.gone.len());
        let parts = (numel / parallel::WORTH_THREADS).clamp(1, PARTS);
        let parts = parts.div_ceil(boxes).clamp(1, rounds.max(1));
        let threads = parallel::threads(numel);
        if parts == 1 {
            let piece = boxes.div_ceil(threads * 8);
            parallel::split(boxes, piece, threads, |range| {
                let (mut combining, mut storing) = (Combining::new(self), Storing::new(self));
                for i in range {
                    storing.store(i, combining.run(i, 0..rounds));
                }
            });
            return;
        }
        let per_part = rounds.div_ceil(parts);
        let partial: Vec<Mutex<Vec<u64>>> = (0..boxes * parts).map(|_| Mutex::default()).collect();
        parallel::split(boxes * parts, 1, threads, |range| {
            let mut combining = Combining::new(self);
            for i in range {
                let begin = (i % parts * per_part).min(rounds);
                let end = (begin + per_part).min(rounds);
                let acc = combining.run(i / parts, begin..end).to_vec();
                *partial[i].lock().unwrap_or_else(PoisonError::into_inner) = acc;
            }
        });
        let mut storing = Storing::new(self);
        for (i, parts) in partial.chunks(parts).enumerate() {
            let mut parts = parts
                .iter()
                .map(|p| p.lock().unwrap_or_else(PoisonError::into_inner));
            let Some(mut acc) = parts.next() else {
                continue;
            };
            for part in parts {
                // SAFETY: both hold the same number of accumulators, of at most eight bytes each.
                unsafe {
                    (self.folder.join)(acc.as_mut_ptr().cast(), part.as_ptr().cast(), acc.len())
                };
            }
            storing.store(i, &acc);
        }
    }

    /// The box of the inputs that these two make.
    fn joined(&self, kept: &Tile, gone: &Tile) -> Tile {
        let mut tile = Tile {
            rank: self.dims.len(),
            ..Tile::default()
        };
        for (d, &(keep, i)) in self.dims.iter().enumerate() {
            let from = if keep { kept } else { gone };
            (tile.start[d], tile.size[d]) = (from.start[i], from.size[i]);
        }
        tile
    }

    /// The box's dimensions as the inner loop wants them: neighbours of a kind merged.
    fn fold_dims(&self, tile: &Tile) -> ([FoldDim; RANK], usize) {
        let mut steps = [0; RANK];
        let mut next = 1;
        for d in (0..tile.rank).rev() {
            if self.dims[d].0 {
                steps[d] = next;
                next *= tile.size[d];
            }
        }
        let (mut out, mut rank) = ([(1, 0); RANK], 0usize);
        for (&n, &step) in tile.size.iter().zip(&steps).take(tile.rank) {
            if n == 1 {
                continue;
            }
            match out[..rank].last_mut() {
                Some(outer) if outer.1 == step * n => *outer = (outer.0 * n, step),
                _ => {
                    out[rank] = (n, step);
                    rank += 1;
                }
            }
        }
        (out, rank)
    }
}

/// One thread's accumulators, each in eight bytes or less.
struct Combining<'a> {
    work: &'a Reducing<'a>,
    frame: Frame<'a>,
    acc: Vec<u64>,
}

impl<'a> Combining<'a> {
    fn new(work: &'a Reducing<'a>) -> Combining<'a> {
        let (kept, gone) = (work.kept.largest(), work.gone.largest());
        let frame = Frame::new(&work.compiled.pre, work.scalars, kept * gone);
        Combining {
            work,
            frame,
            acc: vec![0; kept],
        }
    }

    /// Combine some rounds of reduced boxes for one box of kept indices.
    fn run(&mut self, kept: usize, rounds: Range<usize>) -> &[u64] {
        let (work, acc) = (self.work, self.acc.as_mut_ptr().cast());
        let kept = work.kept.get(kept);
        // SAFETY: there is room for the largest box.
        unsafe { (work.folder.reset)(acc, kept.len()) };
        for round in rounds {
            let tile = work.joined(&kept, &work.gone.get(round));
            let (dims, rank) = work.fold_dims(&tile);
            // SAFETY: every index of the shape was checked to lie inside the inputs; the device's lock keeps writers
            // away; the dimensions cover the box's values and its accumulators.
            unsafe {
                self.frame.fetch(&tile, &work.inputs);
                let values = self.frame.values(tile.len());
                (work.folder.fold)(dims.as_ptr(), rank, values, acc);
            }
        }
        &self.acc[..kept.len()]
    }
}

/// One thread's way from accumulators to the output.
struct Storing<'a> {
    work: &'a Reducing<'a>,
    frame: Frame<'a>,
    values: Vec<u64>,
}

impl<'a> Storing<'a> {
    fn new(work: &'a Reducing<'a>) -> Storing<'a> {
        let kept = work.kept.largest();
        Storing {
            work,
            frame: Frame::new(&work.compiled.post, work.scalars, kept),
            values: vec![0; kept],
        }
    }

    /// Store `post` of one box's accumulators.
    fn store(&mut self, kept: usize, acc: &[u64]) {
        let tile = self.work.kept.get(kept);
        let n = tile.len();
        // SAFETY: there are `n` accumulators and room for as many values; every kept index was checked to lie inside
        // the output, and no other thread has this box.
        unsafe {
            (self.work.folder.finish)(acc.as_ptr().cast(), self.values.as_mut_ptr().cast(), n);
            if !self.work.compiled.post.reads.is_empty() {
                self.frame.lend(0, self.values.as_mut_ptr().cast());
            }
            self.frame
                .aim(&tile, &self.work.results, &[self.work.direct]);
            self.frame.run(n);
            self.frame.store(&tile, &self.work.results);
        }
    }
}
