//! Which devices a suite runs on.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use tensor::{Device, DeviceId, DeviceKind};

/// The devices named in `TENSORSCOPE_TEST_DEVICES` (`cpu` by default). One that is named and missing is a failure;
/// one that is not named is a printed skip.
pub fn under_test() -> Vec<Device> {
    named().iter().map(|name| open(name)).collect()
}

/// The same, opened for the caller alone: what a test leaves wrong on them surfaces in no other.
pub fn to_spoil() -> Vec<Device> {
    named().iter().map(|name| make(name, parse(name))).collect()
}

fn named() -> Vec<String> {
    let named = std::env::var("TENSORSCOPE_TEST_DEVICES").unwrap_or_else(|_| "cpu".into());
    if !named.contains("wgpu") {
        println!("skipped: wgpu:0 is not in TENSORSCOPE_TEST_DEVICES");
    }
    named
        .split(',')
        .map(str::trim)
        .filter(|s| !s.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Open a device by name: one for the whole process, so that tests which run side by side share it.
pub fn open(name: &str) -> Device {
    static OPENED: Mutex<BTreeMap<DeviceId, Device>> = Mutex::new(BTreeMap::new());
    let id = parse(name);
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(device) = opened.get(&id) {
        return device.clone();
    }
    let device = make(name, id);
    opened.insert(id, device.clone());
    device
}

fn parse(name: &str) -> DeviceId {
    DeviceId::parse(name).unwrap_or_else(|e| panic!("{name}: {e}; {}", e.help()))
}

fn make(name: &str, id: DeviceId) -> Device {
    match id.kind {
        DeviceKind::Cpu => Device::cpu(),
        DeviceKind::Wgpu => pollster::block_on(tensor_wgpu::open(id.index))
            .unwrap_or_else(|e| panic!("{name} was asked for: {e}; {}", e.help())),
        DeviceKind::Cuda => panic!("{name} was asked for, but this build has no CUDA device"),
    }
}
