//! What several devices recorded, on one time line.

use tensor::Device;
use tensor::trace::TraceSnapshot;

/// What the devices recorded, on the time line of the first. Each recorder counts from its own beginning.
pub fn snapshot(devices: &[Device]) -> TraceSnapshot {
    let ages: Vec<u64> = devices.iter().map(|d| d.trace().now_ns()).collect();
    let oldest = ages.iter().copied().max().unwrap_or(0);
    let mut whole = TraceSnapshot::default();
    for (device, age) in devices.iter().zip(ages) {
        let part = device.trace().snapshot();
        whole.dropped += part.dropped;
        whole
            .events
            .extend(part.events.into_iter().map(|mut event| {
                event.start_ns += oldest - age;
                event
            }));
    }
    whole.events.sort_by_key(|event| event.start_ns);
    whole
}
