//! Matrix products of every rank, and the linear layer's product.

use super::fused::{is_fused, through_relu};
use super::launch::{self, Cost, mismatch};
use crate::autograd::{no_grad, record};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernel::Grid;
use crate::kernels::matmul::{MATMUL, MATMUL_BATCH_RANK, MatmulParams};
use crate::layout::{broadcast, collapse};
use crate::tensor::Tensor;

impl Tensor {
    /// Matrix product. Vectors count as one row (left) or column (right) that disappears from the result; dimensions
    /// before the last two are batches and broadcast.
    pub fn matmul(&self, other: &Tensor) -> Result<Tensor> {
        if self.rank() == 0 || other.rank() == 0 {
            return Err(Error::MatmulScalar {
                left: self.rank(),
                right: other.rank(),
            });
        }
        if !self.device().same(other.device()) {
            return Err(mismatch("matmul", ("mat1", self), ("mat2", other)));
        }
        if self.dtype() != other.dtype() {
            return Err(Error::MatmulDType {
                left: self.dtype(),
                right: other.dtype(),
            });
        }
        match (self.rank(), other.rank()) {
            (1, 1) => {
                if self.numel() != other.numel() {
                    return Err(Error::VectorLength {
                        left: self.numel(),
                        right: other.numel(),
                    });
                }
                self.unsqueeze(0)?
                    .matmul(&other.unsqueeze(1)?)?
                    .reshape_to(&[])
            }
            (1, _) => {
                let out = self.unsqueeze(0)?.matmul(other)?;
                out.squeeze(-2)
            }
            (_, 1) => {
                let out = self.matmul(&other.unsqueeze(1)?)?;
                out.squeeze(-1)
            }
            // Many matrices times one are one tall matrix times it.
            (r, 2) if r > 2 => {
                let (rows, k) = (
                    self.numel() / self.shape()[r - 1].max(1),
                    self.shape()[r - 1],
                );
                let rows = if k == 0 {
                    self.shape()[..r - 1].iter().product()
                } else {
                    rows
                };
                let mut shape = self.shape()[..r - 1].to_vec();
                shape.push(other.shape()[1]);
                self.reshape_to(&[rows, k])?
                    .matmul(other)?
                    .reshape_to(&shape)
            }
            _ => self.product(other),
        }
    }

    /// Both have two dimensions or more.
    fn product(&self, other: &Tensor) -> Result<Tensor> {
        let dtype = self.dtype();
        if matches!(dtype, DType::F16 | DType::BF16) {
            // Multiply and accumulate in float32, round once.
            return self
                .to_dtype(DType::F32)?
                .product(&other.to_dtype(DType::F32)?)?
                .to_dtype(dtype);
        }
        if !dtype.is_float() {
            return Err(Error::UnsupportedDType {
                op: "matmul",
                dtype,
                device: self.device().id(),
            });
        }
        let (la, lb) = (self.rank(), other.rank());
        let (m, k) = (self.shape()[la - 2], self.shape()[la - 1]);
        let (k2, n) = (other.shape()[lb - 2], other.shape()[lb - 1]);
        if k != k2 {
            let (left, right) = (self.shape().to_vec(), other.shape().to_vec());
            return Err(if la == 2 && lb == 2 {
                Error::MatmulShape { left, right }
            } else {
                Error::BatchedMatmulShape {
                    left: vec![right[0], k],
                    right,
                }
            });
        }
        let batch = broadcast(&self.shape()[..la - 2], &other.shape()[..lb - 2])?;
        let mut shape = batch.clone();
        shape.extend([m, n]);
        let out = Tensor::uninit(&shape, dtype, self.device(), "matmul")?;
        run(self, other, &out, &batch, (m, n, k), Epilogue::default())?;
        record(
            out,
            if batch.is_empty() {
                "MmBackward0"
            } else {
                "BmmBackward0"
            },
            &[self, other],
            &[self, other],
            |f| {
                let (a, b) = (&f.saved[0], &f.saved[1]);
                Ok(vec![
                    f.for_input(0, || {
                        f.grad.matmul(&b.transpose(-2, -1)?)?.sum_to(a.shape())
                    })?,
                    f.for_input(1, || a.transpose(-2, -1)?.matmul(f.grad)?.sum_to(b.shape()))?,
                ])
            },
        )
    }

    /// `self @ weight.t() + bias`: `weight` is `[out, in]`, as PyTorch's linear layer keeps it.
    pub fn linear(&self, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
        self.linear_node(weight, bias, false)
    }

    /// [`Tensor::linear`] and its ReLU as one operation.
    pub fn linear_relu(&self, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
        if is_fused() {
            self.linear_node(weight, bias, true)
        } else {
            self.linear_node(weight, bias, false)?.relu()
        }
    }

    fn linear_node(&self, weight: &Tensor, bias: Option<&Tensor>, relu: bool) -> Result<Tensor> {
        if self.rank() == 0 || weight.rank() != 2 {
            return Err(Error::MatmulScalar {
                left: self.rank(),
                right: weight.rank(),
            });
        }
        if !self.device().same(weight.device()) {
            return Err(mismatch("linear", ("mat1", self), ("weight", weight)));
        }
        if self.dtype() != weight.dtype() {
            return Err(Error::LinearDType {
                left: self.dtype(),
                right: weight.dtype(),
            });
        }
        let k = self.shape()[self.rank() - 1];
        if k != weight.shape()[1] {
            let rows = self.shape()[..self.rank() - 1].iter().product();
            return Err(Error::MatmulShape {
                left: vec![rows, k],
                right: vec![weight.shape()[1], weight.shape()[0]],
            });
        }
        if let Some(bias) = bias.filter(|b| !b.device().same(self.device())) {
            return Err(mismatch("linear", ("mat1", self), ("bias", bias)));
        }
        let rows: usize = self.shape()[..self.rank() - 1].iter().product();
        let out = no_grad(|| {
            let flat = self.detach().reshape_to(&[rows, k])?;
            let mut shape = self.shape().to_vec();
            shape[self.rank() - 1] = weight.shape()[0];
            affine(&flat, &weight.detach(), bias, relu)?.reshape_to(&shape)
        })?;
        let mut inputs = vec![self, weight];
        inputs.extend(bias);
        let bias_like = bias.map(|b| (b.shape().to_vec(), b.dtype()));
        // A node of its own: through the product with weight.t() the weight's gradient would come out transposed, and be
        // copied to turn it round.
        let (name, result) = match relu {
            true => ("AddmmReluBackward0", Some(out.alias())),
            false => ("AddmmBackward0", None),
        };
        let saved: Vec<&Tensor> = [self, weight].into_iter().chain(&result).collect();
        record(out, name, &inputs, &saved, move |f| {
            let (x, weight) = (&f.saved[0], &f.saved[1]);
            let own = through_relu(f.grad, f.saved.get(2))?;
            let grad = own.to_dtype(x.dtype())?;
            let mut grads = vec![
                f.for_input(0, || grad.matmul(weight))?,
                f.for_input(1, || {
                    let flat = grad.reshape_to(&[rows, weight.shape()[0]])?;
                    flat.t()?.matmul(&x.reshape_to(&[rows, k])?)
                })?,
            ];
            if let Some((shape, dtype)) = &bias_like {
                grads.push(f.for_input(2, || own.sum_to(shape)?.to_dtype(*dtype))?);
            }
            Ok(grads)
        })
    }
}

/// `x @ weight.t() + bias` of matrices, in one launch where the kernel's epilogue can add the bias.
fn affine(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>, relu: bool) -> Result<Tensor> {
    let (dtype, turned) = (x.dtype(), weight.t()?);
    let fits =
        |b: &Tensor| b.dtype() == dtype && b.shape() == [weight.shape()[0]] && dtype.is_float();
    if !is_fused() || bias.is_some_and(|b| !fits(b)) {
        let product = x.product(&turned)?;
        let sum = bias.map_or_else(|| Ok(product.alias()), |b| product.add(b))?;
        return if relu { sum.relu() } else { Ok(sum) };
    }
    if matches!(dtype, DType::F16 | DType::BF16) {
        // Multiply, accumulate and add in float32, round once.
        let wide = |t: &Tensor| t.to_dtype(DType::F32);
        let bias = bias.map(wide).transpose()?;
        return affine(&wide(x)?, &wide(weight)?, bias.as_ref(), relu)?.to_dtype(dtype);
    }
    if !dtype.is_float() {
        return x.product(&turned);
    }
    let (m, n, k) = (x.shape()[0], weight.shape()[0], x.shape()[1]);
    let out = Tensor::uninit(&[m, n], dtype, x.device(), "linear")?;
    let bias = bias.map(|b| b.detach().contiguous()).transpose()?;
    let epilogue = Epilogue {
        bias: bias.as_ref(),
        relu,
    };
    run(x, &turned, &out, &[], (m, n, k), epilogue)?;
    Ok(out)
}

/// What becomes of each sum before it is stored.
#[derive(Clone, Copy, Default)]
struct Epilogue<'a> {
    /// Added to each column: dense, of the operands' type.
    bias: Option<&'a Tensor>,
    relu: bool,
}

fn run(
    a: &Tensor,
    b: &Tensor,
    out: &Tensor,
    batch: &[usize],
    (m, n, k): (usize, usize, usize),
    epilogue: Epilogue<'_>,
) -> Result<()> {
    if out.numel() == 0 {
        return Ok(());
    }
    let (ra, rb) = (a.rank(), b.rank());
    let spread = |t: &Tensor, rank: usize| {
        let own = crate::Layout::new(
            t.shape()[..rank - 2].to_vec(),
            t.stride()[..rank - 2].to_vec(),
            0,
        );
        own.expand(&batch.iter().map(|&d| d as isize).collect::<Vec<_>>())
    };
    let (sa, sb) = (spread(a, ra)?, spread(b, rb)?);
    let (sizes, strides) = collapse(batch, &[sa.stride(), sb.stride()]);
    if sizes.len() > MATMUL_BATCH_RANK {
        // So many separate batch dimensions only come from unusual views: copies merge them.
        let full = |t: &Tensor, rows: usize, cols: usize| {
            let mut shape: Vec<isize> = batch.iter().map(|&d| d as isize).collect();
            shape.extend([rows as isize, cols as isize]);
            t.detach().expand(&shape)?.dense_copy("contiguous")
        };
        let (a, b) = (full(a, m, k)?, full(b, k, n)?);
        return run(&a, &b, out, batch, (m, n, k), epilogue);
    }
    let count: usize = sizes.iter().product();
    let lead = MATMUL_BATCH_RANK - sizes.len();
    let mut params = MatmulParams {
        m: word(m)?,
        n: word(n)?,
        k: word(k)?,
        batch: word(count)?,
        a_row: step(a.stride()[ra - 2])?,
        a_col: step(a.stride()[ra - 1])?,
        b_row: step(b.stride()[rb - 2])?,
        b_col: step(b.stride()[rb - 1])?,
        batch_shape: [1; MATMUL_BATCH_RANK],
        a_batch: [0; MATMUL_BATCH_RANK],
        b_batch: [0; MATMUL_BATCH_RANK],
        bias: u32::from(epilogue.bias.is_some()),
        relu: u32::from(epilogue.relu),
        pad: [0; 2],
    };
    for (i, &size) in sizes.iter().enumerate() {
        params.batch_shape[lead + i] = word(size)?;
        params.a_batch[lead + i] = step(strides[0][i])?;
        params.b_batch[lead + i] = step(strides[1][i])?;
    }
    let size = a.dtype().size() as u64;
    let cost = Cost {
        bytes: (count * (m * k + k * n + m * n)) as u64 * size,
        flops: 2 * (count * m * n * k) as u64,
    };
    launch::kernel(
        &MATMUL,
        &[a, b, epilogue.bias.unwrap_or(b), out],
        &params,
        Grid::Invocations(count * m * n),
        None,
        cost,
    )
}

/// A size as the kernels' 32-bit word.
pub(crate) fn word(n: usize) -> Result<u32> {
    u32::try_from(n).map_err(|_| too_large())
}

fn step(n: isize) -> Result<i32> {
    i32::try_from(n).map_err(|_| too_large())
}

fn too_large() -> Error {
    Error::argument(
        "matmul",
        "a dimension or stride does not fit in 32 bits",
        "split the tensor",
    )
}
