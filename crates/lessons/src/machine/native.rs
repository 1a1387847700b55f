//! Looking at the machine through its file system. Nothing here may fail: what cannot be seen is left out.

use std::fs;
use std::path::Path;

use super::checks::{Found, Sight};

/// What can be seen.
pub fn look() -> Sight {
    let variables = [
        "VK_DRIVER_FILES",
        "VK_ICD_FILENAMES",
        "WGPU_BACKEND",
        "WGPU_ADAPTER_NAME",
        "CUDA_VISIBLE_DEVICES",
    ];
    Sight {
        hardware: display_adapters(),
        vulkan_loader: cfg!(target_os = "linux").then(|| library("libvulkan.so.1")),
        vulkan_drivers: vulkan_drivers(),
        closed_nodes: closed_nodes(),
        nvidia_driver: nvidia_driver(),
        libcuda: match library("libcuda.so.1") {
            Found::At(path) => Some(path),
            Found::Nowhere => None,
        },
        variables: variables
            .iter()
            .filter_map(|name| Some(((*name).to_string(), std::env::var(name).ok()?)))
            .collect(),
        free_memory: free_memory(),
        ..Sight::default()
    }
}

/// Where a shared library lies, in the folders in which distributions put them.
fn library(name: &str) -> Found {
    let from_env = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
    let multiarch = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    let usual = [
        multiarch.as_str(),
        "/usr/lib64",
        "/usr/lib",
        "/lib64",
        "/lib",
        "/usr/local/lib",
        "/run/opengl-driver/lib",
        "/usr/lib/wsl/lib",
    ];
    from_env
        .split(':')
        .filter(|folder| !folder.is_empty())
        .chain(usual)
        .map(|folder| Path::new(folder).join(name))
        .find(|path| path.exists())
        .map_or(Found::Nowhere, |path| Found::At(path.display().to_string()))
}

/// Entries of a folder, sorted; none if it cannot be read.
fn names(folder: &str) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .map(|entries| {
            entries
                .flatten()
                .filter_map(|e| e.file_name().into_string().ok())
                .collect()
        })
        .unwrap_or_default();
    names.sort();
    names
}

/// Display adapters on the PCI bus.
fn display_adapters() -> Option<Vec<String>> {
    let bus = "/sys/bus/pci/devices";
    if !Path::new(bus).exists() {
        return None;
    }
    let read = |device: &str, what: &str| {
        fs::read_to_string(format!("{bus}/{device}/{what}")).unwrap_or_default()
    };
    let found = names(bus)
        .into_iter()
        .filter(|device| read(device, "class").starts_with("0x03"))
        .map(|device| {
            let maker = match read(&device, "vendor").trim() {
                "0x10de" => "NVIDIA".to_string(),
                "0x1002" => "AMD".to_string(),
                "0x8086" => "Intel".to_string(),
                "0x1af4" => "virtio".to_string(),
                other => other.to_string(),
            };
            format!(
                "{maker} {}",
                read(&device, "device").trim().trim_start_matches("0x")
            )
        });
    Some(found.collect())
}

fn vulkan_drivers() -> Vec<String> {
    // Where the environment names manifests, the loader looks nowhere else.
    for variable in ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"] {
        if let Ok(list) = std::env::var(variable) {
            return list
                .split(':')
                .filter(|path| Path::new(path).exists())
                .map(manifest_name)
                .collect();
        }
    }
    let folders = [
        "/usr/share/vulkan/icd.d",
        "/usr/local/share/vulkan/icd.d",
        "/etc/vulkan/icd.d",
        "/run/opengl-driver/share/vulkan/icd.d",
    ];
    let mut found: Vec<String> = folders
        .iter()
        .flat_map(|folder| names(folder))
        .map(|n| manifest_name(&n))
        .collect();
    found.dedup();
    found
}

/// `/usr/share/vulkan/icd.d/lvp_icd.x86_64.json` is `lvp`.
fn manifest_name(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    let stem = file.split('.').next().unwrap_or(file);
    stem.trim_end_matches("_icd").to_string()
}

fn closed_nodes() -> Vec<String> {
    names("/dev/dri")
        .into_iter()
        .filter(|name| name.starts_with("renderD"))
        .map(|name| format!("/dev/dri/{name}"))
        .filter(|path| {
            fs::OpenOptions::new()
                .read(true)
                .write(true)
                .open(path)
                .is_err()
        })
        .collect()
}

fn nvidia_driver() -> Option<String> {
    let text = fs::read_to_string("/proc/driver/nvidia/version").ok()?;
    let version = text
        .split_whitespace()
        .find(|word| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit()))?;
    Some(version.to_string())
}

/// Memory of this process that is in RAM, in bytes.
pub fn process_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    kib(&text, "VmRSS:")
}

fn free_memory() -> Option<u64> {
    kib(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")
}

/// The figure of a line such as `VmRSS:     1234 kB`, in bytes.
fn kib(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_have_short_names() {
        assert_eq!(
            manifest_name("/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"),
            "lvp"
        );
        assert_eq!(manifest_name("nvidia_icd.json"), "nvidia");
    }

    #[test]
    fn memory_lines_are_read() {
        assert_eq!(
            kib("VmPeak:\t 9 kB\nVmRSS:\t 12 kB\n", "VmRSS:"),
            Some(12 * 1024)
        );
        assert_eq!(kib("nothing", "VmRSS:"), None);
    }

    #[test]
    fn looking_never_fails() {
        let sight = look();
        assert!(!sight.browser && sight.secure_context.is_none());
    }
}
