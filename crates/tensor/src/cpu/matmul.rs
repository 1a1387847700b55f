//! Products of matrices, through the `gemm` crate.

use super::lanes::Real;
use super::launch::{CpuLaunch, for_float};
use super::operand::failure;
use super::parallel;
use crate::error::Result;
use crate::kernels::matmul::MatmulParams;
use gemm::Parallelism;
use std::ops::Range;

/// Multiplications below which a product runs on one thread.
const WORTH_THREADS: usize = 96 * 96 * 96;

/// Multiplications from which `gemm` shares out a product itself: its threads then pack each operand once, together. Below,
/// what it takes to wake them is more than that saves.
const SHARED: usize = 32 << 20;

/// Rows and columns of a slab are multiples of this: of every processor's register tile, or nearly.
const GRAIN: usize = 16;

pub(crate) fn matmul(launch: &CpuLaunch<'_>) -> Result<()> {
    for_float!(launch, 3, product)
}

fn product<T: Real>(launch: &CpuLaunch<'_>) -> Result<()> {
    let p: MatmulParams = launch.params()?;
    let (a, b, bias, out) = (
        launch.read::<T>(0)?,
        launch.read::<T>(1)?,
        launch.read::<T>(2)?,
        launch.write::<T>(3)?,
    );
    let (m, n, k, batch) = (p.m as usize, p.n as usize, p.k as usize, p.batch as usize);
    let matrix = m * n;
    if out.len() < batch * matrix
        || p.batch_shape.iter().map(|s| *s as usize).product::<usize>() != batch
    {
        return Err(failure(
            "matmul",
            format!(
                "{} elements for {batch} results of {m}x{n}: {p:?}",
                out.len()
            ),
        ));
    }
    let out = &mut out[..batch * matrix];
    if out.is_empty() {
        return Ok(());
    }
    let bias = (p.bias != 0).then_some(bias);
    if bias.is_some_and(|b| b.len() < n) {
        return Err(failure("matmul", format!("bias too short: {p:?}")));
    }
    if k == 0 {
        out.fill(T::ZERO);
        epilogue(out, n, bias, p.relu != 0, 1);
        return Ok(());
    }
    check(a.len(), &p, [(p.m, p.a_row), (p.k, p.a_col)], &p.a_batch)?;
    check(b.len(), &p, [(p.k, p.b_row), (p.n, p.b_col)], &p.b_batch)?;

    let threads = if batch * matrix * k < WORTH_THREADS {
        1
    } else {
        parallel::threads(usize::MAX)
    };
    // Many small products are spread over the threads whole; a few large ones are each cut up.
    let (across, within) = if batch >= 2 * threads {
        (threads, 1)
    } else {
        (1, threads)
    };
    let slabs = Slabs::new((m, n, k), within);
    let (a, b, first) = (
        Place(a.as_ptr().cast_mut()),
        Place(b.as_ptr().cast_mut()),
        Place(out.as_mut_ptr()),
    );
    let run = |range: Range<usize>| {
        for item in range {
            let (i, slab) = (item / slabs.count, item % slabs.count);
            let (rows, columns) = slabs.part(slab, m, n);
            let from_a = batch_offset(i, &p.batch_shape, &p.a_batch)
                + rows.start as isize * p.a_row as isize;
            let from_b = batch_offset(i, &p.batch_shape, &p.b_batch)
                + columns.start as isize * p.b_col as isize;
            // SAFETY: both operands were checked to hold every index of the batch, and each `item` has its own part of
            // the result.
            unsafe {
                gemm::gemm(
                    rows.len(),
                    columns.len(),
                    k,
                    first.at((i * matrix + rows.start * n + columns.start) as isize),
                    1,
                    n as isize,
                    false,
                    a.at(from_a),
                    p.a_col as isize,
                    p.a_row as isize,
                    b.at(from_b),
                    p.b_col as isize,
                    p.b_row as isize,
                    T::ZERO,
                    T::from_f64(1.0),
                    false,
                    false,
                    false,
                    parallelism(if slabs.count > 1 { 1 } else { within }),
                );
            }
        }
    };
    let (items, threads) = (batch * slabs.count, across.max(slabs.count));
    parallel::split(items, items.div_ceil(4 * threads), threads, run);
    epilogue(out, n, bias, p.relu != 0, parallel::threads(out.len()));
    Ok(())
}

/// How one product is cut up: along its rows or its columns.
struct Slabs {
    count: usize,
    size: usize,
    by_rows: bool,
}

impl Slabs {
    fn new((m, n, k): (usize, usize, usize), threads: usize) -> Slabs {
        let by_rows = m >= n;
        let (length, work) = (m.max(n), m * n * k);
        let wanted = match work {
            _ if threads == 1 || work >= SHARED => 1,
            _ => threads.min(2 * work / WORTH_THREADS),
        };
        let size = length.div_ceil(wanted).next_multiple_of(GRAIN);
        Slabs {
            count: length.div_ceil(size),
            size,
            by_rows,
        }
    }

    /// Rows and columns of the result that a slab makes.
    fn part(&self, slab: usize, m: usize, n: usize) -> (Range<usize>, Range<usize>) {
        let cut = |length: usize| slab * self.size..((slab + 1) * self.size).min(length);
        if self.by_rows {
            (cut(m), 0..n)
        } else {
            (0..m, cut(n))
        }
    }
}

/// Add the bias to every row of `n` elements, and store what is below zero as zero.
fn epilogue<T: Real>(out: &mut [T], n: usize, bias: Option<&[T]>, relu: bool, threads: usize) {
    if bias.is_none() && !relu {
        return;
    }
    let rows = (out.len() / n).div_ceil(4 * threads);
    parallel::chunks_mut(out, rows * n, threads, |_, rows| {
        for row in rows.chunks_exact_mut(n) {
            if let Some(bias) = bias {
                for (x, b) in row.iter_mut().zip(bias) {
                    *x = *x + *b;
                }
            }
            if relu {
                for x in row {
                    // A NaN stays one.
                    *x = if *x < T::ZERO { T::ZERO } else { *x };
                }
            }
        }
    });
}

fn parallelism(threads: usize) -> Parallelism {
    #[cfg(not(target_arch = "wasm32"))]
    if threads > 1 {
        return Parallelism::Rayon(threads);
    }
    let _ = threads;
    Parallelism::None
}

/// An address that may travel to another thread.
#[derive(Clone, Copy)]
struct Place<T>(*mut T);
// SAFETY: `product` gives every thread its own part of the result; the operands are only read.
unsafe impl<T> Send for Place<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Place<T> {}

impl<T> Place<T> {
    fn at(self, elements: isize) -> *mut T {
        self.0.wrapping_offset(elements)
    }
}

/// Where matrix `index` of the batch begins.
fn batch_offset(mut index: usize, sizes: &[u32; 4], strides: &[i32; 4]) -> isize {
    let mut at = 0;
    for (&n, &s) in sizes.iter().zip(strides).rev() {
        at += (index % n as usize) as isize * s as isize;
        index /= n as usize;
    }
    at
}

/// Fail unless every index of an operand lies inside its `len` elements.
fn check(len: usize, p: &MatmulParams, matrix: [(u32, i32); 2], batch: &[i32; 4]) -> Result<()> {
    let (mut low, mut high) = (0i64, 0i64);
    for (n, s) in matrix
        .into_iter()
        .chain(p.batch_shape.into_iter().zip(*batch))
    {
        let reach = (i64::from(n) - 1) * i64::from(s);
        if reach < 0 {
            low += reach
        } else {
            high += reach
        }
    }
    if low < 0 || high >= len as i64 {
        return Err(failure(
            "matmul",
            format!("elements {low}..={high} of an operand of {len}: {p:?}"),
        ));
    }
    Ok(())
}
