//! Compiled kernels, and the layouts that all of them share.
//!
//! Group 0 holds the operands (and the fault record, in kernels that check), group 1 two uniform blocks at dynamic
//! offsets: the launch's header and the kernel's parameters. So there is one layout for each number of storage
//! bindings, and a kernel needs none of its own.

use crate::trouble::Trouble;
use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::Arc;
use tensor::dtype::DType;
use tensor::kernel::{Kernel, Map, Reduce};
use tensor::memory::MemoryStats;
use tensor::print::{MapVariant, ReduceVariant, Unsupported, print_map, print_reduce};
use tensor::trace::Trace;
use tensor::{DeviceId, Error, Result};

/// Bytes of the launch's header.
pub(crate) const HEADER_BYTES: u64 = 64;
/// Bytes of a kernel's parameters that are bound, whatever it declares.
pub(crate) const PARAMS_BYTES: u64 = tensor::print::PARAMS_BYTES as u64;

/// A compiled kernel.
pub(crate) struct Pipeline {
    pub pipeline: wgpu::ComputePipeline,
    /// What the trace shows.
    pub source: Arc<str>,
    /// Run-time numbers of a generated kernel, in order of the parameter block.
    pub scalars: Vec<(u8, DType)>,
    /// Invocations of a workgroup.
    pub group: u32,
    /// Bindings of group 0: the operands', then the fault record's in kernels that check.
    pub storages: usize,
}

/// What distinguishes compiled forms of one hand-written kernel.
#[derive(Clone, PartialEq, Eq, Hash)]
struct KernelKey {
    name: &'static str,
    bindings: Vec<u8>,
    choice: &'static str,
}

/// Everything compiled on one device.
pub(crate) struct Pipelines {
    device: wgpu::Device,
    id: DeviceId,
    uniform_layout: wgpu::BindGroupLayout,
    storage_layouts: Vec<Option<(wgpu::BindGroupLayout, wgpu::PipelineLayout)>>,
    maps: HashMap<Arc<Map>, HashMap<MapVariant, Arc<Pipeline>>>,
    reduces: HashMap<Arc<Reduce>, HashMap<ReduceVariant, Arc<Pipeline>>>,
    kernels: HashMap<KernelKey, Arc<Pipeline>>,
}

fn buffer_entry(
    binding: u32,
    ty: wgpu::BufferBindingType,
    dynamic: bool,
    min: Option<u64>,
) -> wgpu::BindGroupLayoutEntry {
    wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer {
            ty,
            has_dynamic_offset: dynamic,
            min_binding_size: min.and_then(NonZeroU64::new),
        },
        count: None,
    }
}

impl Pipelines {
    pub(crate) fn new(device: wgpu::Device, id: DeviceId) -> Pipelines {
        let uniform = wgpu::BufferBindingType::Uniform;
        let uniform_layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("launch"),
            entries: &[
                buffer_entry(0, uniform, true, Some(HEADER_BYTES)),
                buffer_entry(1, uniform, true, Some(PARAMS_BYTES)),
            ],
        });
        Pipelines {
            device,
            id,
            uniform_layout,
            storage_layouts: Vec::new(),
            maps: HashMap::new(),
            reduces: HashMap::new(),
            kernels: HashMap::new(),
        }
    }

    /// The layout of group 1.
    pub(crate) fn uniform_layout(&self) -> &wgpu::BindGroupLayout {
        &self.uniform_layout
    }

    fn layouts(&mut self, storages: usize) -> &(wgpu::BindGroupLayout, wgpu::PipelineLayout) {
        if self.storage_layouts.len() <= storages {
            self.storage_layouts.resize_with(storages + 1, || None);
        }
        let (device, uniform_layout) = (&self.device, &self.uniform_layout);
        self.storage_layouts[storages].get_or_insert_with(|| {
            let storage = wgpu::BufferBindingType::Storage { read_only: false };
            let entries: Vec<_> = (0..storages as u32)
                .map(|b| buffer_entry(b, storage, false, None))
                .collect();
            let group = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: Some("operands"),
                entries: &entries,
            });
            let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: Some("kernel"),
                bind_group_layouts: &[Some(&group), Some(uniform_layout)],
                immediate_size: 0,
            });
            (group, layout)
        })
    }

    /// The layout of group 0 with this many bindings.
    pub(crate) fn storage_layout(&mut self, storages: usize) -> &wgpu::BindGroupLayout {
        &self.layouts(storages).0
    }

    fn compile(
        &mut self,
        name: &'static str,
        entry: &str,
        source: String,
        storages: usize,
        (scalars, group): (Vec<(u8, DType)>, u32),
        context: &Context<'_>,
    ) -> Result<Arc<Pipeline>> {
        let source = context.trace.intern(&source);
        let module = self
            .device
            .create_shader_module(wgpu::ShaderModuleDescriptor {
                label: Some(name),
                source: wgpu::ShaderSource::Wgsl(source.to_string().into()),
            });
        let layout = self.layouts(storages).1.clone();
        let pipeline = self
            .device
            .create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(name),
                layout: Some(&layout),
                module: &module,
                entry_point: Some(entry),
                compilation_options: wgpu::PipelineCompilationOptions {
                    // Workgroup memory is written before it is read, in every kernel.
                    zero_initialize_workgroup_memory: false,
                    ..Default::default()
                },
                cache: None,
            });
        // Natively a faulty kernel is known by now; in a browser it surfaces at the next await.
        context.trouble.check(name, || context.stats)?;
        Ok(Arc::new(Pipeline {
            pipeline,
            source,
            scalars,
            group,
            storages,
        }))
    }

    /// An elementwise kernel.
    pub(crate) fn map(
        &mut self,
        map: &Arc<Map>,
        variant: MapVariant,
        context: &Context<'_>,
    ) -> Result<Arc<Pipeline>> {
        if let Some(found) = self.maps.get(map).and_then(|v| v.get(&variant)) {
            return Ok(found.clone());
        }
        let printed = print_map(map, &variant).map_err(|u| self.unsupported(map.name, u))?;
        let storages = variant
            .bindings
            .iter()
            .map(|&b| b as usize + 1)
            .max()
            .unwrap_or(0);
        let rest = (printed.scalars, variant.group);
        let pipeline = self.compile(map.name, "main", printed.source, storages, rest, context)?;
        self.maps
            .entry(map.clone())
            .or_default()
            .insert(variant, pipeline.clone());
        Ok(pipeline)
    }

    /// A reduction.
    pub(crate) fn reduce(
        &mut self,
        reduce: &Arc<Reduce>,
        variant: ReduceVariant,
        context: &Context<'_>,
    ) -> Result<Arc<Pipeline>> {
        if let Some(found) = self.reduces.get(reduce).and_then(|v| v.get(&variant)) {
            return Ok(found.clone());
        }
        let printed =
            print_reduce(reduce, &variant).map_err(|u| self.unsupported(reduce.name, u))?;
        let storages = variant
            .bindings
            .iter()
            .map(|&b| b as usize + 1)
            .max()
            .unwrap_or(0);
        let rest = (printed.scalars, variant.group);
        let pipeline =
            self.compile(reduce.name, "main", printed.source, storages, rest, context)?;
        self.reduces
            .entry(reduce.clone())
            .or_default()
            .insert(variant, pipeline.clone());
        Ok(pipeline)
    }

    /// A hand-written kernel; `choice` tells apart forms of one kernel that the device chooses between.
    pub(crate) fn kernel(
        &mut self,
        kernel: &'static Kernel,
        bindings: &[u8],
        choice: &'static str,
        group: u32,
        context: &Context<'_>,
    ) -> Result<Arc<Pipeline>> {
        let key = KernelKey {
            name: kernel.name,
            bindings: bindings.to_vec(),
            choice,
        };
        if let Some(found) = self.kernels.get(&key) {
            return Ok(found.clone());
        }
        let missing = || Error::KernelMissing {
            device: self.id,
            kernel: kernel.name,
        };
        let (source, entry) =
            crate::shader::assemble(kernel, bindings, choice, group).ok_or_else(missing)?;
        let operands = bindings.iter().map(|&b| b as usize + 1).max().unwrap_or(0);
        let storages = operands + usize::from(kernel.checks);
        let pipeline = self.compile(
            kernel.name,
            &entry,
            source,
            storages,
            (Vec::new(), group),
            context,
        )?;
        self.kernels.insert(key, pipeline.clone());
        Ok(pipeline)
    }

    fn unsupported(&self, op: &'static str, u: Unsupported) -> Error {
        Error::UnsupportedDType {
            op,
            dtype: u.dtype,
            device: self.id,
        }
    }
}

/// What compiling needs of the device.
pub(crate) struct Context<'a> {
    pub trace: &'a Trace,
    pub trouble: &'a Trouble,
    pub stats: MemoryStats,
}
