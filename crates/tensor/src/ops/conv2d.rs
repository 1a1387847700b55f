//! Two-dimensional convolution.

use super::fused::{is_fused, through_relu};
use super::launch::{self, Cost, mismatch};
use super::matmul::word;
use crate::autograd::record;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernel::Grid;
use crate::kernels::conv2d::{
    CONV_CHANNELS, CONV_COLUMNS, CONV_TAPS, CONV2D, CONV2D_GRAD_INPUT, CONV2D_GRAD_WEIGHT,
    Conv2dParams,
};
use crate::tensor::Tensor;

/// Parts of the batch whose shares of the weight's gradient are summed one by one: enough for every core, and few enough
/// that adding them up costs little.
const PARTS: usize = 16;

/// The same for a GPU, which needs many times as many invocations to be busy.
const GPU_PARTS: usize = 64;

/// How a convolution moves over its input: PyTorch's keyword arguments. Pairs are rows, then columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conv2dOptions {
    /// Steps from result to result.
    pub stride: [usize; 2],
    /// Zeros on each side.
    pub padding: [usize; 2],
    /// Steps from tap to tap of a filter.
    pub dilation: [usize; 2],
    /// Groups of channels that see nothing of one another.
    pub groups: usize,
}

impl Default for Conv2dOptions {
    fn default() -> Self {
        Conv2dOptions {
            stride: [1, 1],
            padding: [0, 0],
            dilation: [1, 1],
            groups: 1,
        }
    }
}

impl Tensor {
    /// Correlate `[N, C, H, W]` (or `[C, H, W]`) with the filters `[O, C / groups, kh, kw]`, and add `bias[o]`.
    pub fn conv2d(
        &self,
        weight: &Tensor,
        bias: Option<&Tensor>,
        options: Conv2dOptions,
    ) -> Result<Tensor> {
        self.conv2d_node(weight, bias, options, false)
    }

    /// [`Tensor::conv2d`] and its ReLU as one operation.
    pub fn conv2d_relu(
        &self,
        weight: &Tensor,
        bias: Option<&Tensor>,
        options: Conv2dOptions,
    ) -> Result<Tensor> {
        if is_fused() {
            self.conv2d_node(weight, bias, options, true)
        } else {
            self.conv2d_node(weight, bias, options, false)?.relu()
        }
    }

    fn conv2d_node(
        &self,
        weight: &Tensor,
        bias: Option<&Tensor>,
        options: Conv2dOptions,
        relu: bool,
    ) -> Result<Tensor> {
        if self.rank() == 3 {
            let batch = self.unsqueeze(0)?;
            return batch.conv2d_node(weight, bias, options, relu)?.squeeze(0);
        }
        let out = check(self, weight, bias, &options)?;
        let dtype = self.dtype();
        if matches!(dtype, DType::F16 | DType::BF16) {
            // Multiply and accumulate in float32, round once.
            let wide = |t: &Tensor| t.to_dtype(DType::F32);
            let bias = bias.map(wide).transpose()?;
            return wide(self)?
                .conv2d_node(&wide(weight)?, bias.as_ref(), options, relu)?
                .to_dtype(dtype);
        }
        let (input, weight) = (self.contiguous()?, weight.contiguous()?);
        let bias = bias.map(Tensor::contiguous).transpose()?;
        let shape = [self.shape()[0], weight.shape()[0], out[0], out[1]];
        let y = Tensor::uninit(&shape, dtype, self.device(), "conv2d")?;
        let params = Conv2dParams {
            bias: u32::from(bias.is_some()),
            relu: u32::from(relu),
            ..params(input.shape(), weight.shape(), &shape, &options)?
        };
        let stand_in = bias.as_ref().unwrap_or(&weight);
        run(
            &CONV2D,
            &[&input, &weight, stand_in, &y],
            &params,
            tiles(&shape, options.groups),
        )?;
        let mut inputs = vec![&input, &weight];
        inputs.extend(&bias);
        let (name, result) = match relu {
            true => ("ConvolutionReluBackward0", Some(y.alias())),
            false => ("ConvolutionBackward0", None),
        };
        let saved: Vec<&Tensor> = [&input, &weight].into_iter().chain(&result).collect();
        record(y, name, &inputs, &saved, move |f| {
            let (input, weight) = (&f.saved[0], &f.saved[1]);
            let grad = through_relu(f.grad, f.saved.get(2))?.contiguous()?;
            let mut grads = vec![
                f.for_input(0, || {
                    let out = Tensor::uninit(input.shape(), dtype, input.device(), "conv2d")?;
                    let grid = tiles(input.shape(), options.groups);
                    run(&CONV2D_GRAD_INPUT, &[&grad, weight, &out], &params, grid)?;
                    Ok(out)
                })?,
                f.for_input(1, || grad_weight(&grad, input, weight, params))?,
            ];
            if f.needs.len() > 2 {
                // Planes first: their elements are neighbours.
                grads.push(f.for_input(2, || grad.sum(&[2, 3], false)?.sum(&[0], false))?);
            }
            Ok(grads)
        })
    }
}

/// Sum over the batch in parts, then over the parts.
fn grad_weight(
    grad: &Tensor,
    input: &Tensor,
    weight: &Tensor,
    mut params: Conv2dParams,
) -> Result<Tensor> {
    if input.numel() == 0 {
        return weight.zeros_like();
    }
    let most = if input.device().is_cpu() {
        PARTS
    } else {
        GPU_PARTS
    };
    let parts = input.shape()[0].min(most);
    params.parts = word(parts)?;
    let mut shape = vec![parts];
    shape.extend(weight.shape());
    let out = Tensor::uninit(&shape, weight.dtype(), weight.device(), "conv2d")?;
    run(
        &CONV2D_GRAD_WEIGHT,
        &[grad, input, &out],
        &params,
        parts * weight_tiles(weight.shape(), params.groups as usize),
    )?;
    if parts == 1 {
        return out.reshape_to(weight.shape());
    }
    out.sum(&[0], false)
}

/// Invocations for a result of this shape: one for [`CONV_COLUMNS`] columns of [`CONV_CHANNELS`] channels of one group.
fn tiles(shape: &[usize], groups: usize) -> usize {
    let channels = groups * (shape[1] / groups).div_ceil(CONV_CHANNELS);
    shape[0] * channels * shape[2] * shape[3].div_ceil(CONV_COLUMNS)
}

/// Invocations for one part of the gradient of a weight of this shape: one for [`CONV_TAPS`] taps of a row of
/// [`CONV_CHANNELS`] filters of one group.
fn weight_tiles(shape: &[usize], groups: usize) -> usize {
    let filters = groups * (shape[0] / groups).div_ceil(CONV_CHANNELS);
    filters * shape[1] * shape[2] * shape[3].div_ceil(CONV_TAPS)
}

fn run(
    kernel: &'static crate::kernel::Kernel,
    operands: &[&Tensor],
    params: &Conv2dParams,
    invocations: usize,
) -> Result<()> {
    let p = params;
    let results =
        u64::from(p.batch) * u64::from(p.filters) * u64::from(p.out_h) * u64::from(p.out_w);
    let taps = u64::from(p.channels / p.groups) * u64::from(p.kernel_h) * u64::from(p.kernel_w);
    let cost = Cost {
        bytes: 0,
        flops: 2 * results * taps,
    };
    launch::kernel(
        kernel,
        operands,
        params,
        Grid::Invocations(invocations),
        None,
        cost,
    )
}

fn params(
    input: &[usize],
    weight: &[usize],
    out: &[usize],
    options: &Conv2dOptions,
) -> Result<Conv2dParams> {
    // Kernels count elements in 32 bits.
    for shape in [input, weight, out] {
        word(shape.iter().product())?;
    }
    Ok(Conv2dParams {
        batch: word(input[0])?,
        channels: word(input[1])?,
        height: word(input[2])?,
        width: word(input[3])?,
        filters: word(weight[0])?,
        kernel_h: word(weight[2])?,
        kernel_w: word(weight[3])?,
        groups: word(options.groups)?,
        out_h: word(out[2])?,
        out_w: word(out[3])?,
        stride_h: word(options.stride[0])?,
        stride_w: word(options.stride[1])?,
        pad_h: word(options.padding[0])?,
        pad_w: word(options.padding[1])?,
        dilation_h: word(options.dilation[0])?,
        dilation_w: word(options.dilation[1])?,
        bias: 0,
        parts: 1,
        relu: 0,
        pad: 0,
    })
}

/// PyTorch's checks, in its order; the rows and columns of the result.
fn check(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    options: &Conv2dOptions,
) -> Result<[usize; 2]> {
    let fail = |message: String, remedy| Err(Error::argument("conv2d", message, remedy));
    if input.rank() != 4 {
        return Err(Error::ConvRank {
            shape: input.shape().to_vec(),
        });
    }
    for (name, other) in [("weight", Some(weight)), ("bias", bias)] {
        let Some(other) = other else { continue };
        if !input.device().same(other.device()) {
            return Err(mismatch("conv2d", ("input", input), (name, other)));
        }
        if input.dtype() != other.dtype() {
            return Err(Error::ConvDType {
                name,
                input: input.dtype(),
                parameter: other.dtype(),
            });
        }
    }
    if !input.dtype().is_float() {
        return Err(Error::UnsupportedDType {
            op: "conv2d",
            dtype: input.dtype(),
            device: input.device().id(),
        });
    }
    let (shape, filters) = (input.shape(), weight.shape());
    let groups = options.groups;
    if options.stride.contains(&0) {
        return fail(
            "non-positive stride is not supported".into(),
            "use a stride of 1 or more",
        );
    }
    if options.dilation.contains(&0) {
        return fail(
            "dilation should be greater than zero".into(),
            "use a dilation of 1 or more",
        );
    }
    if groups == 0 {
        return fail(
            "non-positive groups is not supported".into(),
            "use 1 group or more",
        );
    }
    if filters.len() != 4 {
        return fail(
            format!(
                "Expected 4-dimensional weight for 4-dimensional input {shape:?}, but got weight of size {filters:?} instead"
            ),
            "give the weight as [out channels, in channels / groups, rows, columns]",
        );
    }
    if filters[0] < groups {
        return fail(
            format!(
                "Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size {filters:?} instead"
            ),
            "each group needs an output channel of its own",
        );
    }
    if filters[0] % groups != 0 {
        return fail(
            format!(
                "Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size {filters:?} instead"
            ),
            "use a number of output channels that the groups divide",
        );
    }
    if filters[1].checked_mul(groups) != Some(shape[1]) {
        return Err(Error::ConvChannels {
            groups,
            weight: filters.to_vec(),
            input: shape.to_vec(),
            expected: filters[1].saturating_mul(groups),
        });
    }
    if let Some(bias) = bias
        && bias.shape() != [filters[0]]
    {
        return fail(
            format!(
                "Given weight of size {filters:?}, expected bias to be 1-dimensional with {} elements, but got bias of size {:?} instead",
                filters[0],
                bias.shape()
            ),
            "give one bias per output channel",
        );
    }
    let mut out = [0; 2];
    let (mut padded, mut kernel) = ([0; 2], [0; 2]);
    for d in 0..2 {
        padded[d] = options.padding[d]
            .saturating_mul(2)
            .saturating_add(shape[2 + d]);
        kernel[d] = match filters[2 + d].checked_sub(1) {
            Some(steps) => steps.saturating_mul(options.dilation[d]).saturating_add(1),
            None => {
                return fail(
                    format!(
                        "kernel size should be greater than zero, but got weight of size {filters:?}"
                    ),
                    "use filters of 1 row and column or more",
                );
            }
        };
    }
    for d in 0..2 {
        let room = padded[d].checked_sub(kernel[d]).ok_or(Error::ConvKernel {
            padded: (padded[0], padded[1]),
            kernel: (kernel[0], kernel[1]),
        })?;
        out[d] = room / options.stride[d] + 1;
    }
    Ok(out)
}
