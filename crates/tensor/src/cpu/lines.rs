//! Softmax, running sums, arg-reductions and the k largest, along lines.

use super::launch::{CpuLaunch, for_float};
use super::parallel;
use crate::dtype::Element;
use crate::error::Result;
use crate::kernels::lines::LineParams;
use num_traits::{Float, Zero};

/// Sizes of a launch, and how many threads they are worth.
struct Lines {
    n: usize,
    inner: usize,
    outer: usize,
    k: usize,
    flag: bool,
    threads: usize,
}

fn lines(launch: &CpuLaunch<'_>) -> Result<Lines> {
    let p: LineParams = launch.params()?;
    let (outer, n, inner) = (p.outer as usize, p.n as usize, p.inner as usize);
    Ok(Lines {
        n,
        inner,
        outer,
        k: p.k as usize,
        flag: p.flag != 0,
        threads: launch.threads(outer * n * inner),
    })
}

pub(crate) fn softmax(launch: &CpuLaunch<'_>) -> Result<()> {
    for_float!(launch, 0, softmax_of)
}

fn softmax_of<T: Element + Float>(launch: &CpuLaunch<'_>) -> Result<()> {
    let l = lines(launch)?;
    let (x, out) = (launch.read::<T>(0)?, launch.write::<T>(1)?);
    let slab = l.n * l.inner;
    parallel::chunks_mut(&mut out[..l.outer * slab], slab, l.threads, |o, out| {
        let x = &x[o * slab..(o + 1) * slab];
        for i in 0..l.inner {
            let line = || x[i..].iter().step_by(l.inner);
            let top = line().fold(
                T::neg_infinity(),
                |m, &v| if v > m || v.is_nan() { v } else { m },
            );
            let sum = line().fold(T::zero(), |s, &v| s + (v - top).exp());
            let (log, share) = (sum.ln(), sum.recip());
            for (y, &v) in out[i..].iter_mut().step_by(l.inner).zip(line()) {
                *y = if l.flag {
                    v - top - log
                } else {
                    (v - top).exp() * share
                };
            }
        }
    });
    Ok(())
}

pub(crate) fn softmax_backward(launch: &CpuLaunch<'_>) -> Result<()> {
    for_float!(launch, 0, softmax_backward_of)
}

fn softmax_backward_of<T: Element + Float>(launch: &CpuLaunch<'_>) -> Result<()> {
    let l = lines(launch)?;
    let (g, y, out) = (
        launch.read::<T>(0)?,
        launch.read::<T>(1)?,
        launch.write::<T>(2)?,
    );
    let slab = l.n * l.inner;
    parallel::chunks_mut(&mut out[..l.outer * slab], slab, l.threads, |o, out| {
        let (g, y) = (&g[o * slab..(o + 1) * slab], &y[o * slab..(o + 1) * slab]);
        for i in 0..l.inner {
            let pairs = || {
                g[i..]
                    .iter()
                    .step_by(l.inner)
                    .zip(y[i..].iter().step_by(l.inner))
            };
            let sum = pairs().fold(T::zero(), |s, (&g, &y)| s + if l.flag { g } else { g * y });
            for (dx, (&g, &y)) in out[i..].iter_mut().step_by(l.inner).zip(pairs()) {
                *dx = if l.flag {
                    g - y.exp() * sum
                } else {
                    y * (g - sum)
                };
            }
        }
    });
    Ok(())
}

pub(crate) fn cumsum_i64(launch: &CpuLaunch<'_>) -> Result<()> {
    running(launch, i64::wrapping_add)
}

pub(crate) fn cumsum(launch: &CpuLaunch<'_>) -> Result<()> {
    for_float!(launch, 0, cumsum_of)
}

fn cumsum_of<T: Element + Float>(launch: &CpuLaunch<'_>) -> Result<()> {
    running(launch, |a: T, b| a + b)
}

fn running<T: Element + Zero>(
    launch: &CpuLaunch<'_>,
    add: impl Fn(T, T) -> T + Sync,
) -> Result<()> {
    let l = lines(launch)?;
    let (x, out) = (launch.read::<T>(0)?, launch.write::<T>(1)?);
    let slab = l.n * l.inner;
    parallel::chunks_mut(&mut out[..l.outer * slab], slab, l.threads, |o, out| {
        let x = &x[o * slab..(o + 1) * slab];
        for i in 0..l.inner {
            let mut sum = T::zero();
            for step in 0..l.n {
                let j = if l.flag { l.n - 1 - step } else { step };
                sum = add(sum, x[j * l.inner + i]);
                out[j * l.inner + i] = sum;
            }
        }
    });
    Ok(())
}

/// Whether `a` comes before `b` by value, falling (rising if `smallest`); NaN before all numbers if `nan_first`, else after.
fn before<T: Float>(a: T, b: T, smallest: bool, nan_first: bool) -> bool {
    if a.is_nan() || b.is_nan() {
        return a.is_nan() == nan_first && a.is_nan() != b.is_nan();
    }
    if smallest { a < b } else { a > b }
}

pub(crate) fn arg_extreme(launch: &CpuLaunch<'_>) -> Result<()> {
    for_float!(launch, 0, arg_extreme_of)
}

fn arg_extreme_of<T: Element + Float>(launch: &CpuLaunch<'_>) -> Result<()> {
    let l = lines(launch)?;
    let (x, out) = (launch.read::<T>(0)?, launch.write::<i64>(1)?);
    parallel::chunks_mut(
        &mut out[..l.outer * l.inner],
        l.inner,
        l.threads,
        |o, out| {
            let x = &x[o * l.n * l.inner..];
            for (i, at) in out.iter_mut().enumerate() {
                let mut best = 0;
                for j in 1..l.n {
                    if before(x[j * l.inner + i], x[best * l.inner + i], l.flag, true) {
                        best = j;
                    }
                }
                *at = best as i64;
            }
        },
    );
    Ok(())
}

pub(crate) fn topk(launch: &CpuLaunch<'_>) -> Result<()> {
    for_float!(launch, 0, topk_of)
}

fn topk_of<T: Element + Float>(launch: &CpuLaunch<'_>) -> Result<()> {
    let l = lines(launch)?;
    let x = launch.read::<T>(0)?;
    let (values, indices) = (launch.write::<T>(1)?, launch.write::<i64>(2)?);
    let mut order: Vec<usize> = Vec::with_capacity(l.n);
    for o in 0..l.outer {
        for i in 0..l.inner {
            let at = |j: usize| x[(o * l.n + j) * l.inner + i];
            order.clear();
            order.extend(0..l.n);
            // Equal values keep their order, so that every device picks the same ones.
            order.sort_by(|&a, &b| {
                if before(at(a), at(b), l.flag, !l.flag) {
                    std::cmp::Ordering::Less
                } else if before(at(b), at(a), l.flag, !l.flag) {
                    std::cmp::Ordering::Greater
                } else {
                    a.cmp(&b)
                }
            });
            for (rank, &j) in order[..l.k].iter().enumerate() {
                let to = (o * l.k + rank) * l.inner + i;
                values[to] = at(j);
                indices[to] = j as i64;
            }
        }
    }
    Ok(())
}
