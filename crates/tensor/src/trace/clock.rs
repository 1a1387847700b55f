//! How fine the host's clock is: nanoseconds natively, 5 to 100 microseconds in browsers, which coarsen it on purpose.

use std::sync::OnceLock;

use web_time::{Duration, Instant};

/// Steps of the clock that are looked at; the smallest counts.
const STEPS: usize = 20;
/// A clock that hardly moves is not watched for longer than this.
const PATIENCE: Duration = Duration::from_millis(50);

/// The smallest step between two readings of the clock, in nanoseconds. Measured at the first call (microseconds
/// natively, a few milliseconds in a browser), then remembered.
pub fn clock_resolution_ns() -> u64 {
    static RESOLUTION: OnceLock<u64> = OnceLock::new();
    *RESOLUTION.get_or_init(measure)
}

fn measure() -> u64 {
    let start = Instant::now();
    let mut smallest = PATIENCE;
    let mut last = start;
    let mut steps = 0;
    // Reads are counted too, so that a clock that stands still ends the loop.
    for _ in 0..50_000_000_u32 {
        let now = Instant::now();
        if now > last {
            smallest = smallest.min(now - last);
            last = now;
            steps += 1;
        }
        if steps == STEPS || now - start > PATIENCE {
            break;
        }
    }
    (smallest.as_nanos() as u64).max(1)
}
