//! Searches for values that must not be, on the device that holds them.

use super::launch::{self, Cost};
use crate::error::Result;
use crate::kernel::{Check, Grid};
use crate::kernels::check::{CHECK_NAN, CheckParams};
use crate::tensor::Tensor;

/// Raise `check` if `x` has a NaN: at once on the CPU, at the next await elsewhere.
pub(crate) fn nan(x: &Tensor, check: Check) -> Result<()> {
    let x = x.detach().contiguous()?;
    let x = if x.dtype().size() < 4 {
        x.to_dtype(crate::DType::F32)?
    } else {
        x
    };
    let params = CheckParams {
        count: x.numel() as u32,
        pad: [0; 3],
    };
    launch::kernel(
        &CHECK_NAN,
        &[&x],
        &params,
        Grid::Invocations(x.numel()),
        Some(check),
        Cost::default(),
    )
}
