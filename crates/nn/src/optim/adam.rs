//! Adam and AdamW.

use super::{Kernels, Optimizer, State, Terms, Updates, require, require_parameters};
use crate::module::Parameter;
use tensor::expr::Unary;
use tensor::kernel::Map;
use tensor::{DType, Result};

/// Settings of [`Adam`] and [`AdamW`], PyTorch's keyword arguments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamConfig {
    /// Learning rate.
    pub lr: f64,
    /// How much of the running mean of gradients, and of their squares, is kept.
    pub betas: (f64, f64),
    /// Added to the root of the mean square.
    pub eps: f64,
    /// Pull towards zero: through the gradient (Adam) or directly (AdamW).
    pub weight_decay: f64,
}

impl Default for AdamConfig {
    fn default() -> Self {
        AdamConfig {
            lr: 1e-3,
            betas: (0.9, 0.999),
            eps: 1e-8,
            weight_decay: 0.0,
        }
    }
}

/// What Adam and AdamW share: everything but how weights decay.
struct Moments {
    parameters: Vec<Parameter>,
    config: AdamConfig,
    decoupled: bool,
    steps: Vec<i32>,
    state: State,
    kernels: Kernels,
}

impl Moments {
    fn new(parameters: Vec<Parameter>, c: AdamConfig, decoupled: bool) -> Result<Moments> {
        require_parameters(&parameters)?;
        require("learning rate", c.lr, c.lr >= 0.0)?;
        require("epsilon value", c.eps, c.eps >= 0.0)?;
        require(
            "beta parameter at index 0",
            c.betas.0,
            (0.0..1.0).contains(&c.betas.0),
        )?;
        require(
            "beta parameter at index 1",
            c.betas.1,
            (0.0..1.0).contains(&c.betas.1),
        )?;
        require("weight_decay value", c.weight_decay, c.weight_decay >= 0.0)?;
        let steps = vec![0; parameters.len()];
        Ok(Moments {
            parameters,
            config: c,
            decoupled,
            steps,
            state: State::default(),
            kernels: Kernels::default(),
        })
    }

    fn step(&mut self) -> Result<()> {
        let c = self.config;
        let (mut updates, mut stepped) = (Updates::default(), Vec::new());
        for (i, parameter) in self.parameters.iter().enumerate() {
            let p = parameter.tensor();
            let Some(g) = p.grad() else { continue };
            let state = self.state.of(i, &p, 2)?;
            let kernel = self.kernels.get(p.dtype(), update);
            let step = self.steps[i] + 1;
            let (first, second) = (1.0 - c.betas.0.powi(step), 1.0 - c.betas.1.powi(step));
            let (through, direct) = if self.decoupled {
                (0.0, 1.0 - c.lr * c.weight_decay)
            } else {
                (c.weight_decay, 1.0)
            };
            let scalars = [
                c.betas.0,
                1.0 - c.betas.0,
                c.betas.1,
                1.0 - c.betas.1,
                c.lr / first,
                1.0 / second.sqrt(),
                c.eps,
                through,
                direct,
            ];
            updates.push(kernel, (&p, &g), state, &scalars)?;
            stepped.push(i);
        }
        updates.run()?;
        // A step that failed does not count.
        stepped.into_iter().for_each(|i| self.steps[i] += 1);
        Ok(())
    }
}

/// m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; p = keep p - step m / (sqrt(v) root + eps), g with the decay in it.
fn update(dtype: DType) -> Map {
    let t = Terms(dtype);
    let g = t.g() + t.s(7) * t.p();
    let m = t.s(0) * t.state(0) + t.s(1) * g.clone();
    let v = t.s(2) * t.state(1) + t.s(3) * g.clone() * g;
    let p = t.s(8) * t.p() - t.s(4) * m.clone() / (v.clone().un(Unary::Sqrt) * t.s(5) + t.s(6));
    Map {
        name: "adam_step",
        operands: vec![dtype; 4],
        outputs: vec![(0, p), (2, m), (3, v)],
    }
}

macro_rules! optimizer {
    ($(#[$doc:meta])* $name:ident, $decoupled:literal) => {
        $(#[$doc])*
        pub struct $name(Moments);

        impl $name {
            /// Over these parameters.
            pub fn new(parameters: Vec<Parameter>, config: AdamConfig) -> Result<$name> {
                Moments::new(parameters, config, $decoupled).map($name)
            }
        }

        impl Optimizer for $name {
            fn parameters(&self) -> &[Parameter] {
                &self.0.parameters
            }
            fn step(&mut self) -> Result<()> {
                self.0.step()
            }
            fn lr(&self) -> f64 {
                self.0.config.lr
            }
            fn set_lr(&mut self, lr: f64) {
                self.0.config.lr = lr;
            }
            fn set_momentum(&mut self, momentum: f64) {
                self.0.config.betas.0 = momentum;
            }
        }
    };
}

optimizer!(
    /// `torch.optim.Adam`.
    Adam,
    false
);
optimizer!(
    /// `torch.optim.AdamW`.
    AdamW,
    true
);
