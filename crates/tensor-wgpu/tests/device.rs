//! The device at work, on whatever adapter this machine has (lavapipe where there is no GPU).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test that unwraps what it did not get has failed

mod adapter;

use pollster::block_on;
use tensor::{Bool, DType, Device, Error, Tensor};
use tensor_wgpu::{ForcedLimits, OpenOptions};

/// The first adapter, or `None` (said aloud) where the machine has none.
fn device() -> Option<Device> {
    adapter::open(OpenOptions::default())
}

fn tensor(values: &[f32], shape: &[usize], device: &Device) -> Tensor {
    Tensor::from_slice(values, shape, device).unwrap()
}

fn read(t: &Tensor) -> Vec<f32> {
    block_on(t.to_vec::<f32>()).unwrap()
}

/// A number that depends on its index alone.
fn ramp(n: usize) -> Vec<f32> {
    (0..n)
        .map(|i| ((i * 37) % 101) as f32 / 50.0 - 1.0)
        .collect()
}

/// Something of everything; its result is known from the CPU.
fn workout(device: &Device) -> Vec<f32> {
    let x = tensor(&ramp(60 * 70), &[60, 70], device);
    let w = tensor(&ramp(70 * 50), &[70, 50], device);
    let y = x.matmul(&w).unwrap().tanh().unwrap();
    let z = y.softmax(1).unwrap().sum(&[0], false).unwrap();
    let g = w.t().unwrap().matmul(&x.t().unwrap()).unwrap();
    let total = g.sum_all().unwrap().reshape(&[1]).unwrap();
    let mask = y
        .gt(&y
            .transpose(0, 1)
            .unwrap()
            .slice(0, 0, 1, 1)
            .unwrap()
            .sum_all()
            .unwrap())
        .unwrap();
    let counts = mask.sum(&[1], false).unwrap().to_dtype(DType::F32).unwrap();
    Tensor::cat(&[&z, &total, &counts], 0)
        .unwrap()
        .to_vec_now::<f32>()
        .unwrap()
}

fn assert_close(got: &[f32], want: &[f32]) {
    assert_eq!(got.len(), want.len());
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        assert!(
            (g - w).abs() <= 2e-5 * w.abs() + 1e-4,
            "element {i}: {g}, not {w}"
        );
    }
}

#[test]
fn facts_name_the_adapter_and_the_choices() {
    let Some(device) = device() else { return };
    let facts = device.facts();
    println!("{facts:#?}");
    assert!(!facts.name.is_empty() && !facts.interface.is_empty());
    assert!(facts.choices.contains_key("matmul"));
    let listed = block_on(tensor_wgpu::adapters());
    assert_eq!(listed[0].id, device.id());
    assert_eq!(listed[0].facts.name, facts.name);
    // The tuning run leaves no trace in the user's account.
    assert_eq!(device.memory().stats().allocations, 0);
    assert_eq!(device.trace().launches(), 0);
}

#[test]
fn an_adapter_that_is_not_there_says_what_is() {
    let error = block_on(tensor_wgpu::open(99)).unwrap_err();
    assert!(matches!(error, Error::DeviceMissing { .. }), "{error}");
    assert!(!error.help().is_empty());
}

#[test]
fn float64_is_refused_by_name() {
    let Some(device) = device() else { return };
    let error = Tensor::from_slice(&[1.0f64], &[1], &device).unwrap_err();
    assert!(
        matches!(
            error,
            Error::UnsupportedDType {
                dtype: DType::F64,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn the_workout_agrees_with_the_cpu_under_every_limit() {
    let want = workout(&Device::cpu());
    let limits = |f: ForcedLimits| OpenOptions {
        force_limits: Some(f),
        memory_limit: None,
    };
    for options in [
        OpenOptions::default(),
        limits(ForcedLimits {
            webgpu_defaults: true,
            ..Default::default()
        }),
        limits(ForcedLimits {
            webgpu_defaults: true,
            invocations: Some(128),
            ..Default::default()
        }),
        limits(ForcedLimits {
            invocations: Some(64),
            ..Default::default()
        }),
    ] {
        let Some(device) = adapter::open(options) else {
            return;
        };
        assert_close(&workout(&device), &want);
        // Again, from the caches.
        assert_close(&workout(&device), &want);
    }
}

#[test]
fn operands_may_share_memory() {
    let Some(device) = device() else { return };
    let x = tensor(&ramp(16), &[4, 4], &device);
    let want = tensor(&ramp(16), &[4, 4], &Device::cpu());
    assert_eq!(read(&x.mul(&x).unwrap()), read(&want.mul(&want).unwrap()));
    assert_eq!(
        read(&x.add(&x.t().unwrap()).unwrap()),
        read(&want.add(&want.t().unwrap()).unwrap())
    );
    assert_close(
        &read(&x.matmul(&x).unwrap()),
        &read(&want.matmul(&want).unwrap()),
    );
    assert_close(
        &read(&x.matmul(&x.t().unwrap()).unwrap()),
        &read(&want.matmul(&want.t().unwrap()).unwrap()),
    );
    // In place, from another part of the same storage.
    x.narrow(0, 0, 2)
        .unwrap()
        .add_(&x.narrow(0, 2, 2).unwrap())
        .unwrap();
    want.narrow(0, 0, 2)
        .unwrap()
        .add_(&want.narrow(0, 2, 2).unwrap())
        .unwrap();
    assert_eq!(read(&x), read(&want));
}

#[test]
fn writes_wait_for_the_launches_before_them() {
    let Some(device) = device() else { return };
    let batching = device.backend().batching().unwrap();
    for size in [1, 3, 1000] {
        batching.set_batch_size(size);
        let x = Tensor::zeros(&[100], DType::F32, &device).unwrap();
        let mut sums = Vec::new();
        for i in 0..20 {
            x.copy_(
                &Tensor::full(&[100], f64::from(i), DType::F32, &Device::cpu())
                    .unwrap()
                    .to_device(&device)
                    .unwrap(),
            )
            .unwrap();
            sums.push(x.sum_all().unwrap());
        }
        let got: Vec<f32> = sums.iter().map(|s| read(s)[0]).collect();
        assert_eq!(
            got,
            (0..20).map(|i| (i * 100) as f32).collect::<Vec<_>>(),
            "batches of {size}"
        );
        // Memory that goes round: a block freed by one tensor is written for the next while launches wait.
        let mut last = tensor(&[0.0; 64], &[64], &device);
        for i in 1..=50 {
            let fresh = tensor(&[i as f32; 64], &[64], &device);
            last = last.add(&fresh).unwrap();
        }
        assert_eq!(read(&last), [1275.0; 64], "batches of {size}");
    }
}

#[test]
fn batches_are_counted_and_their_size_matters() {
    let Some(device) = device() else { return };
    let batching = device.backend().batching().unwrap();
    let submissions = |size: usize| {
        batching.set_batch_size(size);
        let x = tensor(&[1.0; 16], &[16], &device);
        block_on(device.synchronize()).unwrap();
        let before = batching.submissions();
        let mut y = x.alias();
        for _ in 0..64 {
            y = y.add_scalar(1.0).unwrap();
        }
        assert_eq!(read(&y), [65.0; 16]);
        batching.submissions() - before
    };
    assert_eq!(submissions(1), 65, "64 launches and the read");
    assert_eq!(submissions(16), 5);
    assert_eq!(submissions(1000), 1);
}

#[test]
fn bytes_go_anywhere() {
    let Some(device) = device() else { return };
    let backend = device.backend();
    let buffer = backend.alloc(64).unwrap();
    let mut want: Vec<u8> = (0..64).collect();
    backend.upload(&buffer, 0, &want).unwrap();
    for (offset, length) in [(1, 1), (5, 7), (3, 4), (8, 3), (61, 3), (0, 64), (2, 33)] {
        let piece: Vec<u8> = (0..length).map(|i| 200u8.wrapping_add(i as u8)).collect();
        backend.upload(&buffer, offset, &piece).unwrap();
        want[offset..offset + length].copy_from_slice(&piece);
        let read = |offset, length| {
            let mut bytes = vec![0; length];
            block_on(backend.download(&buffer, offset, &mut bytes)).unwrap();
            bytes
        };
        assert_eq!(read(0, 64), want, "{length} bytes at {offset}");
        assert_eq!(read(offset, length), piece);
    }
    assert!(backend.upload(&buffer, 1000, &[1]).is_err());
    backend.free(&buffer);
}

#[test]
fn empty_tensors_launch_nothing_and_reduce_to_the_identity() {
    let Some(device) = device() else { return };
    let empty = Tensor::zeros(&[3, 0], DType::F32, &device).unwrap();
    assert_eq!(read(&empty.add(&empty).unwrap()), [0f32; 0]);
    assert_eq!(read(&empty.sum(&[1], false).unwrap()), [0.0; 3]);
    let product = empty
        .matmul(&Tensor::zeros(&[0, 2], DType::F32, &device).unwrap())
        .unwrap();
    assert_eq!(read(&product), [0.0; 6]);
}

#[test]
fn a_bad_index_surfaces_at_the_next_await_and_only_once() {
    let Some(device) = device() else { return };
    let x = tensor(&ramp(12), &[4, 3], &device);
    let index = Tensor::from_slice(&[0i64, 7, -9], &[3], &device).unwrap();
    let picked = x.index_select(0, &index).unwrap();
    let error = block_on(picked.to_vec::<f32>()).unwrap_err();
    assert!(
        matches!(error, Error::IndexValue { size: 4, .. }),
        "{error}"
    );
    // Waiting raises it too, and afterwards all is well.
    x.index_select(0, &index).unwrap();
    assert!(block_on(device.synchronize()).is_err());
    block_on(device.synchronize()).unwrap();
    let good = Tensor::from_slice(&[3i64], &[1], &device).unwrap();
    assert_eq!(read(&x.index_select(0, &good).unwrap()), ramp(12)[9..]);
}

#[test]
fn a_lost_device_is_an_error_and_another_can_be_opened() {
    let Some(lost) = device() else { return };
    let x = tensor(&ramp(8), &[8], &lost);
    let y = x.add(&x).unwrap();
    lost.destroy();
    let gone = |e: Error| matches!(e, Error::DeviceLost { .. });
    assert!(gone(x.add(&x).unwrap_err()));
    assert!(gone(block_on(y.to_vec::<f32>()).unwrap_err()));
    assert!(gone(block_on(lost.synchronize()).unwrap_err()));
    assert!(gone(Tensor::zeros(&[8], DType::F32, &lost).unwrap_err()));
    drop((x, y));
    let Some(fresh) = device() else { return };
    assert!(!fresh.same(&lost));
    assert_close(&workout(&fresh), &workout(&Device::cpu()));
}

#[test]
fn running_out_of_memory_is_an_error_and_freeing_helps() {
    let options = OpenOptions {
        memory_limit: Some(64 << 20),
        force_limits: None,
    };
    let Some(device) = adapter::open(options) else {
        return;
    };
    let out = |e: Error| matches!(e, Error::OutOfMemory { .. });
    // 4.4 GB, of a device with 64 MiB.
    assert!(out(
        Tensor::zeros(&[1_100_000_000], DType::F32, &device).unwrap_err()
    ));
    let mut held = Vec::new();
    let refused = loop {
        match Tensor::ones(&[2 << 20], DType::F32, &device) {
            Ok(t) => held.push(t),
            Err(error) => break error,
        }
        assert!(held.len() < 100);
    };
    assert!(out(refused));
    assert!(held.len() >= 3, "{} tensors of 8 MiB in 64 MiB", held.len());
    drop(held);
    assert_close(&workout(&device), &workout(&Device::cpu()));
    assert!(device.memory().stats().ooms >= 2);
    device.memory().empty_cache();
    assert_eq!(device.memory().stats().reserved, 0);
    // The device's own limit holds without any that is set.
    let Some(device) = adapter::open(OpenOptions::default()) else {
        return;
    };
    assert!(out(
        Tensor::zeros(&[1 << 44], DType::F32, &device).unwrap_err()
    ));
}

#[test]
fn what_exceeds_a_binding_is_split_or_refused_by_type() {
    let limits = ForcedLimits {
        binding: Some(1 << 20),
        ..Default::default()
    };
    let options = OpenOptions {
        force_limits: Some(limits),
        memory_limit: None,
    };
    let Some(device) = adapter::open(options) else {
        return;
    };
    let n = 700_000;
    let x = tensor(&ramp(n), &[n], &device);
    let y = x.mul(&x).unwrap().add_scalar(1.0).unwrap();
    let want: Vec<f32> = ramp(n).iter().map(|v| v * v + 1.0).collect();
    assert_eq!(read(&y), want);
    let mask = x.gt(&y).unwrap();
    let got = block_on(mask.to_vec::<Bool>()).unwrap();
    assert!(
        got.iter()
            .zip(ramp(n).iter().zip(&want))
            .all(|(g, (x, y))| g.get() == (x > y))
    );
    let rows = x.reshape(&[700, 1000]).unwrap();
    let error = rows.softmax(1).unwrap_err();
    assert!(matches!(error, Error::BindingTooLarge { .. }), "{error}");
}

#[test]
fn memory_stays_flat_over_many_steps() {
    let Some(device) = device() else { return };
    let w = tensor(&ramp(64 * 10), &[64, 10], &device);
    let step = || {
        let x = tensor(&ramp(32 * 64), &[32, 64], &device);
        let y = x.matmul(&w).unwrap().softmax(1).unwrap();
        w.add_scaled_(&x.t().unwrap().matmul(&y).unwrap(), -1e-4)
            .unwrap();
    };
    (0..50).for_each(|_| step());
    block_on(device.synchronize()).unwrap();
    let before = device.memory().stats();
    (0..300).for_each(|_| step());
    block_on(device.synchronize()).unwrap();
    let after = device.memory().stats();
    assert_eq!(
        (before.allocated, before.reserved),
        (after.allocated, after.reserved)
    );
    assert_eq!(before.raw_allocations, after.raw_allocations);
}

#[test]
fn sources_are_kept_for_the_trace() {
    let Some(device) = device() else { return };
    device.trace().set_enabled(true);
    let x = tensor(&ramp(8), &[8], &device);
    x.relu().unwrap();
    let events = device.trace().snapshot().events;
    let launch = events
        .iter()
        .find(|e| &*e.name == "relu")
        .expect("the launch is in the trace");
    let source = launch.source.as_ref().expect("with its source");
    assert!(source.starts_with("// relu: x1 = "), "{source}");
    assert_eq!(launch.bytes, 64);
}
