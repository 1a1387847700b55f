//! Segments of device memory for the caching allocator, and the handle behind a tensor's buffer.

use crate::trouble::Trouble;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tensor::device::Buffer;
use tensor::memory::{RawAllocError, SegmentSource};
use tensor::{Error, Result};

/// A buffer of the device that blocks are cut from.
#[derive(Debug)]
pub(crate) struct Segment {
    /// Never used twice in the process.
    pub id: u64,
    /// The buffer.
    pub buffer: wgpu::Buffer,
}

/// A block of a segment: what the `raw` of this device's buffers is.
pub(crate) struct Block {
    pub segment: Arc<Segment>,
    /// A multiple of 512.
    pub offset: usize,
    /// A multiple of 4.
    pub bytes: usize,
}

impl Block {
    /// The block of a buffer that this device made.
    pub(crate) fn of<'b>(buffer: &'b Buffer, trouble: &Trouble) -> Result<&'b Block> {
        buffer.raw.downcast_ref().ok_or_else(|| {
            trouble.failure("binding", format!("{buffer:?} belongs to another device"))
        })
    }

    /// Fail unless the bytes lie inside.
    pub(crate) fn check(
        &self,
        trouble: &Trouble,
        operation: &str,
        offset: usize,
        bytes: usize,
    ) -> Result<()> {
        match offset.checked_add(bytes) {
            Some(end) if end <= self.bytes => Ok(()),
            _ => Err(trouble.failure(
                operation,
                format!(
                    "{bytes} bytes at {offset} lie outside a buffer of {} bytes",
                    self.bytes
                ),
            )),
        }
    }
}

/// Asks the device for segments, and keeps those given back until the work that may use them has been submitted.
pub(crate) struct Segments {
    device: wgpu::Device,
    /// Given back, not yet destroyed.
    pub retired: Vec<Arc<Segment>>,
}

impl Segments {
    pub(crate) fn new(device: wgpu::Device) -> Segments {
        Segments {
            device,
            retired: Vec::new(),
        }
    }
}

impl SegmentSource for Segments {
    type Segment = Arc<Segment>;

    fn raw_alloc(&mut self, bytes: usize) -> std::result::Result<Arc<Segment>, RawAllocError> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        // Natively a scope answers at once. In a browser it answers by a promise, too late to refuse here: there the
        // failure reaches the uncaptured-error callback and surfaces at the next await.
        #[cfg(not(target_arch = "wasm32"))]
        let scope = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("segment"),
            size: bytes as u64,
            usage: wgpu::BufferUsages::STORAGE
                | wgpu::BufferUsages::COPY_SRC
                | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        #[cfg(not(target_arch = "wasm32"))]
        if let Some(error) = pollster::block_on(scope.pop()) {
            return Err(RawAllocError {
                detail: error.to_string(),
            });
        }
        Ok(Arc::new(Segment {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            buffer,
        }))
    }

    fn raw_free(&mut self, segment: Arc<Segment>) {
        self.retired.push(segment);
    }
}

/// The typed error of an allocation.
pub(crate) fn out_of_memory(
    device: tensor::DeviceId,
    detail: tensor::memory::OutOfMemory,
) -> Error {
    Error::OutOfMemory {
        device,
        detail: Box::new(detail),
    }
}
