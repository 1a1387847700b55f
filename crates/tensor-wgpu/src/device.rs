//! The device: bytes in and out, launches into the batch, errors and faults at the next await.

use crate::batch::Batch;
use crate::binding::Range;
use crate::fault::Faults;
use crate::matmul::Tuned;
use crate::memory::{Block, Segment, Segments, out_of_memory};
use crate::pipeline::{Context, Pipelines};
use crate::trouble::Trouble;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tensor::device::{Backend, Batching, Buffer, DeviceFacts, LocalFuture, MemoryControl};
use tensor::dtype::DType;
use tensor::kernel::Launch;
use tensor::memory::{MemoryStats, Pool, PoolConfig, Snapshot};
use tensor::trace::{EventKind, Record, Timing, Trace};
use tensor::{DeviceId, Error, Result};

/// What limits launches on this device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Invocations of a workgroup.
    pub group: u32,
    /// Invocations of a workgroup of elementwise kernels with many elements, where no workgroup is long.
    pub wide_group: u32,
    /// Largest range of one binding.
    pub binding: usize,
    /// Bindings of one dispatch.
    pub storages: usize,
    /// Workgroups in one dimension of a grid.
    pub grid: u32,
}

/// How fast the device is reckoned to be, to keep single dispatches short.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rates {
    /// Arithmetic operations in a millisecond.
    pub flops_per_ms: f64,
    /// Bytes in a millisecond.
    pub bytes_per_ms: f64,
}

/// What changes while the device works, behind one lock.
pub(crate) struct State {
    pub pool: Pool<Segments>,
    pub batch: Batch,
    pub pipelines: Pipelines,
    pub faults: Faults,
    /// A few bytes to bind where an operand has no elements.
    pub spare: Range,
    pub rates: Rates,
    /// The matrix kernel that the tuning run found fastest.
    pub matmul: Tuned,
    /// Take that form whatever the shape, as the tuning run does.
    pub tuning: bool,
}

/// A WGSL device.
pub struct WgpuDevice {
    pub(crate) id: DeviceId,
    pub(crate) name: String,
    pub(crate) facts: Mutex<DeviceFacts>,
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    pub(crate) limits: Limits,
    pub(crate) software: bool,
    pub(crate) trouble: Trouble,
    pub(crate) trace: Trace,
    config: PoolConfig,
    state: Mutex<State>,
}

/// What `open` found out about the adapter.
pub(crate) struct Opened {
    pub id: DeviceId,
    pub facts: DeviceFacts,
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
    pub limits: Limits,
    pub memory_limit: Option<u64>,
    pub largest_buffer: usize,
}

impl WgpuDevice {
    pub(crate) fn new(opened: Opened) -> WgpuDevice {
        let Opened {
            id,
            facts,
            device,
            queue,
            limits,
            memory_limit,
            largest_buffer,
        } = opened;
        let trouble = Trouble::watch(id, &device);
        let pipelines = Pipelines::new(device.clone(), id);
        let batch = Batch::new(&device, &queue, pipelines.uniform_layout());
        let spare = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("spare"),
            size: 4096,
            usage: wgpu::BufferUsages::STORAGE,
            mapped_at_creation: false,
        });
        let config = PoolConfig {
            limit: memory_limit,
            max_block: Some(largest_buffer),
        };
        let state = State {
            pool: Pool::new(Segments::new(device.clone()), config),
            batch,
            pipelines,
            faults: Faults::new(&device),
            spare: Range {
                segment: Arc::new(Segment {
                    id: 0,
                    buffer: spare,
                }),
                start: 0,
                end: 4096,
            },
            // Until measured: a slow device, so that the first launches are cut rather too small.
            rates: if facts.software {
                Rates {
                    flops_per_ms: 1e6,
                    bytes_per_ms: 1e6,
                }
            } else {
                Rates {
                    flops_per_ms: 5e7,
                    bytes_per_ms: 1e7,
                }
            },
            matmul: Tuned::Register,
            tuning: false,
        };
        WgpuDevice {
            id,
            name: id.to_string(),
            software: facts.software,
            facts: Mutex::new(facts),
            device,
            queue,
            limits,
            trouble,
            trace: Trace::default(),
            config,
            state: Mutex::new(state),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begin anew after the tuning run: its memory and its launches are not the user's.
    pub(crate) fn forget_history(&mut self) {
        self.trace = Trace::default();
        let mut state = self.lock();
        state.pool.empty_cache();
        self.retire(&mut state);
        state.batch.submissions = 0;
        let fresh = Pool::new(Segments::new(self.device.clone()), self.config);
        state.pool = fresh;
    }

    /// What compiling a kernel needs.
    pub(crate) fn context(&self, stats: MemoryStats) -> Context<'_> {
        Context {
            trace: &self.trace,
            trouble: &self.trouble,
            stats,
        }
    }

    pub(crate) fn check(&self, operation: &str, state: &State) -> Result<()> {
        self.trouble.check(operation, || state.pool.stats())
    }

    /// A block of memory, for a tensor or for the device's own use.
    pub(crate) fn alloc_in(
        &self,
        state: &mut State,
        bytes: usize,
        label: &'static str,
    ) -> Result<Buffer> {
        let block = state
            .pool
            .alloc(bytes, label)
            .map_err(|detail| out_of_memory(self.id, detail));
        self.retire(state);
        let block = block?;
        let raw = Block {
            segment: block.segment,
            offset: block.offset,
            bytes: block.bytes,
        };
        Ok(Buffer {
            raw: Arc::new(raw),
            bytes,
            block: block.id,
        })
    }

    /// Destroy segments that have left the pool, after the work that may still use them.
    fn retire(&self, state: &mut State) {
        let retired = std::mem::take(&mut state.pool.source_mut().retired);
        if retired.is_empty() {
            return;
        }
        state.batch.submit();
        state.batch.forget_groups();
        for segment in retired {
            // Dropping alone would leave the memory to the browser's garbage collector.
            segment.buffer.destroy();
        }
    }

    /// Note an event that began at `start_ns`.
    pub(crate) fn record(
        &self,
        kind: EventKind,
        name: &str,
        bytes: usize,
        start_ns: u64,
        timing: Timing,
    ) {
        let duration_ns = self.trace.now_ns().saturating_sub(start_ns);
        let record = Record::new(kind, name, &self.name, timing);
        self.trace.record(Record {
            bytes: bytes as u64,
            start_ns,
            duration_ns,
            ..record
        });
    }

    /// Copy bytes to a place that is aligned, or may be padded to be.
    fn write(&self, state: &mut State, block: &Block, offset: usize, src: &[u8]) {
        let start = block.offset + offset;
        if state.batch.touches(
            block.segment.id,
            start,
            start + src.len().next_multiple_of(4),
        ) {
            state.batch.submit();
        }
        // Large copies in pieces, each handed on at once, so that the copies made on the way are few.
        const PIECE: usize = 32 << 20;
        for (i, piece) in src.chunks(PIECE).enumerate() {
            let at = (start + i * PIECE) as u64;
            let whole = piece.len() / 4 * 4;
            if whole > 0 {
                self.queue
                    .write_buffer(&block.segment.buffer, at, &piece[..whole]);
            }
            if whole < piece.len() {
                let mut rest = [0u8; 4];
                rest[..piece.len() - whole].copy_from_slice(&piece[whole..]);
                self.queue
                    .write_buffer(&block.segment.buffer, at + whole as u64, &rest);
            }
            if piece.len() == PIECE {
                self.queue.submit([]);
            }
        }
    }
}

impl Drop for WgpuDevice {
    fn drop(&mut self) {
        // In a browser the memory would otherwise wait for the garbage collector.
        self.device.destroy();
    }
}

impl Backend for WgpuDevice {
    fn id(&self) -> DeviceId {
        self.id
    }

    fn facts(&self) -> DeviceFacts {
        self.facts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn supports(&self, dtype: DType) -> bool {
        dtype != DType::F64
    }

    fn alloc(&self, bytes: usize) -> Result<Buffer> {
        let mut state = self.lock();
        self.check("alloc", &state)?;
        self.alloc_in(&mut state, bytes, "tensor")
    }

    fn free(&self, buffer: &Buffer) {
        self.lock().pool.free(buffer.block);
    }

    fn upload(&self, dst: &Buffer, offset: usize, src: &[u8]) -> Result<()> {
        let start_ns = self.trace.now_ns();
        let mut state = self.lock();
        self.check("upload", &state)?;
        let block = Block::of(dst, &self.trouble)?;
        block.check(&self.trouble, "upload", offset, src.len())?;
        if src.is_empty() {
            return Ok(());
        }
        // Up to the end of what was asked for, the last word may be padded: nothing else is there.
        let padded = src.len().is_multiple_of(4) || offset + src.len() == dst.bytes;
        if offset.is_multiple_of(4) && padded {
            self.write(&mut state, block, offset, src);
        } else {
            self.write_bytes(&mut state, dst, offset, src)?;
        }
        self.record(
            EventKind::Upload,
            "upload",
            src.len(),
            start_ns,
            Timing::Enqueue,
        );
        Ok(())
    }

    fn download<'a>(
        &'a self,
        src: &'a Buffer,
        offset: usize,
        into: &'a mut [u8],
    ) -> LocalFuture<'a, Result<()>> {
        Box::pin(self.read(src, offset, into))
    }

    fn launch(&self, launch: &Launch<'_>) -> Result<()> {
        let mut state = self.lock();
        self.check(launch.name(), &state)?;
        self.launch_in(&mut state, launch)
    }

    fn synchronize(&self) -> LocalFuture<'_, Result<()>> {
        Box::pin(self.settle())
    }

    fn memory(&self) -> &dyn MemoryControl {
        self
    }

    fn trace(&self) -> &Trace {
        &self.trace
    }

    fn destroy(&self) {
        self.trouble.lose("it was destroyed");
        self.device.destroy();
    }

    fn batching(&self) -> Option<&dyn Batching> {
        Some(self)
    }
}

impl WgpuDevice {
    /// Copy bytes to where words are shared with neighbours: through a temporary and a kernel that writes bytes.
    fn write_bytes(
        &self,
        state: &mut State,
        dst: &Buffer,
        offset: usize,
        src: &[u8],
    ) -> Result<()> {
        let temporary = self.alloc_in(state, src.len(), "upload")?;
        let result = Block::of(&temporary, &self.trouble).and_then(|block| {
            self.write(state, block, 0, src);
            self.copy_bytes(state, &temporary, dst, offset, src.len())
        });
        state.pool.free(temporary.block);
        result
    }
}

impl MemoryControl for WgpuDevice {
    fn stats(&self) -> MemoryStats {
        self.lock().pool.stats()
    }

    fn snapshot(&self) -> Snapshot {
        self.lock().pool.snapshot()
    }

    fn set_memory_limit(&self, bytes: Option<usize>) {
        self.lock().pool.set_memory_limit(bytes.map(|b| b as u64));
    }

    fn empty_cache(&self) {
        let mut state = self.lock();
        state.pool.empty_cache();
        self.retire(&mut state);
    }

    fn reset_peaks(&self) {
        self.lock().pool.reset_peaks();
    }
}

impl Batching for WgpuDevice {
    fn batch_size(&self) -> usize {
        self.lock().batch.limit
    }

    fn set_batch_size(&self, launches: usize) {
        self.lock().batch.limit = launches.max(1);
    }

    fn submissions(&self) -> u64 {
        self.lock().batch.submissions
    }

    fn flush(&self) {
        self.lock().batch.submit();
    }
}

/// The typed error for a binding beyond the device's limit.
pub(crate) fn too_large(device: DeviceId, op: &str, bytes: usize, limit: usize) -> Error {
    Error::BindingTooLarge {
        device,
        op: op.to_owned(),
        bytes,
        limit,
    }
}
