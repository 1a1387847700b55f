//! The linear layer.

use super::entry;
use crate::init::Init;
use crate::module::{Entry, Kind, Module, Parameter};
use tensor::{Result, Tensor};

/// `y = x W^T + b`, with `W` of shape `[out, in]`.
pub struct Linear {
    /// `[out_features, in_features]`.
    pub weight: Parameter,
    /// `[out_features]`.
    pub bias: Option<Parameter>,
}

impl Linear {
    /// PyTorch's default initialisation.
    pub fn new(
        in_features: usize,
        out_features: usize,
        bias: bool,
        init: &Init<'_>,
    ) -> Result<Linear> {
        let weight = Parameter::new(init.by_fan_in(&[out_features, in_features], in_features)?)?;
        let bias = bias
            .then(|| Parameter::new(init.by_fan_in(&[out_features], in_features)?))
            .transpose()?;
        Ok(Linear { weight, bias })
    }
}

impl Module for Linear {
    fn name(&self) -> &'static str {
        "Linear"
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let bias = self.bias.as_ref().map(Parameter::tensor);
        x.linear(&self.weight.tensor(), bias.as_ref())
    }

    fn forward_relu(&self, x: &Tensor) -> Option<Result<Tensor>> {
        let bias = self.bias.as_ref().map(Parameter::tensor);
        Some(x.linear_relu(&self.weight.tensor(), bias.as_ref()))
    }

    fn collect(&self, prefix: &str, into: &mut Vec<Entry>) {
        entry(into, prefix, "weight", Kind::Parameter, &self.weight);
        if let Some(bias) = &self.bias {
            entry(into, prefix, "bias", Kind::Parameter, bias);
        }
    }
}
