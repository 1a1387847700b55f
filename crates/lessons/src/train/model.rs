//! What learns: the network, its loss, and the optimiser that changes it.

use nn::optim::{Adam, AdamW, Optimizer, RmsProp, Sgd};
use nn::{Init, Linear, Module, ModuleExt, Sequential, models};
use tensor::fused::unfused;
use tensor::random::Generator;
use tensor::{ClassLoss, DType, Device, Reduction, Tensor};

use super::problem::{FEATURES, Problem};
use crate::error::LessonError;
use crate::params::Params;

/// Names of the models.
pub const NAMES: [&str; 3] = ["mnist-mlp", "lenet", "linreg"];
/// Names of the optimisers.
pub const OPTIMIZERS: [&str; 4] = ["adam", "adamw", "sgd", "rmsprop"];
/// Neurons in the hidden layer of mnist-mlp.
const HIDDEN: usize = 128;
/// Momentum of SGD.
const MOMENTUM: f64 = 0.9;

/// A network that learns.
pub struct Network {
    layers: Sequential,
    optimizer: Box<dyn Optimizer>,
    classes: bool,
    fused: bool,
}

impl Network {
    /// The network that the parameters ask for, with weights from the seed.
    pub fn new(
        params: &Params,
        problem: &Problem,
        seed: u64,
        device: &Device,
    ) -> Result<Network, LessonError> {
        let generator = Generator::new(seed);
        let init = Init::new(device, &generator);
        let shape = problem.input_shape();
        let classes = problem.classes();
        let outputs = classes.unwrap_or(1);
        let layers = match params.text("model")? {
            "lenet" => models::lenet(shape.last().copied().unwrap_or(0), 2, outputs, &init)?,
            "linreg" => Sequential::new().push(Linear::new(FEATURES, 1, true, &init)?),
            _ => models::mlp(shape.iter().product(), HIDDEN, outputs, &init)?,
        };
        let optimizer = optimizer(params.text("optimizer")?, params.float("lr")?, &layers)?;
        Ok(Network {
            layers,
            optimizer,
            classes: classes.is_some(),
            fused: params.bool("fused")?,
        })
    }

    /// How many numbers it learns.
    pub fn parameter_count(&self) -> usize {
        self.layers.parameter_count()
    }

    /// Whether a step is merged into few launches, or runs every operation by itself.
    pub fn set_fused(&mut self, fused: bool) {
        self.fused = fused;
    }

    /// One step on a batch; the loss stays on the device.
    pub fn step(&mut self, input: &Tensor, target: &Tensor) -> Result<Tensor, LessonError> {
        if self.fused {
            self.learn(input, target)
        } else {
            unfused(|| self.learn(input, target))
        }
    }

    fn learn(&mut self, input: &Tensor, target: &Tensor) -> Result<Tensor, LessonError> {
        self.optimizer.zero_grad();
        let output = self.layers.forward(input)?;
        let loss = if self.classes {
            output.cross_entropy(target, ClassLoss::default())?
        } else {
            output.mse_loss(target, Reduction::Mean)?
        };
        loss.backward()?;
        self.optimizer.step()?;
        // The loss alone: with its graph it would hold what the graph saved.
        Ok(loss.detach())
    }

    /// How many of a batch it puts into the right class, or the sum of its losses; stays on the device.
    pub fn evaluate(&self, input: &Tensor, target: &Tensor) -> Result<Tensor, LessonError> {
        tensor::autograd::no_grad(|| {
            let output = self.layers.forward(input)?;
            if !self.classes {
                return Ok(output.mse_loss(target, Reduction::Sum)?);
            }
            let right = output.argmax(Some(1), false)?.eq(target)?;
            Ok(right.to_dtype(DType::F32)?.sum_all()?)
        })
    }

    /// For the hidden line: the largest difference between what was learnt and what is true.
    pub async fn distance_from_truth(&self, problem: &Problem) -> Result<Option<f64>, LessonError> {
        let Problem::Line(line) = problem else {
            return Ok(None);
        };
        let mut learnt = Vec::new();
        for parameter in self.layers.parameters() {
            learnt.extend(parameter.tensor().to_f64s().await?);
        }
        let distances = learnt
            .iter()
            .zip(&line.truth)
            .map(|(l, t)| (l - f64::from(*t)).abs());
        Ok(distances.reduce(f64::max))
    }
}

fn optimizer(name: &str, lr: f64, layers: &Sequential) -> Result<Box<dyn Optimizer>, LessonError> {
    use nn::optim::{AdamConfig, RmsPropConfig, SgdConfig};
    let parameters = layers.parameters();
    Ok(match name {
        "sgd" => Box::new(Sgd::new(
            parameters,
            SgdConfig {
                lr,
                momentum: MOMENTUM,
                ..SgdConfig::default()
            },
        )?),
        "rmsprop" => Box::new(RmsProp::new(
            parameters,
            RmsPropConfig {
                lr,
                ..RmsPropConfig::default()
            },
        )?),
        "adamw" => {
            // PyTorch's default decay.
            Box::new(AdamW::new(
                parameters,
                AdamConfig {
                    lr,
                    weight_decay: 0.01,
                    ..AdamConfig::default()
                },
            )?)
        }
        _ => Box::new(Adam::new(
            parameters,
            AdamConfig {
                lr,
                ..AdamConfig::default()
            },
        )?),
    })
}
