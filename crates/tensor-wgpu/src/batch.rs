//! Launches wait here and are submitted together: one encoder, one pass, one write of all uniform blocks.

use crate::binding::Range;
use crate::pipeline::{HEADER_BYTES, PARAMS_BYTES, Pipeline};
use std::collections::HashMap;
use std::sync::Arc;

/// Alignment of a uniform block's dynamic offset: WebGPU's coarsest.
const ALIGN: usize = 256;
/// Uniform bytes of one batch.
const CAPACITY: usize = 256 << 10;
/// Launches in a batch unless told otherwise. Long enough that a submission's cost disappears, short enough that the
/// device starts while the host still prepares.
pub(crate) const DEFAULT_LAUNCHES: usize = 64;
/// Groups of bindings that are kept for the next launch on the same memory.
const GROUPS_KEPT: usize = 4096;

struct Dispatch {
    pipeline: Arc<Pipeline>,
    operands: wgpu::BindGroup,
    uniforms: [u32; 2],
    grid: [u32; 3],
}

/// What identifies a group of bindings: each range's segment, start and end.
type GroupKey = Vec<(u64, usize, usize)>;

/// Launches that have not been submitted.
pub(crate) struct Batch {
    device: wgpu::Device,
    queue: wgpu::Queue,
    uniform_buffer: wgpu::Buffer,
    uniform_group: wgpu::BindGroup,
    uniforms: Vec<u8>,
    dispatches: Vec<Dispatch>,
    touched: Vec<(u64, usize, usize)>,
    groups: HashMap<GroupKey, wgpu::BindGroup>,
    /// Reckoned milliseconds of the launches that wait.
    cost_ms: f64,
    /// Launches in a submission.
    pub limit: usize,
    /// Submissions so far.
    pub submissions: u64,
}

impl Batch {
    pub(crate) fn new(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        layout: &wgpu::BindGroupLayout,
    ) -> Batch {
        let uniform_buffer = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("launch parameters"),
            size: CAPACITY as u64 + PARAMS_BYTES,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let part = |binding, bytes| wgpu::BindGroupEntry {
            binding,
            resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                buffer: &uniform_buffer,
                offset: 0,
                size: std::num::NonZeroU64::new(bytes),
            }),
        };
        let uniform_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("launch parameters"),
            layout,
            entries: &[part(0, HEADER_BYTES), part(1, PARAMS_BYTES)],
        });
        Batch {
            device: device.clone(),
            queue: queue.clone(),
            uniform_buffer,
            uniform_group,
            uniforms: Vec::new(),
            dispatches: Vec::new(),
            touched: Vec::new(),
            groups: HashMap::new(),
            cost_ms: 0.0,
            limit: DEFAULT_LAUNCHES,
            submissions: 0,
        }
    }

    /// Add a launch. Submits by itself when the batch is full or would keep the device busy for too long.
    #[allow(clippy::too_many_arguments)] // one call site; each is a different part of the launch
    pub(crate) fn push(
        &mut self,
        pipeline: &Arc<Pipeline>,
        layout: &wgpu::BindGroupLayout,
        ranges: &[Range],
        header: &[u8],
        params: &[u8],
        grid: [u32; 3],
        cost_ms: f64,
    ) {
        let need = ALIGN + params.len().max(1).next_multiple_of(ALIGN);
        // A driver that sees no end of a submission for seconds resets the device.
        if self.uniforms.len() + need > CAPACITY
            || (self.cost_ms > 0.0 && self.cost_ms + cost_ms > 300.0)
        {
            self.submit();
        }
        let operands = self.group(layout, ranges);
        let header_at = self.uniforms.len();
        self.uniforms.extend_from_slice(header);
        self.uniforms.resize(header_at + ALIGN, 0);
        let params_at = self.uniforms.len();
        self.uniforms.extend_from_slice(params);
        self.uniforms.resize(header_at + need, 0);
        for r in ranges {
            let range = (r.segment.id, r.start, r.end);
            if !self.touched.contains(&range) {
                self.touched.push(range);
            }
        }
        self.dispatches.push(Dispatch {
            pipeline: pipeline.clone(),
            operands,
            uniforms: [header_at as u32, params_at as u32],
            grid,
        });
        self.cost_ms += cost_ms;
        if self.dispatches.len() >= self.limit {
            self.submit();
        }
    }

    fn group(&mut self, layout: &wgpu::BindGroupLayout, ranges: &[Range]) -> wgpu::BindGroup {
        let key: GroupKey = ranges
            .iter()
            .map(|r| (r.segment.id, r.start, r.end))
            .collect();
        if let Some(group) = self.groups.get(&key) {
            return group.clone();
        }
        if self.groups.len() >= GROUPS_KEPT {
            self.groups.clear();
        }
        let entries: Vec<_> = ranges
            .iter()
            .enumerate()
            .map(|(b, r)| wgpu::BindGroupEntry {
                binding: b as u32,
                resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                    buffer: &r.segment.buffer,
                    offset: r.start as u64,
                    size: std::num::NonZeroU64::new((r.end - r.start) as u64),
                }),
            })
            .collect();
        let group = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("operands"),
            layout,
            entries: &entries,
        });
        self.groups.insert(key, group.clone());
        group
    }

    /// Whether a launch that waits may read or write these bytes.
    pub(crate) fn touches(&self, segment: u64, start: usize, end: usize) -> bool {
        self.touched
            .iter()
            .any(|&(s, low, high)| s == segment && low < end && start < high)
    }

    /// Forget the bindings of segments that leave.
    pub(crate) fn forget_groups(&mut self) {
        self.groups.clear();
    }

    /// Submit what waits, if anything does.
    pub(crate) fn submit(&mut self) {
        if !self.dispatches.is_empty() {
            let encoder = self.encode();
            self.queue.submit([encoder.finish()]);
            self.submissions += 1;
        }
    }

    /// Encode what waits, for the caller to add to and submit.
    pub(crate) fn encode(&mut self) -> wgpu::CommandEncoder {
        let mut encoder = self
            .device
            .create_command_encoder(&wgpu::CommandEncoderDescriptor {
                label: Some("batch"),
            });
        if !self.dispatches.is_empty() {
            self.queue
                .write_buffer(&self.uniform_buffer, 0, &self.uniforms);
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            for d in &self.dispatches {
                pass.set_pipeline(&d.pipeline.pipeline);
                pass.set_bind_group(0, &d.operands, &[]);
                pass.set_bind_group(1, &self.uniform_group, &d.uniforms);
                pass.dispatch_workgroups(d.grid[0], d.grid[1], d.grid[2]);
            }
        }
        self.uniforms.clear();
        self.dispatches.clear();
        self.touched.clear();
        self.cost_ms = 0.0;
        encoder
    }
}
