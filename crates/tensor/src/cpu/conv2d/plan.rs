//! Where a convolution reads: one padded image laid out so that every tap of a filter is a fixed distance away.
//!
//! A group's channels of one image are copied to a scratch area small enough for the cache, with zeros around. Columns
//! are sorted by their remainder modulo the stride, so that neighbours in the result are neighbours in the scratch for
//! any stride. The sum for a result at `base` then is `sum over taps t of weight[t] * scratch[base + taps[t]]`.

/// One direction, rows or columns. Place `u` of the scratch is read by result `r` through tap `t` when
/// `u = r * step + t * spread`, and holds source element `(u - lead) / grain` where that is one, else zero.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    pub results: usize,
    pub taps: usize,
    pub source: usize,
    pub step: usize,
    pub spread: usize,
    pub lead: isize,
    pub grain: usize,
}

impl Axis {
    fn extent(&self) -> usize {
        (self.results - 1) * self.step + (self.taps - 1) * self.spread + 1
    }

    fn source_of(&self, u: usize) -> Option<usize> {
        let from = usize::try_from(u as isize - self.lead).ok()?;
        (from % self.grain == 0 && from / self.grain < self.source).then_some(from / self.grain)
    }

    /// Taps through which result `r` may read something else than padding.
    fn live(&self, r: usize) -> (usize, usize) {
        let live = |t: &usize| self.source_of(r * self.step + t * self.spread).is_some();
        let first = (0..self.taps).find(live).unwrap_or(0);
        let last = (0..self.taps).rev().find(live).map_or(first, |t| t + 1);
        (first, last)
    }
}

/// Neighbouring columns that are neighbours in both places.
#[derive(Clone, Copy, Debug)]
struct Run {
    to: usize,
    from: usize,
    len: usize,
}

/// A vector of results: where it reads, where it goes, how many of its lanes count, which taps matter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    pub base: usize,
    pub out: usize,
    pub count: usize,
    pub taps: (usize, usize),
}

#[derive(Debug)]
pub(super) struct Plan {
    rows: Axis,
    columns: Axis,
    channels: usize,
    /// Elements from one scratch row to the next, from one channel to the next.
    pitch: usize,
    plane: usize,
    runs: Vec<Run>,
    /// Distance of each tap, by filter row, channel, filter column: taps of one filter row are together.
    pub taps: Vec<u32>,
}

impl Plan {
    /// For `channels` channels of a group. No direction may be without results or taps.
    pub(super) fn new(rows: Axis, columns: Axis, channels: usize) -> Plan {
        let phase = columns.extent().div_ceil(columns.step);
        let column = |u: usize| u % columns.step * phase + u / columns.step;
        let pitch = phase * columns.step;
        let plane = pitch * rows.extent();
        let mut cells: Vec<(usize, usize)> = (0..columns.extent())
            .filter_map(|u| Some((column(u), columns.source_of(u)?)))
            .collect();
        cells.sort_unstable();
        let mut runs: Vec<Run> = Vec::new();
        for (to, from) in cells {
            match runs.last_mut() {
                Some(r) if r.to + r.len == to && r.from + r.len == from => r.len += 1,
                _ => runs.push(Run { to, from, len: 1 }),
            }
        }
        let mut taps = Vec::with_capacity(rows.taps * channels * columns.taps);
        for y in 0..rows.taps {
            for c in 0..channels {
                for x in 0..columns.taps {
                    let at = c * plane + y * rows.spread * pitch + column(x * columns.spread);
                    taps.push(at as u32);
                }
            }
        }
        Plan {
            rows,
            columns,
            channels,
            pitch,
            plane,
            runs,
            taps,
        }
    }

    /// Elements of the scratch, without the lanes that a vector may read beyond.
    pub(super) fn len(&self) -> usize {
        self.plane * self.channels
    }

    /// Filter row, channel and filter column of a tap.
    pub(super) fn tap(&self, t: usize) -> (usize, usize, usize) {
        let x = t % self.columns.taps;
        let rest = t / self.columns.taps;
        (rest / self.channels, rest % self.channels, x)
    }

    /// Copy the group's channels of one image. What is padding is never written: it must be zero already.
    pub(super) fn fill<T: Copy>(&self, source: &[T], scratch: &mut [T]) {
        let (h, w) = (self.rows.source, self.columns.source);
        for c in 0..self.channels {
            for u in 0..self.rows.extent() {
                let Some(y) = self.rows.source_of(u) else {
                    continue;
                };
                let from = &source[(c * h + y) * w..][..w];
                let to = &mut scratch[c * self.plane + u * self.pitch..][..self.pitch];
                for run in &self.runs {
                    to[run.to..run.to + run.len]
                        .copy_from_slice(&from[run.from..run.from + run.len]);
                }
            }
        }
    }

    /// All results of one plane in vectors of `lanes`.
    pub(super) fn spots(&self, lanes: usize) -> Vec<Spot> {
        let width = self.columns.results;
        let row_taps = self.channels * self.columns.taps;
        let mut spots = Vec::with_capacity(self.rows.results * width.div_ceil(lanes));
        for y in 0..self.rows.results {
            let (first, last) = self.rows.live(y);
            for x in (0..width).step_by(lanes) {
                spots.push(Spot {
                    base: y * self.rows.step * self.pitch + x,
                    out: y * width + x,
                    count: lanes.min(width - x),
                    taps: (first * row_taps, last * row_taps),
                });
            }
        }
        spots
    }
}
