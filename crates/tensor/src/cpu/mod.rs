//! The CPU device: what a learner without a GPU gets, and the yardstick for the others.
//!
//! It runs every launch at once, on the caller's thread and on rayon's where the work is large enough.

mod cache;
mod check;
mod conv2d;
mod facts;
mod fold;
mod frame;
mod index;
mod kernels;
mod lanes;
mod launch;
mod lines;
mod map;
mod math;
mod matmul;
mod memory;
mod nll;
mod operand;
mod parallel;
mod pool2d;
mod program;
mod random;
mod reduce;
#[cfg(test)]
mod scalar;
mod simd;
mod single;
mod steps;
mod strided;
#[cfg(test)]
mod tests;
mod tile;

use crate::device::{Backend, Buffer, DeviceFacts, DeviceId, LocalFuture, MemoryControl};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernel::{Launch, Work};
use crate::memory::{MemoryStats, Pool, PoolConfig, Snapshot};
use crate::trace::{EventKind, Record, Timing, Trace};
use cache::Programs;
use launch::CpuLaunch;
use memory::{Block, CpuSegments};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes that one thread copies out at a time.
const COPIED_AT_ONCE: usize = 256 << 10;

/// The processor.
pub struct CpuDevice {
    memory: Account,
    /// Held while bytes are read or written: two threads that write one tensor then find it in some order, never half.
    running: Mutex<()>,
    programs: Programs,
    trace: Trace,
}

struct Account(Mutex<Pool<CpuSegments>>);

impl CpuDevice {
    /// A device with an empty pool.
    pub fn new() -> CpuDevice {
        CpuDevice {
            memory: Account(Mutex::new(Pool::new(CpuSegments, PoolConfig::default()))),
            running: Mutex::new(()),
            programs: Programs::default(),
            trace: Trace::default(),
        }
    }

    fn record(&self, kind: EventKind, name: &str, start_ns: u64, bytes: u64, flops: u64) {
        let duration_ns = self.trace.now_ns().saturating_sub(start_ns);
        let record = Record::new(kind, name, "cpu", Timing::wall());
        self.trace.record(Record {
            bytes,
            flops,
            start_ns,
            duration_ns,
            ..record
        });
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        // A launch that panicked left some output half written, which is no worse than undefined.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for CpuDevice {
    fn default() -> CpuDevice {
        CpuDevice::new()
    }
}

impl Account {
    fn pool(&self) -> MutexGuard<'_, Pool<CpuSegments>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MemoryControl for Account {
    fn stats(&self) -> MemoryStats {
        self.pool().stats()
    }

    fn snapshot(&self) -> Snapshot {
        self.pool().snapshot()
    }

    fn set_memory_limit(&self, bytes: Option<usize>) {
        self.pool().set_memory_limit(bytes.map(|b| b as u64));
    }

    fn empty_cache(&self) {
        self.pool().empty_cache();
    }

    fn reset_peaks(&self) {
        self.pool().reset_peaks();
    }
}

impl Backend for CpuDevice {
    fn id(&self) -> DeviceId {
        DeviceId::CPU
    }

    fn facts(&self) -> DeviceFacts {
        facts::facts()
    }

    fn supports(&self, _: DType) -> bool {
        true
    }

    fn alloc(&self, bytes: usize) -> Result<Buffer> {
        let start = self.trace.now_ns();
        let block = self
            .memory
            .pool()
            .alloc(bytes, "tensor")
            .map_err(|detail| Error::OutOfMemory {
                device: DeviceId::CPU,
                detail: Box::new(detail),
            })?;
        let (id, raw) = (
            block.id,
            Block::new(block.segment, block.offset, block.bytes),
        );
        self.record(EventKind::Alloc, "alloc", start, raw.bytes() as u64, 0);
        Ok(Buffer {
            raw: Arc::new(raw),
            bytes,
            block: id,
        })
    }

    fn free(&self, buffer: &Buffer) {
        let start = self.trace.now_ns();
        if self.memory.pool().free(buffer.block) {
            let bytes = Block::of(buffer).map_or(buffer.bytes, Block::bytes);
            self.record(EventKind::Free, "free", start, bytes as u64, 0);
        }
    }

    fn upload(&self, dst: &Buffer, offset: usize, src: &[u8]) -> Result<()> {
        let _running = self.lock();
        let start = self.trace.now_ns();
        let to = Block::of(dst)?.range("upload", offset, src.len())?;
        // SAFETY: checked to lie inside the block; the lock keeps other writers away.
        unsafe { to.copy_from_nonoverlapping(src.as_ptr(), src.len()) };
        self.record(EventKind::Upload, "upload", start, src.len() as u64, 0);
        Ok(())
    }

    fn download<'a>(
        &'a self,
        src: &'a Buffer,
        offset: usize,
        into: &'a mut [u8],
    ) -> LocalFuture<'a, Result<()>> {
        let _running = self.lock();
        let start = self.trace.now_ns();
        let bytes = into.len();
        let copied = Block::of(src)
            .and_then(|block| block.range("download", offset, bytes))
            .map(|from| {
                // SAFETY: checked to lie inside the block; the lock keeps writers away.
                let from = unsafe { std::slice::from_raw_parts(from, bytes) };
                // Several threads, since what costs is that the system hands out the pages written to first.
                let threads = parallel::threads(bytes / 8);
                parallel::chunks_mut(into, COPIED_AT_ONCE, threads, |i, to| {
                    to.copy_from_slice(&from[i * COPIED_AT_ONCE..][..to.len()]);
                });
            });
        self.record(EventKind::Download, "download", start, bytes as u64, 0);
        Box::pin(std::future::ready(copied))
    }

    fn launch(&self, launch: &Launch<'_>) -> Result<()> {
        let _running = self.lock();
        let start = self.trace.now_ns();
        let bindings = launch.bindings;
        let done = match &launch.work {
            Work::Map {
                map,
                shape,
                scalars,
            } => map::run(&self.programs, map, shape, scalars, bindings),
            Work::Maps {
                map,
                lengths,
                scalars,
            } => map::run_all(&self.programs, map, lengths, scalars, bindings),
            Work::Reduce {
                reduce,
                shape,
                kept,
                scalars,
            } => reduce::run(&self.programs, reduce, shape, *kept, scalars, bindings),
            Work::Kernel {
                kernel,
                params,
                check,
                ..
            } => {
                let entry = kernels::find(kernel.name)?;
                entry(&CpuLaunch::new(kernel, params, *check, bindings)?)
            }
        };
        self.record(
            EventKind::Launch,
            launch.name(),
            start,
            launch.bytes,
            launch.flops,
        );
        done
    }

    fn synchronize(&self) -> LocalFuture<'_, Result<()>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn memory(&self) -> &dyn MemoryControl {
        &self.memory
    }

    fn trace(&self) -> &Trace {
        &self.trace
    }
}
