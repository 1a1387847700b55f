//! Clocks, and how finely they tell time.

/// A clock for timing. Seconds from any origin; differences are what counts.
pub trait Clock {
    /// Now.
    fn now(&self) -> f64;

    /// Smallest step seen on this clock, in seconds. Browsers coarsen it on purpose.
    fn resolution(&self) -> f64 {
        let mut smallest = f64::INFINITY;
        let mut last = self.now();
        let mut steps = 0;
        // A clock that never moves must not hang the run.
        for _ in 0..10_000_000 {
            let now = self.now();
            if now > last {
                smallest = f64::min(smallest, now - last);
                steps += 1;
            }
            last = now;
            if steps == 16 {
                break;
            }
        }
        if smallest.is_finite() { smallest } else { 0.0 }
    }
}

/// The machine's clock, natively and in the browser.
pub struct WallClock(web_time::Instant);

impl WallClock {
    /// A clock that starts now.
    pub fn new() -> Self {
        WallClock(web_time::Instant::now())
    }
}

impl Default for WallClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for WallClock {
    fn now(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}

/// A clock that advances by a script, for tests of what is timed.
#[cfg(test)]
pub(crate) struct FakeClock {
    now: std::cell::Cell<f64>,
    pub resolution: f64,
}

#[cfg(test)]
impl FakeClock {
    pub fn new(resolution: f64) -> Self {
        FakeClock {
            now: std::cell::Cell::new(0.0),
            resolution,
        }
    }

    pub fn advance(&self, seconds: f64) {
        self.now.set(self.now.get() + seconds);
    }
}

#[cfg(test)]
impl Clock for FakeClock {
    fn now(&self) -> f64 {
        (self.now.get() / self.resolution + 1e-6).floor() * self.resolution
    }

    fn resolution(&self) -> f64 {
        self.resolution
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wall_clock_tells_fine_steps() {
        let step = WallClock::new().resolution();
        assert!(step > 0.0 && step < 1e-3, "{step}");
    }

    #[test]
    fn a_stopped_clock_has_no_resolution() {
        struct Stopped;
        impl Clock for Stopped {
            fn now(&self) -> f64 {
                1.0
            }
        }
        assert_eq!(Stopped.resolution(), 0.0);
    }
}
