//! The flight recorder: what a device was asked to do, when, how long it took and how that was measured.
//!
//! Totals by name are always kept, since "how many launches did this step take" is a question for any program.
//! Single events are kept only while the recorder is on, in a ring that forgets the oldest and counts them.

mod chrome;
mod clock;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use web_time::Instant;

pub use clock::clock_resolution_ns;

/// Events that a recorder keeps unless told otherwise.
pub const DEFAULT_CAPACITY: usize = 65_536;

/// What a device did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A kernel ran.
    Launch,
    /// Host to device.
    Upload,
    /// Device to host.
    Download,
    /// Within a device, or from one to another.
    Copy,
    /// The host waited for the device.
    Wait,
    /// A block of memory was handed out.
    Alloc,
    /// A block of memory came back.
    Free,
    /// A tensor operation, around the launches that it made.
    Op,
}

impl EventKind {
    /// The kind in lower case, as traces name it.
    pub fn as_str(self) -> &'static str {
        match self {
            EventKind::Launch => "launch",
            EventKind::Upload => "upload",
            EventKind::Download => "download",
            EventKind::Copy => "copy",
            EventKind::Wait => "wait",
            EventKind::Alloc => "alloc",
            EventKind::Free => "free",
            EventKind::Op => "op",
        }
    }
}

/// How an event's duration was measured; a figure means little without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timing {
    /// The host's clock around work that was finished when it was read.
    Wall {
        /// The clock's smallest step: shorter durations mean nothing.
        resolution_ns: u64,
    },
    /// The device's own clock.
    DeviceTimestamp,
    /// The host's clock around handing the work over; the work itself ran later and is not in it.
    Enqueue,
}

impl Timing {
    /// Wall clock, with this machine's resolution.
    pub fn wall() -> Timing {
        Timing::Wall {
            resolution_ns: clock_resolution_ns(),
        }
    }
}

/// What a device reports. Strings are borrowed: nothing is kept of them while the recorder is off.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// What was done.
    pub kind: EventKind,
    /// The kernel, the operation, or what the bytes are for.
    pub name: &'a str,
    /// The device that did it, as PyTorch would print it.
    pub device: &'a str,
    /// The kernel's source, shared by all launches (see [`Trace::intern`]).
    pub source: Option<&'a Arc<str>>,
    /// Workgroups launched.
    pub grid: [u32; 3],
    /// Invocations in a workgroup.
    pub workgroup: [u32; 3],
    /// Bytes that must be moved: read and written once each.
    pub bytes: u64,
    /// Arithmetic operations that the result needs.
    pub flops: u64,
    /// Start, on the clock of [`Trace::now_ns`].
    pub start_ns: u64,
    /// How long it took.
    pub duration_ns: u64,
    /// How that was measured.
    pub timing: Timing,
}

impl<'a> Record<'a> {
    /// A record with everything else zero, to be filled by struct update.
    pub fn new(kind: EventKind, name: &'a str, device: &'a str, timing: Timing) -> Record<'a> {
        Record {
            kind,
            name,
            device,
            source: None,
            grid: [0; 3],
            workgroup: [0; 3],
            bytes: 0,
            flops: 0,
            start_ns: 0,
            duration_ns: 0,
            timing,
        }
    }
}

/// One recorded event; the fields are those of [`Record`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What was done.
    pub kind: EventKind,
    /// The kernel, the operation, or what the bytes are for.
    pub name: Arc<str>,
    /// The device that did it.
    pub device: Arc<str>,
    /// The kernel's source.
    pub source: Option<Arc<str>>,
    /// Workgroups launched.
    pub grid: [u32; 3],
    /// Invocations in a workgroup.
    pub workgroup: [u32; 3],
    /// Bytes that must be moved.
    pub bytes: u64,
    /// Arithmetic operations that the result needs.
    pub flops: u64,
    /// Start in nanoseconds since the recorder was made.
    pub start_ns: u64,
    /// How long it took.
    pub duration_ns: u64,
    /// How that was measured.
    pub timing: Timing,
}

/// Sums over all events of one kind and name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// How many.
    pub count: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Arithmetic operations.
    pub flops: u64,
    /// Time, as each event measured it.
    pub duration_ns: u64,
}

/// What the ring holds at one moment.
#[derive(Clone, Debug, Default)]
pub struct TraceSnapshot {
    /// Events in the order in which they were reported.
    pub events: Vec<Event>,
    /// Older events that the ring had no room for.
    pub dropped: u64,
}

/// The recorder. Shared by reference; every method takes `&self`.
pub struct Trace {
    enabled: AtomicBool,
    launches: AtomicU64,
    start: Instant,
    capacity: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    ring: VecDeque<Event>,
    dropped: u64,
    strings: HashSet<Arc<str>>,
    totals: BTreeMap<EventKind, BTreeMap<Arc<str>, Totals>>,
}

impl Default for Trace {
    fn default() -> Trace {
        Trace::with_capacity(DEFAULT_CAPACITY)
    }
}

impl Trace {
    /// A recorder that keeps the last `capacity` events. It is off until [`Trace::set_enabled`].
    pub fn with_capacity(capacity: usize) -> Trace {
        Trace {
            enabled: AtomicBool::new(false),
            launches: AtomicU64::new(0),
            start: Instant::now(),
            capacity,
            state: Mutex::default(),
        }
    }

    /// Switches the ring on or off; what it holds stays.
    pub fn set_enabled(&self, enabled: bool) {
        self.enabled.store(enabled, Ordering::Relaxed);
    }

    /// Whether single events are kept.
    pub fn is_enabled(&self) -> bool {
        self.enabled.load(Ordering::Relaxed)
    }

    /// Nanoseconds since the recorder was made.
    pub fn now_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    /// The recorder's own copy of a string, the same one for equal strings. Sources are long and few, so a device
    /// interns each once, when it builds the kernel.
    pub fn intern(&self, text: &str) -> Arc<str> {
        self.lock().intern(text)
    }

    /// Adds to the totals and, while the recorder is on, to the ring.
    pub fn record(&self, record: Record<'_>) {
        if record.kind == EventKind::Launch {
            self.launches.fetch_add(1, Ordering::Relaxed);
        }
        let enabled = self.is_enabled();
        let mut state = self.lock();
        state.add_to_totals(&record);
        if !enabled {
            return;
        }
        if self.capacity == 0 {
            state.dropped += 1;
            return;
        }
        if state.ring.len() == self.capacity {
            state.ring.pop_front();
            state.dropped += 1;
        }
        let event = Event {
            kind: record.kind,
            name: state.intern(record.name),
            device: state.intern(record.device),
            source: record.source.cloned(),
            grid: record.grid,
            workgroup: record.workgroup,
            bytes: record.bytes,
            flops: record.flops,
            start_ns: record.start_ns,
            duration_ns: record.duration_ns,
            timing: record.timing,
        };
        state.ring.push_back(event);
    }

    /// Kernel launches since the recorder was made, on or off. [`Trace::clear`] does not touch it, so that several
    /// readers can each take differences.
    pub fn launches(&self) -> u64 {
        self.launches.load(Ordering::Relaxed)
    }

    /// Sums of one kind by name, since the last [`Trace::clear`], whether the recorder was on or off.
    pub fn totals(&self, kind: EventKind) -> BTreeMap<Arc<str>, Totals> {
        self.lock().totals.get(&kind).cloned().unwrap_or_default()
    }

    /// The events that the ring holds.
    pub fn snapshot(&self) -> TraceSnapshot {
        let state = self.lock();
        TraceSnapshot {
            events: state.ring.iter().cloned().collect(),
            dropped: state.dropped,
        }
    }

    /// Forgets events, drops and totals.
    pub fn clear(&self) {
        let mut state = self.lock();
        state.ring.clear();
        state.dropped = 0;
        state.totals.clear();
    }

    /// A panic elsewhere leaves nothing half-done in here, so a poisoned lock is taken as it is.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn intern(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.strings.get(text) {
            return known.clone();
        }
        let new: Arc<str> = Arc::from(text);
        self.strings.insert(new.clone());
        new
    }

    fn add_to_totals(&mut self, record: &Record<'_>) {
        if !self
            .totals
            .get(&record.kind)
            .is_some_and(|names| names.contains_key(record.name))
        {
            let name = self.intern(record.name);
            self.totals
                .entry(record.kind)
                .or_default()
                .insert(name, Totals::default());
        }
        let totals = self
            .totals
            .get_mut(&record.kind)
            .and_then(|names| names.get_mut(record.name));
        if let Some(totals) = totals {
            totals.count += 1;
            totals.bytes = totals.bytes.saturating_add(record.bytes);
            totals.flops = totals.flops.saturating_add(record.flops);
            totals.duration_ns = totals.duration_ns.saturating_add(record.duration_ns);
        }
    }
}
