#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::Value;

use super::*;

fn launch<'a>(name: &'a str, device: &'a str, start_ns: u64) -> Record<'a> {
    Record {
        grid: [4, 1, 1],
        workgroup: [64, 1, 1],
        bytes: 1024,
        flops: 256,
        start_ns,
        duration_ns: 1500,
        ..Record::new(EventKind::Launch, name, device, Timing::Enqueue)
    }
}

#[test]
fn totals_are_kept_while_the_ring_is_off() {
    let trace = Trace::default();
    trace.record(launch("add", "cpu", 0));
    trace.record(launch("add", "cpu", 10));
    trace.record(launch("mul", "cpu", 20));
    let upload = Record {
        bytes: 4096,
        ..Record::new(EventKind::Upload, "batch", "cpu", Timing::Enqueue)
    };
    trace.record(upload);

    assert!(trace.snapshot().events.is_empty());
    assert_eq!(trace.launches(), 3);
    let totals = trace.totals(EventKind::Launch);
    assert_eq!(
        totals["add"],
        Totals {
            count: 2,
            bytes: 2048,
            flops: 512,
            duration_ns: 3000
        }
    );
    assert_eq!(totals["mul"].count, 1);
    assert_eq!(trace.totals(EventKind::Upload)["batch"].bytes, 4096);
    assert!(trace.totals(EventKind::Wait).is_empty());
}

#[test]
fn the_ring_forgets_the_oldest_and_counts_them() {
    let trace = Trace::with_capacity(3);
    trace.set_enabled(true);
    for start in 0..5 {
        trace.record(launch("add", "cpu", start));
    }
    let snapshot = trace.snapshot();
    assert_eq!(snapshot.dropped, 2);
    assert_eq!(
        snapshot
            .events
            .iter()
            .map(|event| event.start_ns)
            .collect::<Vec<_>>(),
        [2, 3, 4]
    );
    assert_eq!(trace.totals(EventKind::Launch)["add"].count, 5);

    trace.clear();
    let snapshot = trace.snapshot();
    assert_eq!((snapshot.events.len(), snapshot.dropped), (0, 0));
    assert!(trace.totals(EventKind::Launch).is_empty());
    assert_eq!(trace.launches(), 5);
}

#[test]
fn the_default_ring_has_the_documented_size() {
    let trace = Trace::default();
    trace.set_enabled(true);
    for start in 0..70_000 {
        trace.record(launch("add", "cpu", start));
    }
    let snapshot = trace.snapshot();
    assert_eq!(
        (snapshot.events.len(), snapshot.dropped),
        (65_536, 70_000 - 65_536)
    );
}

#[test]
fn a_ring_without_room_drops_everything() {
    let trace = Trace::with_capacity(0);
    trace.set_enabled(true);
    trace.record(launch("add", "cpu", 0));
    assert_eq!(
        (trace.snapshot().events.len(), trace.snapshot().dropped),
        (0, 1)
    );
}

#[test]
fn equal_strings_are_kept_once() {
    let trace = Trace::default();
    trace.set_enabled(true);
    let source = trace.intern("fn add() {}");
    assert!(Arc::ptr_eq(&source, &trace.intern("fn add() {}")));
    for start in 0..2 {
        trace.record(Record {
            source: Some(&source),
            ..launch("add", "cpu", start)
        });
    }
    let events = trace.snapshot().events;
    assert!(Arc::ptr_eq(&events[0].name, &events[1].name));
    assert!(Arc::ptr_eq(&events[0].device, &events[1].device));
    assert!(Arc::ptr_eq(events[0].source.as_ref().unwrap(), &source));
}

#[test]
fn several_threads_record_at_once() {
    let trace = Trace::with_capacity(1000);
    trace.set_enabled(true);
    std::thread::scope(|scope| {
        for name in ["add", "mul", "sub", "div"] {
            let trace = &trace;
            scope
                .spawn(move || (0..500).for_each(|start| trace.record(launch(name, "cpu", start))));
        }
    });
    assert_eq!(trace.launches(), 2000);
    assert_eq!(
        trace
            .totals(EventKind::Launch)
            .values()
            .map(|totals| totals.count)
            .sum::<u64>(),
        2000
    );
    let snapshot = trace.snapshot();
    assert_eq!((snapshot.events.len(), snapshot.dropped), (1000, 1000));
}

#[test]
fn the_clock_has_a_resolution_and_moves_on() {
    let resolution = clock_resolution_ns();
    assert!((1..50_000_000).contains(&resolution), "{resolution} ns");
    assert_eq!(
        Timing::wall(),
        Timing::Wall {
            resolution_ns: resolution
        }
    );
    let trace = Trace::default();
    let before = trace.now_ns();
    std::thread::sleep(web_time::Duration::from_millis(2));
    assert!(trace.now_ns() - before >= 2_000_000);
}

#[test]
fn chrome_json_has_one_process_a_device() {
    let trace = Trace::default();
    trace.set_enabled(true);
    let source = trace.intern("line one\nline \"two\"");
    trace.record(Record {
        source: Some(&source),
        ..launch("add", "wgpu:0", 2_000)
    });
    trace.record(Record {
        source: Some(&source),
        timing: Timing::DeviceTimestamp,
        ..launch("add", "wgpu:0", 2_250)
    });
    trace.record(launch("add", "cpu", 500));
    // An operation that starts with its launch but ends after it: it must come first.
    trace.record(Record {
        start_ns: 500,
        duration_ns: 9_000,
        ..Record::new(
            EventKind::Op,
            "Tensor::add",
            "cpu",
            Timing::Wall { resolution_ns: 30 },
        )
    });

    let document: Value = serde_json::from_str(&trace.snapshot().to_chrome_json()).unwrap();
    assert_eq!(document["otherData"]["dropped_events"], 0);
    assert_eq!(
        document["otherData"]["sources"],
        serde_json::json!(["line one\nline \"two\""])
    );
    let events = document["traceEvents"].as_array().unwrap();

    let bars: Vec<&Value> = events.iter().filter(|event| event["ph"] == "X").collect();
    assert_eq!(bars.len(), 4);
    assert_eq!(bars[0]["name"], "Tensor::add");
    assert_eq!(bars[0]["cat"], "op");
    assert_eq!(
        (bars[0]["ts"].as_f64(), bars[0]["dur"].as_f64()),
        (Some(0.5), Some(9.0))
    );
    assert_eq!(bars[0]["args"]["timing"]["wall"]["resolution_ns"], 30);
    assert_eq!(bars[0]["args"].get("grid"), None);
    assert_eq!(bars[1]["cat"], "launch");
    assert_eq!(bars[1]["args"]["grid"], serde_json::json!([4, 1, 1]));
    assert_eq!(bars[1]["args"]["workgroup"], serde_json::json!([64, 1, 1]));
    assert_eq!(
        (&bars[1]["args"]["bytes"], &bars[1]["args"]["flops"]),
        (&1024.into(), &256.into())
    );
    assert_eq!(bars[1]["args"]["timing"], "enqueue");
    assert_eq!(bars[2]["args"]["source"], 0);

    let title = |what: &str, bar: &Value| {
        let named = events.iter().find(|event| {
            event["ph"] == "M"
                && event["name"] == what
                && event["pid"] == bar["pid"]
                && (what == "process_name" || event["tid"] == bar["tid"])
        });
        named.map(|event| event["args"]["name"].as_str().unwrap().to_owned())
    };
    let titles: Vec<_> = bars
        .iter()
        .map(|bar| (title("process_name", bar), title("thread_name", bar)))
        .collect();
    let expected = [
        ("cpu", "host clock"),
        ("cpu", "host clock"),
        ("wgpu:0", "host clock"),
        ("wgpu:0", "device clock"),
    ];
    let expected: Vec<_> = expected
        .map(|(device, track)| (Some(device.to_owned()), Some(track.to_owned())))
        .into_iter()
        .collect();
    assert_eq!(titles, expected);
}

#[test]
fn an_empty_trace_is_still_a_document() {
    let document: Value =
        serde_json::from_str(&Trace::default().snapshot().to_chrome_json()).unwrap();
    assert_eq!(document["traceEvents"], serde_json::json!([]));
}
