#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
const GIB: usize = 1 << 30;

/// A device with `room` bytes that counts what it is asked.
struct Device {
    room: usize,
    held: BTreeMap<u64, usize>,
    next: u64,
}

impl SegmentSource for Device {
    type Segment = u64;

    fn raw_alloc(&mut self, bytes: usize) -> Result<u64, RawAllocError> {
        let used: usize = self.held.values().sum();
        if used + bytes > self.room {
            return Err(RawAllocError {
                detail: format!("no room for {bytes}"),
            });
        }
        self.next += 1;
        self.held.insert(self.next, bytes);
        Ok(self.next)
    }

    fn raw_free(&mut self, segment: u64) {
        assert!(
            self.held.remove(&segment).is_some(),
            "segment {segment} freed twice"
        );
    }
}

fn pool_with(room: usize, config: PoolConfig) -> Pool<Device> {
    Pool::new(
        Device {
            room,
            held: BTreeMap::new(),
            next: 0,
        },
        config,
    )
}

fn pool() -> Pool<Device> {
    pool_with(usize::MAX, PoolConfig::default())
}

#[test]
fn requests_round_to_512_bytes() {
    let mut pool = pool();
    for (asked, got) in [(0, 512), (1, 512), (512, 512), (513, 1024), (MIB - 1, MIB)] {
        let block = pool.alloc(asked, "test").unwrap();
        assert_eq!((block.requested, block.bytes), (asked, got));
    }
}

#[test]
fn segments_follow_the_published_sizes() {
    for (asked, segment) in [
        (1, 2 * MIB),
        (MIB, 2 * MIB),
        (MIB + 1, 20 * MIB),
        (10 * MIB - 512, 20 * MIB),
        (10 * MIB, 10 * MIB),
        (10 * MIB + 1, 12 * MIB),
        (21 * MIB, 22 * MIB),
    ] {
        let mut pool = pool();
        pool.alloc(asked, "test").unwrap();
        assert_eq!(
            pool.stats().reserved,
            segment as u64,
            "for a request of {asked}"
        );
    }
}

#[test]
fn blocks_of_one_segment_follow_each_other() {
    let mut pool = pool();
    let a = pool.alloc(1000, "a").unwrap();
    let b = pool.alloc(1000, "b").unwrap();
    assert_eq!((a.segment, a.offset), (b.segment, 0));
    assert_eq!(b.offset, 1024);
    assert_ne!(a.id, b.id);
    assert_eq!(pool.stats().raw_allocations, 1);
    assert_eq!(pool.stats().cache_hits, 1);
}

#[test]
fn a_large_block_keeps_a_rest_of_up_to_one_mebibyte() {
    let mut pool = pool();
    // 11 MiB leave exactly 1 MiB of a 12 MiB segment: too little to split off.
    let block = pool.alloc(11 * MIB, "whole").unwrap();
    assert_eq!(block.bytes, 12 * MIB);
    // 20 MiB - 18.5 MiB is more than 1 MiB: split.
    let cached = pool.alloc(20 * MIB, "cached").unwrap();
    pool.free(cached.id);
    let block = pool.alloc(18 * MIB + 512 * KIB, "split").unwrap();
    assert_eq!(block.bytes, 18 * MIB + 512 * KIB);
    assert_eq!(pool.snapshot().largest_free, (MIB + 512 * KIB) as u64);
}

#[test]
fn the_smallest_block_that_fits_is_taken() {
    let mut pool = pool();
    let ids: Vec<_> = [40, 24, 32]
        .iter()
        .map(|&size| pool.alloc(size * MIB, "hole").unwrap())
        .collect();
    for block in &ids {
        pool.free(block.id);
    }
    assert_eq!(pool.alloc(23 * MIB, "fit").unwrap().segment, ids[1].segment);
    assert_eq!(pool.alloc(25 * MIB, "fit").unwrap().segment, ids[2].segment);
    assert_eq!(pool.alloc(33 * MIB, "fit").unwrap().segment, ids[0].segment);
}

#[test]
fn small_requests_never_cut_large_segments() {
    let mut pool = pool();
    let large = pool.alloc(8 * MIB, "large").unwrap();
    pool.free(large.id);
    let small = pool.alloc(KIB, "small").unwrap();
    assert_ne!(small.segment, large.segment);
}

#[test]
fn freeing_merges_with_both_neighbours() {
    let mut pool = pool();
    let blocks: Vec<_> = (0..4)
        .map(|_| pool.alloc(4 * MIB, "quarter").unwrap())
        .collect();
    assert!(
        blocks
            .iter()
            .all(|block| block.segment == blocks[0].segment)
    );
    pool.free(blocks[0].id);
    pool.free(blocks[2].id);
    assert_eq!(
        pool.snapshot().largest_free,
        (4 * MIB) as u64,
        "live blocks on every side"
    );
    pool.free(blocks[1].id);
    assert_eq!(
        pool.snapshot().largest_free,
        (12 * MIB) as u64,
        "the second joins both sides, up to the live fourth"
    );
    pool.free(blocks[3].id);
    assert_eq!(pool.snapshot().largest_free, (20 * MIB) as u64);
    assert_eq!(pool.snapshot().segments[0].blocks.len(), 1);
}

#[test]
fn a_steady_state_asks_nothing_of_the_device() {
    let mut pool = pool();
    let step = |pool: &mut Pool<Device>| {
        let ids: Vec<_> = [3, 70_000, 5 * MIB, 17 * MIB, 400]
            .iter()
            .map(|&size| pool.alloc(size, "step").unwrap().id)
            .collect();
        ids.into_iter().for_each(|id| assert!(pool.free(id)));
    };
    step(&mut pool);
    let first = pool.stats();
    for _ in 0..100 {
        step(&mut pool);
    }
    let last = pool.stats();
    assert_eq!(last.raw_allocations, first.raw_allocations);
    assert_eq!(last.cache_hits - first.cache_hits, 500);
    assert_eq!(
        (last.allocated, last.requested, last.live_blocks),
        (0, 0, 0)
    );
    assert_eq!(
        pool.nodes_in_use(),
        pool.snapshot().segments.len(),
        "places of merged blocks are used again"
    );
}

#[test]
fn emptying_the_cache_gives_back_whole_segments_only() {
    let mut pool = pool();
    let kept = pool.alloc(KIB, "kept").unwrap();
    let beside = pool.alloc(KIB, "beside").unwrap();
    let own = pool.alloc(30 * MIB, "own").unwrap();
    pool.free(beside.id);
    pool.free(own.id);
    assert_eq!(pool.empty_cache(), (30 * MIB) as u64);
    assert_eq!(pool.stats().reserved, (2 * MIB) as u64);
    assert_eq!(pool.source().held.len(), 1);
    pool.free(kept.id);
    assert_eq!(pool.empty_cache(), (2 * MIB) as u64);
    assert!(pool.source().held.is_empty());
    assert_eq!(pool.stats().raw_frees, 2);
}

#[test]
fn a_refusal_gives_back_the_cache_and_tries_again() {
    let mut pool = pool_with(64 * MIB, PoolConfig::default());
    let cached = pool.alloc(40 * MIB, "cached").unwrap();
    pool.free(cached.id);
    let block = pool.alloc(50 * MIB, "next").unwrap();
    assert_eq!(block.bytes, 50 * MIB);
    let stats = pool.stats();
    assert_eq!((stats.retries, stats.raw_frees, stats.ooms), (1, 1, 0));
}

#[test]
fn a_limit_is_a_budget_that_can_be_recovered_from() {
    let mut pool = pool_with(
        usize::MAX,
        PoolConfig {
            limit: Some(64 * MIB as u64),
            max_block: None,
        },
    );
    let first = pool.alloc(40 * MIB, "weights").unwrap();
    let error = pool.alloc(30 * MIB, "activations").unwrap_err();
    assert_eq!(error.cause, OutOfMemoryCause::Limit);
    assert_eq!(error.requested, 30 * MIB as u64);
    assert_eq!(error.allocated, 40 * MIB as u64);
    assert_eq!(error.reserved, 40 * MIB as u64);
    assert_eq!(error.limit, Some(64 * MIB as u64));
    assert_eq!(error.free, Some(24 * MIB as u64));
    assert_eq!(pool.stats().ooms, 1);
    pool.free(first.id);
    pool.alloc(30 * MIB, "activations")
        .expect("the freed block serves it");

    pool.set_memory_limit(Some(200 * MIB as u64));
    pool.alloc(100 * MIB, "more").expect("the limit was raised");
    pool.set_memory_limit(None);
    assert_eq!(pool.stats().limit, Some(64 * MIB as u64));
    pool.alloc(100 * MIB, "more").unwrap_err();
}

#[test]
fn the_message_reads_as_pytorchs() {
    let mut pool = pool_with(
        usize::MAX,
        PoolConfig {
            limit: Some(1536 * MIB as u64),
            max_block: None,
        },
    );
    let half = pool.alloc(512 * MIB, "half").unwrap();
    let error = pool.alloc(2 * GIB, "too much").unwrap_err();
    assert_eq!(
        error.to_string(),
        "out of memory. Tried to allocate 2.00 GiB. The memory limit is 1.50 GiB of which 1024.00 MiB is free. Of the \
         allocated memory 512.00 MiB is allocated by tensors, and 0 bytes is reserved but unallocated."
    );
    assert!(
        error.help().contains("larger than the limit of 1.50 GiB"),
        "{}",
        error.help()
    );
    pool.free(half.id);

    pool.empty_cache();
    pool.set_memory_limit(Some(3 * MIB as u64));
    let error = pool.alloc(3 * MIB / 2, "medium").unwrap_err();
    assert!(
        error
            .to_string()
            .contains("Tried to allocate 20.00 MiB (a segment for a request of 1.50 MiB).")
    );
}

#[test]
fn the_device_s_own_words_are_kept() {
    let mut pool = pool_with(MIB, PoolConfig::default());
    let error = pool.alloc(2 * MIB, "test").unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("The device said: no room for 20971520."),
        "{error}"
    );
}

#[test]
fn a_request_beyond_the_largest_buffer_is_refused_by_name() {
    let mut pool = pool_with(
        usize::MAX,
        PoolConfig {
            limit: None,
            max_block: Some(21 * MIB),
        },
    );
    // The segment would round to 22 MiB; the device's own limit comes first.
    assert_eq!(pool.alloc(21 * MIB, "fits").unwrap().bytes, 21 * MIB);
    let error = pool.alloc(21 * MIB + 1, "too large").unwrap_err();
    assert_eq!(
        error.cause,
        OutOfMemoryCause::LargestBlock {
            bytes: 21 * MIB as u64
        }
    );
    assert!(error.help().contains("21.00 MiB"), "{}", error.help());
    assert_eq!(pool.stats().raw_allocations, 1);
}

#[test]
fn absurd_sizes_are_errors() {
    let mut pool = pool_with(GIB, PoolConfig::default());
    for size in [usize::MAX, usize::MAX - 511, usize::MAX / 2] {
        pool.alloc(size, "absurd").unwrap_err();
    }
    assert_eq!(pool.stats().ooms, 3);
}

#[test]
fn a_number_that_is_not_live_is_refused() {
    let mut pool = pool();
    let block = pool.alloc(1, "test").unwrap();
    assert!(pool.free(block.id));
    assert!(!pool.free(block.id));
    assert!(!pool.free(77));
    assert_eq!(pool.stats().frees, 1);
}

#[test]
fn peaks_start_again_from_what_is_held() {
    let mut pool = pool();
    let kept = pool.alloc(30 * MIB, "kept").unwrap();
    let gone = pool.alloc(50 * MIB, "gone").unwrap();
    pool.free(gone.id);
    pool.empty_cache();
    let stats = pool.stats();
    assert_eq!(
        (stats.peak_allocated, stats.peak_reserved),
        (80 * MIB as u64, 80 * MIB as u64)
    );
    pool.reset_peaks();
    let stats = pool.stats();
    assert_eq!(
        (stats.peak_allocated, stats.peak_reserved),
        (kept.bytes as u64, kept.bytes as u64)
    );
}

#[test]
fn the_timeline_is_bounded_and_off_at_first() {
    let mut pool = pool();
    pool.alloc(1, "unseen").unwrap();
    assert_eq!(pool.timeline(), Timeline::default());
    pool.record_timeline(3);
    let block = pool.alloc(3 * MIB, "seen").unwrap();
    pool.free(block.id);
    pool.empty_cache();
    let timeline = pool.timeline();
    let events: Vec<_> = timeline.entries.iter().map(|entry| entry.event).collect();
    assert_eq!(
        events,
        [
            MemoryEvent::Alloc,
            MemoryEvent::Free,
            MemoryEvent::SegmentFree
        ]
    );
    assert_eq!(timeline.dropped, 1, "the segment's arrival");
    assert_eq!(timeline.entries[0].label, "seen");
    assert_eq!(timeline.entries[0].allocated, (3 * MIB + 512) as u64);
    assert_eq!(timeline.entries[2].reserved, (2 * MIB) as u64);
    assert!(timeline.entries.is_sorted_by_key(|entry| entry.time_ns));
}

#[test]
fn a_snapshot_survives_json() {
    let mut pool = pool();
    let block = pool.alloc(100, "weights").unwrap();
    pool.alloc(200, "bias").unwrap();
    pool.free(block.id);
    let snapshot = pool.snapshot();
    let json = serde_json::to_value(&snapshot).unwrap();
    assert_eq!(json["segments"][0]["pool"], "small");
    assert_eq!(
        json["segments"][0]["blocks"][0]["id"],
        serde_json::Value::Null
    );
    assert_eq!(json["segments"][0]["blocks"][1]["label"], "bias");
    assert_eq!(json["stats"]["reserved"], 2 * MIB);
    assert_eq!(serde_json::from_value::<Snapshot>(json).unwrap(), snapshot);
}

#[test]
fn dropping_the_pool_leaves_segments_that_are_in_use() {
    use std::rc::Rc;
    struct Shared;
    impl SegmentSource for Shared {
        type Segment = Rc<usize>;
        fn raw_alloc(&mut self, bytes: usize) -> Result<Rc<usize>, RawAllocError> {
            Ok(Rc::new(bytes))
        }
        fn raw_free(&mut self, segment: Rc<usize>) {
            assert_eq!(Rc::strong_count(&segment), 1, "still in use");
        }
    }
    let mut pool = Pool::new(Shared, PoolConfig::default());
    let block = pool.alloc(1, "outlives").unwrap();
    let gone = pool.alloc(30 * MIB, "gone").unwrap();
    let id = gone.id;
    drop(gone);
    pool.free(id);
    drop(pool);
    assert_eq!(
        (*block.segment, Rc::strong_count(&block.segment)),
        (2 * MIB, 1)
    );
}

#[test]
fn sizes_print_as_pytorch_prints_them() {
    for (bytes, text) in [
        (0, "0 bytes"),
        (1024, "1024 bytes"),
        (1536, "1.50 KiB"),
        (20 * MIB as u64, "20.00 MiB"),
        (2 * GIB as u64, "2.00 GiB"),
    ] {
        assert_eq!(format_size(bytes), text);
    }
}

#[derive(Clone, Debug)]
enum Action {
    Alloc(usize),
    Free(prop::sample::Index),
    EmptyCache,
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let size = prop_oneof![
        4 => 0..4 * KIB,
        3 => 0..2 * MIB,
        2 => MIB..12 * MIB,
        1 => 10 * MIB..60 * MIB,
    ];
    let action = prop_oneof![
        6 => size.prop_map(Action::Alloc),
        5 => any::<prop::sample::Index>().prop_map(Action::Free),
        1 => Just(Action::EmptyCache),
    ];
    prop::collection::vec(action, 1..200)
}

/// What must hold after every step, from nothing but the list of live blocks.
fn check(pool: &Pool<Device>, live: &[Block<u64>]) {
    let stats = pool.stats();
    let snapshot = pool.snapshot();
    assert_eq!(
        stats.allocated,
        live.iter().map(|block| block.bytes as u64).sum::<u64>()
    );
    assert_eq!(
        stats.requested,
        live.iter().map(|block| block.requested as u64).sum::<u64>()
    );
    assert_eq!(stats.live_blocks, live.len() as u64);
    assert_eq!(
        stats.reserved,
        pool.source()
            .held
            .values()
            .map(|&bytes| bytes as u64)
            .sum::<u64>()
    );
    assert_eq!(
        stats.reserved,
        snapshot
            .segments
            .iter()
            .map(|segment| segment.bytes)
            .sum::<u64>()
    );
    assert_eq!(stats.segments, pool.source().held.len() as u64);
    assert_eq!(stats.raw_allocations - stats.raw_frees, stats.segments);
    assert_eq!(stats.allocations - stats.frees, stats.live_blocks);
    assert!(stats.peak_allocated >= stats.allocated && stats.peak_reserved >= stats.reserved);

    let mut seen = 0;
    for segment in &snapshot.segments {
        let mut end = 0;
        let mut was_free = false;
        for block in &segment.blocks {
            assert_eq!(
                block.offset, end,
                "gap or overlap in segment {}",
                segment.id
            );
            end += block.bytes;
            let free = block.id.is_none();
            assert!(
                !(free && was_free),
                "two free neighbours in segment {}",
                segment.id
            );
            was_free = free;
            if let Some(id) = block.id {
                let owner = live
                    .iter()
                    .find(|owner| owner.id == id)
                    .expect("a live block that nobody has");
                assert_eq!(
                    (owner.segment_id, owner.offset as u64),
                    (segment.id, block.offset)
                );
                assert_eq!(owner.bytes as u64, block.bytes);
                seen += 1;
            }
        }
        assert_eq!(end, segment.bytes);
        assert!(segment.blocks.iter().all(|block| block.offset % 512 == 0));
    }
    assert_eq!(seen, live.len());
}

proptest! {
    #[test]
    fn the_pool_agrees_with_a_naive_model(actions in actions()) {
        // A device small enough to refuse now and then.
        let mut pool = pool_with(256 * MIB, PoolConfig::default());
        let mut live: Vec<Block<u64>> = Vec::new();
        for action in actions {
            match action {
                Action::Alloc(bytes) => match pool.alloc(bytes, "test") {
                    Ok(block) => {
                        prop_assert!(block.bytes >= bytes);
                        live.push(block);
                    }
                    Err(error) => prop_assert!(
                        error.reserved + error.attempted > 256 * MIB as u64,
                        "refused although the device had room: {error}"
                    ),
                },
                Action::Free(index) if !live.is_empty() => {
                    let block = live.swap_remove(index.index(live.len()));
                    prop_assert!(pool.free(block.id));
                }
                Action::Free(_) => {}
                Action::EmptyCache => {
                    let whole = pool.snapshot().segments.iter().filter(|segment| segment.allocated == 0).count();
                    let before = pool.stats().segments;
                    pool.empty_cache();
                    prop_assert_eq!(before - pool.stats().segments, whole as u64);
                }
            }
            check(&pool, &live);
        }
        for block in live.drain(..) {
            pool.free(block.id);
        }
        check(&pool, &live);
        prop_assert!(pool.snapshot().segments.iter().all(|segment| segment.blocks.len() == 1), "not all merged");
        pool.empty_cache();
        prop_assert_eq!(pool.stats().reserved, 0);
        prop_assert!(pool.source().held.is_empty());
    }
}
