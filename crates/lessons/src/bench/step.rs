//! Training steps of fixed networks: forward, loss, backward, optimiser, and the loss read back.

use nn::optim::{Adam, AdamConfig, Optimizer, Sgd, SgdConfig};
use nn::{Init, Module, ModuleExt, Sequential, models};
use tensor::random::Generator;
use tensor::{ClassLoss, Device, Tensor};

use crate::error::LessonError;
use crate::inputs::uniform;

/// Images a step.
const BATCH: usize = 64;
const CLASSES: usize = 10;

/// What is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// LeNet on colour images of this size, by SGD with momentum.
    LeNet {
        /// Height and width.
        size: usize,
    },
    /// 784-128-10, by Adam.
    Mlp,
}

/// A network, its optimiser and one batch, on a device.
pub struct Trainer {
    layers: Sequential,
    optimizer: Box<dyn Optimizer>,
    input: Tensor,
    target: Tensor,
}

impl Step {
    /// The shared name of the case.
    pub fn name(self) -> String {
        match self {
            Step::LeNet { size } => format!("3x{size}x{size}"),
            Step::Mlp => "784-128-10".into(),
        }
    }

    /// Arithmetic of a step in products and convolutions: forward, and twice as much backward, except that the first layer's
    /// input needs no gradient.
    pub fn flops(self) -> f64 {
        let layers: Vec<f64> = match self {
            Step::Mlp => vec![784.0 * 128.0, 128.0 * 10.0],
            Step::LeNet { size } => {
                let half = size as f64 / 2.0;
                let inner = half - 4.0;
                let quarter = inner / 2.0;
                vec![
                    (size as f64).powi(2) * 6.0 * 75.0,
                    inner.powi(2) * 16.0 * 150.0,
                    quarter.powi(2) * 16.0 * 120.0,
                    120.0 * 84.0,
                    84.0 * 10.0,
                ]
            }
        };
        let products: f64 = layers.iter().sum();
        2.0 * BATCH as f64 * (3.0 * products - layers[0])
    }

    /// Sets everything up on a device.
    pub fn prepare(self, device: &Device) -> Result<Trainer, LessonError> {
        let generator = Generator::new(0);
        let init = Init::new(device, &generator);
        let (layers, shape) = match self {
            Step::LeNet { size } => (
                models::lenet(size, 2, CLASSES, &init)?,
                vec![BATCH, 3, size, size],
            ),
            Step::Mlp => (models::mlp(784, 128, CLASSES, &init)?, vec![BATCH, 784]),
        };
        let parameters = layers.parameters();
        let optimizer: Box<dyn Optimizer> = match self {
            Step::LeNet { .. } => Box::new(Sgd::new(
                parameters,
                SgdConfig {
                    lr: 0.01,
                    momentum: 0.9,
                    ..SgdConfig::default()
                },
            )?),
            Step::Mlp => Box::new(Adam::new(parameters, AdamConfig::default())?),
        };
        let numbers = uniform(shape.iter().product(), 0, 0);
        let classes: Vec<i64> = (0..BATCH).map(|i| (i % CLASSES) as i64).collect();
        Ok(Trainer {
            layers,
            optimizer,
            input: Tensor::from_slice(&numbers, &shape, device)?,
            target: Tensor::from_slice(&classes, &[BATCH], device)?,
        })
    }
}

impl Trainer {
    /// One step; it ends when its loss is here.
    pub async fn step(&mut self) -> Result<f64, LessonError> {
        self.optimizer.zero_grad();
        let loss = self
            .layers
            .forward(&self.input)?
            .cross_entropy(&self.target, ClassLoss::default())?;
        loss.backward()?;
        self.optimizer.step()?;
        let loss = loss.detach().item().await?;
        self.input.device().synchronize().await?;
        Ok(loss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_lower_the_loss_on_their_one_batch() {
        for step in [Step::Mlp, Step::LeNet { size: 32 }] {
            let mut trainer = step.prepare(&Device::cpu()).unwrap();
            let losses: Vec<f64> = (0..30)
                .map(|_| pollster::block_on(trainer.step()).unwrap())
                .collect();
            assert!(
                (losses[0] - 10f64.ln()).abs() < 0.2,
                "{step:?}: {}",
                losses[0]
            );
            assert!(
                losses.windows(2).all(|w| w[1] < w[0]),
                "{step:?}: {losses:?}"
            );
        }
    }

    #[test]
    fn arithmetic_is_counted_by_layer() {
        // 2 * 64 * (2 * 784 * 128 + 3 * 128 * 10)
        assert_eq!(Step::Mlp.flops(), 26_181_632.0);
    }
}
