//! Searches for bad values.

use super::launch::{CpuLaunch, for_float};
use crate::dtype::Element;
use crate::error::Result;

pub(crate) fn check_nan(launch: &CpuLaunch<'_>) -> Result<()> {
    for_float!(launch, 0, search)
}

/// A NaN is the one value that does not equal itself.
#[allow(clippy::eq_op)]
fn search<T: Element>(launch: &CpuLaunch<'_>) -> Result<()> {
    let params: crate::kernels::check::CheckParams = launch.params()?;
    let values = launch.read::<T>(0)?;
    let values = &values[..values.len().min(params.count as usize)];
    // Whole chunks at a time, since stopping at each element would keep the compiler from using vectors.
    let bad = values
        .chunks(4096)
        .any(|chunk| chunk.iter().fold(false, |found, x| found | (x != x)));
    if bad { Err(launch.fault(0)) } else { Ok(()) }
}
