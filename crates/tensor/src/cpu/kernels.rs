//! The table of hand-written kernels.

use super::launch::CpuLaunch;
use super::{check, conv2d, index, lines, matmul, nll, pool2d, random};
use crate::device::DeviceId;
use crate::error::{Error, Result};

type Entry = fn(&CpuLaunch<'_>) -> Result<()>;

/// The function of each kernel of [`crate::kernels::ALL`], by name.
const TABLE: &[(&str, Entry)] = &[
    ("check_nan", check::check_nan),
    ("check_index", index::check_index),
    ("gather", index::gather),
    ("gather_i64", index::gather_i64),
    ("scatter_add", index::scatter_add),
    ("arg_extreme", lines::arg_extreme),
    ("cumsum", lines::cumsum),
    ("cumsum_i64", lines::cumsum_i64),
    ("softmax", lines::softmax),
    ("softmax_backward", lines::softmax_backward),
    ("topk", lines::topk),
    ("matmul", matmul::matmul),
    ("nll", nll::nll),
    ("nll_backward", nll::nll_backward),
    ("cross_entropy", nll::cross_entropy),
    ("cross_entropy_backward", nll::cross_entropy_backward),
    ("uniform_random", random::uniform),
    ("conv2d", conv2d::conv2d),
    ("conv2d_grad_input", conv2d::conv2d_grad_input),
    ("conv2d_grad_weight", conv2d::conv2d_grad_weight),
    ("max_pool2d", pool2d::max_pool2d),
    ("max_pool2d_grad", pool2d::max_pool2d_grad),
    ("avg_pool2d", pool2d::avg_pool2d),
    ("avg_pool2d_grad", pool2d::avg_pool2d_grad),
    ("adaptive_avg_pool2d", pool2d::adaptive_avg_pool2d),
    ("adaptive_avg_pool2d_grad", pool2d::adaptive_avg_pool2d_grad),
];

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
    use std::collections::BTreeSet;
    use std::path::Path;

    /// Names of a folder's files with this ending, without it.
    fn stems(folder: &str, ending: &str) -> BTreeSet<String> {
        let root = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it for tests");
        let folder = Path::new(&root).join(folder);
        std::fs::read_dir(&folder)
            .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter_map(|name| Some(name.strip_suffix(ending)?.to_owned()))
            .collect()
    }

    /// A kernel's parameters, its CPU twin and its shader are in files of one name.
    #[test]
    fn twins_are_found_by_their_name() {
        let mut parameters = stems("src/kernels", ".rs");
        parameters.remove("mod");
        let mut shaders = stems("../../shaders", ".wgsl");
        shaders.remove("library");
        assert_eq!(parameters, shaders);
        let cpu = stems("src/cpu", ".rs");
        assert!(parameters.is_subset(&cpu), "{parameters:?} in {cpu:?}");
        for kernel in crate::kernels::ALL {
            assert!(parameters.contains(kernel.stem), "{}", kernel.name);
        }
    }

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
