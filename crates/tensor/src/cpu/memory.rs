//! The processor's memory: segments for the caching allocator, and the handle behind a [`Buffer`].

use crate::device::{Buffer, DeviceId};
use crate::error::{Error, Result};
use crate::memory::{RawAllocError, SegmentSource};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::Arc;

/// Segments start on a cache line, which is also the widest vector of today's processors.
const ALIGN: usize = 64;

/// Segments of this size and more start on a multiple of it, so that the system can back them with large pages: walking
/// a matrix along its columns touches a page a step, and with small ones spends most of its time looking them up.
const LARGE_PAGE: usize = 2 << 20;

/// A piece of the process's memory, given back when the last handle goes.
pub(crate) struct Segment {
    start: NonNull<u8>,
    bytes: usize,
    base: NonNull<u8>,
    layout: Layout,
}

// SAFETY: a segment is plain memory. Who reads and writes which part of it when is ruled by the device's lock.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

/// Segments of this size and more are compared with what the machine has left.
const LARGE: usize = 64 << 20;

/// Bytes that the system could still give without taking them from somebody, where it says so. Linux grants any request
/// and ends the process when the pages are used; elsewhere the request itself is refused.
fn available() -> Option<usize> {
    #[cfg(target_os = "linux")]
    {
        let text = std::fs::read_to_string("/proc/meminfo").ok()?;
        let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
        let kilobytes: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        kilobytes.checked_mul(1024)
    }
    #[cfg(not(target_os = "linux"))]
    None
}

impl Segment {
    fn new(bytes: usize) -> std::result::Result<Segment, RawAllocError> {
        let refused = || RawAllocError {
            detail: format!("the system refused {bytes} bytes"),
        };
        if let Some(left) = (bytes >= LARGE).then(available).flatten() {
            // The rest of the program needs memory too.
            if bytes > left - left / 16 {
                let detail = format!("{bytes} bytes, but the machine has only {left} left");
                return Err(RawAllocError { detail });
            }
        }
        // Zeroed, so that reading what was never written is defined; large pieces come zeroed from the system at no
        // cost, but only when the alignment asked for is the allocator's own: so a better one is found by hand.
        let align = if bytes >= LARGE_PAGE {
            LARGE_PAGE
        } else {
            ALIGN
        };
        let padded = bytes.checked_add(align).ok_or_else(refused)?;
        let layout = Layout::from_size_align(padded, 16).map_err(|_| refused())?;
        // SAFETY: the size is not zero.
        let base = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(refused)?;
        let skip = base.as_ptr().align_offset(align);
        // SAFETY: fewer than `align` bytes are skipped of a piece that has `align` to spare.
        let start = unsafe { base.add(skip) };
        if align == LARGE_PAGE {
            ask_for_large_pages(start, bytes);
        }
        Ok(Segment {
            start,
            bytes,
            base,
            layout,
        })
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: `base` came from `alloc_zeroed` with this layout.
        unsafe { dealloc(self.base.as_ptr(), self.layout) }
    }
}

/// A wish: where it is not granted, everything works as before.
fn ask_for_large_pages(start: NonNull<u8>, bytes: usize) {
    #[cfg(target_os = "linux")]
    // SAFETY: the range is this segment's own; the advice changes neither contents nor rights.
    unsafe {
        libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, bytes);
}

/// Where the pool's segments come from.
pub(crate) struct CpuSegments;

impl SegmentSource for CpuSegments {
    type Segment = Arc<Segment>;

    fn raw_alloc(&mut self, bytes: usize) -> std::result::Result<Arc<Segment>, RawAllocError> {
        Segment::new(bytes).map(Arc::new)
    }

    fn raw_free(&mut self, segment: Arc<Segment>) {
        drop(segment);
    }
}

/// A block of a segment: what the `raw` of a CPU buffer is.
pub(crate) struct Block {
    segment: Arc<Segment>,
    offset: usize,
    bytes: usize,
}

impl Block {
    pub(crate) fn new(segment: Arc<Segment>, offset: usize, bytes: usize) -> Block {
        debug_assert!(offset + bytes <= segment.bytes);
        Block {
            segment,
            offset,
            bytes,
        }
    }

    /// The block of a buffer that this device made.
    pub(crate) fn of(buffer: &Buffer) -> Result<&Block> {
        buffer
            .raw
            .downcast_ref()
            .ok_or_else(|| Error::DeviceFailure {
                device: DeviceId::CPU,
                operation: "binding".into(),
                message: format!("{buffer:?} belongs to another device"),
            })
    }

    /// Its first byte.
    pub(crate) fn start(&self) -> *mut u8 {
        // SAFETY: the pool cuts blocks inside their segment.
        unsafe { self.segment.start.as_ptr().add(self.offset) }
    }

    /// Its size.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The bytes `offset..offset + bytes`, checked against the block.
    pub(crate) fn range(&self, operation: &str, offset: usize, bytes: usize) -> Result<*mut u8> {
        match offset.checked_add(bytes) {
            Some(end) if end <= self.bytes => {
                // SAFETY: inside the block.
                Ok(unsafe { self.start().add(offset) })
            }
            _ => Err(Error::DeviceFailure {
                device: DeviceId::CPU,
                operation: operation.into(),
                message: format!(
                    "{bytes} bytes at {offset} lie outside a buffer of {} bytes",
                    self.bytes
                ),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_start_on_a_cache_line_and_are_zero() {
        for bytes in [512, 2 << 20, 20 << 20] {
            let segment = Segment::new(bytes).unwrap();
            assert_eq!(segment.start.as_ptr() as usize % ALIGN, 0);
            // SAFETY: the segment has `bytes` initialised bytes and nobody else has it.
            let all = unsafe { std::slice::from_raw_parts(segment.start.as_ptr(), bytes) };
            assert!(all.iter().all(|b| *b == 0));
        }
    }

    #[test]
    fn what_the_system_refuses_is_an_error() {
        assert!(Segment::new(usize::MAX - 3).is_err());
        assert!(Segment::new(isize::MAX as usize - 100).is_err());
        if let Some(left) = available() {
            assert!(Segment::new(left + (1 << 30)).is_err());
        }
    }
}
