//! Optimisers with PyTorch's formulas. A step, state included, is one launch for all parameters where the device can.

mod adam;
mod rmsprop;
mod sgd;

pub use adam::{Adam, AdamConfig, AdamW};
pub use rmsprop::{RmsProp, RmsPropConfig};
pub use sgd::{Sgd, SgdConfig};

use crate::module::Parameter;
use std::collections::HashMap;
use std::sync::Arc;
use tensor::expr::Expr;
use tensor::kernel::Map;
use tensor::{DType, Error, Result, Tensor, autograd::no_grad};

/// Changes parameters by their gradients.
pub trait Optimizer {
    /// The parameters that it changes.
    fn parameters(&self) -> &[Parameter];

    /// One step. Parameters without a gradient are left alone.
    fn step(&mut self) -> Result<()>;

    /// Learning rate of the next step.
    fn lr(&self) -> f64;

    /// Set it, as schedulers do.
    fn set_lr(&mut self, lr: f64);

    /// Set the momentum (Adam's first beta), as [`crate::scheduler::OneCycleLr`] does.
    fn set_momentum(&mut self, momentum: f64);

    /// Clear all gradients (to none, as PyTorch does).
    fn zero_grad(&self) {
        for p in self.parameters() {
            p.tensor().set_grad(None);
        }
    }
}

fn require_parameters(parameters: &[Parameter]) -> Result<()> {
    if parameters.is_empty() {
        Err(Error::OptimizerEmpty)
    } else {
        Ok(())
    }
}

fn require(name: &'static str, value: f64, valid: bool) -> Result<()> {
    if valid && !value.is_nan() {
        Ok(())
    } else {
        Err(Error::OptimizerValue { name, value })
    }
}

/// State tensors of each parameter, made at its first step with zeros.
#[derive(Default)]
struct State(Vec<Option<Vec<Tensor>>>);

impl State {
    fn of(&mut self, index: usize, like: &Tensor, count: usize) -> Result<&[Tensor]> {
        if self.0.len() <= index {
            self.0.resize_with(index + 1, || None);
        }
        let slot = &mut self.0[index];
        // The state follows a parameter that was moved or converted, as loading it into PyTorch's optimiser does not:
        // there the next step fails, here it goes on from where it was.
        if let Some(held) = slot
            && held
                .iter()
                .all(|t| t.device().same(like.device()) && t.dtype() == like.dtype())
        {
            return Ok(slot.as_deref().unwrap_or_default());
        }
        let made = match slot.take() {
            Some(held) => held
                .iter()
                .map(|t| t.to_device(like.device())?.to_dtype(like.dtype()))
                .collect::<Result<Vec<_>>>()?,
            None => (0..count)
                .map(|_| like.detach().zeros_like())
                .collect::<Result<Vec<_>>>()?,
        };
        Ok(slot.insert(made))
    }
}

/// One kernel a type, made at its first use.
#[derive(Default)]
struct Kernels(HashMap<DType, Arc<Map>>);

impl Kernels {
    fn get(&mut self, dtype: DType, build: impl FnOnce(DType) -> Map) -> Arc<Map> {
        self.0
            .entry(dtype)
            .or_insert_with(|| Arc::new(build(dtype)))
            .clone()
    }
}

/// The updates of one step, which run together where kernel and run-time numbers agree.
#[derive(Default)]
struct Updates(Vec<Update>);

struct Update {
    kernel: Arc<Map>,
    scalars: Vec<f64>,
    /// Parameter, gradient and state, of each parameter.
    sets: Vec<Vec<Tensor>>,
}

impl Updates {
    /// One parameter's update.
    fn push(
        &mut self,
        kernel: Arc<Map>,
        (parameter, grad): (&Tensor, &Tensor),
        state: &[Tensor],
        scalars: &[f64],
    ) -> Result<()> {
        let own = parameter.detach();
        let grad = no_grad(|| grad.to_dtype(own.dtype()))?;
        let mut operands = vec![own, grad];
        operands.extend(state.iter().map(Tensor::alias));
        let same = |u: &&mut Update| Arc::ptr_eq(&u.kernel, &kernel) && u.scalars == scalars;
        match self.0.iter_mut().find(same) {
            Some(update) => update.sets.push(operands),
            None => self.0.push(Update {
                kernel,
                scalars: scalars.to_vec(),
                sets: vec![operands],
            }),
        }
        Ok(())
    }

    fn run(self) -> Result<()> {
        for update in &self.0 {
            let sets: Vec<Vec<&Tensor>> = update.sets.iter().map(|s| s.iter().collect()).collect();
            no_grad(|| tensor::fused::update_all(&update.kernel, &sets, &update.scalars))?;
        }
        Ok(())
    }
}

/// Scale all gradients so that their common norm is at most `max_norm`; gives the norm before, still on the device.
pub fn clip_grad_norm(parameters: &[Parameter], max_norm: f64) -> Result<Tensor> {
    no_grad(|| {
        let grads: Vec<Tensor> = parameters
            .iter()
            .filter_map(|p| p.tensor().grad())
            .collect();
        let mut total: Option<Tensor> = None;
        for g in &grads {
            let square = g.square()?.sum_all()?;
            total = Some(match total {
                Some(sum) => sum.add(&square)?,
                None => square,
            });
        }
        let Some(total) = total else {
            return Err(Error::OptimizerEmpty);
        };
        let norm = total.sqrt()?;
        // Never read back: the factor is computed and applied where the gradients are.
        let factor = norm
            .add_scalar(1e-6)?
            .reciprocal()?
            .mul_scalar(max_norm)?
            .clamp(0.0, 1.0)?;
        for (p, g) in parameters
            .iter()
            .filter(|p| p.tensor().grad().is_some())
            .zip(&grads)
        {
            p.tensor().set_grad(Some(g.mul(&factor)?));
        }
        Ok(norm)
    })
}

/// Operand or run-time number of an update, in the parameter's type.
struct Terms(DType);

impl Terms {
    fn p(&self) -> Expr {
        Expr::arg(0)
    }
    fn g(&self) -> Expr {
        Expr::arg(1)
    }
    fn state(&self, n: usize) -> Expr {
        Expr::arg(2 + n)
    }
    fn s(&self, n: usize) -> Expr {
        Expr::scalar(n, self.0)
    }
}
