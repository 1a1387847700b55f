//! What goes wrong behind the caller's back: errors that the driver or the browser reports by callback, and a device
//! that is gone. They wait here until the next call of the device can return them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tensor::memory::{MemoryStats, OutOfMemory, OutOfMemoryCause};
use tensor::{DeviceId, Error, Result};

#[derive(Debug)]
enum Failure {
    Memory(String),
    Other(String),
}

#[derive(Default)]
struct State {
    lost: Option<String>,
    failure: Option<Failure>,
}

/// Shared with the callbacks.
#[derive(Clone)]
pub(crate) struct Trouble {
    device: DeviceId,
    state: Arc<Mutex<State>>,
}

impl Trouble {
    /// Listen to a device's errors.
    pub(crate) fn watch(id: DeviceId, device: &wgpu::Device) -> Trouble {
        let trouble = Trouble {
            device: id,
            state: Arc::default(),
        };
        let listener = trouble.clone();
        device.on_uncaptured_error(Arc::new(move |error| listener.note(&error)));
        let listener = trouble.clone();
        device.set_device_lost_callback(move |reason, message| {
            let why = match reason {
                wgpu::DeviceLostReason::Destroyed => "it was destroyed".to_owned(),
                wgpu::DeviceLostReason::Unknown if message.is_empty() => {
                    "the driver gave no reason".to_owned()
                }
                wgpu::DeviceLostReason::Unknown => message,
            };
            listener.lose(&why);
        });
        trouble
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keep the first failure; those that follow are its consequences.
    pub(crate) fn note(&self, error: &wgpu::Error) {
        let failure = match error {
            wgpu::Error::OutOfMemory { source } => Failure::Memory(source.to_string()),
            other => Failure::Other(other.to_string().trim().to_owned()),
        };
        self.state().failure.get_or_insert(failure);
    }

    /// The device is gone. The first reason stays.
    pub(crate) fn lose(&self, reason: &str) {
        self.state().lost.get_or_insert_with(|| reason.to_owned());
    }

    /// Fail if the device is gone, or once for each failure that has been noted.
    pub(crate) fn check(&self, operation: &str, stats: impl FnOnce() -> MemoryStats) -> Result<()> {
        let failure = {
            let mut state = self.state();
            if let Some(reason) = &state.lost {
                return Err(Error::DeviceLost {
                    device: self.device,
                    reason: reason.clone(),
                });
            }
            state.failure.take()
        };
        match failure {
            None => Ok(()),
            Some(Failure::Other(message)) => Err(Error::DeviceFailure {
                device: self.device,
                operation: operation.to_owned(),
                message,
            }),
            Some(Failure::Memory(detail)) => {
                let stats = stats();
                let detail = OutOfMemory {
                    requested: 0,
                    attempted: 0,
                    allocated: stats.allocated,
                    reserved: stats.reserved,
                    limit: stats.limit,
                    free: stats.limit.map(|l| l.saturating_sub(stats.reserved)),
                    retries: stats.retries,
                    label: operation.to_owned().into(),
                    cause: OutOfMemoryCause::Device { detail },
                };
                Err(Error::OutOfMemory {
                    device: self.device,
                    detail: Box::new(detail),
                })
            }
        }
    }

    /// A failure of the engine's own finding.
    pub(crate) fn failure(&self, operation: &str, message: impl Into<String>) -> Error {
        Error::DeviceFailure {
            device: self.device,
            operation: operation.to_owned(),
            message: message.into(),
        }
    }

    /// The error for a read-back that was refused.
    pub(crate) fn refused(&self, operation: &str) -> Error {
        if let Some(reason) = &self.state().lost {
            return Error::DeviceLost {
                device: self.device,
                reason: reason.clone(),
            };
        }
        self.failure(
            operation,
            "the device refused to map the memory for reading",
        )
    }
}
