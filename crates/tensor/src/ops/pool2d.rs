//! Two-dimensional pooling: maxima and means of windows.

use super::launch::{self, Cost};
use super::matmul::word;
use crate::autograd::record;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernel::{Grid, Kernel};
use crate::kernels::pool2d::{
    ADAPTIVE_AVG_POOL2D, ADAPTIVE_AVG_POOL2D_GRAD, AVG_POOL2D, AVG_POOL2D_GRAD, MAX_POOL2D,
    MAX_POOL2D_GRAD, Pool2dParams,
};
use crate::tensor::Tensor;

impl Tensor {
    /// The largest value of each window of the last two dimensions; the first of several, NaN if there is one. Padding
    /// never wins. `stride` is the kernel size unless given.
    pub fn max_pool2d(
        &self,
        kernel: [usize; 2],
        stride: Option<[usize; 2]>,
        padding: [usize; 2],
    ) -> Result<Tensor> {
        let params = windows("max_pool2d", self, kernel, stride, padding)?;
        self.pool("max_pool2d", |x| x.max_pool(params))
    }

    /// The mean of each window of the last two dimensions; padding counts as zeros. `stride` is the kernel size unless
    /// given.
    pub fn avg_pool2d(
        &self,
        kernel: [usize; 2],
        stride: Option<[usize; 2]>,
        padding: [usize; 2],
    ) -> Result<Tensor> {
        let params = windows("avg_pool2d", self, kernel, stride, padding)?;
        self.pool("avg_pool2d", |x| {
            x.means(&AVG_POOL2D, &AVG_POOL2D_GRAD, "AvgPool2DBackward0", params)
        })
    }

    /// The mean of windows that divide the last two dimensions into `size` parts as evenly as can be.
    pub fn adaptive_avg_pool2d(&self, size: [usize; 2]) -> Result<Tensor> {
        let planes = planes("adaptive_avg_pool2d", self)?;
        let [.., h, w] = *self.shape() else {
            return Err(rank("adaptive_avg_pool2d", self));
        };
        let params = Pool2dParams {
            planes,
            height: word(h)?,
            width: word(w)?,
            out_h: word(size[0])?,
            out_w: word(size[1])?,
            ..bytemuck::Zeroable::zeroed()
        };
        self.pool("adaptive_avg_pool2d", |x| {
            x.means(
                &ADAPTIVE_AVG_POOL2D,
                &ADAPTIVE_AVG_POOL2D_GRAD,
                "AdaptiveAvgPool2DBackward0",
                params,
            )
        })
    }

    /// Run `f` on a dense tensor of a type that kernels compute in.
    fn pool(&self, op: &'static str, f: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
        match self.dtype() {
            DType::F16 | DType::BF16 => {
                f(&self.to_dtype(DType::F32)?.contiguous()?)?.to_dtype(self.dtype())
            }
            dtype if dtype.is_float() => f(&self.contiguous()?),
            dtype => Err(Error::UnsupportedDType {
                op,
                dtype,
                device: self.device().id(),
            }),
        }
    }

    fn max_pool(&self, params: Pool2dParams) -> Result<Tensor> {
        let shape = out_shape(self, &params);
        let out = Tensor::uninit(&shape, self.dtype(), self.device(), "max_pool2d")?;
        let at = Tensor::uninit(&shape, DType::I32, self.device(), "max_pool2d")?;
        run(&MAX_POOL2D, &[self, &out, &at], &params, out.numel())?;
        let own = self.shape().to_vec();
        record(
            out,
            "MaxPool2DWithIndicesBackward0",
            &[self],
            &[&at],
            move |f| {
                let grad = f.grad.contiguous()?;
                let out = Tensor::uninit(&own, grad.dtype(), grad.device(), "max_pool2d")?;
                let operands = [&grad, &f.saved[0], &out];
                run(&MAX_POOL2D_GRAD, &operands, &params, out.numel())?;
                Ok(vec![Some(out)])
            },
        )
    }

    fn means(
        &self,
        forward: &'static Kernel,
        backward: &'static Kernel,
        node: &'static str,
        params: Pool2dParams,
    ) -> Result<Tensor> {
        let shape = out_shape(self, &params);
        let out = Tensor::uninit(&shape, self.dtype(), self.device(), forward.name)?;
        run(forward, &[self, &out], &params, out.numel())?;
        let own = self.shape().to_vec();
        record(out, node, &[self], &[], move |f| {
            let grad = f.grad.contiguous()?;
            if grad.numel() == 0 {
                // No window reads anything: the launch below would be an empty one.
                return Ok(vec![Some(Tensor::zeros(
                    &own,
                    grad.dtype(),
                    grad.device(),
                )?)]);
            }
            let out = Tensor::uninit(&own, grad.dtype(), grad.device(), backward.name)?;
            run(backward, &[&grad, &out], &params, out.numel())?;
            Ok(vec![Some(out)])
        })
    }
}

fn out_shape(x: &Tensor, params: &Pool2dParams) -> Vec<usize> {
    let mut shape = x.shape()[..x.rank() - 2].to_vec();
    shape.extend([params.out_h as usize, params.out_w as usize]);
    shape
}

fn run(
    kernel: &'static Kernel,
    operands: &[&Tensor],
    params: &Pool2dParams,
    invocations: usize,
) -> Result<()> {
    // Every element of the larger side is looked at about once; windows rarely overlap by much.
    let flops = operands.iter().map(|t| t.numel() as u64).max().unwrap_or(0);
    let cost = Cost { bytes: 0, flops };
    launch::kernel(
        kernel,
        operands,
        params,
        Grid::Invocations(invocations),
        None,
        cost,
    )
}

fn rank(op: &'static str, x: &Tensor) -> Error {
    Error::PoolRank {
        op,
        shape: x.shape().to_vec(),
    }
}

/// Images times channels. Only the batch may be empty.
fn planes(op: &'static str, x: &Tensor) -> Result<u32> {
    if !matches!(x.rank(), 3 | 4) || x.shape()[x.rank() - 3..].contains(&0) {
        return Err(rank(op, x));
    }
    word(x.numel())?;
    word(x.shape()[..x.rank() - 2].iter().product())
}

/// Check the windows as PyTorch does.
fn windows(
    op: &'static str,
    x: &Tensor,
    kernel: [usize; 2],
    stride: Option<[usize; 2]>,
    padding: [usize; 2],
) -> Result<Pool2dParams> {
    let stride = stride.unwrap_or(kernel);
    if kernel.contains(&0) {
        return Err(Error::argument(
            op,
            format!(
                "kernel size should be greater than zero, but got kH: {} kW: {}",
                kernel[0], kernel[1]
            ),
            "use a window of 1 row and column or more",
        ));
    }
    if stride.contains(&0) {
        return Err(Error::argument(
            op,
            format!(
                "stride should be greater than zero, but got dH: {} dW: {}",
                stride[0], stride[1]
            ),
            "use a stride of 1 or more",
        ));
    }
    let planes = planes(op, x)?;
    let [.., h, w] = *x.shape() else {
        return Err(rank(op, x));
    };
    if (0..2).any(|d| padding[d] > kernel[d] / 2) {
        return Err(Error::PoolPadding {
            padding: (padding[0], padding[1]),
            kernel: (kernel[0], kernel[1]),
        });
    }
    let size = [h, w];
    for n in [kernel, stride].concat() {
        word(n)?;
    }
    let mut out = [0isize; 2];
    for d in 0..2 {
        let room = (size[d] + 2 * padding[d]) as isize - kernel[d] as isize;
        out[d] = room.div_euclid(stride[d] as isize) + 1;
    }
    if out.iter().any(|&n| n < 1) {
        return Err(Error::PoolOutput {
            input: x.shape()[x.rank() - 3..].to_vec(),
            output: (out[0], out[1]),
        });
    }
    Ok(Pool2dParams {
        planes,
        height: word(h)?,
        width: word(w)?,
        out_h: word(out[0] as usize)?,
        out_w: word(out[1] as usize)?,
        kernel_h: word(kernel[0])?,
        kernel_w: word(kernel[1])?,
        stride_h: word(stride[0])?,
        stride_w: word(stride[1])?,
        pad_h: word(padding[0])?,
        pad_w: word(padding[1])?,
        pad: 0,
    })
}
