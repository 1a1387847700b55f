//! One caching allocator for every device.
//!
//! Asking a driver for memory is slow (a GPU may stop to do it, a CPU pays for fresh pages), and a training step asks
//! for the same sizes again and again. So the pool asks the driver for large *segments*, cuts *blocks* out of them,
//! and keeps what is freed. After the first step nothing is asked of the driver any more.
//!
//! The sizes are the ones that PyTorch publishes for its CUDA allocator, so that what a learner sees here is what they
//! will meet there:
//!
//! - a request is rounded up to a multiple of 512 bytes (an empty one takes 512);
//! - up to 1 MiB it comes from the *small* pool, whose segments have 2 MiB;
//! - up to 10 MiB from the *large* pool, in segments of 20 MiB;
//! - above, in a segment of its own, rounded up to 2 MiB;
//! - the smallest free block that fits is taken; what is left over is split off when it is worth keeping;
//! - a freed block merges with both neighbours at once;
//! - when the device refuses, all wholly free segments are given back and the request is tried once more.
//!
//! [`Pool`] does not lock: a device wraps it in a mutex and is the [`SegmentSource`] that it draws from.

mod limits;
mod out_of_memory;
mod pool;
mod report;
mod timeline;

#[cfg(test)]
mod tests;

pub use limits::{PoolKind, block_bytes, segment_bytes};
pub use out_of_memory::{OutOfMemory, OutOfMemoryCause, format_size};
pub use pool::{Block, Pool, PoolConfig, RawAllocError, SegmentSource};
pub use report::{BlockSnapshot, MemoryStats, SegmentSnapshot, Snapshot};
pub use timeline::{MemoryEvent, Timeline, TimelineEntry};
