//! The machine on which a run was measured.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
pub use tensor::DeviceKind;

/// The machine on which a run was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// Version of this program.
    pub version: String,
    /// Optimised build; figures of an unoptimised one mean little.
    pub optimized: bool,
    /// Operating system, `wasm` in the browser.
    pub os: String,
    /// Instruction set.
    pub arch: String,
    /// Hardware threads that the program may use.
    pub cores: u32,
    /// Threads that the CPU device uses.
    pub threads: u32,
    /// Browser, when the run was in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub browser: Option<String>,
    /// Smallest step of the clock, in seconds.
    pub clock_resolution: f64,
    /// Device that the run used; empty when it used none or all.
    pub device: String,
    /// Every device found.
    pub devices: Vec<DeviceFacts>,
}

impl Environment {
    /// The facts of the device that the run used.
    pub fn used(&self) -> Option<&DeviceFacts> {
        self.devices.iter().find(|d| d.name == self.device)
    }
}

/// What is known of a device without running anything on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceFacts {
    /// Name by which it is opened: `cpu`, `wgpu:0`.
    pub name: String,
    /// Kind.
    pub kind: DeviceKind,
    /// What the maker calls it.
    pub model: String,
    /// Who made it; empty when not told.
    pub vendor: String,
    /// Interface through which it is reached: `Vulkan`, `WebGPU`; empty for the CPU.
    pub api: String,
    /// Driver and its version; empty when not told.
    pub driver: String,
    /// A software adapter: its timings say little about GPUs.
    pub software: bool,
    /// Threads that compute, where that is known.
    #[serde(default)]
    pub threads: u32,
    /// Shares the machine's memory with the processor, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub integrated: Option<bool>,
    /// Memory in bytes, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// Limits by name, such as `max_storage_buffer_binding_size`.
    pub limits: BTreeMap<String, u64>,
    /// Optional features, such as `shader-f16`.
    pub features: Vec<String>,
    /// What the engine chose for this device, such as the matrix kernel that its tuning run found fastest.
    #[serde(default)]
    pub choices: BTreeMap<String, String>,
}

impl DeviceFacts {
    /// A device of which only name and kind are known.
    pub fn named(name: &str, kind: DeviceKind) -> Self {
        DeviceFacts {
            name: name.into(),
            kind,
            model: String::new(),
            vendor: String::new(),
            api: String::new(),
            driver: String::new(),
            software: false,
            threads: 0,
            integrated: None,
            memory: None,
            limits: BTreeMap::new(),
            features: Vec::new(),
            choices: BTreeMap::new(),
        }
    }
}

/// What was found when looking for one kind of device, in the order in which a person should check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// Kind looked for.
    pub kind: DeviceKind,
    /// The checks, the first to make first.
    pub checks: Vec<Check>,
}

/// One check of a diagnosis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What is looked at: driver, build, version, visibility, memory.
    pub step: CheckStep,
    /// What came of it.
    pub outcome: Outcome,
    /// What was seen.
    pub seen: String,
    /// What to do, where something is to be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// What a check looks at; the order is the order in which to check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStep {
    /// Is a driver there and does it answer?
    Driver,
    /// Was this program built with support for it?
    Build,
    /// Are the versions good enough?
    Version,
    /// Is the device visible to this program?
    Visibility,
    /// Is memory free?
    Memory,
}

/// What came of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// In order.
    Ok,
    /// Works, but the figures mean less.
    Warning,
    /// Stands in the way.
    Missing,
    /// Cannot be told from here.
    Unknown,
}
