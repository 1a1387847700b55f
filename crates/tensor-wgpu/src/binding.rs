//! From operands to bindings.
//!
//! A binding covers a range of a segment that starts at a multiple of 256 bytes. The ranges of one dispatch may not
//! overlap (all of them are writable), so operands that share memory share a binding, and the kernel is compiled for
//! that pattern.

use crate::memory::{Block, Segment};
use crate::trouble::Trouble;
use std::sync::Arc;
use tensor::kernel::Binding;
use tensor::{DType, Result};

/// WebGPU's coarsest alignment of a binding's start.
const ALIGN: usize = 256;

/// A range of a segment.
#[derive(Clone, Debug)]
pub(crate) struct Range {
    pub segment: Arc<Segment>,
    pub start: usize,
    pub end: usize,
}

/// The bindings of one dispatch.
#[derive(Debug)]
pub(crate) struct Bound {
    /// One for each binding.
    pub ranges: Vec<Range>,
    /// Which binding each operand lies in.
    pub bindings: Vec<u8>,
    /// The element of its binding at which each operand begins.
    pub offsets: Vec<u32>,
}

/// An operand as the launcher sees it.
pub(crate) struct Operand<'a, 'b> {
    pub binding: &'a Binding<'b>,
    pub writes: bool,
}

struct Place {
    segment: Arc<Segment>,
    start: usize,
    end: usize,
    dtype: DType,
}

/// Bind `operands`. `elementwise` kernels may read an operand that they write under the same layout.
pub(crate) fn bind(
    operands: &[Operand<'_, '_>],
    elementwise: bool,
    spare: &Range,
    name: &'static str,
    trouble: &Trouble,
) -> Result<Bound> {
    check_overlap(operands, elementwise, name, trouble)?;
    let mut places: Vec<Place> = Vec::with_capacity(operands.len());
    // First element of each operand in bytes from its segment's start, unless it has none.
    let mut starts: Vec<Option<i64>> = Vec::with_capacity(operands.len());
    for operand in operands {
        let b = operand.binding;
        let block = Block::of(b.buffer, trouble)?;
        let size = b.dtype.size();
        let (low, high) = b.span;
        if low >= high {
            starts.push(None);
            continue;
        }
        block.check(trouble, name, low * size, (high - low) * size)?;
        let start = (block.offset + low * size) / ALIGN * ALIGN;
        let end = (block.offset + high * size).next_multiple_of(4);
        places.push(Place {
            segment: block.segment.clone(),
            start,
            end,
            dtype: b.dtype,
        });
        starts.push(Some((block.offset + b.offset * size) as i64));
    }

    // Merge ranges that overlap, until none do.
    let mut group: Vec<usize> = (0..places.len()).collect();
    loop {
        let mut merged = false;
        for i in 0..places.len() {
            for j in 0..i {
                let (gi, gj) = (group[i], group[j]);
                let (a, b) = (&places[gi], &places[gj]);
                if gi == gj || a.segment.id != b.segment.id || a.start >= b.end || b.start >= a.end
                {
                    continue;
                }
                if a.dtype != b.dtype {
                    return Err(trouble.failure(
                        name,
                        format!("operands of types {} and {} share memory", a.dtype, b.dtype),
                    ));
                }
                let (start, end) = (a.start.min(b.start), a.end.max(b.end));
                let (keep, drop) = (gi.min(gj), gi.max(gj));
                places[keep].start = start;
                places[keep].end = end;
                for g in &mut group {
                    if *g == drop {
                        *g = keep;
                    }
                }
                merged = true;
            }
        }
        if !merged {
            break;
        }
    }

    let mut ranges: Vec<Range> = Vec::new();
    let mut number: Vec<Option<u8>> = vec![None; places.len()];
    let (mut bindings, mut offsets) = (Vec::new(), Vec::new());
    let mut at = 0;
    for (operand, start) in operands.iter().zip(&starts) {
        let Some(start) = start else {
            // Nothing to bind: a piece of the spare buffer, another one for each operand.
            let piece = ranges.len() * ALIGN;
            bindings.push(ranges.len() as u8);
            offsets.push(0);
            ranges.push(Range {
                segment: spare.segment.clone(),
                start: spare.start + piece,
                end: spare.start + piece + ALIGN,
            });
            continue;
        };
        let g = group[at];
        at += 1;
        let place = &places[g];
        let b = *number[g].get_or_insert_with(|| {
            ranges.push(Range {
                segment: place.segment.clone(),
                start: place.start,
                end: place.end,
            });
            (ranges.len() - 1) as u8
        });
        bindings.push(b);
        // May lie before the binding where a stride is negative? No: the span covers every element, and the first
        // element is one of them.
        offsets.push(((start - place.start as i64) / operand.binding.dtype.size() as i64) as u32);
    }
    Ok(Bound {
        ranges,
        bindings,
        offsets,
    })
}

/// Refuse a launch that reads or writes what another of its operands writes.
pub(crate) fn check_overlap(
    operands: &[Operand<'_, '_>],
    elementwise: bool,
    name: &'static str,
    trouble: &Trouble,
) -> Result<()> {
    for (i, a) in operands.iter().enumerate().filter(|(_, a)| a.writes) {
        for (j, b) in operands.iter().enumerate() {
            let (x, y) = (a.binding, b.binding);
            let apart =
                x.buffer.block != y.buffer.block || x.span.0 >= y.span.1 || y.span.0 >= x.span.1;
            if i == j || apart {
                continue;
            }
            // Under one layout each element is read before it is written, by the same invocation. Views that
            // interleave (every other element, say) are the caller's to judge: their spans overlap, their elements
            // need not.
            let same = x.offset == y.offset && x.strides == y.strides;
            let dense = |b: &Binding<'_>| b.strides.len() <= 1 && b.strides.iter().all(|&s| s == 1);
            if elementwise && (same || !(dense(x) && dense(y))) {
                continue;
            }
            return Err(trouble.failure(
                name,
                format!(
                    "operand {j} overlaps operand {i}, which is written: clone one of them first"
                ),
            ));
        }
    }
    Ok(())
}
