//! Learning-rate schedules. Each sets the optimiser's rate when it is made and after every step, as PyTorch's do.

use crate::optim::Optimizer;
use std::f64::consts::PI;
use tensor::{Error, Result};

/// Sets an optimiser's rate by the number of steps taken.
pub trait Scheduler {
    /// The rate after this many steps.
    fn rate(&self, step: usize) -> f64;

    /// The momentum after this many steps, where the schedule sets that too.
    fn momentum(&self, step: usize) -> Option<f64> {
        let _ = step;
        None
    }

    /// Set the rate for the first step.
    fn start(&self, optimizer: &mut dyn Optimizer) {
        self.apply(optimizer, 0);
    }

    /// Set the rate for the step after this many.
    fn apply(&self, optimizer: &mut dyn Optimizer, steps: usize) {
        optimizer.set_lr(self.rate(steps));
        if let Some(momentum) = self.momentum(steps) {
            optimizer.set_momentum(momentum);
        }
    }
}

/// Multiply by `gamma` every `step_size` steps.
#[derive(Clone, Copy, Debug)]
pub struct StepLr {
    base: f64,
    step_size: usize,
    gamma: f64,
}

impl StepLr {
    /// From the optimiser's rate `base`.
    pub fn new(base: f64, step_size: usize, gamma: f64) -> Result<StepLr> {
        if step_size == 0 {
            return Err(Error::argument(
                "StepLR",
                "step_size must be positive",
                "give 1 or more",
            ));
        }
        Ok(StepLr {
            base,
            step_size,
            gamma,
        })
    }
}

impl Scheduler for StepLr {
    fn rate(&self, step: usize) -> f64 {
        self.base * self.gamma.powi((step / self.step_size) as i32)
    }
}

/// Half a cosine from the base rate to `eta_min` over `t_max` steps, and back.
#[derive(Clone, Copy, Debug)]
pub struct CosineAnnealingLr {
    base: f64,
    t_max: usize,
    eta_min: f64,
}

impl CosineAnnealingLr {
    /// From the optimiser's rate `base`.
    pub fn new(base: f64, t_max: usize, eta_min: f64) -> Result<CosineAnnealingLr> {
        if t_max == 0 {
            return Err(Error::argument(
                "CosineAnnealingLR",
                "T_max must be positive",
                "give the number of steps",
            ));
        }
        Ok(CosineAnnealingLr {
            base,
            t_max,
            eta_min,
        })
    }
}

impl Scheduler for CosineAnnealingLr {
    fn rate(&self, step: usize) -> f64 {
        let turn = (PI * step as f64 / self.t_max as f64).cos();
        self.eta_min + (self.base - self.eta_min) * (1.0 + turn) / 2.0
    }
}

/// Linearly from `start_factor` to `end_factor` of the base rate over `total_iters` steps.
#[derive(Clone, Copy, Debug)]
pub struct LinearLr {
    base: f64,
    start_factor: f64,
    end_factor: f64,
    total_iters: usize,
}

impl LinearLr {
    /// From the optimiser's rate `base`.
    pub fn new(
        base: f64,
        start_factor: f64,
        end_factor: f64,
        total_iters: usize,
    ) -> Result<LinearLr> {
        if start_factor <= 0.0 || start_factor > 1.0 {
            return Err(Error::argument(
                "LinearLR",
                "Starting multiplicative factor expected to be greater than 0 and less or equal to 1.",
                "give a share of the base rate",
            ));
        }
        Ok(LinearLr {
            base,
            start_factor,
            end_factor,
            total_iters,
        })
    }
}

impl Scheduler for LinearLr {
    fn rate(&self, step: usize) -> f64 {
        let done = if self.total_iters == 0 {
            1.0
        } else {
            step.min(self.total_iters) as f64 / self.total_iters as f64
        };
        self.base * (self.start_factor + (self.end_factor - self.start_factor) * done)
    }
}

/// Up to `max_lr` and down to almost nothing by half cosines, the momentum the other way round (PyTorch's defaults).
#[derive(Clone, Copy, Debug)]
pub struct OneCycleLr {
    max_lr: f64,
    total_steps: usize,
}

impl OneCycleLr {
    const PCT_START: f64 = 0.3;
    const DIV_FACTOR: f64 = 25.0;
    const FINAL_DIV_FACTOR: f64 = 1e4;
    const MOMENTUM: (f64, f64) = (0.85, 0.95);

    /// Over `total_steps` steps.
    pub fn new(max_lr: f64, total_steps: usize) -> Result<OneCycleLr> {
        if total_steps == 0 {
            return Err(Error::argument(
                "OneCycleLR",
                "Expected positive integer total_steps, but got 0",
                "give the number of steps",
            ));
        }
        Ok(OneCycleLr {
            max_lr,
            total_steps,
        })
    }

    /// Between the three corners of the cycle.
    fn cycle(&self, step: usize, corners: [f64; 3]) -> f64 {
        let top = Self::PCT_START * self.total_steps as f64 - 1.0;
        let end = self.total_steps as f64 - 1.0;
        let step = (step as f64).min(end);
        let (from, to, done) = if step <= top {
            (corners[0], corners[1], step / top)
        } else {
            (corners[1], corners[2], (step - top) / (end - top))
        };
        to + (from - to) / 2.0 * (1.0 + (PI * done).cos())
    }
}

impl Scheduler for OneCycleLr {
    fn rate(&self, step: usize) -> f64 {
        let initial = self.max_lr / Self::DIV_FACTOR;
        self.cycle(
            step,
            [initial, self.max_lr, initial / Self::FINAL_DIV_FACTOR],
        )
    }

    fn momentum(&self, step: usize) -> Option<f64> {
        let (low, high) = Self::MOMENTUM;
        Some(self.cycle(step, [high, low, high]))
    }
}
