//! Convolution and its gradients: the image is padded into a scratch that fits the cache, then every tap of the filters
//! is a shifted read of it. No matrix of patches is made.
//!
//! The gradient of the input is a convolution of the result's gradient with the filters turned round. The gradient of
//! the weight is summed in parts of the batch that do not depend on the number of threads, so that it never varies.

mod plan;
mod tile;

use super::lanes::{Place, Real, lanes};
use super::launch::{CpuLaunch, for_float};
use super::operand::failure;
use super::parallel;
use crate::error::Result;
use crate::kernels::conv2d::Conv2dParams;
use plan::{Axis, Plan, Spot};
use pulp::{Arch, Simd, WithSimd};
use std::ops::Range;
use tile::{TALL, WIDE, correlate, outer, tall, thick};

/// Bytes of padded images that the weight's gradient keeps at hand: about half of a second-level cache.
const AT_HAND: usize = 256 * 1024;

/// Pieces of work that a launch is cut into at least, where it can be: a few for each of many threads.
const PIECES: usize = 32;

pub(crate) fn conv2d(launch: &CpuLaunch<'_>) -> Result<()> {
    for_float!(launch, 3, forward)
}

pub(crate) fn conv2d_grad_input(launch: &CpuLaunch<'_>) -> Result<()> {
    for_float!(launch, 2, grad_input)
}

pub(crate) fn conv2d_grad_weight(launch: &CpuLaunch<'_>) -> Result<()> {
    for_float!(launch, 2, grad_weight)
}

/// The parameters as sizes, checked.
struct Shape {
    batch: usize,
    groups: usize,
    /// Channels of the input and of the result in one group.
    channels: usize,
    filters: usize,
    input: [usize; 2],
    out: [usize; 2],
    kernel: [usize; 2],
    stride: [usize; 2],
    pad: [usize; 2],
    dilation: [usize; 2],
}

impl Shape {
    /// `lengths` are those of the input, weight and result.
    fn new(p: &Conv2dParams, lengths: [usize; 3]) -> Result<Shape> {
        let pair = |a: u32, b: u32| [a as usize, b as usize];
        let groups = p.groups.max(1) as usize;
        let s = Shape {
            batch: p.batch as usize,
            groups,
            channels: p.channels as usize / groups,
            filters: p.filters as usize / groups,
            input: pair(p.height, p.width),
            out: pair(p.out_h, p.out_w),
            kernel: pair(p.kernel_h, p.kernel_w),
            stride: pair(p.stride_h, p.stride_w),
            pad: pair(p.pad_h, p.pad_w),
            dilation: pair(p.dilation_h, p.dilation_w),
        };
        let plane = |hw: [usize; 2]| hw[0] * hw[1];
        let wanted = [
            s.batch * groups * s.channels * plane(s.input),
            groups * s.filters * s.channels * plane(s.kernel),
            s.batch * groups * s.filters * plane(s.out),
        ];
        let fits = wanted.iter().zip(&lengths).all(|(w, l)| w <= l)
            && [s.stride, s.dilation].concat().iter().all(|&n| n > 0)
            && (0..2).all(|d| {
                s.out[d] > 0
                    && s.kernel[d] > 0
                    && (s.out[d] - 1) * s.stride[d] + (s.kernel[d] - 1) * s.dilation[d]
                        < s.input[d] + 2 * s.pad[d]
            });
        if !fits {
            return Err(failure("conv2d", format!("{lengths:?} elements for {p:?}")));
        }
        Ok(s)
    }

    fn forward_axis(&self, d: usize) -> Axis {
        Axis {
            results: self.out[d],
            taps: self.kernel[d],
            source: self.input[d],
            step: self.stride[d],
            spread: self.dilation[d],
            lead: self.pad[d] as isize,
            grain: 1,
        }
    }

    /// As [`Shape::forward_axis`], from the result's gradient to the input's.
    fn backward_axis(&self, d: usize) -> Axis {
        Axis {
            results: self.input[d],
            taps: self.kernel[d],
            source: self.out[d],
            step: 1,
            spread: self.dilation[d],
            lead: ((self.kernel[d] - 1) * self.dilation[d]) as isize - self.pad[d] as isize,
            grain: self.stride[d],
        }
    }

    fn plan(&self, axis: impl Fn(usize) -> Axis, channels: usize) -> Result<Plan> {
        let plan = Plan::new(axis(0), axis(1), channels);
        if u32::try_from(plan.len()).is_err() {
            return Err(failure(
                "conv2d",
                "one padded image has over 2^32 elements".into(),
            ));
        }
        Ok(plan)
    }
}

/// `count` channels in blocks of at most `most`, as even as can be.
fn blocks(count: usize, most: usize) -> Vec<Range<usize>> {
    let n = count.div_ceil(most).max(1);
    (0..n).map(|i| i * count / n..(i + 1) * count / n).collect()
}

fn forward<T: Real>(launch: &CpuLaunch<'_>) -> Result<()> {
    let p: Conv2dParams = launch.params()?;
    let (input, weight, bias) = (
        launch.read::<T>(0)?,
        launch.read::<T>(1)?,
        launch.read::<T>(2)?,
    );
    let out = launch.write::<T>(3)?;
    let s = Shape::new(&p, [input.len(), weight.len(), out.len()])?;
    let bias = (p.bias != 0).then_some(bias);
    if bias.is_some_and(|b| b.len() < p.filters as usize) {
        return Err(failure("conv2d", format!("bias too short: {p:?}")));
    }
    let [kh, kw] = s.kernel;
    Correlation {
        plan: &s.plan(|d| s.forward_axis(d), s.channels)?,
        batch: s.batch,
        groups: s.groups,
        from: s.channels,
        to: s.filters,
        source: input,
        source_plane: s.input[0] * s.input[1],
        weight: &|filter, y, c, x| weight[((filter * s.channels + c) * kh + y) * kw + x],
        bias,
        relu: p.relu != 0,
        out: Place(out.as_mut_ptr()),
        out_plane: s.out[0] * s.out[1],
    }
    .run();
    Ok(())
}

fn grad_input<T: Real>(launch: &CpuLaunch<'_>) -> Result<()> {
    let p: Conv2dParams = launch.params()?;
    let (grad, weight) = (launch.read::<T>(0)?, launch.read::<T>(1)?);
    let out = launch.write::<T>(2)?;
    let s = Shape::new(&p, [out.len(), weight.len(), grad.len()])?;
    let [kh, kw] = s.kernel;
    Correlation {
        plan: &s.plan(|d| s.backward_axis(d), s.filters)?,
        batch: s.batch,
        groups: s.groups,
        from: s.filters,
        to: s.channels,
        source: grad,
        source_plane: s.out[0] * s.out[1],
        weight: &|channel, y, f, x| {
            let (group, c) = (channel / s.channels, channel % s.channels);
            let filter = group * s.filters + f;
            weight[((filter * s.channels + c) * kh + kh - 1 - y) * kw + kw - 1 - x]
        },
        bias: None,
        relu: false,
        out: Place(out.as_mut_ptr()),
        out_plane: s.input[0] * s.input[1],
    }
    .run();
    Ok(())
}

/// A convolution as its plan has it: forward, or back to the input.
struct Correlation<'a, T> {
    plan: &'a Plan,
    batch: usize,
    groups: usize,
    /// Channels that one group reads and makes.
    from: usize,
    to: usize,
    source: &'a [T],
    source_plane: usize,
    /// Weight for a made channel (of all), at filter row, read channel of the group, filter column.
    weight: &'a (dyn Fn(usize, usize, usize, usize) -> T + Sync),
    bias: Option<&'a [T]>,
    relu: bool,
    out: Place<T>,
    out_plane: usize,
}

impl<T: Real> Correlation<'_, T> {
    fn run(&self) {
        if self.to == 0 {
            return;
        }
        Arch::new().dispatch(Prepare(self));
    }

    /// For each group the blocks of channels that it makes, and their weights: by block, tap, channel.
    fn pack(&self, most: usize) -> Vec<Vec<(Range<usize>, Vec<T>)>> {
        (0..self.groups)
            .map(|g| {
                blocks(self.to, most)
                    .into_iter()
                    .map(|block| {
                        let mut packed = Vec::with_capacity(block.len() * self.plan.taps.len());
                        for t in 0..self.plan.taps.len() {
                            let (y, c, x) = self.plan.tap(t);
                            packed.extend(
                                block
                                    .clone()
                                    .map(|j| (self.weight)(g * self.to + j, y, c, x)),
                            );
                        }
                        (block, packed)
                    })
                    .collect()
            })
            .collect()
    }
}

/// Work out what depends on the width of the processor's vectors, then go over the batch.
struct Prepare<'a, 'b, T>(&'a Correlation<'b, T>);

impl<T: Real> WithSimd for Prepare<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let work = self.0;
        let packed = work.pack(tall::<S>());
        let spots = work.plan.spots(lanes::<T, S>());
        // A single image is shared out by blocks of channels; each thread then pads it for itself.
        let images = work.batch * work.groups;
        let shares = PIECES.div_ceil(images.max(1)).min(packed[0].len());
        let items = images * shares;
        let flops = images * work.to * work.out_plane * work.plan.taps.len();
        let run = |range: Range<usize>| {
            Arch::new().dispatch(Images {
                work,
                packed: &packed,
                spots: &spots,
                shares,
                items: range,
            });
        };
        parallel::split(items, items.div_ceil(PIECES), parallel::threads(flops), run);
    }
}

struct Images<'a, 'b, T> {
    work: &'a Correlation<'b, T>,
    packed: &'a [Vec<(Range<usize>, Vec<T>)>],
    spots: &'a [Spot],
    shares: usize,
    items: Range<usize>,
}

impl<T: Real> WithSimd for Images<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let work = self.work;
        let mut scratch = vec![T::ZERO; work.plan.len() + lanes::<T, S>()];
        for item in self.items {
            let (image, share) = (item / self.shares, item % self.shares);
            let group = image % work.groups;
            let from = image * work.from * work.source_plane;
            work.plan.fill(&work.source[from..], &mut scratch);
            let blocks = &self.packed[group];
            let mine = share * blocks.len() / self.shares..(share + 1) * blocks.len() / self.shares;
            for (block, weights) in &blocks[mine] {
                let mut bias = [T::ZERO; TALL];
                if let Some(all) = work.bias {
                    let first = group * work.to + block.start;
                    bias[..block.len()].copy_from_slice(&all[first..first + block.len()]);
                }
                let out = work
                    .out
                    .at((image * work.to + block.start) * work.out_plane);
                macro_rules! by_height {
                    ($($n:literal)*) => {
                        match block.len() {
                            $($n => {
                                // SAFETY: the scratch has a vector's room after its last element, and this block's
                                // planes of the result belong to this item alone.
                                unsafe {
                                    correlate::<T, S, $n>(
                                        simd, &work.plan.taps, weights, &bias, scratch.as_ptr(), self.spots, out,
                                        work.out_plane,
                                    )
                                }
                            })*
                            _ => {}
                        }
                    };
                }
                by_height!(1 2 3 4 5 6 7 8);
                if work.relu {
                    // SAFETY: the same planes, which were just written and are still in the cache.
                    let planes = unsafe {
                        std::slice::from_raw_parts_mut(out, block.len() * work.out_plane)
                    };
                    for x in planes {
                        // A NaN stays one.
                        *x = if *x < T::ZERO { T::ZERO } else { *x };
                    }
                }
            }
        }
    }
}

fn grad_weight<T: Real>(launch: &CpuLaunch<'_>) -> Result<()> {
    let p: Conv2dParams = launch.params()?;
    let (grad, input) = (launch.read::<T>(0)?, launch.read::<T>(1)?);
    let out = launch.write::<T>(2)?;
    let parts = p.parts.max(1) as usize;
    let s = Shape::new(&p, [input.len(), out.len() / parts, grad.len()])?;
    if out.is_empty() {
        return Ok(());
    }
    Arch::new().dispatch(WeightSums {
        plan: &s.plan(|d| s.forward_axis(d), s.channels)?,
        shape: &s,
        parts,
        grad,
        input,
        out: Place(out.as_mut_ptr()),
    });
    Ok(())
}

/// The gradient of the weight, in parts of the batch.
struct WeightSums<'a, T> {
    plan: &'a Plan,
    shape: &'a Shape,
    parts: usize,
    grad: &'a [T],
    input: &'a [T],
    out: Place<T>,
}

impl<T: Real> WithSimd for WeightSums<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let s = self.shape;
        let spots = self.plan.spots(lanes::<T, S>());
        let blocks = blocks(s.filters, thick::<S>());
        // Few images are shared out by blocks of filters; each thread then pads them for itself.
        let shares = PIECES.div_ceil(self.parts * s.groups).min(blocks.len());
        let items = self.parts * s.groups * shares;
        let flops = s.batch * s.groups * s.filters * s.out[0] * s.out[1] * self.plan.taps.len();
        let run = |range: Range<usize>| {
            Arch::new().dispatch(Parts {
                work: &self,
                blocks: &blocks,
                spots: &spots,
                shares,
                items: range,
            });
        };
        parallel::split(items, items.div_ceil(PIECES), parallel::threads(flops), run);
    }
}

struct Parts<'a, 'b, T> {
    work: &'a WeightSums<'b, T>,
    blocks: &'a [Range<usize>],
    spots: &'a [Spot],
    shares: usize,
    items: Range<usize>,
}

impl<T: Real> Parts<'_, '_, T> {
    /// Where the sum for a filter and tap belongs.
    fn place(&self, part: usize, filter: usize, tap: usize) -> *mut T {
        let s = self.work.shape;
        let (y, c, x) = self.work.plan.tap(tap);
        let [kh, kw] = s.kernel;
        let row = (part * s.groups * s.filters + filter) * s.channels + c;
        self.work.out.at((row * kh + y) * kw + x)
    }
}

impl<T: Real> WithSimd for Parts<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (work, s) = (self.work, self.work.shape);
        let (source_plane, plane) = (s.input[0] * s.input[1], s.out[0] * s.out[1]);
        let (scratch_step, grad_step) = (work.plan.len(), s.groups * s.filters * plane);
        let at_hand = (AT_HAND / (scratch_step * size_of::<T>()).max(1)).max(1);
        let most = at_hand.min(s.batch.div_ceil(work.parts)).max(1);
        let mut scratch = vec![T::ZERO; most * scratch_step + lanes::<T, S>()];
        for item in self.items.clone() {
            let (rest, share) = (item / self.shares, item % self.shares);
            let (part, group) = (rest / s.groups, rest % s.groups);
            let blocks = share * self.blocks.len() / self.shares
                ..(share + 1) * self.blocks.len() / self.shares;
            // The images whose `i * parts / batch` is this part.
            let images =
                (part * s.batch).div_ceil(work.parts)..((part + 1) * s.batch).div_ceil(work.parts);
            for block in &self.blocks[blocks.clone()] {
                for f in block.clone() {
                    for t in 0..work.plan.taps.len() {
                        // SAFETY: inside the result, as its length was checked; this item's alone.
                        unsafe { self.place(part, group * s.filters + f, t).write(T::ZERO) };
                    }
                }
            }
            for first in images.clone().step_by(most) {
                let count = most.min(images.end - first);
                for i in 0..count {
                    let from = ((first + i) * s.groups + group) * s.channels * source_plane;
                    let to = &mut scratch[i * scratch_step..][..scratch_step];
                    work.plan.fill(&work.input[from..], to);
                }
                for block in &self.blocks[blocks.clone()] {
                    let filter = group * s.filters + block.start;
                    let grad =
                        work.grad[(first * s.groups * s.filters + filter) * plane..].as_ptr();
                    for t in (0..work.plan.taps.len()).step_by(WIDE) {
                        // Beyond the last tap the last one is computed again, and not kept.
                        let last = work.plan.taps.len() - 1;
                        let taps = std::array::from_fn(|k| work.plan.taps[(t + k).min(last)]);
                        macro_rules! by_height {
                            ($($n:literal)*) => {
                                match block.len() {
                                    $($n => {
                                        // SAFETY: the scratch has a vector's room after its last element; the
                                        // gradient's length was checked; the sums go to this item's own filters.
                                        unsafe {
                                            let sums = outer::<T, S, $n>(
                                                simd, taps, (scratch.as_ptr(), scratch_step), (grad, grad_step), plane,
                                                count, self.spots,
                                            );
                                            for (j, row) in sums.iter().enumerate() {
                                                for (k, &sum) in row.iter().enumerate().take(last + 1 - t) {
                                                    let to = self.place(part, filter + j, t + k);
                                                    to.write(to.read() + sum);
                                                }
                                            }
                                        }
                                    })*
                                    _ => {}
                                }
                            };
                        }
                        by_height!(1 2 3 4);
                    }
                }
            }
        }
    }
}
