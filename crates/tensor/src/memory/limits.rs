//! The allocator's sizes: how a request is rounded, where it comes from, when a block is cut in two.

use serde::{Deserialize, Serialize};

/// Every block is a multiple of this; it also satisfies the binding alignment of every device.
const BLOCK_MULTIPLE: usize = 512;
/// Largest block that the small pool serves.
const SMALL_BLOCK: usize = 1 << 20;
/// Segment of the small pool.
const SMALL_SEGMENT: usize = 2 << 20;
/// From this size on a request gets a segment of its own.
const OWN_SEGMENT: usize = 10 << 20;
/// Segment that the large pool shares between requests below [`OWN_SEGMENT`].
const LARGE_SEGMENT: usize = 20 << 20;
/// Segments of their own are a multiple of this.
const OWN_SEGMENT_MULTIPLE: usize = 2 << 20;

/// The two pools. They never lend to each other, so that many small tensors cannot cut up the large segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PoolKind {
    /// Blocks up to 1 MiB.
    Small,
    /// Everything larger.
    Large,
}

impl PoolKind {
    /// The pool that serves a block of this (rounded) size.
    pub fn of(block: usize) -> PoolKind {
        if block <= SMALL_BLOCK {
            PoolKind::Small
        } else {
            PoolKind::Large
        }
    }

    /// Whether `rest` bytes are worth splitting off; the large pool prefers to waste up to 1 MiB to being cut up.
    pub(super) fn splits_off(self, rest: usize) -> bool {
        match self {
            PoolKind::Small => rest >= BLOCK_MULTIPLE,
            PoolKind::Large => rest > SMALL_BLOCK,
        }
    }
}

/// The block that a request of `bytes` takes; `None` where the rounded size does not fit a `usize`.
pub fn block_bytes(bytes: usize) -> Option<usize> {
    bytes.max(1).checked_next_multiple_of(BLOCK_MULTIPLE)
}

/// The segment that is asked of the device when no free block of size `block` is there.
pub fn segment_bytes(block: usize) -> Option<usize> {
    if block <= SMALL_BLOCK {
        Some(SMALL_SEGMENT)
    } else if block < OWN_SEGMENT {
        Some(LARGE_SEGMENT)
    } else {
        block.checked_next_multiple_of(OWN_SEGMENT_MULTIPLE)
    }
}
