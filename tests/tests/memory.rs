//! Training does not grow: neither what the device holds nor the process.

use conformance::devices;
use conformance::step::step;
use nn::optim::AdamConfig;
use nn::{Adam, Init, ModuleExt, models};
use std::sync::{Mutex, PoisonError};
use tensor::random::Generator;
use tensor::{DType, Device, Tensor};

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
    let (mut early, mut process) = (None, [None; 2]);
    for number in 0..2000 {
        let x = Tensor::from_slice(&pixels, &[64, 784], device).unwrap();
        let y = Tensor::from_slice(&labels, &[64], device).unwrap();
        let loss = step(&model, &mut optimizer, &x, &y);
        assert!(pollster::block_on(loss.item()).unwrap().is_finite());
        if number == 50 {
            early = Some(device.backend().memory().stats());
            process[0] = resident();
        }
        // By now every thread has helped in every kind of launch, and has its scratch memory.
        if number == 500 {
            process[1] = resident();
        }
    }
    let stats = early.unwrap();
    let now = device.backend().memory().stats();
    let held = |s: &tensor::memory::MemoryStats| (s.reserved, s.segments, s.raw_allocations);
    assert_eq!(
        held(&now),
        held(&stats),
        "{}: bytes reserved, segments, segments ever asked for",
        device.id()
    );
    let ([Some(first), Some(before)], Some(after)) = (process, resident()) else {
        println!("skipped: this system does not say how large the process is");
        return;
    };
    let grown = (after as f64 - before as f64) / 1e6;
    println!(
        "{}: {:.2} MB on the device; the process {:.2} MB after 50 steps, {:.2} after 500, {grown:+.2} after 2000",
        device.id(),
        now.reserved as f64 / 1e6,
        first as f64 / 1e6,
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

/// Held by each test: what one takes is not the other's.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn two_thousand_steps_take_no_more_memory_than_fifty() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for device in devices::under_test() {
        train(&device);
    }
}

/// A product of 33 MB and its gradients hold no more than what they must: the product, its slope, and little else.
#[test]
fn a_product_and_its_gradients_stay_under_200_mb() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for device in devices::under_test() {
        let leaf = |shape: &[usize]| {
            let x = Tensor::ones(shape, DType::F32, &device).unwrap();
            x.requires_grad_(true).unwrap();
            x
        };
        let memory = device.backend().memory();
        memory.empty_cache();
        memory.reset_peaks();
        let before = memory.stats();
        let (a, b) = (leaf(&[2048, 256]), leaf(&[256, 4096]));
        let loss = a.matmul(&b).unwrap().sum_all().unwrap();
        loss.backward().unwrap();
        let slope = a.grad().unwrap().narrow(0, 7, 1).unwrap();
        let slope = pollster::block_on(slope.to_vec::<f32>()).unwrap();
        assert_eq!(slope, vec![4096.0; 256]);
        let peak = memory.stats().peak_reserved - before.reserved;
        println!("{}: {:.1} MB at most", device.id(), peak as f64 / 1e6);
        assert!(peak < 200_000_000, "{}: {peak} bytes", device.id());
    }
}
