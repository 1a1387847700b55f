//! RMSprop.

use super::{Kernels, Optimizer, State, Terms, Updates, require, require_parameters};
use crate::module::Parameter;
use tensor::expr::Unary;
use tensor::kernel::Map;
use tensor::{DType, Result};

/// Settings of [`RmsProp`], PyTorch's keyword arguments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RmsPropConfig {
    /// Learning rate.
    pub lr: f64,
    /// How much of the running mean of squares is kept.
    pub alpha: f64,
    /// Added to its root.
    pub eps: f64,
    /// Pull towards zero, through the gradient.
    pub weight_decay: f64,
    /// Share of the last direction that is kept.
    pub momentum: f64,
}

impl Default for RmsPropConfig {
    fn default() -> Self {
        RmsPropConfig {
            lr: 1e-2,
            alpha: 0.99,
            eps: 1e-8,
            weight_decay: 0.0,
            momentum: 0.0,
        }
    }
}

/// `torch.optim.RMSprop`.
pub struct RmsProp {
    parameters: Vec<Parameter>,
    config: RmsPropConfig,
    state: State,
    kernels: Kernels,
}

impl RmsProp {
    /// Over these parameters.
    pub fn new(parameters: Vec<Parameter>, c: RmsPropConfig) -> Result<RmsProp> {
        require_parameters(&parameters)?;
        require("learning rate", c.lr, c.lr >= 0.0)?;
        require("epsilon value", c.eps, c.eps >= 0.0)?;
        require("alpha value", c.alpha, c.alpha >= 0.0)?;
        require("momentum value", c.momentum, c.momentum >= 0.0)?;
        require("weight_decay value", c.weight_decay, c.weight_decay >= 0.0)?;
        Ok(RmsProp {
            parameters,
            config: c,
            state: State::default(),
            kernels: Kernels::default(),
        })
    }
}

/// v = alpha v + (1 - alpha) g^2; b = momentum b + g / (sqrt(v) + eps); p -= lr b. Without momentum b is not kept.
fn update(dtype: DType) -> Map {
    let t = Terms(dtype);
    let g = t.g() + t.s(4) * t.p();
    let v = t.s(1) * t.state(0) + t.s(2) * g.clone() * g.clone();
    let b = t.s(5) * t.state(1) + g / (v.clone().un(Unary::Sqrt) + t.s(3));
    let p = t.p() - t.s(0) * b.clone();
    Map {
        name: "rmsprop_step",
        operands: vec![dtype; 4],
        outputs: vec![(0, p), (2, v), (3, b)],
    }
}

impl Optimizer for RmsProp {
    fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    fn step(&mut self) -> Result<()> {
        let c = self.config;
        let mut updates = Updates::default();
        for (i, parameter) in self.parameters.iter().enumerate() {
            let p = parameter.tensor();
            let Some(g) = p.grad() else { continue };
            let kernel = self.kernels.get(p.dtype(), update);
            let state = self.state.of(i, &p, 2)?;
            updates.push(
                kernel,
                (&p, &g),
                state,
                &[
                    c.lr,
                    c.alpha,
                    1.0 - c.alpha,
                    c.eps,
                    c.weight_decay,
                    c.momentum,
                ],
            )?;
        }
        updates.run()
    }

    fn lr(&self) -> f64 {
        self.config.lr
    }

    fn set_lr(&mut self, lr: f64) {
        self.config.lr = lr;
    }

    fn set_momentum(&mut self, momentum: f64) {
        self.config.momentum = momentum;
    }
}
