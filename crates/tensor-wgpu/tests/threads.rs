//! One device in the hands of several threads.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test that unwraps what it did not get has failed

mod adapter;

use pollster::block_on;
use tensor::Tensor;
use tensor_wgpu::OpenOptions;

/// Each launches, reads back and waits in its own time; each gets its own results.
#[test]
fn threads_share_a_device() {
    let Some(device) = adapter::open(OpenOptions::default()) else {
        return;
    };
    std::thread::scope(|scope| {
        for thread in 0..4u8 {
            let device = &device;
            scope.spawn(move || {
                for round in 0..150u16 {
                    let number = f32::from(thread) * 40.0 + f32::from(round % 40);
                    let x = Tensor::from_slice(&[number; 300], &[300], device).unwrap();
                    let y = x.add_scalar(0.5).unwrap().mul(&x).unwrap();
                    let want = (number + 0.5) * number;
                    assert_eq!(block_on(y.to_vec::<f32>()).unwrap(), [want; 300]);
                    block_on(device.synchronize()).unwrap();
                    assert_eq!(
                        block_on(y.sum_all().unwrap().item()).unwrap(),
                        f64::from(want * 300.0)
                    );
                }
            });
        }
    });
}
