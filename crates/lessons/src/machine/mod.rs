//! This machine: the one place in the lessons that knows which backends there are.

mod checks;

#[cfg(target_arch = "wasm32")]
#[path = "browser.rs"]
mod sight;
#[cfg(not(target_arch = "wasm32"))]
#[path = "native.rs"]
mod sight;

use std::cell::{Cell, RefCell};

use tensor::{Device, DeviceId, Error};

use crate::clock::Clock;
use crate::devices::{Devices, resolve};
use crate::environment::{DeviceFacts, DeviceKind, Diagnosis, Environment};
use crate::error::LessonError;
use crate::host::LocalFuture;

/// The devices of this machine.
#[derive(Default)]
pub struct Machine {
    facts: RefCell<Option<Vec<DeviceFacts>>>,
    opened: RefCell<Vec<Device>>,
    tracing: Cell<bool>,
}

impl Machine {
    /// Nothing is looked at and nothing opened yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether devices record single events from when they are opened.
    pub fn set_tracing(&self, on: bool) {
        self.tracing.set(on);
    }

    async fn look(&self) -> Vec<DeviceFacts> {
        if let Some(facts) = self.facts.borrow().as_ref() {
            return facts.clone();
        }
        let mut facts = vec![DeviceFacts::of(DeviceId::CPU, Device::cpu().facts())];
        for adapter in tensor_wgpu::adapters().await {
            facts.push(DeviceFacts::of(adapter.id, adapter.facts));
        }
        self.facts.replace(Some(facts.clone()));
        facts
    }

    async fn device(&self, name: &str) -> Result<Device, LessonError> {
        let name = resolve(name, &self.look().await)?;
        let id = DeviceId::parse(&name)?;
        let known = self.opened.borrow().iter().find(|d| d.id() == id).cloned();
        if let Some(device) = known {
            // It may have been lost while nobody used it: by a laptop's sleep, or an update of its driver.
            match device.synchronize().await {
                Err(Error::DeviceLost { .. }) => self.opened.borrow_mut().retain(|d| d.id() != id),
                _ => return Ok(device),
            }
        }
        let device = if name == "cpu" {
            Device::cpu()
        } else {
            tensor_wgpu::open(id.index).await?
        };
        device.trace().set_enabled(self.tracing.get());
        self.opened.borrow_mut().push(device.clone());
        Ok(device)
    }
}

impl Devices for Machine {
    fn facts(&self) -> LocalFuture<'_, Vec<DeviceFacts>> {
        Box::pin(self.look())
    }

    fn diagnose(&self) -> LocalFuture<'_, Vec<Diagnosis>> {
        Box::pin(async {
            let facts = self.look().await;
            let sight = sight::look();
            vec![
                checks::cpu(&sight, &facts),
                checks::wgpu(&sight, &facts),
                checks::cuda(&sight),
            ]
        })
    }

    fn open<'a>(&'a self, name: &'a str) -> LocalFuture<'a, Result<Device, LessonError>> {
        Box::pin(self.device(name))
    }

    fn process_memory(&self) -> Option<u64> {
        sight::process_memory()
    }

    fn opened(&self) -> Vec<Device> {
        self.opened.borrow().clone()
    }

    fn forget(&self) {
        self.opened.borrow_mut().clear();
        self.facts.replace(None);
    }
}

impl DeviceFacts {
    /// What a device says of itself, under the name by which it is opened.
    fn of(id: DeviceId, facts: tensor::device::DeviceFacts) -> Self {
        DeviceFacts {
            name: id.to_string(),
            kind: id.kind,
            model: facts.name,
            vendor: facts.vendor,
            api: facts.interface,
            driver: facts.driver,
            software: facts.software,
            threads: facts.threads as u32,
            integrated: None,
            memory: None,
            limits: facts.limits,
            features: facts.features,
            choices: facts.choices,
        }
    }
}

impl Environment {
    /// Looks at this machine.
    pub async fn survey(devices: &dyn Devices, clock: &dyn Clock) -> Self {
        let devices = devices.facts().await;
        let cpu = devices.iter().find(|d| d.kind == DeviceKind::Cpu);
        let threads = cpu.map_or(1, |d| d.threads.max(1));
        #[cfg(target_arch = "wasm32")]
        let (cores, browser) = (sight::cores(), sight::user_agent());
        #[cfg(not(target_arch = "wasm32"))]
        let (cores, browser) = (
            std::thread::available_parallelism()
                .ok()
                .map(|n| n.get() as u32),
            None,
        );
        Environment {
            version: env!("CARGO_PKG_VERSION").into(),
            optimized: !cfg!(debug_assertions),
            os: if cfg!(target_arch = "wasm32") {
                "browser".into()
            } else {
                std::env::consts::OS.into()
            },
            arch: std::env::consts::ARCH.into(),
            cores: cores.unwrap_or(1),
            threads,
            browser,
            clock_resolution: clock.resolution(),
            device: String::new(),
            devices,
        }
    }
}
