//! The devices of a machine, behind a trait so that lessons never name a backend.

use tensor::Device;

use crate::environment::{DeviceFacts, DeviceKind, Diagnosis};
use crate::error::LessonError;
use crate::host::LocalFuture;
use crate::nearest::nearest;

/// The devices of a machine.
pub trait Devices {
    /// Every device that can be opened, `cpu` first. Looks at drivers, opens nothing.
    fn facts(&self) -> LocalFuture<'_, Vec<DeviceFacts>>;

    /// What was found when looking for each kind of device, and why one is missing.
    fn diagnose(&self) -> LocalFuture<'_, Vec<Diagnosis>>;

    /// Opens a device by name, `auto` included. Opening it again gives the same one.
    fn open<'a>(&'a self, name: &'a str) -> LocalFuture<'a, Result<Device, LessonError>>;

    /// Memory of this process (in the browser: of the engine's instance), in bytes, where the system tells.
    fn process_memory(&self) -> Option<u64>;

    /// The devices opened so far.
    fn opened(&self) -> Vec<Device>;

    /// Lets go of every opened device, so that the next `open` starts afresh: after a run that lost one.
    fn forget(&self);
}

/// The device that `auto` stands for: the first real GPU, or else the CPU, which outruns a software adapter.
pub fn automatic(facts: &[DeviceFacts]) -> &str {
    facts
        .iter()
        .find(|d| d.kind != DeviceKind::Cpu && !d.software)
        .map_or("cpu", |d| &d.name)
}

/// The device beside the CPU that a comparison takes for `auto`: a real GPU, or else a software adapter.
pub fn beside_cpu(facts: &[DeviceFacts]) -> Option<&str> {
    let others = || facts.iter().filter(|d| d.kind != DeviceKind::Cpu);
    others()
        .find(|d| !d.software)
        .or_else(|| others().next())
        .map(|d| d.name.as_str())
}

/// The full name of an existing device: `auto` and `wgpu` are spelt out, anything unknown is refused.
pub fn resolve(name: &str, facts: &[DeviceFacts]) -> Result<String, LessonError> {
    let first = |kind| {
        facts
            .iter()
            .find(|d| d.kind == kind)
            .map(|d| d.name.clone())
    };
    let found = match name {
        "auto" => Some(automatic(facts).to_string()),
        "wgpu" => first(DeviceKind::Wgpu),
        "cuda" => first(DeviceKind::Cuda),
        _ => facts
            .iter()
            .find(|d| d.name == name)
            .map(|d| d.name.clone()),
    };
    found.ok_or_else(|| LessonError::UnknownDevice {
        name: name.into(),
        nearest: nearest(name, facts.iter().map(|d| d.name.as_str())),
        known: facts.iter().map(|d| d.name.clone()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(software: &[bool]) -> Vec<DeviceFacts> {
        let cpu = DeviceFacts::named("cpu", DeviceKind::Cpu);
        let wgpu = software
            .iter()
            .enumerate()
            .map(|(i, &software)| DeviceFacts {
                software,
                ..DeviceFacts::named(&format!("wgpu:{i}"), DeviceKind::Wgpu)
            });
        std::iter::once(cpu).chain(wgpu).collect()
    }

    #[test]
    fn auto_prefers_a_real_gpu_and_then_the_cpu() {
        assert_eq!(automatic(&facts(&[true, false])), "wgpu:1");
        assert_eq!(automatic(&facts(&[true])), "cpu");
        assert_eq!(beside_cpu(&facts(&[true, false])), Some("wgpu:1"));
        assert_eq!(beside_cpu(&facts(&[true])), Some("wgpu:0"));
        assert_eq!(beside_cpu(&facts(&[])), None);
    }

    #[test]
    fn an_unknown_device_names_the_nearest_and_all() {
        let here = facts(&[true]);
        assert_eq!(resolve("wgpu", &here).unwrap(), "wgpu:0");
        let e = resolve("wgpu:7", &here).unwrap_err();
        assert_eq!(e.to_string(), "no device `wgpu:7` on this machine");
        assert_eq!(e.help().unwrap(), "did you mean `wgpu:0`?");
        let e = resolve("cuda:0", &facts(&[])).unwrap_err();
        assert_eq!(
            e.help().unwrap(),
            "the devices here are: cpu; `doctor` says why another is missing"
        );
    }
}
