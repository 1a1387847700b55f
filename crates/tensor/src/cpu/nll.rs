//! The negative log likelihood of class indices, of log-probabilities or of logits.

use super::launch::{CpuLaunch, for_float};
use crate::dtype::Element;
use crate::error::Result;
use crate::kernels::nll::NllParams;
use num_traits::Float;

/// What target `t` weighs: nothing where it is ignored; the target itself where it is none of the classes.
fn share<T: Float>(p: &NllParams, weight: &[T], t: i64) -> std::result::Result<Option<T>, i64> {
    if t == i64::from(p.ignore) {
        return Ok(None);
    }
    if !(0..i64::from(p.classes)).contains(&t) {
        return Err(t);
    }
    Ok(Some(match p.weighted {
        0 => T::one(),
        _ => weight[t as usize],
    }))
}

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
    let (loss, shares) = (launch.write::<T>(3)?, launch.write::<T>(4)?);
    let (classes, inner) = (p.classes as usize, p.inner as usize);
    for at in 0..p.batch as usize * inner {
        let (b, i) = (at / inner, at % inner);
        let t = target[at];
        (loss[at], shares[at]) = match share(&p, weight, t).map_err(|t| launch.fault(t))? {
            Some(w) => (-logp[(b * classes + t as usize) * inner + i] * w, w),
            None => (T::zero(), T::zero()),
        };
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
        if let Ok(Some(w)) = share(&p, weight, t) {
            out[(b * classes + t as usize) * inner + i] = -grad[at] * w;
        }
    }
    Ok(())
}

pub(crate) fn cross_entropy(launch: &CpuLaunch<'_>) -> Result<()> {
    for_float!(launch, 0, cross_entropy_of)
}

fn cross_entropy_of<T: Element + Float>(launch: &CpuLaunch<'_>) -> Result<()> {
    let p: NllParams = launch.params()?;
    let (logits, target, weight) = (
        launch.read::<T>(0)?,
        launch.read::<i64>(1)?,
        launch.read::<T>(2)?,
    );
    let (probabilities, loss, total) = (
        launch.write::<T>(3)?,
        launch.write::<T>(4)?,
        launch.write::<T>(5)?,
    );
    let (classes, inner) = (p.classes as usize, p.inner as usize);
    let (mut sum, mut shares) = (T::zero(), T::zero());
    for (at, &t) in target.iter().enumerate() {
        let start = at / inner * classes * inner + at % inner;
        let places = (0..classes).map(|c| start + c * inner);
        // A NaN is the largest of all, as in PyTorch.
        let largest = |a: T, b: T| if a.is_nan() || a > b { a } else { b };
        let top = places
            .clone()
            .map(|i| logits[i])
            .fold(T::neg_infinity(), largest);
        let mut scale = T::zero();
        for i in places.clone() {
            let e = (logits[i] - top).exp();
            probabilities[i] = e;
            scale = scale + e;
        }
        for i in places {
            probabilities[i] = probabilities[i] / scale;
        }
        let Some(w) = share(&p, weight, t).map_err(|t| launch.fault(t))? else {
            continue;
        };
        sum = sum + (scale.ln() - (logits[start + t as usize * inner] - top)) * w;
        shares = shares + w;
    }
    loss[0] = if p.mean != 0 { sum / shares } else { sum };
    total[0] = shares;
    Ok(())
}

pub(crate) fn cross_entropy_backward(launch: &CpuLaunch<'_>) -> Result<()> {
    for_float!(launch, 0, cross_entropy_backward_of)
}

fn cross_entropy_backward_of<T: Element + Float>(launch: &CpuLaunch<'_>) -> Result<()> {
    let p: NllParams = launch.params()?;
    let (probabilities, target, weight) = (
        launch.read::<T>(0)?,
        launch.read::<i64>(1)?,
        launch.read::<T>(2)?,
    );
    let (total, grad, out) = (
        launch.read::<T>(3)?,
        launch.read::<T>(4)?,
        launch.write::<T>(5)?,
    );
    let (classes, inner) = (p.classes as usize, p.inner as usize);
    let grad = if p.mean != 0 {
        grad[0] / total[0]
    } else {
        grad[0]
    };
    for (at, &t) in target.iter().enumerate() {
        let start = at / inner * classes * inner + at % inner;
        // A target out of range was raised by the forward pass.
        let w = share(&p, weight, t).ok().flatten().map(|w| w * grad);
        for c in 0..classes {
            let i = start + c * inner;
            let own = if c as i64 == t { T::one() } else { T::zero() };
            out[i] = w.map_or(T::zero(), |w| (probabilities[i] - own) * w);
        }
    }
    Ok(())
}
