//! From what is seen of a machine to what a person should check, in order.

use crate::environment::{Check, CheckStep, DeviceFacts, DeviceKind, Diagnosis, Outcome};

/// What can be seen of a machine without opening a device.
#[derive(Clone, Debug, Default)]
pub struct Sight {
    /// Runs in a browser.
    pub browser: bool,
    /// Display adapters on the bus, by maker and number, where the system lists them.
    pub hardware: Option<Vec<String>>,
    /// Where the Vulkan loader was found; none where the system does not use Vulkan.
    pub vulkan_loader: Option<Found>,
    /// Names of Vulkan drivers (manifests).
    pub vulkan_drivers: Vec<String>,
    /// Render nodes that exist but may not be opened.
    pub closed_nodes: Vec<String>,
    /// Version of NVIDIA's kernel driver, where it is loaded.
    pub nvidia_driver: Option<String>,
    /// Where NVIDIA's `libcuda` was found.
    pub libcuda: Option<String>,
    /// Environment variables that hide or choose devices, with their values.
    pub variables: Vec<(String, String)>,
    /// The page was loaded in a way that lets browsers show WebGPU (https or localhost); none outside a browser.
    pub secure_context: Option<bool>,
    /// `navigator.gpu` exists; none outside a browser.
    pub webgpu_api: Option<bool>,
    /// Memory of the machine that is free, in bytes.
    pub free_memory: Option<u64>,
}

/// A library that was looked for.
#[derive(Clone, Debug)]
#[cfg_attr(
    target_arch = "wasm32",
    expect(dead_code, reason = "browsers show no libraries")
)]
pub enum Found {
    /// Where it is.
    At(String),
    /// Not in any of the usual places.
    Nowhere,
}

fn check(
    step: CheckStep,
    outcome: Outcome,
    seen: impl Into<String>,
    remedy: Option<&str>,
) -> Check {
    Check {
        step,
        outcome,
        seen: seen.into(),
        remedy: remedy.map(Into::into),
    }
}

/// The processor.
pub fn cpu(sight: &Sight, facts: &[DeviceFacts]) -> Diagnosis {
    let cpu = facts.iter().find(|d| d.kind == DeviceKind::Cpu);
    let text = cpu.map_or_else(String::new, |d| format!("{}, {}", d.model, d.driver));
    let mut checks = vec![check(CheckStep::Build, Outcome::Ok, text, None)];
    checks.push(match sight.free_memory {
        Some(bytes) if bytes < 512 << 20 => check(
            CheckStep::Memory,
            Outcome::Warning,
            format!("{} free", crate::quantity::format(bytes as f64, "B")),
            Some("close other programs: the lessons take up to half a gigabyte"),
        ),
        Some(bytes) => check(
            CheckStep::Memory,
            Outcome::Ok,
            format!("{} free", crate::quantity::format(bytes as f64, "B")),
            None,
        ),
        None => check(
            CheckStep::Memory,
            Outcome::Unknown,
            "not told by this system",
            None,
        ),
    });
    Diagnosis {
        kind: DeviceKind::Cpu,
        checks,
    }
}

/// WGSL adapters.
pub fn wgpu(sight: &Sight, facts: &[DeviceFacts]) -> Diagnosis {
    let adapters: Vec<&DeviceFacts> = facts
        .iter()
        .filter(|d| d.kind == DeviceKind::Wgpu)
        .collect();
    let checks = if sight.browser {
        in_browser(sight, &adapters)
    } else {
        native(sight, &adapters)
    };
    Diagnosis {
        kind: DeviceKind::Wgpu,
        checks,
    }
}

fn in_browser(sight: &Sight, adapters: &[&DeviceFacts]) -> Vec<Check> {
    let mut checks = Vec::new();
    if adapters.is_empty() {
        checks.push(match (sight.secure_context, sight.webgpu_api) {
            (Some(false), _) => check(
                CheckStep::Visibility,
                Outcome::Missing,
                "the page was loaded over plain http from another machine, and browsers hide WebGPU there",
                Some("open the page on localhost or over https"),
            ),
            (_, Some(false)) => check(
                CheckStep::Build,
                Outcome::Missing,
                "this browser has no WebGPU",
                Some("use a current Chrome, Edge, Safari or Firefox, or switch WebGPU on in its settings"),
            ),
            _ => check(
                CheckStep::Driver,
                Outcome::Missing,
                "the browser has WebGPU but found no adapter",
                Some("switch hardware acceleration on in the browser's settings and update the graphics driver"),
            ),
        });
    } else {
        checks.push(check(
            CheckStep::Build,
            Outcome::Ok,
            "this browser has WebGPU",
            None,
        ));
    }
    checks.extend(of_adapters(adapters));
    checks
}

fn native(sight: &Sight, adapters: &[&DeviceFacts]) -> Vec<Check> {
    let mut checks = Vec::new();
    match &sight.hardware {
        Some(found) if found.is_empty() => checks.push(check(
            CheckStep::Driver,
            Outcome::Unknown,
            "no display adapter on the bus: a virtual machine or a server without a GPU",
            None,
        )),
        Some(found) => checks.push(check(
            CheckStep::Driver,
            Outcome::Ok,
            format!("on the bus: {}", found.join("; ")),
            None,
        )),
        None => {}
    }
    match &sight.vulkan_loader {
        Some(Found::Nowhere) => checks.push(check(
            CheckStep::Driver,
            Outcome::Missing,
            "no Vulkan loader (libvulkan.so.1)",
            Some("install it (Debian, Ubuntu: libvulkan1) with your GPU's driver; mesa-vulkan-drivers also brings a software adapter"),
        )),
        Some(Found::At(path)) if sight.vulkan_drivers.is_empty() => checks.push(check(
            CheckStep::Driver,
            Outcome::Missing,
            format!("the Vulkan loader is there ({path}), but no driver is registered with it"),
            Some("install your GPU's driver (Debian, Ubuntu: mesa-vulkan-drivers, or NVIDIA's)"),
        )),
        Some(Found::At(_)) => checks.push(check(
            CheckStep::Driver,
            Outcome::Ok,
            format!("Vulkan drivers: {}", sight.vulkan_drivers.join(", ")),
            None,
        )),
        None => {}
    }
    checks.push(check(
        CheckStep::Build,
        Outcome::Ok,
        "built with the WGSL device",
        None,
    ));
    if !sight.closed_nodes.is_empty() {
        checks.push(check(
            CheckStep::Visibility,
            Outcome::Missing,
            format!("no permission to open {}", sight.closed_nodes.join(", ")),
            Some("add your user to the groups `render` and `video`, then log in again"),
        ));
    }
    let hiding = [
        "VK_DRIVER_FILES",
        "VK_ICD_FILENAMES",
        "WGPU_BACKEND",
        "WGPU_ADAPTER_NAME",
    ];
    for (name, value) in sight
        .variables
        .iter()
        .filter(|(name, _)| hiding.contains(&name.as_str()))
    {
        checks.push(check(
            CheckStep::Visibility,
            Outcome::Warning,
            format!("{name}={value} chooses what is seen"),
            None,
        ));
    }
    if adapters.is_empty() {
        checks.push(check(
            CheckStep::Visibility,
            Outcome::Missing,
            "no adapter answered",
            Some(
                "repair the first check above that is not ok; in a container, pass the GPU through",
            ),
        ));
    }
    checks.extend(of_adapters(adapters));
    checks
}

fn of_adapters(adapters: &[&DeviceFacts]) -> Vec<Check> {
    let mut checks = Vec::new();
    for d in adapters {
        if !d.driver.is_empty() {
            checks.push(check(
                CheckStep::Version,
                Outcome::Ok,
                format!("{}: {}", d.name, d.driver),
                None,
            ));
        }
    }
    for d in adapters {
        checks.push(if d.software {
            check(
                CheckStep::Visibility,
                Outcome::Warning,
                format!("{} is a software adapter ({})", d.name, d.model),
                Some("install or enable the GPU's own driver if this machine has a GPU"),
            )
        } else {
            check(
                CheckStep::Visibility,
                Outcome::Ok,
                format!("{} is {}", d.name, d.model),
                None,
            )
        });
    }
    for d in adapters {
        let limit = d.limits.get("max_storage_buffer_binding_size");
        checks.push(match (d.memory, limit) {
            (Some(bytes), _) => check(
                CheckStep::Memory,
                Outcome::Ok,
                format!("{}: {}", d.name, crate::quantity::format(bytes as f64, "B")),
                None,
            ),
            (None, Some(bytes)) => check(
                CheckStep::Memory,
                Outcome::Unknown,
                format!(
                    "{} does not tell its memory; one tensor may take {}",
                    d.name,
                    crate::quantity::format(*bytes as f64, "B")
                ),
                None,
            ),
            (None, None) => check(
                CheckStep::Memory,
                Outcome::Unknown,
                format!("{} does not tell its memory", d.name),
                None,
            ),
        });
    }
    checks
}

/// CUDA devices.
pub fn cuda(sight: &Sight) -> Diagnosis {
    let mut checks = Vec::new();
    if sight.browser {
        checks.push(check(
            CheckStep::Build,
            Outcome::Missing,
            "browsers have no CUDA; WebGPU reaches the same GPU",
            None,
        ));
        return Diagnosis {
            kind: DeviceKind::Cuda,
            checks,
        };
    }
    match (&sight.nvidia_driver, &sight.libcuda) {
        (Some(version), Some(_)) => {
            checks.push(check(CheckStep::Driver, Outcome::Ok, format!("NVIDIA driver {version}"), None));
        }
        (Some(version), None) => checks.push(check(
            CheckStep::Driver,
            Outcome::Missing,
            format!("NVIDIA's kernel driver {version} is loaded, but libcuda.so.1 is not found"),
            Some("install the user part of the driver; in a container, use NVIDIA's container toolkit"),
        )),
        (None, _) => checks.push(check(
            CheckStep::Driver,
            Outcome::Missing,
            "no NVIDIA driver is loaded",
            sight
                .hardware
                .as_ref()
                .is_some_and(|h| h.iter().any(|d| d.contains("NVIDIA")))
                .then_some("install NVIDIA's driver: there is an NVIDIA GPU on the bus"),
        )),
    }
    checks.push(check(
        CheckStep::Build,
        Outcome::Missing,
        "this build has no CUDA device; the WGSL device reaches NVIDIA GPUs through Vulkan",
        None,
    ));
    for (name, value) in sight
        .variables
        .iter()
        .filter(|(name, _)| name == "CUDA_VISIBLE_DEVICES")
    {
        checks.push(check(
            CheckStep::Visibility,
            Outcome::Warning,
            format!("{name}={value} renumbers or hides GPUs"),
            None,
        ));
    }
    Diagnosis {
        kind: DeviceKind::Cuda,
        checks,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adapter(software: bool) -> DeviceFacts {
        DeviceFacts {
            model: "Some GPU".into(),
            driver: "driver 1.2".into(),
            software,
            ..DeviceFacts::named("wgpu:0", DeviceKind::Wgpu)
        }
    }

    fn first_fault(d: &Diagnosis) -> &Check {
        d.checks
            .iter()
            .find(|c| c.outcome == Outcome::Missing)
            .unwrap()
    }

    #[test]
    fn the_first_fault_is_the_one_to_repair() {
        let none = Sight {
            vulkan_loader: Some(Found::Nowhere),
            ..Sight::default()
        };
        assert!(
            first_fault(&wgpu(&none, &[]))
                .seen
                .contains("no Vulkan loader")
        );

        let no_driver = Sight {
            vulkan_loader: Some(Found::At("here".into())),
            ..Sight::default()
        };
        assert!(
            first_fault(&wgpu(&no_driver, &[]))
                .seen
                .contains("no driver is registered")
        );

        let closed = Sight {
            vulkan_loader: Some(Found::At("here".into())),
            vulkan_drivers: vec!["radeon".into()],
            closed_nodes: vec!["renderD128".into()],
            ..Sight::default()
        };
        let diagnosis = wgpu(&closed, &[]);
        assert!(
            first_fault(&diagnosis)
                .remedy
                .as_ref()
                .unwrap()
                .contains("render")
        );
        assert!(
            diagnosis.checks.windows(2).all(|w| w[0].step <= w[1].step),
            "{diagnosis:?}"
        );
    }

    #[test]
    fn browsers_hide_webgpu_for_reasons_that_differ() {
        let page = Sight {
            browser: true,
            secure_context: Some(false),
            webgpu_api: Some(false),
            ..Sight::default()
        };
        assert!(first_fault(&wgpu(&page, &[])).seen.contains("plain http"));
        let old = Sight {
            secure_context: Some(true),
            ..page.clone()
        };
        assert!(first_fault(&wgpu(&old, &[])).seen.contains("no WebGPU"));
        let blocked = Sight {
            webgpu_api: Some(true),
            ..old
        };
        assert!(
            first_fault(&wgpu(&blocked, &[]))
                .seen
                .contains("no adapter")
        );
    }

    #[test]
    fn a_software_adapter_is_a_warning_and_a_real_one_is_not() {
        let warned = |software| {
            let checks = wgpu(&Sight::default(), &[adapter(software)]).checks;
            checks
                .iter()
                .any(|c| c.step == CheckStep::Visibility && c.outcome == Outcome::Warning)
        };
        assert!(warned(true) && !warned(false));
    }

    #[test]
    fn an_nvidia_gpu_without_driver_says_to_install_one() {
        let sight = Sight {
            hardware: Some(vec!["NVIDIA 2204".into()]),
            ..Sight::default()
        };
        assert!(
            first_fault(&cuda(&sight))
                .remedy
                .as_ref()
                .unwrap()
                .contains("install NVIDIA")
        );
        assert!(first_fault(&cuda(&Sight::default())).remedy.is_none());
    }
}
