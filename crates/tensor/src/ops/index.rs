//! Gathering by index, and joining.

use super::launch::{self, Cost, mismatch};
use super::lines::Lines;
use super::matmul::word;
use crate::autograd::record;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernel::{Check, Grid};
use crate::kernels::index::{CHECK_INDEX, GATHER, GATHER_I64, IndexParams, SCATTER_ADD};
use crate::tensor::Tensor;

/// The dense index tensor, on the data's device.
fn dense_index(op: &'static str, data: &Tensor, index: &Tensor) -> Result<Tensor> {
    if !data.device().same(index.device()) {
        return Err(mismatch(op, ("self", data), ("index", index)));
    }
    match index.dtype() {
        DType::I64 => index.detach().contiguous(),
        DType::I32 => index.detach().to_dtype(DType::I64)?.contiguous(),
        found => Err(Error::ExpectedDType {
            expected: DType::I64,
            found,
        }),
    }
}

/// Gather along a dimension with these index steps, and send gradients back by scattering.
fn gather_lines(
    op: &'static str,
    node: &'static str,
    data: &Tensor,
    index: Tensor,
    lines: Lines,
    shape: &[usize],
    params: IndexParams,
) -> Result<Tensor> {
    let (wide, kernel) = match data.dtype() {
        DType::F32 | DType::F64 => (data.alias(), &GATHER),
        // What a float32 holds exactly goes through it.
        DType::F16 | DType::BF16 | DType::U8 | DType::Bool => (data.to_dtype(DType::F32)?, &GATHER),
        DType::I64 | DType::I32 => (data.to_dtype(DType::I64)?, &GATHER_I64),
    };
    let out = Tensor::uninit(shape, wide.dtype(), data.device(), op)?;
    let check = Some(Check::Index { op, size: lines.n });
    if out.numel() > 0 {
        let x = wide.detach().contiguous()?;
        let bytes = 2 * out.nbytes() as u64 + index.nbytes() as u64;
        let grid = Grid::Invocations(out.numel());
        launch::kernel(
            kernel,
            &[&x, &index, &out],
            &params,
            grid,
            check,
            Cost { bytes, flops: 0 },
        )?;
    }
    let from = data.shape().to_vec();
    let out = record(out, node, &[&wide], &[&index], move |f| {
        let g = f.grad.contiguous()?;
        if g.numel() == 0 {
            return Ok(vec![Some(Tensor::zeros(&from, g.dtype(), g.device())?)]);
        }
        let dx = Tensor::uninit(&from, g.dtype(), g.device(), node)?;
        let grid = Grid::Invocations(dx.numel());
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
    out.to_dtype(data.dtype())
}

impl Tensor {
    /// `out[.., j, ..] = self[.., index[.., j, ..], ..]` along `dim`; `index` has the result's shape.
    pub fn gather(&self, dim: isize, index: &Tensor) -> Result<Tensor> {
        let index = dense_index("gather", self, index)?;
        let d = self.layout().dim(dim)?;
        let fits = self.rank() == index.rank()
            && (0..self.rank()).all(|i| i == d || index.shape()[i] <= self.shape()[i]);
        if !fits {
            return Err(Error::ShapeMismatch {
                op: "gather",
                left: index.shape().to_vec(),
                right: self.shape().to_vec(),
                rule: "Expected index to be no larger than self apart from the gathered dimension",
            });
        }
        // Only the part of the data beside the indices takes part.
        let mut data = self.alias();
        for i in (0..self.rank()).filter(|&i| i != d && index.shape()[i] < self.shape()[i]) {
            data = data.narrow(i as isize, 0, index.shape()[i])?;
        }
        let lines = Lines::of(&data, dim)?;
        let n = index.shape().get(d).copied().unwrap_or(1);
        let params = IndexParams {
            outer: word(lines.outer)?,
            size: word(lines.n)?,
            inner: word(lines.inner)?,
            n: word(n)?,
            index_outer: word(n * lines.inner)?,
            index_n: word(lines.inner)?,
            index_inner: 1,
            pad: 0,
        };
        let shape = index.shape().to_vec();
        gather_lines(
            "gather",
            "GatherBackward0",
            &data,
            index,
            lines,
            &shape,
            params,
        )
    }

    /// The slices of `dim` that a vector of indices names, in its order.
    pub fn index_select(&self, dim: isize, index: &Tensor) -> Result<Tensor> {
        self.pick(dim, index, "index_select", "IndexSelectBackward0")
    }

    fn pick(
        &self,
        dim: isize,
        index: &Tensor,
        op: &'static str,
        node: &'static str,
    ) -> Result<Tensor> {
        if index.rank() > 1 {
            return Err(Error::argument(
                op,
                "index_select(): Index is supposed to be a vector",
                "flatten the index",
            ));
        }
        let index = dense_index(op, self, index)?;
        let lines = Lines::of(self, dim)?;
        let n = index.numel();
        if self.rank() == 0 && n != 1 {
            return Err(Error::argument(
                op,
                format!("index_select(): Index to scalar can have only 1 value, got {n} value(s)"),
                "give one index, or data with dimensions",
            ));
        }
        let mut shape = self.shape().to_vec();
        if let Some(size) = shape.get_mut(lines.dim) {
            *size = n;
        }
        let params = IndexParams {
            outer: word(lines.outer)?,
            size: word(lines.n)?,
            inner: word(lines.inner)?,
            n: word(n)?,
            index_outer: 0,
            index_n: 1,
            index_inner: 0,
            pad: 0,
        };
        gather_lines(op, node, self, index, lines, &shape, params)
    }

    /// Rows of `weight` that the indices (`self`, of any shape) name.
    pub fn embedding(&self, weight: &Tensor) -> Result<Tensor> {
        if weight.rank() != 2 {
            return Err(Error::argument(
                "embedding",
                "'weight' must be 2-D",
                "give [number of embeddings, size of each]",
            ));
        }
        let flat = self.reshape(&[-1])?;
        let mut shape = self.shape().to_vec();
        shape.push(weight.shape()[1]);
        weight
            .pick(0, &flat, "embedding", "EmbeddingBackward0")?
            .reshape_to(&shape)
    }

    /// A new last dimension of size `classes` with a 1 at the index.
    pub fn one_hot(&self, classes: usize) -> Result<Tensor> {
        let index = dense_index("one_hot", self, self)?;
        let n = index.numel();
        let params = IndexParams {
            outer: 1,
            size: word(classes)?,
            inner: 1,
            n: word(n)?,
            index_outer: 0,
            index_n: 1,
            index_inner: 0,
            pad: 0,
        };
        let check = Some(Check::Index {
            op: "one_hot",
            size: classes,
        });
        launch::kernel(
            &CHECK_INDEX,
            &[&index],
            &params,
            Grid::Invocations(n),
            check,
            Cost::default(),
        )?;
        let range = Tensor::arange(0.0, classes as f64, 1.0, DType::I64, self.device())?;
        index.unsqueeze(-1)?.eq(&range)?.to_dtype(DType::I64)
    }

    /// Join tensors along a dimension that they have. As in PyTorch a bare `[0]` goes with any shape.
    pub fn cat(tensors: &[&Tensor], dim: isize) -> Result<Tensor> {
        let kept: Vec<&Tensor> = tensors
            .iter()
            .filter(|t| t.shape() != [0])
            .copied()
            .collect();
        let tensors = if kept.is_empty() { tensors } else { &kept };
        let Some(first) = tensors.first() else {
            return Err(Error::EmptyList { op: "torch.cat" });
        };
        let d = first.layout().dim(dim)?;
        let mut shape = first.shape().to_vec();
        let mut dtype = first.dtype();
        for (number, t) in tensors.iter().enumerate().skip(1) {
            if t.rank() != first.rank() {
                return Err(Error::CatRank {
                    expected: first.rank(),
                    got: t.rank(),
                });
            }
            if !t.device().same(first.device()) {
                return Err(mismatch("cat", ("tensors[0]", first), ("tensors", t)));
            }
            for (i, (&want, &got)) in first.shape().iter().zip(t.shape()).enumerate() {
                if i != d && want != got {
                    return Err(Error::CatSize {
                        dim: d,
                        expected: want,
                        got,
                        number,
                    });
                }
            }
            if let Some(n) = shape.get_mut(d) {
                *n += t.shape()[d];
            }
            dtype = dtype.promote(t.dtype());
        }
        if first.rank() == 0 {
            return Err(Error::argument(
                "cat",
                "zero-dimensional tensor (at position 0) cannot be concatenated",
                "use stack",
            ));
        }
        let out = Tensor::uninit(&shape, dtype, first.device(), "cat")?;
        let mut parts = Vec::with_capacity(tensors.len());
        let mut start = 0;
        for t in tensors {
            let length = t.shape()[d];
            out.with_layout(out.layout().narrow(dim, start, length)?)
                .copy_(&t.detach())?;
            parts.push((start, length, t.dtype()));
            start += length as isize;
        }
        record(out, "CatBackward0", tensors, &[], move |f| {
            let piece = |n: usize, &(start, length, dtype): &(isize, usize, DType)| {
                f.for_input(n, || f.grad.narrow(dim, start, length)?.to_dtype(dtype))
            };
            parts
                .iter()
                .enumerate()
                .map(|(n, part)| piece(n, part))
                .collect()
        })
    }

    /// Join tensors of one shape along a new dimension.
    pub fn stack(tensors: &[&Tensor], dim: isize) -> Result<Tensor> {
        let Some(first) = tensors.first() else {
            return Err(Error::EmptyList { op: "stack" });
        };
        for (number, t) in tensors.iter().enumerate() {
            if t.shape() != first.shape() {
                let (first, other) = (first.shape().to_vec(), t.shape().to_vec());
                return Err(Error::StackSize {
                    first,
                    other,
                    number,
                });
            }
        }
        let wide = tensors
            .iter()
            .map(|t| t.unsqueeze(dim))
            .collect::<Result<Vec<_>>>()?;
        Tensor::cat(&wide.iter().collect::<Vec<_>>(), dim)
    }

    /// Surround with `value`. Pairs (before, after) start at the last dimension, as in `torch.nn.functional.pad`; negative
    /// ones crop.
    pub fn pad(&self, pads: &[isize], value: f64) -> Result<Tensor> {
        if !pads.len().is_multiple_of(2) || pads.len() / 2 > self.rank() {
            return Err(Error::argument(
                "pad",
                format!(
                    "Padding length must be even and at most twice the {} dimensions, but got {}",
                    self.rank(),
                    pads.len()
                ),
                "give (before, after) for each dimension from the last",
            ));
        }
        let mut inner = self.alias();
        let mut shape = self.shape().to_vec();
        let mut places = Vec::new();
        for (i, pair) in pads.chunks(2).enumerate() {
            let d = self.rank() - 1 - i;
            let (before, after) = (pair[0], pair[1]);
            let size = (shape[d] as isize)
                .saturating_add(before)
                .saturating_add(after);
            let cropped = before.min(0).saturating_add(after.min(0));
            let length = (shape[d] as isize).saturating_add(cropped);
            if size < 0 || length < 0 {
                return Err(Error::argument(
                    "pad",
                    format!(
                        "The input size {}, plus negative padding {before} and {after}, resulted in a negative output size",
                        shape[d]
                    ),
                    "crop less",
                ));
            }
            inner = inner.narrow(d as isize, -before.min(0), length as usize)?;
            places.push((d as isize, before.max(0), length as usize));
            shape[d] = size as usize;
        }
        let out = Tensor::full(&shape, value, self.dtype(), self.device())?;
        let mut place = out.layout().clone();
        for &(d, start, length) in &places {
            place = place.narrow(d, start, length)?;
        }
        out.with_layout(place).copy_(&inner.detach())?;
        record(out, "ConstantPadNdBackward0", &[&inner], &[], move |f| {
            let mut g = f.grad.alias();
            for &(d, start, length) in &places {
                g = g.narrow(d, start, length)?;
            }
            Ok(vec![Some(g)])
        })
    }

    fn triangle(&self, op: &'static str, diagonal: isize, lower: bool) -> Result<Tensor> {
        if self.rank() < 2 {
            return Err(Error::argument(
                op,
                format!("{op}: input tensor must have at least 2 dimensions"),
                "give a matrix",
            ));
        }
        let (rows, cols) = (self.shape()[self.rank() - 2], self.shape()[self.rank() - 1]);
        let device = self.device();
        // Further out there is nothing more to keep or to drop.
        let shift = diagonal.clamp(-(rows as isize), cols as isize) as f64;
        let down =
            Tensor::arange(shift, shift + rows as f64, 1.0, DType::I32, device)?.unsqueeze(1)?;
        let across = Tensor::arange(0.0, cols as f64, 1.0, DType::I32, device)?;
        let keep = if lower {
            down.ge(&across)?
        } else {
            down.le(&across)?
        };
        keep.where_(self, &Tensor::zeros(&[1], self.dtype(), device)?)
    }

    /// The lower triangle, up to the `diagonal`-th above the main one; zeros elsewhere.
    pub fn tril(&self, diagonal: isize) -> Result<Tensor> {
        self.triangle("tril", diagonal, true)
    }

    /// The upper triangle, from the `diagonal`-th above the main one; zeros elsewhere.
    pub fn triu(&self, diagonal: isize) -> Result<Tensor> {
        self.triangle("triu", diagonal, false)
    }

    /// Views of at most `size` steps along `dim`.
    pub fn split(&self, size: usize, dim: isize) -> Result<Vec<Tensor>> {
        let total = self.size(dim)?;
        if size == 0 {
            return Err(Error::argument(
                "split",
                "split_size must be positive",
                "give a size of 1 or more",
            ));
        }
        (0..total)
            .step_by(size)
            .map(|at| self.narrow(dim, at as isize, size.min(total - at)))
            .collect()
    }
}
