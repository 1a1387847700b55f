//! Loss scaling for float16 gradients.

use crate::optim::Optimizer;
use tensor::{Result, Tensor, autograd::no_grad};

/// Scales losses up before backward and gradients down before the step, and finds the largest scale that works.
#[derive(Clone, Debug)]
pub struct GradScaler {
    scale: f64,
    growth_factor: f64,
    backoff_factor: f64,
    growth_interval: usize,
    good_steps: usize,
    found_inf: bool,
}

impl Default for GradScaler {
    fn default() -> Self {
        GradScaler::new(65536.0, 2.0, 0.5, 2000)
    }
}

impl GradScaler {
    /// PyTorch's arguments in its order.
    pub fn new(
        init_scale: f64,
        growth_factor: f64,
        backoff_factor: f64,
        growth_interval: usize,
    ) -> GradScaler {
        GradScaler {
            scale: init_scale,
            growth_factor,
            backoff_factor,
            growth_interval,
            good_steps: 0,
            found_inf: false,
        }
    }

    /// The scale of the next loss.
    pub fn get_scale(&self) -> f64 {
        self.scale
    }

    /// Whether the last step's gradients had an infinity or NaN.
    pub fn found_inf(&self) -> bool {
        self.found_inf
    }

    /// The loss times the scale: call backward on that.
    pub fn scale(&self, loss: &Tensor) -> Result<Tensor> {
        loss.mul_scalar(self.scale)
    }

    /// Divide the gradients by the scale, then step unless one of them is infinite or NaN. Gives whether it stepped.
    ///
    /// All gradients are searched on their device; one number is read back, as PyTorch's does.
    pub async fn step(&mut self, optimizer: &mut dyn Optimizer) -> Result<bool> {
        let bad = no_grad(|| -> Result<Option<Tensor>> {
            let mut bad: Option<Tensor> = None;
            for p in optimizer.parameters() {
                let p = p.tensor();
                let Some(g) = p.grad() else { continue };
                let found = g
                    .isfinite()?
                    .logical_not()?
                    .to_dtype(tensor::DType::F32)?
                    .sum_all()?;
                bad = Some(match bad {
                    Some(sum) => sum.add(&found)?,
                    None => found,
                });
                p.set_grad(Some(g.mul_scalar(1.0 / self.scale)?));
            }
            Ok(bad)
        })?;
        self.found_inf = match bad {
            Some(count) => count.item().await? > 0.0,
            None => false,
        };
        if !self.found_inf {
            optimizer.step()?;
        }
        Ok(!self.found_inf)
    }

    /// Lower the scale after an infinity, raise it after enough steps without one.
    pub fn update(&mut self) {
        if self.found_inf {
            self.scale *= self.backoff_factor;
            self.good_steps = 0;
            return;
        }
        self.good_steps += 1;
        if self.good_steps == self.growth_interval {
            self.scale *= self.growth_factor;
            self.good_steps = 0;
        }
    }
}
