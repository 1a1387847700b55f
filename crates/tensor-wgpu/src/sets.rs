//! One launch of an elementwise kernel over several sets of operands: an optimiser's step over all parameters.
//!
//! A binding is a range of a segment, so what a launch can reach is decided by the segments: sets whose operands lie in
//! the same ones go together, as many as the parameter block has room for.

use crate::binding::{Bound, Operand, Range, check_overlap};
use crate::device::{State, WgpuDevice};
use crate::launch::{Dispatch, Size};
use crate::memory::{Block, Segment};
use std::sync::Arc;
use tensor::Result;
use tensor::kernel::{Binding, Map};
use tensor::print::sets::sets_in_a_launch;
use tensor::print::{MapForm, MapVariant, params};

/// Sets whose operands lie in the same segments.
struct Group<'a, 'b> {
    segments: Vec<Arc<Segment>>,
    sets: Vec<(usize, &'a [Binding<'b>])>,
}

impl WgpuDevice {
    pub(crate) fn map_sets(
        &self,
        state: &mut State,
        map: &Arc<Map>,
        lengths: &[usize],
        scalars: &[f64],
        bindings: &[Binding<'_>],
    ) -> Result<()> {
        let count = map.operands.len();
        let mut groups: Vec<Group<'_, '_>> = Vec::new();
        for (&length, set) in lengths.iter().zip(bindings.chunks_exact(count)) {
            let operands = operands(map, set);
            check_overlap(&operands, true, map.name, &self.trouble)?;
            let mut segments = Vec::with_capacity(count);
            for b in set {
                let (block, size) = (Block::of(b.buffer, &self.trouble)?, b.dtype.size());
                block.check(&self.trouble, map.name, b.offset * size, length * size)?;
                segments.push(block.segment.clone());
            }
            let same = |g: &&mut Group<'_, '_>| {
                let pairs = g.segments.iter().zip(&segments);
                pairs.into_iter().all(|(a, b)| a.id == b.id)
            };
            match groups.iter_mut().find(same) {
                Some(group) => group.sets.push((length, set)),
                None => groups.push(Group {
                    segments,
                    sets: vec![(length, set)],
                }),
            }
        }
        let room = sets_in_a_launch(count, scalars.len());
        for group in &groups {
            for sets in group.sets.chunks(room) {
                self.sets_in_segments(state, map, &group.segments, sets, scalars)?;
            }
        }
        Ok(())
    }

    fn sets_in_segments(
        &self,
        state: &mut State,
        map: &Arc<Map>,
        segments: &[Arc<Segment>],
        sets: &[(usize, &[Binding<'_>])],
        scalars: &[f64],
    ) -> Result<()> {
        let each: u64 = map.outputs.iter().map(|(_, e)| e.flops()).sum();
        let elements: usize = sets.iter().map(|(length, _)| length).sum();
        let row: usize = map.operands.iter().map(|d| d.size()).sum();
        let (bytes, flops) = ((elements * row) as u64, elements as u64 * each);

        // Of each segment the range that holds all operands in it, and which of the ranges an operand lies in.
        let mut ranges: Vec<Range> = Vec::new();
        let mut numbers: Vec<u8> = Vec::new();
        for (k, segment) in segments.iter().enumerate() {
            let found = ranges.iter().position(|r| r.segment.id == segment.id);
            let number = found.unwrap_or(ranges.len());
            if found.is_none() {
                ranges.push(Range {
                    segment: segment.clone(),
                    start: usize::MAX,
                    end: 0,
                });
            }
            numbers.push(number as u8);
            let range = &mut ranges[number];
            for (length, set) in sets {
                let first = self.first_byte(&set[k])?;
                range.start = range.start.min(first / 256 * 256);
                // To whole vectors: blocks begin at multiples of 512 bytes, so what follows a block's end is its own.
                let end = first + length * set[k].dtype.size();
                range.end = range.end.max(end.next_multiple_of(16));
            }
        }
        if sets.len() == 1 || ranges.iter().any(|r| r.end - r.start > self.limits.binding) {
            for (length, set) in sets {
                let share = |x: u64| x * *length as u64 / elements as u64;
                let cost = (share(bytes), share(flops));
                self.map_kernel(state, map, &[*length], scalars, set, cost)?;
            }
            return Ok(());
        }
        let mut starts = Vec::with_capacity(sets.len());
        for (_, set) in sets {
            let mut of_set = Vec::with_capacity(set.len());
            for (b, &number) in set.iter().zip(&numbers) {
                let from = self.first_byte(b)? - ranges[number as usize].start;
                of_set.push((from / b.dtype.size()) as u32);
            }
            starts.push(of_set);
        }
        let variant = MapVariant {
            form: MapForm::Sets,
            bindings: numbers.clone(),
            group: self.limits.group,
        };
        let context = self.context(state.pool.stats());
        let pipeline = state.pipelines.map(map, variant, &context)?;
        let lengths: Vec<usize> = sets.iter().map(|(length, _)| *length).collect();
        let (block, invocations) = params::sets(&lengths, &starts, &pipeline.scalars, scalars);
        let bound = Bound {
            ranges,
            offsets: vec![0; numbers.len()],
            bindings: numbers,
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

    /// Byte of its segment at which an operand begins.
    fn first_byte(&self, b: &Binding<'_>) -> Result<usize> {
        Ok(Block::of(b.buffer, &self.trouble)?.offset + b.offset * b.dtype.size())
    }
}

fn operands<'a, 'b>(map: &Map, set: &'a [Binding<'b>]) -> Vec<Operand<'a, 'b>> {
    let operand = |(k, binding)| Operand {
        binding,
        writes: map.writes(k),
    };
    set.iter().enumerate().map(operand).collect()
}
