//! Reductions over any dimensions.

use super::launch;
use crate::autograd::record;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::expr::{Expr, Unary};
use crate::kernel::{Combine, Reduce};
use crate::layout::wrap_dim;
use crate::tensor::Tensor;
use std::sync::Arc;

/// One reduction: type and expressions before and after combining.
struct Plan {
    name: &'static str,
    combine: Combine,
    out: DType,
    acc: DType,
    pre: Expr,
    post: Expr,
}

impl Tensor {
    /// The dimensions named, sorted; all of them if none is.
    fn reduced_dims(&self, dims: &[isize]) -> Result<Vec<usize>> {
        if dims.is_empty() {
            return Ok((0..self.rank()).collect());
        }
        let mut out = Vec::with_capacity(dims.len());
        for &d in dims {
            let d = wrap_dim(d, self.rank())?;
            if out.contains(&d) {
                return Err(Error::DuplicateDim { op: "sum", dim: d });
            }
            out.push(d);
        }
        out.retain(|&d| d < self.rank());
        out.sort_unstable();
        Ok(out)
    }

    fn run_reduce(
        inputs: &[&Tensor],
        dims: &[usize],
        keepdim: bool,
        plan: Plan,
        scalars: &[f64],
    ) -> Result<Tensor> {
        let shape = inputs[0].shape();
        let kept: Vec<usize> = (0..shape.len())
            .filter(|d| !dims.contains(d))
            .map(|d| shape[d])
            .collect();
        let out = Tensor::uninit(&kept, plan.out, inputs[0].device(), plan.name)?;
        let kernel = Arc::new(Reduce {
            name: plan.name,
            inputs: inputs.iter().map(|t| t.dtype()).collect(),
            out: plan.out,
            pre: plan.pre,
            combine: plan.combine,
            acc: plan.acc,
            post: plan.post,
        });
        launch::reduce(&kernel, inputs, dims, &out, scalars)?;
        if !keepdim {
            return Ok(out);
        }
        let full: Vec<usize> = (0..shape.len())
            .map(|d| if dims.contains(&d) { 1 } else { shape[d] })
            .collect();
        Ok(out.with_layout(
            out.layout()
                .view(&full)
                .unwrap_or_else(|| crate::Layout::contiguous(&full)),
        ))
    }

    /// A result (or its gradient) spread over the reduced dimensions again.
    fn spread(&self, dims: &[usize], keepdim: bool, shape: &[usize]) -> Result<Tensor> {
        let mut kept = self.alias();
        if !keepdim {
            let full: Vec<usize> = (0..shape.len())
                .map(|d| if dims.contains(&d) { 1 } else { shape[d] })
                .collect();
            kept = kept.reshape_to(&full)?;
        }
        kept.expand(&shape.iter().map(|&n| n as isize).collect::<Vec<_>>())
    }

    /// Sum over `dims` (all, if none is named). Integers and bools sum as int64.
    pub fn sum(&self, dims: &[isize], keepdim: bool) -> Result<Tensor> {
        let dims = self.reduced_dims(dims)?;
        let own = self.dtype();
        let out = if own.is_float() { own } else { DType::I64 };
        self.device().require("sum", out)?;
        let acc = out.compute();
        let x = Expr::arg(0);
        let pre = if own.compute() == acc { x } else { x.cast(acc) };
        let plan = Plan {
            name: "sum",
            combine: Combine::Sum,
            out,
            acc,
            pre,
            post: Expr::arg(0),
        };
        let y = Tensor::run_reduce(&[self], &dims, keepdim, plan, &[])?;
        let shape = self.shape().to_vec();
        record(y, "SumBackward1", &[self], &[], move |f| {
            Ok(vec![Some(f.grad.spread(&dims, keepdim, &shape)?)])
        })
    }

    /// Sum of all elements.
    pub fn sum_all(&self) -> Result<Tensor> {
        self.sum(&[], false)
    }

    /// Mean over `dims` (all, if none is named).
    pub fn mean(&self, dims: &[isize], keepdim: bool) -> Result<Tensor> {
        let own = self.dtype();
        if !own.is_float() {
            return Err(Error::DTypeNotFloat {
                op: "mean",
                found: own,
            });
        }
        let dims = self.reduced_dims(dims)?;
        let count = dims.iter().map(|&d| self.shape()[d]).product::<usize>() as f64;
        let post = Expr::arg(0) / Expr::scalar(0, own);
        let acc = own.compute();
        let plan = Plan {
            name: "mean",
            combine: Combine::Sum,
            out: own,
            acc,
            pre: Expr::arg(0),
            post,
        };
        let y = Tensor::run_reduce(&[self], &dims, keepdim, plan, &[count])?;
        let shape = self.shape().to_vec();
        record(y, "MeanBackward1", &[self], &[], move |f| {
            Ok(vec![Some(
                f.grad.div_scalar(count)?.spread(&dims, keepdim, &shape)?,
            )])
        })
    }

    /// Mean of all elements.
    pub fn mean_all(&self) -> Result<Tensor> {
        self.mean(&[], false)
    }

    fn extreme(
        &self,
        name: &'static str,
        node: &'static str,
        combine: Combine,
        dims: &[isize],
        keepdim: bool,
    ) -> Result<Tensor> {
        let all = dims.is_empty();
        let dims = self.reduced_dims(dims)?;
        if let Some(&dim) = dims.iter().find(|&&d| self.shape()[d] == 0) {
            return Err(Error::EmptyReduction {
                op: name,
                dim: (!all).then_some(dim),
            });
        }
        let own = self.dtype();
        let acc = own.compute();
        let plan = Plan {
            name,
            combine,
            out: own,
            acc,
            pre: Expr::arg(0),
            post: Expr::arg(0),
        };
        let y = Tensor::run_reduce(&[self], &dims, keepdim, plan, &[])?;
        let saved = y.alias();
        let shape = self.shape().to_vec();
        record(y, node, &[self], &[self, &saved], move |f| {
            // Equal extremes share the gradient evenly.
            let (x, y) = (&f.saved[0], &f.saved[1]);
            let wins = x
                .eq(&y.spread(&dims, keepdim, &shape)?)?
                .to_dtype(x.dtype())?;
            let wanted: Vec<isize> = dims.iter().map(|&d| d as isize).collect();
            let count = if dims.is_empty() {
                wins.alias()
            } else {
                wins.sum(&wanted, true)?
            };
            let g = f.grad.spread(&dims, keepdim, &shape)?;
            Ok(vec![Some(g.mul(&wins)?.div(&count)?)])
        })
    }

    /// Largest over `dims` (all, if none is named); NaN if any is.
    pub fn amax(&self, dims: &[isize], keepdim: bool) -> Result<Tensor> {
        self.extreme("amax", "AmaxBackward0", Combine::Max, dims, keepdim)
    }

    /// Smallest over `dims` (all, if none is named); NaN if any is.
    pub fn amin(&self, dims: &[isize], keepdim: bool) -> Result<Tensor> {
        self.extreme("amin", "AminBackward0", Combine::Min, dims, keepdim)
    }

    /// Product over one dimension.
    pub fn prod(&self, dim: isize, keepdim: bool) -> Result<Tensor> {
        let dims = self.reduced_dims(&[dim])?;
        let own = self.dtype();
        let out = if own.is_float() { own } else { DType::I64 };
        self.device().require("prod", out)?;
        let acc = out.compute();
        let x = Expr::arg(0);
        let pre = if own.compute() == acc { x } else { x.cast(acc) };
        let plan = Plan {
            name: "prod",
            combine: Combine::Prod,
            out,
            acc,
            pre,
            post: Expr::arg(0),
        };
        let y = Tensor::run_reduce(&[self], &dims, keepdim, plan, &[])?;
        let shape = self.shape().to_vec();
        record(y, "ProdBackward1", &[self], &[self], move |f| {
            // The product of the others: y / x, unless there is a zero; then only a lone zero has a gradient.
            let x = &f.saved[0];
            let zero = x.eq(&Tensor::scalar(0f32, x.device())?.to_dtype(x.dtype())?)?;
            let others = x.masked_fill(&zero, 1.0)?;
            let product = others.prod(dim, true)?;
            let zeros = zero.to_dtype(x.dtype())?.sum(&[dim], true)?;
            let one = Tensor::scalar(1f32, x.device())?.to_dtype(x.dtype())?;
            let none = zeros.lt(&one)?.to_dtype(x.dtype())?;
            let lone = zeros.eq(&one)?.to_dtype(x.dtype())?;
            let plain = product.mul(&none)?.div(&others)?;
            let slope = zero.where_(&product.mul(&lone)?, &plain)?;
            Ok(vec![Some(
                f.grad.spread(&dims, keepdim, &shape)?.mul(&slope)?,
            )])
        })
    }

    /// Variance over `dims` (all, if none is named), dividing by n - 1 if `unbiased`, else by n.
    pub fn var(&self, dims: &[isize], unbiased: bool, keepdim: bool) -> Result<Tensor> {
        let own = self.dtype();
        if !own.is_float() {
            return Err(Error::DTypeNotFloat {
                op: "std and var only support floating point and complex dtypes",
                found: own,
            });
        }
        let axes = self.reduced_dims(dims)?;
        let count = axes.iter().map(|&d| self.shape()[d]).product::<usize>() as f64;
        let divisor = (count - f64::from(unbiased)).max(0.0);
        let mean = crate::autograd::no_grad(|| {
            let wanted: Vec<isize> = axes.iter().map(|&d| d as isize).collect();
            self.mean(&wanted, true)
        })?;
        // Second pass over deviations: subtracting squares of large sums would lose what it looks for.
        let centred = Expr::arg(0) - Expr::arg(1);
        let plan = Plan {
            name: "var",
            combine: Combine::Sum,
            out: own,
            acc: own.compute(),
            pre: centred.clone() * centred,
            post: Expr::arg(0) / Expr::scalar(0, own),
        };
        let wide = mean.expand(&self.shape().iter().map(|&n| n as isize).collect::<Vec<_>>())?;
        let y = Tensor::run_reduce(&[self, &wide], &axes, keepdim, plan, &[divisor])?;
        let shape = self.shape().to_vec();
        record(y, "VarBackward0", &[self], &[self, &mean], move |f| {
            let centred = f.saved[0].sub(&f.saved[1])?;
            let g = f
                .grad
                .mul_scalar(2.0 / divisor)?
                .spread(&axes, keepdim, &shape)?;
            Ok(vec![Some(g.mul(&centred)?)])
        })
    }

    /// Logarithm of the sum of exponentials over `dims`, safe from overflow.
    pub fn logsumexp(&self, dims: &[isize], keepdim: bool) -> Result<Tensor> {
        let own = self.dtype();
        if !own.is_float() {
            return Err(Error::DTypeNotFloat {
                op: "logsumexp",
                found: own,
            });
        }
        let axes = self.reduced_dims(dims)?;
        if axes.iter().any(|&d| self.shape()[d] == 0) {
            // The logarithm of an empty sum; there is no largest term to take out.
            return self.exp()?.sum(dims, keepdim)?.log();
        }
        let top = crate::autograd::no_grad(|| {
            let wanted: Vec<isize> = axes.iter().map(|&d| d as isize).collect();
            self.amax(&wanted, true)
        })?;
        // An infinite maximum would make inf - inf: take 0 in its place, the sum then is infinite or 0 by itself.
        let (x, m) = (Expr::arg(0), Expr::arg(1));
        let safe = m.clone().un(Unary::IsFinite).select(m, Expr::lit(0.0, own));
        let plan = Plan {
            name: "logsumexp",
            combine: Combine::Sum,
            out: own,
            acc: own.compute(),
            pre: (x - safe).un(Unary::Exp),
            post: Expr::arg(0).un(Unary::Log),
        };
        let wide = top.expand(&self.shape().iter().map(|&n| n as isize).collect::<Vec<_>>())?;
        let y = crate::autograd::no_grad(|| {
            let log = Tensor::run_reduce(&[self, &wide], &axes, keepdim, plan, &[])?;
            let zero = top.isfinite()?.where_(&top, &top.zeros_like()?)?;
            log.add(&zero.reshape_to(log.shape())?)
        })?;
        let saved = y.alias();
        let shape = self.shape().to_vec();
        record(
            y,
            "LogsumexpBackward0",
            &[self],
            &[self, &saved],
            move |f| {
                let share = f.saved[0]
                    .sub(&f.saved[1].spread(&axes, keepdim, &shape)?)?
                    .exp()?;
                Ok(vec![Some(
                    f.grad.spread(&axes, keepdim, &shape)?.mul(&share)?,
                )])
            },
        )
    }
}
