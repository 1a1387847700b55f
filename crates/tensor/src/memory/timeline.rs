//! The allocator's history, for drawing memory over time. Off unless asked for.

use std::borrow::Cow;
use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use web_time::Instant;

use super::MemoryStats;

/// What changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryEvent {
    /// A block was handed out.
    Alloc,
    /// A block came back.
    Free,
    /// The device gave a segment.
    SegmentAlloc,
    /// A segment went back to the device.
    SegmentFree,
    /// An allocation failed for good.
    OutOfMemory,
}

/// One event, with the pool's state after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineEntry {
    /// Nanoseconds since the pool was made.
    pub time_ns: u64,
    /// What happened.
    pub event: MemoryEvent,
    /// Size of the block or segment.
    pub bytes: u64,
    /// What the block is for; empty for segments.
    pub label: Cow<'static, str>,
    /// Bytes in live blocks afterwards.
    pub allocated: u64,
    /// Bytes in segments afterwards.
    pub reserved: u64,
}

/// The last events of a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    /// Events in order; the oldest are dropped first.
    pub entries: Vec<TimelineEntry>,
    /// How many were dropped.
    pub dropped: u64,
}

/// A bounded ring of events; `capacity` zero is off.
pub(super) struct Recorder {
    start: Instant,
    capacity: usize,
    entries: VecDeque<TimelineEntry>,
    dropped: u64,
}

impl Recorder {
    pub(super) fn off() -> Recorder {
        Recorder {
            start: Instant::now(),
            capacity: 0,
            entries: VecDeque::new(),
            dropped: 0,
        }
    }

    /// Starts afresh with room for `capacity` events; zero switches off.
    pub(super) fn restart(&mut self, capacity: usize) {
        self.capacity = capacity;
        self.entries = VecDeque::new();
        self.dropped = 0;
    }

    pub(super) fn record(
        &mut self,
        event: MemoryEvent,
        bytes: usize,
        label: &'static str,
        stats: &MemoryStats,
    ) {
        if self.capacity == 0 {
            return;
        }
        if self.entries.len() == self.capacity {
            self.entries.pop_front();
            self.dropped += 1;
        }
        self.entries.push_back(TimelineEntry {
            time_ns: self.start.elapsed().as_nanos() as u64,
            event,
            bytes: bytes as u64,
            label: Cow::Borrowed(label),
            allocated: stats.allocated,
            reserved: stats.reserved,
        });
    }

    pub(super) fn snapshot(&self) -> Timeline {
        Timeline {
            entries: self.entries.iter().cloned().collect(),
            dropped: self.dropped,
        }
    }
}
