//! A training step as every program writes it.

use nn::{Module, Optimizer, Sequential};
use tensor::{ClassLoss, Tensor};

/// Forward, cross entropy, backward, update. The loss before the update stays on the device.
pub fn step(model: &Sequential, optimizer: &mut dyn Optimizer, x: &Tensor, y: &Tensor) -> Tensor {
    optimizer.zero_grad();
    let loss = model
        .forward(x)
        .unwrap()
        .cross_entropy(y, ClassLoss::default())
        .unwrap();
    loss.backward().unwrap();
    optimizer.step().unwrap();
    loss
}
