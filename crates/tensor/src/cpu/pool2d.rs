//! Pooling and its gradients, plane by plane: planes are shared out over the threads, so a gradient that many windows
//! add to is still one thread's.

use super::lanes::{Place, Real};
use super::launch::{CpuLaunch, for_float};
use super::operand::failure;
use super::parallel;
use crate::error::Result;
use crate::kernels::pool2d::Pool2dParams;
use pulp::Arch;
use std::ops::Range;

pub(crate) fn max_pool2d(launch: &CpuLaunch<'_>) -> Result<()> {
    for_float!(launch, 1, max)
}

pub(crate) fn max_pool2d_grad(launch: &CpuLaunch<'_>) -> Result<()> {
    for_float!(launch, 2, max_grad)
}

pub(crate) fn avg_pool2d(launch: &CpuLaunch<'_>) -> Result<()> {
    for_float!(launch, 1, avg)
}

pub(crate) fn avg_pool2d_grad(launch: &CpuLaunch<'_>) -> Result<()> {
    for_float!(launch, 1, avg_grad)
}

pub(crate) fn adaptive_avg_pool2d(launch: &CpuLaunch<'_>) -> Result<()> {
    for_float!(launch, 1, adaptive)
}

pub(crate) fn adaptive_avg_pool2d_grad(launch: &CpuLaunch<'_>) -> Result<()> {
    for_float!(launch, 1, adaptive_grad)
}

/// The parameters as sizes: of the input's plane and the result's, of windows, steps and margins.
struct Shape {
    planes: usize,
    input: [usize; 2],
    out: [usize; 2],
    kernel: [usize; 2],
    stride: [usize; 2],
    pad: [usize; 2],
}

impl Shape {
    /// Checked against the lengths of what has the input's shape and of what has the result's.
    fn new(p: &Pool2dParams, input: usize, out: usize) -> Result<Shape> {
        let pair = |a: u32, b: u32| [a as usize, b as usize];
        let s = Shape {
            planes: p.planes as usize,
            input: pair(p.height, p.width),
            out: pair(p.out_h, p.out_w),
            kernel: pair(p.kernel_h, p.kernel_w),
            stride: pair(p.stride_h, p.stride_w),
            pad: pair(p.pad_h, p.pad_w),
        };
        if s.planes * s.input_plane() > input || s.planes * s.out_plane() > out {
            return Err(failure(
                "pool2d",
                format!("{input} and {out} elements for {p:?}"),
            ));
        }
        Ok(s)
    }

    fn input_plane(&self) -> usize {
        self.input[0] * self.input[1]
    }

    fn out_plane(&self) -> usize {
        self.out[0] * self.out[1]
    }

    /// What the window of result `i` has of the input.
    fn window(&self, d: usize, i: usize) -> Range<usize> {
        let start = i * self.stride[d];
        let end = (start + self.kernel[d]).saturating_sub(self.pad[d]);
        start.saturating_sub(self.pad[d])..end.min(self.input[d])
    }

    /// Whether windows are 2x2, side by side and whole.
    fn halves(&self) -> bool {
        let whole = (0..2).all(|d| 2 * self.out[d] <= self.input[d]);
        whole && self.kernel == [2, 2] && self.stride == [2, 2] && self.pad == [0, 0]
    }

    /// Of the results whose window has its column `kx` in the input: the first, the one after the last, and the column
    /// that it is for the first.
    fn columns(&self, kx: usize) -> Option<(usize, usize, usize)> {
        let (step, pad) = (self.stride[1], self.pad[1]);
        let first = pad.saturating_sub(kx).div_ceil(step);
        let last = (self.input[1] + pad).checked_sub(kx + 1)?;
        let end = (last / step + 1).min(self.out[1]);
        (first < end).then(|| (first, end, first * step + kx - pad))
    }

    /// [`Shape::window`] for adaptive pooling.
    fn adaptive_window(&self, d: usize, i: usize) -> Range<usize> {
        let (n, s) = (self.out[d], self.input[d]);
        i * s / n..((i + 1) * s).div_ceil(n)
    }

    /// Call `plane` with the number of every plane and its part of `to`, which has `size` elements a plane.
    fn each_plane<T: Real>(
        &self,
        to: &mut [T],
        size: usize,
        plane: impl Fn(usize, &mut [T]) + Sync,
    ) {
        let to = Place(to.as_mut_ptr());
        let work = self.planes * self.input_plane().max(self.out_plane());
        let threads = parallel::threads(work);
        let run = |range: Range<usize>| {
            for i in range {
                // SAFETY: `new` checked the length, and each plane is visited once.
                plane(i, unsafe {
                    std::slice::from_raw_parts_mut(to.at(i * size), size)
                });
            }
        };
        parallel::split(self.planes, self.planes.div_ceil(4 * threads), threads, run);
    }
}

fn max<T: Real>(launch: &CpuLaunch<'_>) -> Result<()> {
    let (input, out) = (launch.read::<T>(0)?, launch.write::<T>(1)?);
    let indices = launch.write::<i32>(2)?;
    let s = Shape::new(&launch.params()?, input.len(), out.len().min(indices.len()))?;
    let (size, out_size) = (s.input_plane(), s.out_plane());
    let indices = Place(indices.as_mut_ptr());
    s.each_plane(out, out_size, |i, out| {
        // SAFETY: as for the result.
        let indices = unsafe { std::slice::from_raw_parts_mut(indices.at(i * out_size), out_size) };
        let plane = &input[i * size..][..size];
        Arch::new().dispatch(
            #[inline(always)]
            || {
                if s.halves() {
                    max_halves(&s, plane, out, indices);
                } else {
                    max_plane(&s, plane, out, indices);
                }
            },
        );
    });
    Ok(())
}

/// Windows of 2x2 side by side, the commonest: two rows in, one row out, without a branch.
#[inline(always)]
#[allow(clippy::eq_op)] // a NaN is the one value that does not equal itself
fn max_halves<T: Real>(s: &Shape, plane: &[T], out: &mut [T], indices: &mut [i32]) {
    let (w, ow) = (s.input[1], s.out[1]);
    let rows = out.chunks_exact_mut(ow).zip(indices.chunks_exact_mut(ow));
    for (oy, ((best, at), pair)) in rows.zip(plane.chunks_exact(2 * w)).enumerate() {
        let (top, bottom) = pair.split_at(w);
        let first = 2 * oy * w;
        let fours = top.chunks_exact(2).zip(bottom.chunks_exact(2));
        for (i, ((best, at), (top, bottom))) in best.iter_mut().zip(at).zip(fours).enumerate() {
            let (mut value, mut place) = (top[0], 0);
            for (x, here) in [(top[1], 1), (bottom[0], w), (bottom[1], w + 1)] {
                let better = x > value || x != x;
                value = if better { x } else { value };
                place = if better { here } else { place };
            }
            *best = value;
            *at = (first + 2 * i + place) as i32;
        }
    }
}

/// Window place by window place, so that neighbours of a row are compared together.
#[inline(always)]
#[allow(clippy::eq_op)] // a NaN is the one value that does not equal itself
fn max_plane<T: Real>(s: &Shape, plane: &[T], out: &mut [T], indices: &mut [i32]) {
    let (w, ow) = (s.input[1], s.out[1]);
    let rows = out.chunks_exact_mut(ow).zip(indices.chunks_exact_mut(ow));
    for (oy, (best, at)) in rows.enumerate() {
        best.fill(T::LOWEST);
        // Where nothing is larger, the window's first place is the answer.
        let top = s.window(0, oy).start;
        for (ox, at) in at.iter_mut().enumerate() {
            *at = (top * w + s.window(1, ox).start) as i32;
        }
        for y in s.window(0, oy) {
            let row = &plane[y * w..][..w];
            for kx in 0..s.kernel[1] {
                let Some((first, end, x)) = s.columns(kx) else {
                    continue;
                };
                let columns = row[x..].iter().step_by(s.stride[1]);
                let places = best[first..end].iter_mut().zip(&mut at[first..end]);
                for (i, ((best, at), &value)) in places.zip(columns).enumerate() {
                    let better = value > *best || value != value;
                    *best = if better { value } else { *best };
                    let here = (y * w + x + i * s.stride[1]) as i32;
                    *at = if better { here } else { *at };
                }
            }
        }
    }
}

fn max_grad<T: Real>(launch: &CpuLaunch<'_>) -> Result<()> {
    let (grad, out) = (launch.read::<T>(0)?, launch.write::<T>(2)?);
    let indices = launch.write::<i32>(1)?;
    let s = Shape::new(&launch.params()?, out.len(), grad.len().min(indices.len()))?;
    let (size, out_size) = (s.input_plane(), s.out_plane());
    s.each_plane(out, size, |i, to| {
        to.fill(T::ZERO);
        let from = i * out_size..(i + 1) * out_size;
        for (&g, &at) in grad[from.clone()].iter().zip(&indices[from]) {
            // An index that a kernel did not write cannot be trusted to lie inside.
            if let Some(to) = to.get_mut(at as usize) {
                *to = *to + g;
            }
        }
    });
    Ok(())
}

fn avg<T: Real>(launch: &CpuLaunch<'_>) -> Result<()> {
    let (input, out) = (launch.read::<T>(0)?, launch.write::<T>(1)?);
    let s = Shape::new(&launch.params()?, input.len(), out.len())?;
    let scale = T::from_f64((s.kernel[0] * s.kernel[1]) as f64);
    means(&s, input, out, |d, i| s.window(d, i), |_, _| scale);
    Ok(())
}

fn adaptive<T: Real>(launch: &CpuLaunch<'_>) -> Result<()> {
    let (input, out) = (launch.read::<T>(0)?, launch.write::<T>(1)?);
    let s = Shape::new(&launch.params()?, input.len(), out.len())?;
    let count = |rows: usize, columns: usize| T::from_f64((rows * columns) as f64);
    means(&s, input, out, |d, i| s.adaptive_window(d, i), count);
    Ok(())
}

/// The mean of every window; `divisor` is given the rows and columns that it has of the input.
fn means<T: Real>(
    s: &Shape,
    input: &[T],
    out: &mut [T],
    window: impl Fn(usize, usize) -> Range<usize> + Sync,
    divisor: impl Fn(usize, usize) -> T + Sync,
) {
    let ([_, w], size) = (s.input, s.input_plane());
    s.each_plane(out, s.out_plane(), |i, out| {
        let plane = &input[i * size..][..size];
        for (oy, out) in out.chunks_exact_mut(s.out[1]).enumerate() {
            let rows = window(0, oy);
            for (ox, out) in out.iter_mut().enumerate() {
                let columns = window(1, ox);
                let mut sum = T::ZERO;
                for y in rows.clone() {
                    for &x in &plane[y * w..][columns.clone()] {
                        sum = sum + x;
                    }
                }
                *out = sum / divisor(rows.len(), columns.len());
            }
        }
    });
}

fn avg_grad<T: Real>(launch: &CpuLaunch<'_>) -> Result<()> {
    let (grad, out) = (launch.read::<T>(0)?, launch.write::<T>(1)?);
    let s = Shape::new(&launch.params()?, out.len(), grad.len())?;
    let scale = T::from_f64((s.kernel[0] * s.kernel[1]) as f64);
    means_grad(&s, grad, out, |d, i| s.window(d, i), |_, _| scale);
    Ok(())
}

fn adaptive_grad<T: Real>(launch: &CpuLaunch<'_>) -> Result<()> {
    let (grad, out) = (launch.read::<T>(0)?, launch.write::<T>(1)?);
    let s = Shape::new(&launch.params()?, out.len(), grad.len())?;
    let count = |rows: usize, columns: usize| T::from_f64((rows * columns) as f64);
    means_grad(&s, grad, out, |d, i| s.adaptive_window(d, i), count);
    Ok(())
}

fn means_grad<T: Real>(
    s: &Shape,
    grad: &[T],
    out: &mut [T],
    window: impl Fn(usize, usize) -> Range<usize> + Sync,
    divisor: impl Fn(usize, usize) -> T + Sync,
) {
    let (w, out_size) = (s.input[1], s.out_plane());
    s.each_plane(out, s.input_plane(), |i, to| {
        to.fill(T::ZERO);
        let grad = &grad[i * out_size..][..out_size];
        for (oy, grad) in grad.chunks_exact(s.out[1]).enumerate() {
            let rows = window(0, oy);
            for (ox, &g) in grad.iter().enumerate() {
                let columns = window(1, ox);
                let share = g / divisor(rows.len(), columns.len());
                for y in rows.clone() {
                    for to in &mut to[y * w..][columns.clone()] {
                        *to = *to + share;
                    }
                }
            }
        }
    });
}
