//! Opening a device.

use crate::adapter;
use crate::device::{Limits, Opened, WgpuDevice};
use std::sync::Arc;
use tensor::{Device, DeviceId, Error, Result};

/// Limits to pretend, lower than the adapter's own: how the engine is tested against smaller devices.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ForcedLimits {
    /// Start from WebGPU's default limits instead of the adapter's.
    pub webgpu_defaults: bool,
    /// Most invocations of a workgroup.
    pub invocations: Option<u32>,
    /// Largest binding in bytes.
    pub binding: Option<u64>,
    /// Largest buffer in bytes.
    pub buffer: Option<u64>,
}

/// How to open a device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OpenOptions {
    /// Limits lower than the adapter's.
    pub force_limits: Option<ForcedLimits>,
    /// Bytes that tensors may take; `None` for a cautious share of what the device has.
    pub memory_limit: Option<u64>,
}

/// Open adapter number `index` as `wgpu:index`.
pub async fn open(index: usize) -> Result<Device> {
    open_with(index, OpenOptions::default()).await
}

/// Open adapter number `index` as `wgpu:index`, with options.
pub async fn open_with(index: usize, options: OpenOptions) -> Result<Device> {
    Ok(Device::new(Arc::new(open_raw(index, options).await?)))
}

/// The backend itself.
pub(crate) async fn open_raw(index: usize, options: OpenOptions) -> Result<WgpuDevice> {
    let id = DeviceId::wgpu(index);
    let adapters = adapter::all().await;
    let Some(adapter) = adapters.get(index) else {
        return Err(adapter::missing(id, adapters.len()));
    };
    let mut facts = adapter::facts(adapter).await;
    let limits = wanted(&adapter.limits(), options.force_limits.unwrap_or_default());
    let features = adapter.features() & wgpu::Features::TIMESTAMP_QUERY;
    let descriptor = wgpu::DeviceDescriptor {
        label: Some("tensorscope"),
        required_features: features,
        required_limits: limits.clone(),
        memory_hints: wgpu::MemoryHints::MemoryUsage,
        ..Default::default()
    };
    let (device, queue) =
        adapter
            .request_device(&descriptor)
            .await
            .map_err(|error| Error::DeviceMissing {
                device: id,
                reason: format!("{} was found but could not be opened: {error}", facts.name),
                remedy: "close other programs that use the GPU, or use the CPU".into(),
            })?;
    facts.limits = adapter::limits(&limits);
    let memory_limit = options
        .memory_limit
        .or_else(|| budget(adapter, facts.software));
    if let Some(limit) = memory_limit {
        facts.limits.insert("memory_budget".into(), limit);
    }
    let software = facts.software;
    let opened = Opened {
        id,
        facts,
        device,
        queue,
        limits: Limits {
            group: group_size(&limits, if software { 64 } else { 256 }),
            wide_group: group_size(&limits, 256),
            binding: usize::try_from(limits.max_storage_buffer_binding_size).unwrap_or(usize::MAX)
                / 512
                * 512,
            storages: limits.max_storage_buffers_per_shader_stage as usize,
            grid: limits.max_compute_workgroups_per_dimension,
        },
        memory_limit,
        largest_buffer: usize::try_from(limits.max_buffer_size).unwrap_or(usize::MAX) / 512 * 512,
    };
    let mut device = WgpuDevice::new(opened);
    crate::tune::tune(&mut device).await?;
    Ok(device)
}

/// What is asked for: the least of the adapter's limits, what the kernels can use, and what is forced.
fn wanted(adapter: &wgpu::Limits, forced: ForcedLimits) -> wgpu::Limits {
    let defaults = wgpu::Limits::defaults().or_worse_values_from(adapter);
    let mut limits = defaults.clone();
    if !forced.webgpu_defaults {
        limits.max_buffer_size = adapter.max_buffer_size;
        limits.max_storage_buffer_binding_size = adapter.max_storage_buffer_binding_size;
        limits.max_storage_buffers_per_shader_stage =
            adapter.max_storage_buffers_per_shader_stage.min(9);
    }
    if let Some(n) = forced.invocations {
        limits.max_compute_invocations_per_workgroup =
            limits.max_compute_invocations_per_workgroup.min(n);
        limits.max_compute_workgroup_size_x = limits.max_compute_workgroup_size_x.min(n);
        limits.max_compute_workgroup_size_y = limits.max_compute_workgroup_size_y.min(n);
    }
    if let Some(bytes) = forced.binding {
        limits.max_storage_buffer_binding_size = limits.max_storage_buffer_binding_size.min(bytes);
    }
    if let Some(bytes) = forced.buffer {
        limits.max_buffer_size = limits.max_buffer_size.min(bytes);
    }
    limits
}

/// Invocations of a workgroup: as many as wanted, or the largest power of two that is allowed. A software adapter hands out
/// work to its threads by the workgroup: small ones share it out better, if there is enough in each.
fn group_size(limits: &wgpu::Limits, wanted: u32) -> u32 {
    let most = limits
        .max_compute_invocations_per_workgroup
        .min(limits.max_compute_workgroup_size_x)
        .clamp(1, wanted);
    1 << most.ilog2()
}

/// A cautious share of the memory that the adapter is known to have.
#[cfg(not(target_arch = "wasm32"))]
fn budget(adapter: &wgpu::Adapter, software: bool) -> Option<u64> {
    let heap = vulkan_heap(adapter);
    match (heap, software) {
        // A software adapter's memory is the machine's, which others need too.
        (Some(bytes), true) => Some(bytes / 2),
        (Some(bytes), false) => Some(bytes / 10 * 9),
        (None, _) => Some(2 << 30),
    }
}

/// A browser does not say how much memory the GPU has.
#[cfg(target_arch = "wasm32")]
fn budget(_: &wgpu::Adapter, software: bool) -> Option<u64> {
    Some(if software { 1 << 30 } else { 2 << 30 })
}

/// The largest device-local heap, which Vulkan tells.
#[cfg(all(not(target_arch = "wasm32"), not(target_vendor = "apple")))]
fn vulkan_heap(adapter: &wgpu::Adapter) -> Option<u64> {
    // SAFETY: the handles are only used to ask for properties, while the adapter is alive.
    let properties = unsafe {
        let hal = adapter.as_hal::<wgpu::hal::api::Vulkan>()?;
        hal.shared_instance()
            .raw_instance()
            .get_physical_device_memory_properties(hal.raw_physical_device())
    };
    let heaps = properties.memory_heaps_as_slice();
    // Flag 1 is DEVICE_LOCAL.
    heaps
        .iter()
        .filter(|h| h.flags.as_raw() & 1 == 1)
        .map(|h| h.size)
        .max()
}

#[cfg(all(not(target_arch = "wasm32"), target_vendor = "apple"))]
fn vulkan_heap(_: &wgpu::Adapter) -> Option<u64> {
    None
}
