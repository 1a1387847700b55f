//! Batch and layer normalisation: statistics by reductions, everything else in one elementwise kernel each way.

use super::launch::{self, mismatch};
use crate::autograd::{Flow, no_grad, record};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::expr::{Expr, Unary};
use crate::kernel::{Combine, Map, Reduce};
use crate::tensor::Tensor;
use std::sync::Arc;

impl Tensor {
    /// Normalise each channel (dimension 1) over the batch and all places, then scale by `weight` and add `bias`.
    ///
    /// With `training` the statistics are the batch's, and the running ones move towards them by `momentum`; otherwise
    /// the running ones are used.
    #[allow(clippy::too_many_arguments)] // PyTorch's, in its order
    pub fn batch_norm(
        &self,
        weight: Option<&Tensor>,
        bias: Option<&Tensor>,
        running_mean: Option<&Tensor>,
        running_var: Option<&Tensor>,
        training: bool,
        momentum: f64,
        eps: f64,
    ) -> Result<Tensor> {
        let op = "batch_norm";
        floats(op, self)?;
        if self.rank() < 2 {
            return Err(Error::argument(
                op,
                format!("expected at least 2D input (got {}D input)", self.rank()),
                "give [batch, channels, ...]",
            ));
        }
        let channels = self.shape()[1];
        let named = [
            ("running_mean", running_mean),
            ("running_var", running_var),
            ("weight", weight),
            ("bias", bias),
        ];
        for (name, t) in named {
            let Some(t) = t else { continue };
            together(op, self, name, t)?;
            if t.shape() != [channels] {
                return Err(Error::argument(
                    op,
                    format!(
                        "{name} should contain {channels} elements not {}",
                        t.numel()
                    ),
                    "the layer's number of features is the input's dimension 1",
                ));
            }
        }
        let axes: Vec<usize> = (0..self.rank()).filter(|&d| d != 1).collect();
        let count: usize = axes.iter().map(|&d| self.shape()[d]).product();
        if training && count == 1 {
            return Err(Error::NormOneValue {
                shape: self.shape().to_vec(),
            });
        }
        let mut spread = vec![1; self.rank()];
        spread[1] = channels;
        let n = Norm {
            op,
            node: "NativeBatchNormBackward0",
            axes: axes.clone(),
            affine_axes: axes,
            count: count as f64,
            spread,
            batch_statistics: training,
        };
        if running_mean.is_some() != running_var.is_some() {
            return Err(Error::argument(
                op,
                "running_mean and running_var must both be given, or neither",
                "give both",
            ));
        }
        let (mean, rstd) = match (training, running_mean, running_var) {
            _ if self.numel() == 0 => (n.constant(self, 0.0)?, n.constant(self, 1.0)?),
            (true, ..) => {
                let (mean, var) = n.statistics(self)?;
                if let (Some(m), Some(v)) = (running_mean, running_var) {
                    let unbiased = count as f64 / (count as f64 - 1.0);
                    follow([&mean, &var], [m, v], momentum, unbiased)?;
                }
                (mean, rstd(&var, eps)?)
            }
            (false, Some(m), Some(v)) => {
                let wide = |t: &Tensor| {
                    t.detach()
                        .to_dtype(self.dtype().compute())?
                        .reshape_to(&n.spread)
                };
                (wide(m)?, rstd(&wide(v)?, eps)?)
            }
            (false, ..) => {
                return Err(Error::argument(
                    op,
                    "running_mean and running_var must be defined in evaluation mode",
                    "keep running statistics, or normalise in training mode",
                ));
            }
        };
        n.apply(self, mean, rstd, weight, bias)
    }

    /// Normalise over the last dimensions, whose sizes are `normalized_shape`, then scale by `weight` and add `bias` of
    /// that shape.
    pub fn layer_norm(
        &self,
        normalized_shape: &[usize],
        weight: Option<&Tensor>,
        bias: Option<&Tensor>,
        eps: f64,
    ) -> Result<Tensor> {
        let op = "layer_norm";
        floats(op, self)?;
        if normalized_shape.is_empty() {
            return Err(Error::argument(
                op,
                "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got normalized_shape = []",
                "list the sizes of the dimensions to normalise over",
            ));
        }
        for (name, t) in [("weight", weight), ("bias", bias)] {
            let Some(t) = t else { continue };
            together(op, self, name, t)?;
            if t.shape() != normalized_shape {
                return Err(Error::argument(
                    op,
                    format!(
                        "Expected {name} to be of same shape as normalized_shape, but got {name} of shape {:?} and normalized_shape = {normalized_shape:?}",
                        t.shape()
                    ),
                    "make weight and bias of the shape that is normalised over",
                ));
            }
        }
        let lead = self.rank().checked_sub(normalized_shape.len());
        let Some(lead) = lead.filter(|&d| &self.shape()[d..] == normalized_shape) else {
            return Err(Error::NormShape {
                normalized: normalized_shape.to_vec(),
                input: self.shape().to_vec(),
            });
        };
        let mut spread = vec![1; lead];
        spread.extend(normalized_shape);
        let n = Norm {
            op,
            node: "NativeLayerNormBackward0",
            axes: (lead..self.rank()).collect(),
            affine_axes: (0..lead).collect(),
            count: normalized_shape.iter().product::<usize>() as f64,
            spread,
            batch_statistics: true,
        };
        let (mean, rstd) = if self.numel() == 0 {
            (n.constant(self, 0.0)?, n.constant(self, 1.0)?)
        } else {
            let (mean, var) = n.statistics(self)?;
            (mean, rstd(&var, eps)?)
        };
        n.apply(self, mean, rstd, weight, bias)
    }
}

fn floats(op: &'static str, x: &Tensor) -> Result<()> {
    if x.dtype().is_float() {
        return Ok(());
    }
    Err(Error::DTypeNotFloat {
        op,
        found: x.dtype(),
    })
}

/// Same device, types that compute alike.
fn together(op: &'static str, x: &Tensor, name: &'static str, t: &Tensor) -> Result<()> {
    if !x.device().same(t.device()) {
        return Err(mismatch(op, ("input", x), (name, t)));
    }
    if !t.dtype().is_float() || x.dtype().compute() != t.dtype().compute() {
        return Err(Error::ExpectedDType {
            expected: x.dtype(),
            found: t.dtype(),
        });
    }
    Ok(())
}

/// What is normalised over what.
#[derive(Clone)]
struct Norm {
    op: &'static str,
    node: &'static str,
    /// Dimensions over which mean and variance are taken.
    axes: Vec<usize>,
    /// Dimensions along which weight and bias repeat.
    affine_axes: Vec<usize>,
    /// Values behind each mean.
    count: f64,
    /// Shape of weight and bias with a place for every dimension of the input.
    spread: Vec<usize>,
    /// Whether mean and variance depend on the input.
    batch_statistics: bool,
}

impl Norm {
    /// Shape of mean and variance, reduced dimensions kept as 1.
    fn kept(&self, x: &Tensor) -> Vec<usize> {
        let size = |d| {
            if self.axes.contains(&d) {
                1
            } else {
                x.shape()[d]
            }
        };
        (0..x.rank()).map(size).collect()
    }

    fn constant(&self, x: &Tensor, value: f64) -> Result<Tensor> {
        Tensor::full(&self.kept(x), value, x.dtype().compute(), x.device())
    }

    /// Mean and biased variance, in the compute type.
    fn statistics(&self, x: &Tensor) -> Result<(Tensor, Tensor)> {
        let x = x.detach();
        let acc = x.dtype().compute();
        let mean = Expr::arg(0) / Expr::scalar(0, acc);
        let keep = self.kept(&x);
        let m = reduce(
            "norm_mean",
            &[&x],
            &self.axes,
            Expr::arg(0),
            mean.clone(),
            &[self.count],
        )?
        .reshape_to(&keep)?;
        // Second pass over deviations: subtracting squares of large sums would lose what it looks for.
        let centred = Expr::arg(0) - Expr::arg(1);
        let square = centred.clone() * centred;
        let v = reduce(
            "norm_var",
            &[&x, &m],
            &self.axes,
            square,
            mean,
            &[self.count],
        )?
        .reshape_to(&keep)?;
        Ok((m, v))
    }

    /// `(x - mean) * rstd * weight + bias`.
    fn apply(
        self,
        x: &Tensor,
        mean: Tensor,
        rstd: Tensor,
        weight: Option<&Tensor>,
        bias: Option<&Tensor>,
    ) -> Result<Tensor> {
        let spread = |t: &Tensor| t.reshape_to(&self.spread);
        let (wide_weight, wide_bias) = no_grad(|| {
            Ok::<_, Error>((
                weight.map(spread).transpose()?,
                bias.map(spread).transpose()?,
            ))
        })?;
        let out = Tensor::uninit(x.shape(), x.dtype(), x.device(), self.op)?;
        let mut operands = vec![x, &mean, &rstd];
        let mut value = normal();
        if let Some(w) = &wide_weight {
            value = value * Expr::arg(operands.len());
            operands.push(w);
        }
        if let Some(b) = &wide_bias {
            value = value + Expr::arg(operands.len());
            operands.push(b);
        }
        elementwise(self.op, &operands, &out, value, &[])?;
        drop(operands);

        let mut inputs = vec![x];
        inputs.extend(weight);
        inputs.extend(bias);
        let mut saved = vec![x, &mean, &rstd];
        saved.extend(weight);
        let (has_weight, bias_type) = (weight.is_some(), bias.map(Tensor::dtype));
        let node = self.node;
        record(out, node, &inputs, &saved, move |f| {
            self.gradients(f, has_weight, bias_type)
        })
    }

    /// With the normalised value n = (x - mean) rstd and the gradient g of the result: the bias gets the sum of g, the
    /// weight that of g n, the input rstd (h - mean(h) - n mean(h n)) where h = g weight; without batch statistics it
    /// gets rstd h.
    fn gradients(
        &self,
        f: &Flow<'_>,
        has_weight: bool,
        bias_type: Option<DType>,
    ) -> Result<Vec<Option<Tensor>>> {
        let [x, mean, rstd] = [&f.saved[0], &f.saved[1], &f.saved[2]];
        let (g, acc) = (Expr::arg(3), x.dtype().compute());
        let terms = [x, mean, rstd, f.grad];
        let narrow = has_weight.then(|| &f.saved[3]);
        let weight = narrow.map(|w| w.reshape_to(&self.spread)).transpose()?;
        let (wants_weight, wants_bias) = (
            has_weight && f.needs[1],
            bias_type.is_some() && f.needs[1 + usize::from(has_weight)],
        );
        // Where weight and statistics repeat along the same dimensions, the weight is a factor of the sums, and they are
        // those of weight and bias.
        let shared = self.axes == self.affine_axes;
        let for_input = f.needs[0] && self.batch_statistics;
        let sum = |axes: &[usize], operands: &[&Tensor], value: Expr| {
            let name = "norm_grad_sum";
            reduce(name, operands, axes, value, Expr::arg(0), &[])
        };
        let to_bias = (wants_bias || (shared && for_input))
            .then(|| sum(&self.affine_axes, &[f.grad], Expr::arg(0)))
            .transpose()?;
        let to_weight = (wants_weight || (shared && for_input))
            .then(|| sum(&self.affine_axes, &terms, g.clone() * normal()))
            .transpose()?;

        let input = f.for_input(0, || {
            let mut operands = terms.to_vec();
            let (mut inner, mut outer) = (g.clone(), Expr::arg(2));
            if let Some(w) = &weight {
                let w_value = Expr::arg(operands.len());
                operands.push(w);
                if shared {
                    outer = outer * w_value;
                } else {
                    inner = inner * w_value;
                }
            }
            let out = Tensor::uninit(x.shape(), x.dtype(), x.device(), self.op)?;
            let (mut value, keep) = (inner.clone(), self.kept(x));
            let sums = if shared {
                [to_bias.as_ref(), to_weight.as_ref()].map(|t| t.map(Tensor::alias))
            } else {
                let first = sum(&self.axes, &operands, inner.clone())?;
                [
                    Some(first),
                    Some(sum(&self.axes, &operands, inner * normal())?),
                ]
            };
            let sums: Vec<Tensor> = sums
                .into_iter()
                .flatten()
                .map(|t| t.reshape_to(&keep))
                .collect::<Result<_>>()?;
            if let ([first, second], true) = (sums.as_slice(), self.batch_statistics) {
                let share = Expr::scalar(0, acc);
                let at = operands.len();
                value =
                    value - Expr::arg(at) * share.clone() - normal() * Expr::arg(at + 1) * share;
                operands.extend([first, second]);
            }
            let operands: Vec<&Tensor> = operands;
            elementwise(
                "norm_grad",
                &operands,
                &out,
                outer * value,
                &[1.0 / self.count],
            )?;
            Ok(out)
        })?;
        let mut grads = vec![input];
        if let Some(weight) = narrow {
            grads.push(match to_weight {
                Some(sum) if wants_weight => {
                    Some(sum.reshape_to(weight.shape())?.to_dtype(weight.dtype())?)
                }
                _ => None,
            });
        }
        if let Some(dtype) = bias_type {
            // The sizes of `spread` that are not in the bias's own shape are leading or trailing ones.
            grads.push(match to_bias {
                Some(sum) if wants_bias => Some(sum.to_dtype(dtype)?),
                _ => None,
            });
        }
        Ok(grads)
    }
}

/// `(x - mean) * rstd`, of operands 0 to 2.
fn normal() -> Expr {
    (Expr::arg(0) - Expr::arg(1)) * Expr::arg(2)
}

fn types(operands: &[&Tensor]) -> Vec<DType> {
    operands.iter().map(|t| t.dtype()).collect()
}

/// Sum of `pre` over `axes`, then `post`, in the compute type. Operands broadcast to the first.
fn reduce(
    name: &'static str,
    operands: &[&Tensor],
    axes: &[usize],
    pre: Expr,
    post: Expr,
    scalars: &[f64],
) -> Result<Tensor> {
    let x = operands[0];
    let acc = x.dtype().compute();
    let shape: Vec<isize> = x.shape().iter().map(|&n| n as isize).collect();
    let wide: Vec<Tensor> = no_grad(|| {
        operands
            .iter()
            .map(|t| t.expand(&shape))
            .collect::<Result<_>>()
    })?;
    let kept: Vec<usize> = (0..x.rank())
        .filter(|d| !axes.contains(d))
        .map(|d| x.shape()[d])
        .collect();
    let out = Tensor::uninit(&kept, acc, x.device(), name)?;
    let kernel = Arc::new(Reduce {
        name,
        inputs: types(operands),
        out: acc,
        pre,
        combine: Combine::Sum,
        acc,
        post,
    });
    launch::reduce(
        &kernel,
        &wide.iter().collect::<Vec<_>>(),
        axes,
        &out,
        scalars,
    )?;
    Ok(out)
}

fn elementwise(
    name: &'static str,
    operands: &[&Tensor],
    out: &Tensor,
    value: Expr,
    scalars: &[f64],
) -> Result<()> {
    let map = Map::new(name, &types(operands), out.dtype(), value);
    let mut all = operands.to_vec();
    all.push(out);
    launch::map(&Arc::new(map), &all, scalars)
}

/// `1 / sqrt(var + eps)`.
fn rstd(var: &Tensor, eps: f64) -> Result<Tensor> {
    let dtype = var.dtype();
    let out = Tensor::uninit(var.shape(), dtype, var.device(), "norm_rstd")?;
    let value = (Expr::arg(0) + Expr::scalar(0, dtype)).un(Unary::Rsqrt);
    elementwise("norm_rstd", &[var], &out, value, &[eps])?;
    Ok(out)
}

/// Move the running mean and variance towards the batch's, whose variance is the biased one.
fn follow(batch: [&Tensor; 2], running: [&Tensor; 2], momentum: f64, unbiased: f64) -> Result<()> {
    let acc = batch[0].dtype();
    let channels = running[0].shape();
    let (mean, var) = (
        batch[0].reshape_to(channels)?,
        batch[1].reshape_to(channels)?,
    );
    let operands = [&mean, &var, running[0], running[1]];
    let moved =
        |old: usize, new: Expr| Expr::arg(old) * Expr::scalar(0, acc) + new * Expr::scalar(1, acc);
    let map = Map {
        name: "norm_running",
        operands: types(&operands),
        outputs: vec![
            (2, moved(2, Expr::arg(0))),
            (3, moved(3, Expr::arg(1) * Expr::scalar(2, acc))),
        ],
    };
    launch::map(
        &Arc::new(map),
        &operands,
        &[1.0 - momentum, momentum, unbiased],
    )?;
    for t in running {
        t.storage().bump();
    }
    Ok(())
}
