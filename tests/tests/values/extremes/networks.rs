//! Layers, optimisers and schedules with arguments that make no sense.

use super::{NUMBERS, SIZES, Tried, leaf, shapes};
use nn::optim::{AdamConfig, SgdConfig};
use nn::scheduler::{CosineAnnealingLr, LinearLr, OneCycleLr, Scheduler, StepLr};
use nn::{
    Adam, AvgPool2d, BatchNorm1d, BatchNorm2d, Conv2d, Dropout, LayerNorm, Linear, MaxPool2d,
    Module, ModuleExt, Optimizer, Sgd, models,
};
use tensor::random::Generator;
use tensor::{Conv2dOptions, Device, Result, Tensor};

/// Try them all.
pub(super) fn try_all(tried: &mut Tried, device: &Device) {
    let generator = Generator::new(0);
    let init = nn::Init::new(device, &generator);
    let forward = |module: &dyn Module, shape: &[usize]| module.forward(&leaf(shape, device));
    for a in SIZES {
        for b in SIZES {
            let label = |name: &str| format!("{name}({a}, {b}) on {}", device.id());
            for shape in shapes() {
                let label = |name: &str| format!("{} of {shape:?}", label(name));
                tried.call(
                    || label("Linear"),
                    || forward(&Linear::new(a, b, true, &init)?, &shape),
                );
                for kernel in [[3, 3], [a, b], [0, 1]] {
                    let layer = || Conv2d::new(a, b, kernel, Conv2dOptions::default(), true, &init);
                    tried.call(|| label("Conv2d"), || forward(&layer()?, &shape));
                }
                tried.call(
                    || label("LayerNorm"),
                    || forward(&LayerNorm::new(&[a, b], &init)?, &shape),
                );
                tried.call(
                    || label("BatchNorm1d"),
                    || forward(&BatchNorm1d::new(a, &init)?, &shape),
                );
                tried.call(
                    || label("BatchNorm2d"),
                    || forward(&BatchNorm2d::new(b, &init)?, &shape),
                );
                tried.call(
                    || label("MaxPool2d"),
                    || forward(&MaxPool2d::with([a, a], [b, b], [0, 0]), &shape),
                );
                tried.call(
                    || label("AvgPool2d"),
                    || forward(&AvgPool2d::with([2, 2], [a, b], [b, a]), &shape),
                );
            }
            tried.call(
                || label("lenet"),
                || forward(&models::lenet(a, b, 10, &init)?, &[1, 3, 32, 32]),
            );
            tried.call(
                || label("mlp"),
                || forward(&models::mlp(3, a, b, &init)?, &[2, 3]),
            );
            tried.call(
                || label("schedules"),
                || {
                    let rates = [
                        StepLr::new(0.1, a, 0.5)?.rate(b),
                        CosineAnnealingLr::new(0.1, a, 0.0)?.rate(b),
                        LinearLr::new(0.1, 0.5, 1.0, a)?.rate(b),
                        OneCycleLr::new(0.1, a)?.rate(b),
                    ];
                    Tensor::scalar(rates.iter().sum::<f64>() as f32, device)
                },
            );
        }
    }
    for a in NUMBERS {
        let label = |name: &str| format!("{name}({a:e}) on {}", device.id());
        tried.call(
            || label("Dropout"),
            || forward(&Dropout::new(a, Generator::new(1))?, &[3]),
        );
        let stepped = |make: &dyn Fn(Vec<nn::Parameter>) -> Result<Box<dyn Optimizer>>| {
            let layer = Linear::new(3, 2, true, &init)?;
            let mut optimizer = make(layer.parameters())?;
            for _ in 0..2 {
                optimizer.zero_grad();
                layer
                    .forward(&leaf(&[4, 3], device))?
                    .sum_all()?
                    .backward()?;
                nn::clip_grad_norm(&layer.parameters(), a)?;
                optimizer.step()?;
                optimizer.set_lr(a);
            }
            Ok(layer.parameters()[0].tensor().detach())
        };
        for b in NUMBERS {
            let label = |name: &str| format!("{name}({a:e}, {b:e}) on {}", device.id());
            let sgd = SgdConfig {
                lr: a,
                momentum: b,
                weight_decay: a,
                ..SgdConfig::default()
            };
            tried.call(
                || label("SGD"),
                || stepped(&|p| Ok(Box::new(Sgd::new(p, sgd)?))),
            );
            let adam = AdamConfig {
                lr: a,
                betas: (b, a),
                eps: b,
                ..AdamConfig::default()
            };
            tried.call(
                || label("Adam"),
                || stepped(&|p| Ok(Box::new(Adam::new(p, adam)?))),
            );
            tried.call(
                || label("LinearLR"),
                || {
                    let rate = LinearLr::new(a, b, a, 3)?.rate(1);
                    Tensor::scalar(rate as f32, device)
                },
            );
        }
    }
}
