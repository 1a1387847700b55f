//! Operations along one dimension: softmax, running sums, arg-reductions, the k largest.

use super::launch::{self, Cost};
use super::matmul::word;
use crate::autograd::record;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernel::Grid;
use crate::kernels::index::{IndexParams, SCATTER_ADD};
use crate::kernels::lines::{
    ARG_EXTREME, CUMSUM, CUMSUM_I64, LineParams, SOFTMAX, SOFTMAX_BACKWARD, TOPK,
};
use crate::tensor::Tensor;

/// A tensor seen as lines along one dimension.
#[derive(Clone, Copy)]
pub(super) struct Lines {
    pub outer: usize,
    pub n: usize,
    pub inner: usize,
    pub dim: usize,
}

impl Lines {
    pub(super) fn of(x: &Tensor, dim: isize) -> Result<Lines> {
        let dim = x.layout().dim(dim)?;
        let s = x.shape();
        if s.is_empty() {
            return Ok(Lines {
                outer: 1,
                n: 1,
                inner: 1,
                dim,
            });
        }
        Ok(Lines {
            outer: s[..dim].iter().product(),
            n: s[dim],
            inner: s[dim + 1..].iter().product(),
            dim,
        })
    }

    fn params(&self, flag: bool, k: usize) -> Result<LineParams> {
        Ok(LineParams {
            outer: word(self.outer)?,
            n: word(self.n)?,
            inner: word(self.inner)?,
            flag: u32::from(flag),
            k: word(k)?,
            pad: [0; 3],
        })
    }

    fn grid(&self) -> Grid {
        Grid::Invocations(self.outer * self.inner)
    }
}

impl Tensor {
    /// Half-width floats compute in float32; integers are refused.
    pub(super) fn for_kernel(&self, op: &'static str) -> Result<Tensor> {
        match self.dtype() {
            DType::F32 | DType::F64 => Ok(self.alias()),
            DType::F16 | DType::BF16 => self.to_dtype(DType::F32),
            found => Err(Error::DTypeNotFloat { op, found }),
        }
    }

    fn softmax_of(&self, dim: isize, log: bool) -> Result<Tensor> {
        let (op, node) = if log {
            ("log_softmax", "LogSoftmaxBackward0")
        } else {
            ("softmax", "SoftmaxBackward0")
        };
        let wide = self.for_kernel(op)?;
        let lines = Lines::of(self, dim)?;
        let params = lines.params(log, 0)?;
        let out = Tensor::uninit(self.shape(), wide.dtype(), self.device(), op)?;
        let flops = self.numel() as u64 * 5;
        if self.numel() > 0 {
            let x = wide.detach().contiguous()?;
            launch::kernel(
                &SOFTMAX,
                &[&x, &out],
                &params,
                lines.grid(),
                None,
                Cost { bytes: 0, flops },
            )?;
        }
        let saved = out.alias();
        let out = record(out, node, &[&wide], &[&saved], move |f| {
            let (g, y) = (f.grad.contiguous()?, &f.saved[0]);
            let dx = Tensor::uninit(y.shape(), y.dtype(), y.device(), node)?;
            if y.numel() > 0 {
                let cost = Cost { bytes: 0, flops };
                launch::kernel(
                    &SOFTMAX_BACKWARD,
                    &[&g, y, &dx],
                    &params,
                    lines.grid(),
                    None,
                    cost,
                )?;
            }
            Ok(vec![Some(dx)])
        })?;
        out.to_dtype(self.dtype())
    }

    /// Exponentials along `dim`, divided by their sum.
    pub fn softmax(&self, dim: isize) -> Result<Tensor> {
        self.softmax_of(dim, false)
    }

    /// Logarithm of the softmax along `dim`, without its overflow.
    pub fn log_softmax(&self, dim: isize) -> Result<Tensor> {
        self.softmax_of(dim, true)
    }

    fn running_sum(&self, dim: isize, reverse: bool) -> Result<Tensor> {
        // Integers and bools add up as int64.
        let (wide, kernel) = if self.dtype().is_float() {
            (self.for_kernel("cumsum")?, &CUMSUM)
        } else {
            (self.to_dtype(DType::I64)?, &CUMSUM_I64)
        };
        let lines = Lines::of(self, dim)?;
        let out = Tensor::uninit(self.shape(), wide.dtype(), self.device(), "cumsum")?;
        if self.numel() > 0 {
            let x = wide.detach().contiguous()?;
            let cost = Cost {
                bytes: 0,
                flops: self.numel() as u64,
            };
            launch::kernel(
                kernel,
                &[&x, &out],
                &lines.params(reverse, 0)?,
                lines.grid(),
                None,
                cost,
            )?;
        }
        let out = record(out, "CumsumBackward0", &[&wide], &[], move |f| {
            Ok(vec![Some(f.grad.running_sum(dim, !reverse)?)])
        })?;
        if self.dtype().is_float() {
            out.to_dtype(self.dtype())
        } else {
            Ok(out)
        }
    }

    /// Sum of all elements up to each, along `dim`. Integers and bools sum as int64.
    pub fn cumsum(&self, dim: isize) -> Result<Tensor> {
        self.running_sum(dim, false)
    }

    fn arg_extreme(
        &self,
        op: &'static str,
        dim: Option<isize>,
        keepdim: bool,
        smallest: bool,
    ) -> Result<Tensor> {
        let Some(dim) = dim else {
            if self.numel() == 0 {
                return Err(Error::EmptyReduction { op, dim: None });
            }
            let flat = self
                .detach()
                .reshape(&[-1])?
                .arg_extreme(op, Some(0), false, smallest)?;
            return if keepdim {
                flat.reshape_to(&vec![1; self.rank()])
            } else {
                Ok(flat)
            };
        };
        let lines = Lines::of(self, dim)?;
        if lines.n == 0 {
            return Err(Error::EmptyReduction {
                op,
                dim: Some(lines.dim),
            });
        }
        let x = self.detach();
        let (x, smallest) = match x.dtype() {
            DType::F32 | DType::F64 => (x, smallest),
            // A float does not hold every integer: the first that equals the extreme is looked for instead.
            DType::I32 | DType::I64 => {
                let extreme = if smallest {
                    x.amin(&[dim], true)?
                } else {
                    x.amax(&[dim], true)?
                };
                (x.eq(&extreme)?.to_dtype(DType::F32)?, false)
            }
            _ => (x.to_dtype(DType::F32)?, smallest),
        };
        let mut shape = self.shape().to_vec();
        if let Some(n) = shape.get_mut(lines.dim) {
            *n = 1;
        }
        let out = Tensor::uninit(&shape, DType::I64, self.device(), op)?;
        let cost = Cost {
            bytes: 0,
            flops: self.numel() as u64,
        };
        launch::kernel(
            &ARG_EXTREME,
            &[&x.contiguous()?, &out],
            &lines.params(smallest, 0)?,
            lines.grid(),
            None,
            cost,
        )?;
        if keepdim || self.rank() == 0 {
            Ok(out)
        } else {
            out.squeeze(lines.dim as isize)
        }
    }

    /// Index of the first largest element along `dim` (of all, row-major, if `None`).
    pub fn argmax(&self, dim: Option<isize>, keepdim: bool) -> Result<Tensor> {
        self.arg_extreme("argmax", dim, keepdim, false)
    }

    /// Index of the first smallest element along `dim` (of all, row-major, if `None`).
    pub fn argmin(&self, dim: Option<isize>, keepdim: bool) -> Result<Tensor> {
        self.arg_extreme("argmin", dim, keepdim, true)
    }

    /// The `k` largest (or smallest) along `dim` in order, and their indices.
    pub fn topk(&self, k: usize, dim: isize, largest: bool) -> Result<(Tensor, Tensor)> {
        let wide = self.for_kernel("topk")?;
        let lines = Lines::of(self, dim)?;
        if k > lines.n {
            return Err(Error::TopkRange { k, size: lines.n });
        }
        let mut shape = self.shape().to_vec();
        if let Some(n) = shape.get_mut(lines.dim) {
            *n = k;
        }
        let values = Tensor::uninit(&shape, wide.dtype(), self.device(), "topk")?;
        let indices = Tensor::uninit(&shape, DType::I64, self.device(), "topk")?;
        if values.numel() > 0 {
            let x = wide.detach().contiguous()?;
            let cost = Cost {
                bytes: 0,
                flops: (self.numel() * k) as u64,
            };
            launch::kernel(
                &TOPK,
                &[&x, &values, &indices],
                &lines.params(!largest, k)?,
                lines.grid(),
                None,
                cost,
            )?;
        }
        let from = self.shape().to_vec();
        let values = record(values, "TopkBackward0", &[&wide], &[&indices], move |f| {
            let dx = Tensor::uninit(&from, f.grad.dtype(), f.grad.device(), "topk")?;
            let params = IndexParams {
                outer: word(lines.outer)?,
                size: word(lines.n)?,
                inner: word(lines.inner)?,
                n: word(k)?,
                index_outer: word(k * lines.inner)?,
                index_n: word(lines.inner)?,
                index_inner: 1,
                pad: 0,
            };
            let grid = Grid::Invocations(dx.numel());
            let g = f.grad.contiguous()?;
            launch::kernel(
                &SCATTER_ADD,
                &[&f.saved[0], &g, &dx],
                &params,
                grid,
                None,
                Cost::default(),
            )?;
            Ok(vec![Some(dx)])
        })?;
        Ok((values.to_dtype(self.dtype())?, indices))
    }
}
