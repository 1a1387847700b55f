//! Losses.

use super::fused::is_fused;
use super::launch::{self, Cost, mismatch};
use super::matmul::word;
use super::pointwise::{Pointwise, ResultType};
use crate::autograd::record;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::expr::Unary;
use crate::kernel::{Check, Grid};
use crate::kernels::nll::{CROSS_ENTROPY, CROSS_ENTROPY_BACKWARD, NLL, NLL_BACKWARD, NllParams};
use crate::tensor::Tensor;

/// Most logits whose cross entropy one workgroup works out: more of them keep a GPU busier in several launches.
const ONE_GROUP: usize = 1 << 14;

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
        if let Some(loss) = self.cross_entropy_at_once(target, &options)? {
            return Ok(loss);
        }
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

    /// Softmax, loss and mean in one launch each way; `None` where that does not serve.
    fn cross_entropy_at_once(
        &self,
        target: &Tensor,
        options: &ClassLoss<'_>,
    ) -> Result<Option<Tensor>> {
        let serves = is_fused()
            && self.dtype().is_float()
            && target.dtype() == DType::I64
            && options.label_smoothing == 0.0
            && options.reduction != Reduction::None
            && (1..=ONE_GROUP).contains(&self.numel());
        if !serves {
            return Ok(None);
        }
        let wide = self.for_kernel("cross_entropy")?;
        let t = Targets::of(&wide, target, options)?;
        let params = t.params;
        let dtype = wide.dtype();
        let made = |shape: &[usize]| Tensor::uninit(shape, dtype, self.device(), "cross_entropy");
        let (probabilities, loss, total) = (made(self.shape())?, made(&[])?, made(&[])?);
        let logits = wide.detach().contiguous()?;
        let flops = 5 * self.numel() as u64;
        launch::kernel(
            &CROSS_ENTROPY,
            &[&logits, &t.target, &t.weight, &probabilities, &loss, &total],
            &params,
            Grid::Groups([1; 3]),
            Some(t.check),
            Cost { bytes: 0, flops },
        )?;
        let saved = [&probabilities, &t.target, &t.weight, &total];
        let loss = record(loss, "CrossEntropyBackward0", &[&wide], &saved, move |f| {
            let probabilities = &f.saved[0];
            let grad = f.grad.contiguous()?;
            let (shape, device) = (probabilities.shape(), probabilities.device());
            let out = Tensor::uninit(shape, grad.dtype(), device, "cross_entropy")?;
            let flops = 3 * out.numel() as u64;
            launch::kernel(
                &CROSS_ENTROPY_BACKWARD,
                &[
                    probabilities,
                    &f.saved[1],
                    &f.saved[2],
                    &f.saved[3],
                    &grad,
                    &out,
                ],
                &params,
                Grid::Invocations(out.numel()),
                None,
                Cost { bytes: 0, flops },
            )?;
            Ok(vec![Some(out)])
        })?;
        loss.to_dtype(self.dtype()).map(Some)
    }

    /// The loss of each target, and the weight that each has in a mean.
    fn nll(&self, target: &Tensor, options: &ClassLoss<'_>) -> Result<(Tensor, Tensor)> {
        let wide = self.for_kernel("nll_loss")?;
        let t = Targets::of(&wide, target, options)?;
        let params = t.params;
        let made = || Tensor::uninit(t.target.shape(), wide.dtype(), self.device(), "nll_loss");
        let (losses, shares) = (made()?, made()?);
        let logp = wide.detach().contiguous()?;
        launch::kernel(
            &NLL,
            &[&logp, &t.target, &t.weight, &losses, &shares],
            &params,
            Grid::Invocations(losses.numel()),
            Some(t.check),
            Cost::default(),
        )?;
        let shape = self.shape().to_vec();
        let losses = record(
            losses,
            "NllLossBackward0",
            &[&wide],
            &[&t.target, &t.weight],
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

/// Class indices and class weights as the kernels take them, held against the input.
struct Targets {
    target: Tensor,
    weight: Tensor,
    params: NllParams,
    check: Check,
}

impl Targets {
    fn of(input: &Tensor, target: &Tensor, options: &ClassLoss<'_>) -> Result<Targets> {
        if !input.device().same(target.device()) {
            return Err(mismatch("nll_loss", ("self", input), ("target", target)));
        }
        if target.dtype() != DType::I64 {
            return Err(Error::ExpectedDType {
                expected: DType::I64,
                found: target.dtype(),
            });
        }
        let s = input.shape();
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
            Some(w) if !w.device().same(input.device()) => {
                return Err(mismatch("nll_loss", ("self", input), ("weight", w)));
            }
            Some(w) => w.detach().to_dtype(input.dtype())?.contiguous()?,
            // Never read, yet a binding must name something.
            None => Tensor::uninit(&[1], input.dtype(), input.device(), "nll_loss")?,
        };
        Ok(Targets {
            target: target.detach().contiguous()?,
            weight,
            params: NllParams {
                batch: word(batch)?,
                classes: word(classes)?,
                inner: word(inner)?,
                ignore: options.ignore_index,
                weighted: u32::from(options.weight.is_some()),
                mean: u32::from(options.reduction == Reduction::Mean),
                pad: [0; 2],
            },
            check: Check::Target { classes },
        })
    }
}

/// Class weights shaped to broadcast over `[batch, classes, ...]`.
fn shaped_weight(weight: &Tensor, logp: &Tensor) -> Result<Tensor> {
    let mut shape = vec![1isize; logp.rank()];
    shape[if logp.rank() == 1 { 0 } else { 1 }] = -1;
    weight.detach().to_dtype(logp.dtype())?.reshape(&shape)
}
