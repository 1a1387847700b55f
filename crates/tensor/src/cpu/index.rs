//! Reading and adding at positions that a tensor of indices names.

use super::launch::{CpuLaunch, for_float};
use super::parallel;
use crate::dtype::Element;
use crate::error::Result;
use crate::kernels::index::IndexParams;
use num_traits::Float;

/// Position of the index of element (o, j, i).
fn at(p: &IndexParams, o: usize, j: usize, i: usize) -> usize {
    o * p.index_outer as usize + j * p.index_n as usize + i * p.index_inner as usize
}

fn check_all(launch: &CpuLaunch<'_>, p: &IndexParams, index: &[i64]) -> Result<()> {
    let size = i64::from(p.size);
    match index.iter().find(|v| !(0..size).contains(*v)) {
        Some(&bad) => Err(launch.fault(bad)),
        None => Ok(()),
    }
}

pub(crate) fn check_index(launch: &CpuLaunch<'_>) -> Result<()> {
    let p: IndexParams = launch.params()?;
    check_all(launch, &p, launch.read::<i64>(0)?)
}

pub(crate) fn gather(launch: &CpuLaunch<'_>) -> Result<()> {
    for_float!(launch, 0, gather_of)
}

pub(crate) fn gather_i64(launch: &CpuLaunch<'_>) -> Result<()> {
    gather_of::<i64>(launch)
}

fn gather_of<T: Element>(launch: &CpuLaunch<'_>) -> Result<()> {
    let p: IndexParams = launch.params()?;
    let (data, index, out) = (
        launch.read::<T>(0)?,
        launch.read::<i64>(1)?,
        launch.write::<T>(2)?,
    );
    check_all(launch, &p, index)?;
    let (n, size, inner) = (p.n as usize, p.size as usize, p.inner as usize);
    let threads = launch.threads(out.len());
    let count = p.outer as usize * n * inner;
    parallel::chunks_mut(&mut out[..count], inner, threads, |row, out| {
        let (o, j) = (row / n, row % n);
        if p.index_inner == 0 {
            let from = (o * size + index[at(&p, o, j, 0)] as usize) * inner;
            out.copy_from_slice(&data[from..from + inner]);
            return;
        }
        for (i, y) in out.iter_mut().enumerate() {
            *y = data[(o * size + index[at(&p, o, j, i)] as usize) * inner + i];
        }
    });
    Ok(())
}

pub(crate) fn scatter_add(launch: &CpuLaunch<'_>) -> Result<()> {
    for_float!(launch, 1, scatter_add_of)
}

fn scatter_add_of<T: Element + Float>(launch: &CpuLaunch<'_>) -> Result<()> {
    let p: IndexParams = launch.params()?;
    let (index, source, out) = (
        launch.read::<i64>(0)?,
        launch.read::<T>(1)?,
        launch.write::<T>(2)?,
    );
    let (n, size, inner) = (p.n as usize, p.size as usize, p.inner as usize);
    let slab = size * inner;
    let threads = launch.threads(source.len());
    // Sources in order, so that the sums are those of every other device.
    parallel::chunks_mut(
        &mut out[..p.outer as usize * slab],
        slab,
        threads,
        |o, out| {
            out.fill(T::zero());
            for j in 0..n {
                for i in 0..inner {
                    let to = index[at(&p, o, j, i)];
                    if (0..i64::from(p.size)).contains(&to) {
                        let y = &mut out[to as usize * inner + i];
                        *y = *y + source[(o * n + j) * inner + i];
                    }
                }
            }
        },
    );
    Ok(())
}
