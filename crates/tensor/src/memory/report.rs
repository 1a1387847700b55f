//! What the allocator tells about itself.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::PoolKind;

/// The allocator's counters. Sizes are bytes; counts run from the pool's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryStats {
    /// Bytes in live blocks, rounding included.
    pub allocated: u64,
    /// Bytes that callers asked for in live blocks; `allocated - requested` is lost to rounding.
    pub requested: u64,
    /// Bytes in segments, live or cached: what the driver sees.
    pub reserved: u64,
    /// Largest `allocated` since the last reset.
    pub peak_allocated: u64,
    /// Largest `reserved` since the last reset.
    pub peak_reserved: u64,
    /// The memory limit in force, if any.
    pub limit: Option<u64>,
    /// Live blocks.
    pub live_blocks: u64,
    /// Segments held.
    pub segments: u64,
    /// Allocations that succeeded.
    pub allocations: u64,
    /// Blocks given back.
    pub frees: u64,
    /// Allocations served without asking the device.
    pub cache_hits: u64,
    /// Segments asked of the device and received.
    pub raw_allocations: u64,
    /// Segments given back to the device.
    pub raw_frees: u64,
    /// Times that the cache was given back because the device or the limit refused.
    pub retries: u64,
    /// Allocations that failed for good.
    pub ooms: u64,
}

/// Everything that a pool holds, segment by segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The counters at the same moment.
    pub stats: MemoryStats,
    /// Segments in the order in which they were made.
    pub segments: Vec<SegmentSnapshot>,
    /// The largest request that the cache can serve without asking the device.
    pub largest_free: u64,
}

/// One segment and how it is cut up; its blocks cover it without a gap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentSnapshot {
    /// Number of the segment, never used twice.
    pub id: u64,
    /// The pool that it belongs to.
    pub pool: PoolKind,
    /// Its size.
    pub bytes: u64,
    /// Bytes of it in live blocks.
    pub allocated: u64,
    /// Its blocks by offset.
    pub blocks: Vec<BlockSnapshot>,
}

/// One block of a segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockSnapshot {
    /// Where it starts in the segment.
    pub offset: u64,
    /// Its size.
    pub bytes: u64,
    /// What the caller asked for; zero in a free block.
    pub requested: u64,
    /// Number of the allocation, `None` in a free block.
    pub id: Option<u64>,
    /// What it is for, `None` in a free block.
    pub label: Option<Cow<'static, str>>,
}
