//! Training does not grow: neither what the device holds nor the process.

use conformance::devices;
use nn::optim::AdamConfig;
use nn::{Adam, Init, Module, ModuleExt, Optimizer, models};
use tensor::random::Generator;
use tensor::{ClassLoss, DType, Device, Tensor};

/// Bytes of this process that are in memory, where the system says so.
fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|l| l.starts_with("VmRSS:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes << 10)
}

/// As many steps of the perceptron as the lesson's default takes in 25 epochs.
fn train(device: &Device) {
    let generator = Generator::new(0);
    let init = Init {
        device,
        dtype: DType::F32,
        generator: &generator,
    };
    let model = models::mlp(784, 128, 10, &init).unwrap();
    let mut optimizer = Adam::new(model.parameters(), AdamConfig::default()).unwrap();
    let pixels: Vec<f32> = (0..64 * 784).map(|i| (i % 255) as f32 / 255.0).collect();
    let labels: Vec<i64> = (0..64).map(|i| i % 10).collect();
    let mut early = None;
    for step in 0..2000 {
        let x = Tensor::from_slice(&pixels, &[64, 784], device).unwrap();
        let y = Tensor::from_slice(&labels, &[64], device).unwrap();
        optimizer.zero_grad();
        let loss = model
            .forward(&x)
            .unwrap()
            .cross_entropy(&y, ClassLoss::default())
            .unwrap();
        loss.backward().unwrap();
        optimizer.step().unwrap();
        assert!(pollster::block_on(loss.item()).unwrap().is_finite());
        if step == 50 {
            early = Some((device.backend().memory().stats(), resident()));
        }
    }
    let (stats, process) = early.unwrap();
    let now = device.backend().memory().stats();
    let held = |s: &tensor::memory::MemoryStats| (s.reserved, s.segments, s.raw_allocations);
    assert_eq!(
        held(&now),
        held(&stats),
        "{}: bytes reserved, segments, segments ever asked for",
        device.id()
    );
    let Some((before, after)) = process.zip(resident()) else {
        println!("skipped: this system does not say how large the process is");
        return;
    };
    let grown = (after as f64 - before as f64) / 1e6;
    println!(
        "{}: {:.2} MB on the device; the process {:.2} MB after 50 steps, {grown:+.2} after 2000",
        device.id(),
        now.reserved as f64 / 1e6,
        before as f64 / 1e6
    );
    // A leak of one number a step would be 16 kB; of one small tensor a step, 1 MB. The system's allocator itself
    // moves by some hundred kB.
    assert!(
        grown < 1.0,
        "{}: the process grew by {grown} MB",
        device.id()
    );
}

#[test]
fn two_thousand_steps_take_no_more_memory_than_fifty() {
    for device in devices::under_test() {
        train(&device);
    }
}
