//! The devices of a machine, behind a trait so that lessons never name a backend.

use crate::environment::{DeviceFacts, Diagnosis};
use crate::host::LocalFuture;

/// The devices of a machine.
pub trait Devices {
    /// Every device that can be opened, `cpu` first. Looks at drivers, opens nothing.
    fn facts(&self) -> LocalFuture<'_, Vec<DeviceFacts>>;

    /// What was found when looking for each kind of device, and why one is missing.
    fn diagnose(&self) -> LocalFuture<'_, Vec<Diagnosis>>;
}
