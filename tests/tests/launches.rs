//! How many kernels a training step launches: what fusing saves, and what creeps back.

use conformance::devices;
use conformance::step::step;
use nn::optim::{AdamConfig, SgdConfig};
use nn::{Adam, Init, ModuleExt, Optimizer, Sequential, Sgd, models};
use tensor::fused::unfused;
use tensor::random::Generator;
use tensor::{Device, Tensor};

/// Launches of a step of LeNet and of the perceptron, merged and apart.
const MOST: [u64; 4] = [40, 60, 14, 26];

/// Launches of a step whose loss stays on the device.
fn launches(
    model: &Sequential,
    optimizer: &mut dyn Optimizer,
    shape: &[usize],
    device: &Device,
) -> u64 {
    let x = Tensor::randn(shape, &Generator::new(1), device).unwrap();
    let labels: Vec<i64> = (0..shape[0] as i64).map(|i| i % 10).collect();
    let y = Tensor::from_slice(&labels, &[shape[0]], device).unwrap();
    let mut counted = 0;
    // The first step makes the optimiser's state.
    for _ in 0..2 {
        let before = device.trace().launches();
        step(model, optimizer, &x, &y);
        counted = device.trace().launches() - before;
    }
    counted
}

#[test]
fn a_step_launches_no_more_than_it_did() {
    for device in devices::to_spoil() {
        let generator = Generator::new(0);
        let init = Init::new(&device, &generator);
        let config = SgdConfig {
            lr: 0.01,
            momentum: 0.9,
            ..SgdConfig::default()
        };
        let of_lenet = || {
            let lenet = models::lenet(32, 2, 10, &init).unwrap();
            let mut sgd = Sgd::new(lenet.parameters(), config).unwrap();
            launches(&lenet, &mut sgd, &[8, 3, 32, 32], &device)
        };
        let of_mlp = || {
            let mlp = models::mlp(784, 128, 10, &init).unwrap();
            let mut adam = Adam::new(mlp.parameters(), AdamConfig::default()).unwrap();
            launches(&mlp, &mut adam, &[8, 784], &device)
        };
        let counts = [of_lenet(), unfused(of_lenet), of_mlp(), unfused(of_mlp)];
        println!(
            "{}: LeNet, its parts, perceptron, its parts: {counts:?} launches a step",
            device.id()
        );
        for (count, most) in counts.into_iter().zip(MOST) {
            assert!(count <= most, "{}: {counts:?}, {MOST:?}", device.id());
        }
    }
}
