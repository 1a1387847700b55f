//! The negative log likelihood of class indices.

use super::launch::{CpuLaunch, for_float};
use crate::dtype::Element;
use crate::error::Result;
use crate::kernels::nll::NllParams;
use num_traits::Float;

pub(crate) fn nll(launch: &CpuLaunch<'_>) -> Result<()> {
    for_float!(launch, 0, nll_of)
}

fn nll_of<T: Element + Float>(launch: &CpuLaunch<'_>) -> Result<()> {
    let p: NllParams = launch.params()?;
    let (logp, target, weight) = (
        launch.read::<T>(0)?,
        launch.read::<i64>(1)?,
        launch.read::<T>(2)?,
    );
    let (loss, share) = (launch.write::<T>(3)?, launch.write::<T>(4)?);
    let (classes, inner) = (p.classes as usize, p.inner as usize);
    for at in 0..p.batch as usize * inner {
        let (b, i) = (at / inner, at % inner);
        let t = target[at];
        if t == i64::from(p.ignore) {
            (loss[at], share[at]) = (T::zero(), T::zero());
            continue;
        }
        if !(0..i64::from(p.classes)).contains(&t) {
            return Err(launch.fault(t));
        }
        let w = if p.weighted != 0 {
            weight[t as usize]
        } else {
            T::one()
        };
        loss[at] = -logp[(b * classes + t as usize) * inner + i] * w;
        share[at] = w;
    }
    Ok(())
}

pub(crate) fn nll_backward(launch: &CpuLaunch<'_>) -> Result<()> {
    for_float!(launch, 2, nll_backward_of)
}

fn nll_backward_of<T: Element + Float>(launch: &CpuLaunch<'_>) -> Result<()> {
    let p: NllParams = launch.params()?;
    let (target, weight, grad) = (
        launch.read::<i64>(0)?,
        launch.read::<T>(1)?,
        launch.read::<T>(2)?,
    );
    let out = launch.write::<T>(3)?;
    let (classes, inner) = (p.classes as usize, p.inner as usize);
    out.fill(T::zero());
    for at in 0..p.batch as usize * inner {
        let (b, i) = (at / inner, at % inner);
        let t = target[at];
        // A target out of range was raised by the forward pass.
        if t != i64::from(p.ignore) && (0..i64::from(p.classes)).contains(&t) {
            let w = if p.weighted != 0 {
                weight[t as usize]
            } else {
                T::one()
            };
            out[(b * classes + t as usize) * inner + i] = -grad[at] * w;
        }
    }
    Ok(())
}
