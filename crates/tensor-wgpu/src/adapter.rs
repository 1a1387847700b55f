//! Adapters: what there is, under stable numbers, and why there is none.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use tensor::device::DeviceFacts;
use tensor::{DeviceId, Error};

/// An adapter and its facts, before it is opened.
#[derive(Clone, Debug, PartialEq)]
pub struct AdapterFacts {
    /// The name under which it is opened: `wgpu:0`, `wgpu:1`.
    pub id: DeviceId,
    /// Name, driver, limits, features.
    pub facts: DeviceFacts,
}

fn instance() -> &'static wgpu::Instance {
    static INSTANCE: OnceLock<wgpu::Instance> = OnceLock::new();
    INSTANCE.get_or_init(|| {
        let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
        descriptor.backends = wgpu::Backends::PRIMARY;
        // No validation layers: wgpu checks what it is given itself.
        descriptor.flags = wgpu::InstanceFlags::empty();
        // Refuse memory before the driver spills it to the host or loses the device.
        descriptor.memory_budget_thresholds.for_resource_creation = Some(97);
        wgpu::Instance::new(descriptor)
    })
}

/// All adapters, real GPUs before software; the order is the same from call to call.
pub(crate) async fn all() -> Vec<wgpu::Adapter> {
    let mut adapters = instance().enumerate_adapters(wgpu::Backends::PRIMARY).await;
    adapters.sort_by_key(|a| match a.get_info().device_type {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        wgpu::DeviceType::VirtualGpu => 2,
        wgpu::DeviceType::Other => 3,
        wgpu::DeviceType::Cpu => 4,
    });
    adapters
}

/// The adapters of this machine or browser, in the order in which `wgpu:0`, `wgpu:1` name them.
pub async fn adapters() -> Vec<AdapterFacts> {
    let mut list = Vec::new();
    for (i, adapter) in all().await.iter().enumerate() {
        list.push(AdapterFacts {
            id: DeviceId::wgpu(i),
            facts: facts(adapter).await,
        });
    }
    list
}

/// Whether a name belongs to a processor that plays a GPU.
fn plays_a_gpu(info: &wgpu::AdapterInfo) -> bool {
    let name = format!("{} {} {}", info.name, info.driver, info.driver_info).to_lowercase();
    info.device_type == wgpu::DeviceType::Cpu
        || [
            "llvmpipe",
            "lavapipe",
            "swiftshader",
            "microsoft basic render",
            "warp",
        ]
        .iter()
        .any(|s| name.contains(s))
}

fn vendor(number: u32) -> String {
    match number {
        0 => String::new(),
        0x1002 => "AMD".into(),
        0x106b => "Apple".into(),
        0x10de => "NVIDIA".into(),
        0x13b5 => "Arm".into(),
        0x1414 => "Microsoft".into(),
        0x5143 => "Qualcomm".into(),
        0x8086 => "Intel".into(),
        0x10005 => "Mesa".into(),
        other => format!("{other:#06x}"),
    }
}

/// What is known of an adapter without opening it.
pub(crate) async fn facts(adapter: &wgpu::Adapter) -> DeviceFacts {
    let info = adapter.get_info();
    let interface = match info.backend {
        wgpu::Backend::Vulkan => "vulkan",
        wgpu::Backend::Metal => "metal",
        wgpu::Backend::Dx12 => "dx12",
        wgpu::Backend::BrowserWebGpu => "webgpu",
        _ => "other",
    };
    #[cfg_attr(not(target_arch = "wasm32"), expect(unused_mut))]
    let mut facts = DeviceFacts {
        name: if info.name.is_empty() {
            "WebGPU adapter".into()
        } else {
            info.name.clone()
        },
        vendor: vendor(info.vendor),
        driver: format!("{} {}", info.driver, info.driver_info)
            .trim()
            .to_owned(),
        interface: interface.into(),
        software: plays_a_gpu(&info),
        threads: 0,
        limits: limits(&adapter.limits()),
        features: features(adapter.features()),
        choices: BTreeMap::new(),
    };
    #[cfg(target_arch = "wasm32")]
    crate::web::identify(&mut facts).await;
    facts
}

pub(crate) fn limits(l: &wgpu::Limits) -> BTreeMap<String, u64> {
    [
        ("max_buffer_size", l.max_buffer_size),
        (
            "max_storage_buffer_binding_size",
            l.max_storage_buffer_binding_size,
        ),
        (
            "max_storage_buffers_per_shader_stage",
            l.max_storage_buffers_per_shader_stage.into(),
        ),
        (
            "max_compute_invocations_per_workgroup",
            l.max_compute_invocations_per_workgroup.into(),
        ),
        (
            "max_compute_workgroup_storage_size",
            l.max_compute_workgroup_storage_size.into(),
        ),
        (
            "max_compute_workgroups_per_dimension",
            l.max_compute_workgroups_per_dimension.into(),
        ),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
}

fn features(f: wgpu::Features) -> Vec<String> {
    [
        (wgpu::Features::TIMESTAMP_QUERY, "timestamp-query"),
        (wgpu::Features::SHADER_F16, "shader-f16"),
        (wgpu::Features::SUBGROUP, "subgroups"),
    ]
    .into_iter()
    .filter(|(feature, _)| f.contains(*feature))
    .map(|(_, name)| name.to_owned())
    .collect()
}

/// The error for an adapter number that is not there.
pub(crate) fn missing(id: DeviceId, found: usize) -> Error {
    if found > 0 {
        let names: Vec<String> = (0..found).map(|i| DeviceId::wgpu(i).to_string()).collect();
        return Error::DeviceMissing {
            device: id,
            reason: format!("this machine has {found} adapter(s): {}", names.join(", ")),
            remedy: format!("use {}", names.join(" or ")),
        };
    }
    let (reason, remedy) = why_none();
    Error::DeviceMissing {
        device: id,
        reason,
        remedy,
    }
}

#[cfg(not(target_arch = "wasm32"))]
fn why_none() -> (String, String) {
    let none = "no Vulkan, Metal or DirectX 12 adapter was found";
    if !cfg!(target_os = "linux") {
        return (
            none.into(),
            "install the graphics driver from the maker of the GPU, or use the CPU".into(),
        );
    }
    let folders = [
        "/usr/share/vulkan/icd.d",
        "/etc/vulkan/icd.d",
        "/usr/local/share/vulkan/icd.d",
    ];
    let drivers = folders
        .iter()
        .filter_map(|f| std::fs::read_dir(f).ok())
        .flatten()
        .count();
    let loader = [
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/lib64",
        "/usr/lib",
        "/usr/local/lib",
    ]
    .iter()
    .any(|f| std::path::Path::new(f).join("libvulkan.so.1").exists());
    match (loader, drivers) {
        (false, _) => (
            format!("{none}: the Vulkan loader (libvulkan.so.1) is not installed"),
            "install it: apt install libvulkan1 mesa-vulkan-drivers (or the GPU maker's driver)".into(),
        ),
        (true, 0) => (
            format!("{none}: the Vulkan loader is there, but no driver is registered with it"),
            "install one: apt install mesa-vulkan-drivers (or the GPU maker's driver)".into(),
        ),
        (true, n) => (
            format!("{none}, though {n} driver(s) are registered: none of them found a GPU that it may use"),
            "is the GPU passed into this container or session, and may this user open /dev/dri/renderD128?".into(),
        ),
    }
}

#[cfg(target_arch = "wasm32")]
fn why_none() -> (String, String) {
    crate::web::why_none()
}
