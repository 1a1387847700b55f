//! The two-dimensional convolution.

use super::entry;
use crate::init::Init;
use crate::module::{Entry, Kind, Module, Parameter};
use tensor::{Conv2dOptions, Error, Result, Tensor};

/// Correlation of `[N, C, H, W]` with filters of shape `[out, C / groups, kh, kw]`.
pub struct Conv2d {
    /// `[out_channels, in_channels / groups, kh, kw]`.
    pub weight: Parameter,
    /// `[out_channels]`.
    pub bias: Option<Parameter>,
    /// Stride, padding, dilation, groups.
    pub options: Conv2dOptions,
}

impl Conv2d {
    /// PyTorch's default initialisation.
    pub fn new(
        in_channels: usize,
        out_channels: usize,
        kernel: [usize; 2],
        options: Conv2dOptions,
        bias: bool,
        init: &Init<'_>,
    ) -> Result<Conv2d> {
        let groups = options.groups;
        if groups == 0
            || !in_channels.is_multiple_of(groups)
            || !out_channels.is_multiple_of(groups)
        {
            return Err(Error::argument(
                "Conv2d",
                format!(
                    "in_channels ({in_channels}) and out_channels ({out_channels}) must be divisible by groups ({groups})"
                ),
                "choose groups that divide both",
            ));
        }
        let inner = in_channels / groups;
        // Beyond all counting, the weight itself is refused.
        let fan_in = inner.saturating_mul(kernel[0]).saturating_mul(kernel[1]);
        let weight =
            Parameter::new(init.by_fan_in(&[out_channels, inner, kernel[0], kernel[1]], fan_in)?)?;
        let bias = bias
            .then(|| Parameter::new(init.by_fan_in(&[out_channels], fan_in)?))
            .transpose()?;
        Ok(Conv2d {
            weight,
            bias,
            options,
        })
    }
}

impl Module for Conv2d {
    fn name(&self) -> &'static str {
        "Conv2d"
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let bias = self.bias.as_ref().map(Parameter::tensor);
        x.conv2d(&self.weight.tensor(), bias.as_ref(), self.options)
    }

    fn forward_relu(&self, x: &Tensor) -> Option<Result<Tensor>> {
        let bias = self.bias.as_ref().map(Parameter::tensor);
        Some(x.conv2d_relu(&self.weight.tensor(), bias.as_ref(), self.options))
    }

    fn collect(&self, prefix: &str, into: &mut Vec<Entry>) {
        entry(into, prefix, "weight", Kind::Parameter, &self.weight);
        if let Some(bias) = &self.bias {
            entry(into, prefix, "bias", Kind::Parameter, bias);
        }
    }
}
