//! Chrome's trace-event format, which Perfetto and `chrome://tracing` open.
//!
//! A device is a process there, with one track for what the host's clock measured and one for the device's own clock:
//! the two overlap, and bars that overlap on one track would be drawn inside each other.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{Event, Timing, TraceSnapshot, clock_resolution_ns};

const HOST_TRACK: u32 = 1;
const DEVICE_TRACK: u32 = 2;

impl TraceSnapshot {
    /// The events as one JSON document. Kernel sources stand once each, in `otherData.sources`; an event's
    /// `args.source` is the position there.
    pub fn to_chrome_json(&self) -> String {
        let mut processes: BTreeMap<&str, u32> = BTreeMap::new();
        let mut tracks: BTreeMap<(u32, u32), &str> = BTreeMap::new();
        let mut sources = Sources::default();

        // Bars that start together must come with the outer one first.
        let mut events: Vec<&Event> = self.events.iter().collect();
        events.sort_by_key(|event| (event.start_ns, std::cmp::Reverse(event.duration_ns)));

        let mut lines = Vec::with_capacity(events.len() + 8);
        for event in events {
            let next = processes.len() as u32 + 1;
            let process = *processes.entry(&event.device).or_insert(next);
            let (track, title) = match event.timing {
                Timing::DeviceTimestamp => (DEVICE_TRACK, "device clock"),
                Timing::Wall { .. } | Timing::Enqueue => (HOST_TRACK, "host clock"),
            };
            tracks.insert((process, track), title);
            lines.push(bar(event, process, track, &mut sources).to_string());
        }
        for (device, process) in processes {
            lines.push(name("process_name", process, 0, device).to_string());
        }
        for ((process, track), title) in tracks {
            lines.push(name("thread_name", process, track, title).to_string());
        }
        let other = json!({
            "dropped_events": self.dropped,
            "clock_resolution_ns": clock_resolution_ns(),
            "sources": sources.texts,
        });
        format!(
            "{{\"displayTimeUnit\":\"ns\",\"otherData\":{other},\"traceEvents\":[\n{}\n]}}\n",
            lines.join(",\n")
        )
    }
}

/// A complete event ("X") with a start and a duration in microseconds.
fn bar(event: &Event, process: u32, track: u32, sources: &mut Sources) -> Value {
    let mut args = json!({ "bytes": event.bytes, "timing": event.timing });
    if event.flops > 0 {
        args["flops"] = event.flops.into();
    }
    if event.grid != [0; 3] {
        args["grid"] = json!(event.grid);
        args["workgroup"] = json!(event.workgroup);
    }
    if let Some(source) = &event.source {
        args["source"] = sources.position(source).into();
    }
    json!({
        "name": &*event.name,
        "cat": event.kind.as_str(),
        "ph": "X",
        "ts": event.start_ns as f64 / 1e3,
        "dur": event.duration_ns as f64 / 1e3,
        "pid": process,
        "tid": track,
        "args": args,
    })
}

/// A metadata event that gives a process or a track its title.
fn name(what: &str, process: u32, track: u32, title: &str) -> Value {
    json!({ "name": what, "ph": "M", "pid": process, "tid": track, "args": { "name": title } })
}

#[derive(Default)]
struct Sources {
    texts: Vec<String>,
    positions: BTreeMap<Arc<str>, usize>,
}

impl Sources {
    fn position(&mut self, source: &Arc<str>) -> usize {
        if let Some(&position) = self.positions.get(source) {
            return position;
        }
        self.texts.push(source.to_string());
        self.positions.insert(source.clone(), self.texts.len() - 1);
        self.texts.len() - 1
    }
}
