//! The table of hand-written kernels.

use super::launch::CpuLaunch;
use super::{check, matmul};
use crate::device::DeviceId;
use crate::error::{Error, Result};

type Entry = fn(&CpuLaunch<'_>) -> Result<()>;

/// The function of each kernel of [`crate::kernels::ALL`], by name.
const TABLE: &[(&str, Entry)] = &[("check_nan", check::check_nan), ("matmul", matmul::matmul)];

/// The function of this name.
pub(crate) fn find(name: &'static str) -> Result<Entry> {
    TABLE
        .iter()
        .find(|(n, _)| *n == name)
        .map(|(_, entry)| *entry)
        .ok_or(Error::KernelMissing {
            device: DeviceId::CPU,
            kernel: name,
        })
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_kernel_has_a_function() {
        for kernel in crate::kernels::ALL {
            assert!(
                super::find(kernel.name).is_ok(),
                "no CPU function for {}",
                kernel.name
            );
        }
    }
}
