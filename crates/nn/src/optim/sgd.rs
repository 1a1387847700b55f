//! Stochastic gradient descent.

use super::{Kernels, Optimizer, State, Terms, Updates, require, require_parameters};
use crate::module::Parameter;
use tensor::kernel::Map;
use tensor::{DType, Error, Result};

/// Settings of [`Sgd`], PyTorch's keyword arguments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SgdConfig {
    /// Learning rate.
    pub lr: f64,
    /// Share of the last direction that is kept.
    pub momentum: f64,
    /// Share of the gradient that does not enter the direction.
    pub dampening: f64,
    /// Pull towards zero.
    pub weight_decay: f64,
    /// Look ahead along the direction.
    pub nesterov: bool,
}

impl Default for SgdConfig {
    fn default() -> Self {
        SgdConfig {
            lr: 1e-3,
            momentum: 0.0,
            dampening: 0.0,
            weight_decay: 0.0,
            nesterov: false,
        }
    }
}

/// `torch.optim.SGD`.
pub struct Sgd {
    parameters: Vec<Parameter>,
    config: SgdConfig,
    state: State,
    started: Vec<bool>,
    plain: Kernels,
    with_momentum: Kernels,
}

impl Sgd {
    /// Over these parameters.
    pub fn new(parameters: Vec<Parameter>, config: SgdConfig) -> Result<Sgd> {
        require_parameters(&parameters)?;
        require("learning rate", config.lr, config.lr >= 0.0)?;
        require("momentum value", config.momentum, config.momentum >= 0.0)?;
        require(
            "weight_decay value",
            config.weight_decay,
            config.weight_decay >= 0.0,
        )?;
        if config.nesterov && (config.momentum <= 0.0 || config.dampening != 0.0) {
            return Err(Error::argument(
                "SGD",
                "Nesterov momentum requires a momentum and zero dampening",
                "set momentum above 0 and leave dampening at 0",
            ));
        }
        let started = vec![false; parameters.len()];
        let (plain, with_momentum) = (Kernels::default(), Kernels::default());
        Ok(Sgd {
            parameters,
            config,
            state: State::default(),
            started,
            plain,
            with_momentum,
        })
    }
}

/// p -= lr (g + decay p).
fn plain(dtype: DType) -> Map {
    let t = Terms(dtype);
    let value = t.p() - t.s(0) * (t.g() + t.s(1) * t.p());
    Map {
        name: "sgd_step",
        operands: vec![dtype; 2],
        outputs: vec![(0, value)],
    }
}

/// v = keep v + enter (g + decay p); p -= lr (through v + direct (g + decay p)).
fn with_momentum(dtype: DType) -> Map {
    let t = Terms(dtype);
    let g = t.g() + t.s(1) * t.p();
    let v = t.s(2) * t.state(0) + t.s(3) * g.clone();
    let p = t.p() - t.s(0) * (t.s(4) * v.clone() + t.s(5) * g);
    Map {
        name: "sgd_step",
        operands: vec![dtype; 3],
        outputs: vec![(0, p), (2, v)],
    }
}

impl Optimizer for Sgd {
    fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    fn step(&mut self) -> Result<()> {
        let c = self.config;
        let (mut updates, mut stepped) = (Updates::default(), Vec::new());
        for (i, parameter) in self.parameters.iter().enumerate() {
            let p = parameter.tensor();
            let Some(g) = p.grad() else { continue };
            if c.momentum == 0.0 {
                updates.push(
                    self.plain.get(p.dtype(), plain),
                    (&p, &g),
                    &[],
                    &[c.lr, c.weight_decay],
                )?;
                continue;
            }
            // The first direction is the gradient itself, undamped.
            let enter = if self.started[i] {
                1.0 - c.dampening
            } else {
                1.0
            };
            let (through, direct) = if c.nesterov {
                (c.momentum, 1.0)
            } else {
                (1.0, 0.0)
            };
            let kernel = self.with_momentum.get(p.dtype(), with_momentum);
            let state = self.state.of(i, &p, 1)?;
            updates.push(
                kernel,
                (&p, &g),
                state,
                &[c.lr, c.weight_decay, c.momentum, enter, through, direct],
            )?;
            stepped.push(i);
        }
        updates.run()?;
        stepped.into_iter().for_each(|i| self.started[i] = true);
        Ok(())
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
