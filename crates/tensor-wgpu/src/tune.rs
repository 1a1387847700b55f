//! The tuning run.

use crate::device::WgpuDevice;
use tensor::Result;

/// Choose between forms of kernels.
pub(crate) async fn tune(device: &WgpuDevice) -> Result<()> {
    let choice = if device.software { "register" } else { "tile" };
    device.lock().matmul = choice;
    Ok(())
}
