//! The device at work, on whatever adapter this machine has (lavapipe where there is no GPU).

use tensor::{Device, Tensor};

/// The first adapter, or `None` (said aloud) where the machine has none.
fn device() -> Option<Device> {
    match pollster::block_on(tensor_wgpu::open(0)) {
        Ok(device) => Some(device),
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

#[test]
fn adds_and_reads_back() {
    let Some(device) = device() else { return };
    println!("{:?}", device.facts());
    let a = Tensor::from_slice(&[1.0f32, 2.0, 3.0], &[3], &device).unwrap();
    let b = Tensor::from_slice(&[10.0f32, 20.0, 30.0], &[3], &device).unwrap();
    let sum = a.add(&b).unwrap();
    assert_eq!(
        pollster::block_on(sum.to_vec::<f32>()).unwrap(),
        [11.0, 22.0, 33.0]
    );
}
