//! Losses.

use super::launch::{self, Cost, mismatch};
use super::matmul::word;
use super::pointwise::{Pointwise, ResultType};
use crate::autograd::record;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::expr::Unary;
use crate::kernel::{Check, Grid};
use crate::kernels::nll::{NLL, NLL_BACKWARD, NllParams};
use crate::tensor::Tensor;

/// What becomes of the losses of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reduction {
    /// Each by itself.
    None,
    /// Their (weighted) mean.
    #[default]
    Mean,
    /// Their sum.
    Sum,
}

impl Reduction {
    fn apply(self, losses: Tensor) -> Result<Tensor> {
        match self {
            Reduction::None => Ok(losses),
            Reduction::Mean => losses.mean_all(),
            Reduction::Sum => losses.sum_all(),
        }
    }
}

/// Options of [`Tensor::cross_entropy`] and [`Tensor::nll_loss`].
#[derive(Clone, Copy, Debug)]
pub struct ClassLoss<'a> {
    /// A weight for each class.
    pub weight: Option<&'a Tensor>,
    /// Targets of this value count for nothing.
    pub ignore_index: i32,
    /// Share of the target that is spread over all classes (cross entropy only).
    pub label_smoothing: f64,
    /// What becomes of the losses.
    pub reduction: Reduction,
}

impl Default for ClassLoss<'_> {
    fn default() -> Self {
        ClassLoss {
            weight: None,
            ignore_index: -100,
            label_smoothing: 0.0,
            reduction: Reduction::Mean,
        }
    }
}

macro_rules! pairwise {
    ($($(#[$doc:meta])* $name:ident $node:literal: $forward:expr, [$($grad:expr),*];)*) => {
        impl Tensor {$(
            $(#[$doc])*
            pub fn $name(&self, target: &Tensor, reduction: Reduction) -> Result<Tensor> {
                static OP: Pointwise = Pointwise {
                    name: stringify!($name),
                    node: $node,
                    result: ResultType::Float,
                    forward: $forward,
                    grads: &[$($grad),*],
                };
                reduction.apply(OP.apply(&[self, target], &[])?)
            }
        )*}
    };
}

pairwise! {
    /// Squared difference.
    mse_loss "MseLossBackward0": |t| (t.x(0) - t.x(1)) * (t.x(0) - t.x(1)), [
        |t| t.g() * t.lit(2.0) * (t.x(0) - t.x(1)),
        |t| t.g() * t.lit(2.0) * (t.x(1) - t.x(0))
    ];
    /// Absolute difference.
    l1_loss "L1LossBackward0": |t| (t.x(0) - t.x(1)).un(Unary::Abs), [
        |t| t.g() * (t.x(0) - t.x(1)).un(Unary::Sign),
        |t| t.g() * (t.x(1) - t.x(0)).un(Unary::Sign)
    ];
    /// Half the squared difference below 1, the absolute difference less a half above.
    smooth_l1_loss "SmoothL1LossBackward0": |t| {
        let d = t.x(0) - t.x(1);
        let far = d.clone().un(Unary::Abs);
        far.clone().lt(t.lit(1.0)).select(t.lit(0.5) * d.clone() * d, far - t.lit(0.5))
    }, [
        |t| t.g() * (t.x(0) - t.x(1)).max(t.lit(-1.0)).min(t.lit(1.0)),
        |t| t.g() * (t.x(1) - t.x(0)).max(t.lit(-1.0)).min(t.lit(1.0))
    ];
    /// Binary cross entropy of the sigmoid of `self`, without its overflow.
    binary_cross_entropy_with_logits "BinaryCrossEntropyWithLogitsBackward0": |t| {
        // max(x, 0) - x y + log(1 + e^-|x|)
        let x = t.x(0);
        x.clone().max(t.lit(0.0)) - x.clone() * t.x(1) + (-x.un(Unary::Abs)).un(Unary::Exp).un(Unary::Log1p)
    }, [
        |t| t.g() * (t.lit(1.0) / (t.lit(1.0) + (-t.x(0)).un(Unary::Exp)) - t.x(1)),
        |t| -t.g() * t.x(0)
    ];
}

impl Tensor {
    /// Negative log likelihood of class indices: `self` holds log-probabilities `[batch, classes, ...]`.
    pub fn nll_loss(&self, target: &Tensor, options: ClassLoss<'_>) -> Result<Tensor> {
        let (losses, shares) = self.nll(target, &options)?;
        match options.reduction {
            Reduction::None => Ok(losses),
            Reduction::Sum => losses.sum_all(),
            Reduction::Mean => losses.sum_all()?.div(&shares.sum_all()?),
        }
    }

    /// Cross entropy of logits `[batch, classes, ...]` against class indices, or class probabilities of the same shape.
    pub fn cross_entropy(&self, target: &Tensor, options: ClassLoss<'_>) -> Result<Tensor> {
        let dim = if self.rank() == 1 { 0 } else { 1 };
        let logp = self.log_softmax(dim)?;
        if target.dtype().is_float() && target.shape() == self.shape() {
            return logp.against_probabilities(target, dim, options);
        }
        if options.label_smoothing == 0.0 {
            return logp.nll_loss(target, options);
        }
        let classes = self.shape()[dim as usize] as f64;
        let (losses, shares) = logp.nll(target, &options)?;
        let spread = match options.weight {
            Some(w) => logp.mul(&shaped_weight(w, &logp)?)?,
            None => logp,
        };
        // Ignored targets have no share; what is spread over the classes counts only where there is one.
        let counted = shares
            .ne(&Tensor::zeros(&[1], shares.dtype(), shares.device())?)?
            .to_dtype(shares.dtype())?;
        let smooth = spread.sum(&[dim], false)?.neg()?.mul(&counted)?;
        let epsilon = options.label_smoothing;
        let mixed = losses
            .mul_scalar(1.0 - epsilon)?
            .add_scaled(&smooth, epsilon / classes)?;
        match options.reduction {
            Reduction::None => Ok(mixed),
            Reduction::Sum => mixed.sum_all(),
            Reduction::Mean => mixed.sum_all()?.div(&shares.sum_all()?),
        }
    }

    fn against_probabilities(
        &self,
        target: &Tensor,
        dim: isize,
        options: ClassLoss<'_>,
    ) -> Result<Tensor> {
        let classes = self.shape()[dim as usize] as f64;
        let epsilon = options.label_smoothing;
        let target = target
            .mul_scalar(1.0 - epsilon)?
            .add_scalar(epsilon / classes)?;
        let weighted = match options.weight {
            Some(w) => self.mul(&shaped_weight(w, self)?)?,
            None => self.alias(),
        };
        let losses = weighted.mul(&target)?.sum(&[dim], false)?.neg()?;
        match options.reduction {
            Reduction::None => Ok(losses),
            Reduction::Sum => losses.sum_all(),
            Reduction::Mean => losses
                .sum_all()?
                .div_scalar((self.numel() as f64 / classes).max(1.0)),
        }
    }

    /// The loss of each target, and the weight that each has in a mean.
    fn nll(&self, target: &Tensor, options: &ClassLoss<'_>) -> Result<(Tensor, Tensor)> {
        if !self.device().same(target.device()) {
            return Err(mismatch("nll_loss", ("self", self), ("target", target)));
        }
        if target.dtype() != DType::I64 {
            return Err(Error::ExpectedDType {
                expected: DType::I64,
                found: target.dtype(),
            });
        }
        let wide = self.for_kernel("nll_loss")?;
        let s = self.shape();
        let (batch, classes, inner) = match s {
            [] => {
                return Err(Error::argument(
                    "nll_loss",
                    "the input has no classes",
                    "give [batch, classes]",
                ));
            }
            [classes] => (1, *classes, 1),
            _ => (s[0], s[1], s[2..].iter().product()),
        };
        let want: Vec<usize> = if s.len() == 1 {
            Vec::new()
        } else {
            [&s[..1], &s[2..]].concat()
        };
        if target.shape() != want {
            let rows = target.shape().first().copied().unwrap_or(1);
            if rows != batch {
                return Err(Error::BatchSize {
                    input: batch,
                    target: rows,
                });
            }
            let (left, right) = (s.to_vec(), target.shape().to_vec());
            return Err(Error::ShapeMismatch {
                op: "nll_loss",
                left,
                right,
                rule: "targets have the input's shape without the classes",
            });
        }
        let weight = match options.weight {
            Some(w) if w.shape() != [classes] => {
                let (left, right) = (w.shape().to_vec(), vec![classes]);
                return Err(Error::ShapeMismatch {
                    op: "nll_loss",
                    left,
                    right,
                    rule: "weight tensor should be defined for all classes",
                });
            }
            Some(w) if !w.device().same(self.device()) => {
                return Err(mismatch("nll_loss", ("self", self), ("weight", w)));
            }
            Some(w) => w.detach().to_dtype(wide.dtype())?.contiguous()?,
            // Never read, yet a binding must name something.
            None => Tensor::uninit(&[1], wide.dtype(), self.device(), "nll_loss")?,
        };
        let params = NllParams {
            batch: word(batch)?,
            classes: word(classes)?,
            inner: word(inner)?,
            ignore: options.ignore_index,
            weighted: u32::from(options.weight.is_some()),
            pad: [0; 3],
        };
        let target = target.detach().contiguous()?;
        let losses = Tensor::uninit(&want, wide.dtype(), self.device(), "nll_loss")?;
        let shares = Tensor::uninit(&want, wide.dtype(), self.device(), "nll_loss")?;
        let logp = wide.detach().contiguous()?;
        let count = batch * inner;
        let operands = [&logp, &target, &weight, &losses, &shares];
        let check = Some(Check::Target { classes });
        launch::kernel(
            &NLL,
            &operands,
            &params,
            Grid::Invocations(count),
            check,
            Cost::default(),
        )?;
        let shape = s.to_vec();
        let losses = record(
            losses,
            "NllLossBackward0",
            &[&wide],
            &[&target, &weight],
            move |f| {
                let g = f.grad.contiguous()?;
                let dx = Tensor::uninit(&shape, g.dtype(), g.device(), "nll_loss")?;
                let operands = [&f.saved[0], &f.saved[1], &g, &dx];
                launch::kernel(
                    &NLL_BACKWARD,
                    &operands,
                    &params,
                    Grid::Invocations(dx.numel()),
                    None,
                    Cost::default(),
                )?;
                Ok(vec![Some(dx)])
            },
        )?;
        Ok((
            losses.to_dtype(self.dtype())?,
            shares.to_dtype(self.dtype())?,
        ))
    }
}

/// Class weights shaped to broadcast over `[batch, classes, ...]`.
fn shaped_weight(weight: &Tensor, logp: &Tensor) -> Result<Tensor> {
    let mut shape = vec![1isize; logp.rank()];
    shape[if logp.rank() == 1 { 0 } else { 1 }] = -1;
    weight.detach().to_dtype(logp.dtype())?.reshape(&shape)
}
