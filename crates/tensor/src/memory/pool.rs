//! The pool: blocks cut out of segments, found by best fit, merged when freed.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

use super::timeline::Recorder;
use super::{
    BlockSnapshot, MemoryEvent, MemoryStats, OutOfMemory, OutOfMemoryCause, PoolKind,
    SegmentSnapshot, Snapshot, Timeline, block_bytes, segment_bytes,
};

/// Where segments come from: the device's own, slow allocation.
pub trait SegmentSource {
    /// A cheap handle on a segment: a shared pointer, a buffer handle, an address.
    type Segment: Clone;

    /// Asks the device for a segment.
    fn raw_alloc(&mut self, bytes: usize) -> Result<Self::Segment, RawAllocError>;

    /// Gives a segment back. No block of it is live, but work that used one may still be queued: a device that runs
    /// work later must keep the segment until that work is done.
    fn raw_free(&mut self, segment: Self::Segment);
}

/// The device refused to give a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawAllocError {
    /// What the device said.
    pub detail: String,
}

impl fmt::Display for RawAllocError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl std::error::Error for RawAllocError {}

/// What a pool is told about its device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolConfig {
    /// The limit in force until another is set, and again after `set_memory_limit(None)`.
    pub limit: Option<u64>,
    /// The largest buffer that the device makes.
    pub max_block: Option<usize>,
}

/// A piece of a segment that the caller owns until it is passed to [`Pool::free`]. It does not free itself.
#[derive(Clone, Debug)]
pub struct Block<Segment> {
    /// The segment's handle.
    pub segment: Segment,
    /// Number of the segment, never used twice.
    pub segment_id: u64,
    /// Where the block starts in the segment: a multiple of 512.
    pub offset: usize,
    /// Its size: a multiple of 512, at least `requested`.
    pub bytes: usize,
    /// What was asked for.
    pub requested: usize,
    /// Number of the allocation, never used twice.
    pub id: u64,
}

/// A caching allocator. See the module's page for the rules; every operation is O(log n).
pub struct Pool<S: SegmentSource> {
    source: S,
    config: PoolConfig,
    limit: Option<u64>,
    segments: BTreeMap<u64, Segment<S::Segment>>,
    /// All blocks, live and free; unused places are listed in `spare`.
    nodes: Vec<Node>,
    spare: Vec<usize>,
    small: BTreeSet<FreeKey>,
    large: BTreeSet<FreeKey>,
    live: HashMap<u64, usize>,
    next_segment: u64,
    next_block: u64,
    stats: MemoryStats,
    timeline: Recorder,
}

struct Segment<Handle> {
    handle: Handle,
    bytes: usize,
    kind: PoolKind,
    /// The node at offset zero; merging keeps the lower node, so this never changes.
    first: usize,
}

/// One block and its neighbours in the segment.
struct Node {
    segment: u64,
    kind: PoolKind,
    offset: usize,
    bytes: usize,
    before: Option<usize>,
    after: Option<usize>,
    live: Option<Owner>,
}

struct Owner {
    id: u64,
    requested: usize,
    label: &'static str,
}

/// Orders free blocks by size, so that the first one from a size on is the best fit, oldest segment first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct FreeKey {
    bytes: usize,
    segment: u64,
    offset: usize,
    node: usize,
}

impl<S: SegmentSource> Pool<S> {
    /// An empty pool.
    pub fn new(source: S, config: PoolConfig) -> Pool<S> {
        Pool {
            source,
            config,
            limit: config.limit,
            segments: BTreeMap::new(),
            nodes: Vec::new(),
            spare: Vec::new(),
            small: BTreeSet::new(),
            large: BTreeSet::new(),
            live: HashMap::new(),
            next_segment: 0,
            next_block: 0,
            stats: MemoryStats::default(),
            timeline: Recorder::off(),
        }
    }

    /// The source, for what a device keeps in it.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// The source, for what a device keeps in it.
    pub fn source_mut(&mut self) -> &mut S {
        &mut self.source
    }

    /// Hands out a block of at least `bytes`. `label` says what it is for, in snapshots, timeline and errors.
    pub fn alloc(
        &mut self,
        bytes: usize,
        label: &'static str,
    ) -> Result<Block<S::Segment>, OutOfMemory> {
        let largest = self.config.max_block.unwrap_or(usize::MAX);
        // The rounded size may pass the device's limit where the request itself does not.
        let Some(rounded) = block_bytes(bytes)
            .filter(|_| bytes <= largest)
            .map(|rounded| rounded.min(largest))
        else {
            let cause = OutOfMemoryCause::LargestBlock {
                bytes: largest as u64,
            };
            return Err(self.out_of_memory(bytes, bytes, label, cause));
        };
        let kind = PoolKind::of(rounded);
        let wanted = FreeKey {
            bytes: rounded,
            segment: 0,
            offset: 0,
            node: 0,
        };
        let found = self.free_blocks(kind).range(wanted..).next().copied();
        let key = match found {
            Some(key) => {
                self.stats.cache_hits += 1;
                key
            }
            None => {
                let segment =
                    segment_bytes(rounded).map_or(rounded, |segment| segment.min(largest));
                self.grow(segment, kind)
                    .map_err(|cause| self.out_of_memory(bytes, segment, label, cause))?
            }
        };
        self.free_blocks(kind).remove(&key);
        self.split(key.node, rounded);
        Ok(self.hand_out(key.node, bytes, label))
    }

    /// Takes a block back. Returns false, and does nothing, for a number that is not live.
    pub fn free(&mut self, id: u64) -> bool {
        let Some(node) = self.live.remove(&id) else {
            return false;
        };
        let bytes = self.nodes[node].bytes;
        let owner = self.nodes[node].live.take();
        self.stats.allocated -= bytes as u64;
        self.stats.live_blocks -= 1;
        self.stats.frees += 1;
        self.stats.requested -= owner.as_ref().map_or(0, |owner| owner.requested as u64);
        self.timeline.record(
            MemoryEvent::Free,
            bytes,
            owner.map_or("", |owner| owner.label),
            &self.stats,
        );

        let kind = self.nodes[node].kind;
        let merged = match self.nodes[node]
            .before
            .filter(|&before| self.nodes[before].live.is_none())
        {
            Some(before) => {
                let key = self.key(before);
                self.free_blocks(kind).remove(&key);
                self.absorb_next(before);
                before
            }
            None => node,
        };
        if let Some(after) = self.nodes[merged]
            .after
            .filter(|&after| self.nodes[after].live.is_none())
        {
            let key = self.key(after);
            self.free_blocks(kind).remove(&key);
            self.absorb_next(merged);
        }
        let key = self.key(merged);
        self.free_blocks(kind).insert(key);
        true
    }

    /// Sets a budget for segments in bytes; `None` returns to the pool's own. What is held already stays.
    pub fn set_memory_limit(&mut self, limit: Option<u64>) {
        self.limit = limit.or(self.config.limit);
    }

    /// Gives every wholly free segment back to the device and returns their bytes. Live blocks are untouched, and so
    /// is the free space beside them.
    pub fn empty_cache(&mut self) -> u64 {
        let mut given_back = 0;
        for key in self.whole_segments() {
            let kind = self.nodes[key.node].kind;
            self.free_blocks(kind).remove(&key);
            self.spare.push(key.node);
            if let Some(segment) = self.segments.remove(&key.segment) {
                self.source.raw_free(segment.handle);
            }
            given_back += key.bytes as u64;
            self.stats.raw_frees += 1;
            self.stats.segments -= 1;
            self.stats.reserved -= key.bytes as u64;
            self.timeline
                .record(MemoryEvent::SegmentFree, key.bytes, "", &self.stats);
        }
        given_back
    }

    /// The counters.
    pub fn stats(&self) -> MemoryStats {
        MemoryStats {
            limit: self.limit,
            ..self.stats
        }
    }

    /// Lets both peaks start again from what is held now.
    pub fn reset_peaks(&mut self) {
        self.stats.peak_allocated = self.stats.allocated;
        self.stats.peak_reserved = self.stats.reserved;
    }

    /// Every segment and block, for drawing.
    pub fn snapshot(&self) -> Snapshot {
        let segments = self
            .segments
            .iter()
            .map(|(&id, segment)| self.segment_snapshot(id, segment))
            .collect();
        let largest = |free: &BTreeSet<FreeKey>| free.last().map_or(0, |key| key.bytes as u64);
        Snapshot {
            stats: self.stats(),
            segments,
            largest_free: largest(&self.small).max(largest(&self.large)),
        }
    }

    /// Keeps the last `capacity` events from now on, forgetting earlier ones; zero switches the timeline off.
    pub fn record_timeline(&mut self, capacity: usize) {
        self.timeline.restart(capacity);
    }

    /// The events kept; empty unless [`Pool::record_timeline`] was called.
    pub fn timeline(&self) -> Timeline {
        self.timeline.snapshot()
    }

    fn whole_segments(&self) -> Vec<FreeKey> {
        self.small
            .iter()
            .chain(&self.large)
            .copied()
            .filter(|key| self.fills_segment(key.node))
            .collect()
    }

    fn free_blocks(&mut self, kind: PoolKind) -> &mut BTreeSet<FreeKey> {
        match kind {
            PoolKind::Small => &mut self.small,
            PoolKind::Large => &mut self.large,
        }
    }

    fn key(&self, node: usize) -> FreeKey {
        let Node {
            segment,
            offset,
            bytes,
            ..
        } = self.nodes[node];
        FreeKey {
            bytes,
            segment,
            offset,
            node,
        }
    }

    #[cfg(test)]
    pub(super) fn nodes_in_use(&self) -> usize {
        self.nodes.len() - self.spare.len()
    }

    fn fills_segment(&self, node: usize) -> bool {
        self.nodes[node].before.is_none() && self.nodes[node].after.is_none()
    }

    /// Adds a segment as one free block; on refusal gives the cache back and tries once more.
    fn grow(&mut self, bytes: usize, kind: PoolKind) -> Result<FreeKey, OutOfMemoryCause> {
        let handle = match self.raw_alloc(bytes) {
            Ok(handle) => handle,
            Err(cause) => {
                if self.empty_cache() == 0 {
                    return Err(cause);
                }
                self.stats.retries += 1;
                self.raw_alloc(bytes)?
            }
        };
        let id = self.next_segment;
        self.next_segment += 1;
        let node = Node {
            segment: id,
            kind,
            offset: 0,
            bytes,
            before: None,
            after: None,
            live: None,
        };
        let first = self.add_node(node);
        self.segments.insert(
            id,
            Segment {
                handle,
                bytes,
                kind,
                first,
            },
        );
        let key = self.key(first);
        self.free_blocks(kind).insert(key);

        self.stats.raw_allocations += 1;
        self.stats.segments += 1;
        self.stats.reserved += bytes as u64;
        self.stats.peak_reserved = self.stats.peak_reserved.max(self.stats.reserved);
        self.timeline
            .record(MemoryEvent::SegmentAlloc, bytes, "", &self.stats);
        Ok(key)
    }

    fn raw_alloc(&mut self, bytes: usize) -> Result<S::Segment, OutOfMemoryCause> {
        let after = self.stats.reserved.saturating_add(bytes as u64);
        if self.limit.is_some_and(|limit| after > limit) {
            return Err(OutOfMemoryCause::Limit);
        }
        self.source
            .raw_alloc(bytes)
            .map_err(|error| OutOfMemoryCause::Device {
                detail: error.detail,
            })
    }

    /// Cuts a free node to `bytes` and lists the rest as free, if it is worth keeping.
    fn split(&mut self, node: usize, bytes: usize) {
        let Node {
            segment,
            kind,
            offset,
            bytes: had,
            after,
            ..
        } = self.nodes[node];
        let rest = had - bytes;
        if !kind.splits_off(rest) {
            return;
        }
        let tail = self.add_node(Node {
            segment,
            kind,
            offset: offset + bytes,
            bytes: rest,
            before: Some(node),
            after,
            live: None,
        });
        if let Some(after) = after {
            self.nodes[after].before = Some(tail);
        }
        self.nodes[node].bytes = bytes;
        self.nodes[node].after = Some(tail);
        let key = self.key(tail);
        self.free_blocks(kind).insert(key);
    }

    fn hand_out(
        &mut self,
        node: usize,
        requested: usize,
        label: &'static str,
    ) -> Block<S::Segment> {
        let id = self.next_block;
        self.next_block += 1;
        self.live.insert(id, node);
        self.nodes[node].live = Some(Owner {
            id,
            requested,
            label,
        });
        let Node {
            segment,
            offset,
            bytes,
            ..
        } = self.nodes[node];

        self.stats.allocations += 1;
        self.stats.live_blocks += 1;
        self.stats.requested += requested as u64;
        self.stats.allocated += bytes as u64;
        self.stats.peak_allocated = self.stats.peak_allocated.max(self.stats.allocated);
        self.timeline
            .record(MemoryEvent::Alloc, bytes, label, &self.stats);
        let handle = self.segments[&segment].handle.clone();
        Block {
            segment: handle,
            segment_id: segment,
            offset,
            bytes,
            requested,
            id,
        }
    }

    /// Lets a node take over the one after it.
    fn absorb_next(&mut self, node: usize) {
        let Some(next) = self.nodes[node].after else {
            return;
        };
        self.nodes[node].bytes += self.nodes[next].bytes;
        self.nodes[node].after = self.nodes[next].after;
        if let Some(after) = self.nodes[node].after {
            self.nodes[after].before = Some(node);
        }
        self.spare.push(next);
    }

    fn add_node(&mut self, node: Node) -> usize {
        match self.spare.pop() {
            Some(place) => {
                self.nodes[place] = node;
                place
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() - 1
            }
        }
    }

    fn out_of_memory(
        &mut self,
        requested: usize,
        attempted: usize,
        label: &'static str,
        cause: OutOfMemoryCause,
    ) -> OutOfMemory {
        self.stats.ooms += 1;
        self.timeline
            .record(MemoryEvent::OutOfMemory, requested, label, &self.stats);
        OutOfMemory {
            requested: requested as u64,
            attempted: attempted as u64,
            allocated: self.stats.allocated,
            reserved: self.stats.reserved,
            limit: self.limit,
            free: self
                .limit
                .map(|limit| limit.saturating_sub(self.stats.reserved)),
            retries: self.stats.retries,
            label: Cow::Borrowed(label),
            cause,
        }
    }

    fn segment_snapshot(&self, id: u64, segment: &Segment<S::Segment>) -> SegmentSnapshot {
        let mut blocks = Vec::new();
        let mut allocated = 0;
        let mut next = Some(segment.first);
        while let Some(node) = next.map(|index| &self.nodes[index]) {
            next = node.after;
            if node.live.is_some() {
                allocated += node.bytes as u64;
            }
            blocks.push(BlockSnapshot {
                offset: node.offset as u64,
                bytes: node.bytes as u64,
                requested: node.live.as_ref().map_or(0, |owner| owner.requested as u64),
                id: node.live.as_ref().map(|owner| owner.id),
                label: node.live.as_ref().map(|owner| Cow::Borrowed(owner.label)),
            });
        }
        SegmentSnapshot {
            id,
            pool: segment.kind,
            bytes: segment.bytes as u64,
            allocated,
            blocks,
        }
    }
}

/// Gives back what is wholly free. A segment with a live block is left to its handles, since somebody may still use it.
impl<S: SegmentSource> Drop for Pool<S> {
    fn drop(&mut self) {
        self.empty_cache();
    }
}
