//! The adapter that these tests run on.

use tensor::{Device, Error};
use tensor_wgpu::OpenOptions;

/// The first adapter. Where `TENSORSCOPE_TEST_DEVICES` asks for WGSL a missing one is a failure, elsewhere a printed skip;
/// one that is there and cannot be opened is always a failure.
pub fn open(options: OpenOptions) -> Option<Device> {
    let asked = std::env::var("TENSORSCOPE_TEST_DEVICES").is_ok_and(|named| named.contains("wgpu"));
    match pollster::block_on(tensor_wgpu::open_with(0, options)) {
        Ok(device) => Some(device),
        Err(error @ Error::DeviceMissing { .. }) if !asked => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}
