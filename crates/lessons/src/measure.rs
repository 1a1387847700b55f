//! Timing: warm up, repeat until the figures settle, keep the median and the quartiles.
//!
//! What is timed is a batch of calls that ends with a wait for the device, so that the figure is work done and not work asked
//! for. Where the clock is coarse the batch grows until it spans many steps of it; where even that is too short the result is
//! marked as below the clock's resolution. A difference that is zero or negative (browsers give both) is never a result.

use crate::clock::Clock;
use crate::error::LessonError;
use crate::report::{Metric, Spread};

/// How long and how often to time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Calls before timing, which build pipelines, fill caches and raise clocks.
    pub warmups: u32,
    /// Fewest warm-ups, however long they take.
    pub min_warmups: u32,
    /// No further warm-up once this many seconds have gone.
    pub warmup_limit: f64,
    /// Fewest timed runs before a stable spread ends the repeats.
    pub runs: u32,
    /// Fewest seconds before a stable spread ends the repeats.
    pub time: f64,
    /// Distance of the quartiles over the median that counts as stable.
    pub spread: f64,
    /// Fewest timed runs at all.
    pub min_runs: u32,
    /// End after this many seconds, stable or not, once there are `min_runs`.
    pub max_time: f64,
    /// Most calls timed as one, where the clock is coarse.
    pub max_calls: u32,
}

impl Plan {
    /// For figures that are compared: 5 warm-ups, then at least 20 runs and half a second, or 3 seconds.
    pub const fn thorough() -> Self {
        Plan {
            warmups: 5,
            min_warmups: 2,
            warmup_limit: 6.0,
            runs: 20,
            time: 0.5,
            spread: 0.05,
            min_runs: 3,
            max_time: 3.0,
            max_calls: 4096,
        }
    }

    /// For a look: 2 warm-ups, then at least 7 runs, or half a second.
    pub const fn quick() -> Self {
        Plan {
            warmups: 2,
            min_warmups: 1,
            warmup_limit: 0.5,
            runs: 7,
            time: 0.1,
            spread: 0.1,
            min_runs: 3,
            max_time: 0.5,
            max_calls: 4096,
        }
    }

    /// In words, for the report.
    pub fn method(&self) -> String {
        format!(
            "wall clock around work and wait; median with quartiles; {} warm-ups, then at least {} runs until the quartiles \
             lie within {} % of the median, or {} s",
            self.warmups,
            self.runs,
            self.spread * 100.0,
            self.max_time
        )
    }
}

/// What timing gave, in seconds a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// Median.
    pub median: f64,
    /// Lower quartile.
    pub q1: f64,
    /// Upper quartile.
    pub q3: f64,
    /// Tenth percentile.
    pub p10: f64,
    /// Ninetieth percentile.
    pub p90: f64,
    /// Timed runs kept.
    pub runs: u32,
    /// Calls timed as one.
    pub calls: u32,
    /// Differences that were zero or negative, and were thrown away.
    pub rejected: u32,
    /// The timed span is shorter than the clock can tell.
    pub below_resolution: bool,
    /// Time of the very first call, which often pays for set-up.
    pub first: f64,
}

impl Timing {
    /// Spread of the time itself.
    pub fn spread(&self) -> Spread {
        Spread {
            q1: self.q1,
            q3: self.q3,
            runs: self.runs,
            below_resolution: self.below_resolution,
        }
    }

    /// The time as a figure in seconds.
    pub fn seconds(&self) -> Metric {
        Metric {
            value: self.median,
            unit: "s".into(),
            spread: Some(self.spread()),
        }
    }

    /// `amount` a second as a figure, such as a number of operations or bytes.
    pub fn rate(&self, amount: f64, unit: &str) -> Metric {
        let spread = Spread {
            q1: amount / self.q3,
            q3: amount / self.q1,
            runs: self.runs,
            below_resolution: self.below_resolution,
        };
        Metric {
            value: amount / self.median,
            unit: unit.into(),
            spread: Some(spread),
        }
    }
}

/// Times `work(calls)`, which makes that many calls and then waits for the device. `between` is awaited between timed runs: it
/// lets the event loop turn and ends the measurement when the learner cancels.
pub async fn measure(
    what: &str,
    clock: &dyn Clock,
    resolution: f64,
    plan: &Plan,
    mut work: impl AsyncFnMut(u32) -> Result<(), LessonError>,
    mut between: impl AsyncFnMut() -> Result<(), LessonError>,
) -> Result<Timing, LessonError> {
    let begin = clock.now();
    let mut first = 0.0;
    let mut last = 0.0;
    for i in 0..plan.warmups.max(1) {
        between().await?;
        let t = clock.now();
        work(1).await?;
        last = clock.now() - t;
        if i == 0 {
            first = last;
        }
        if i + 1 >= plan.min_warmups && clock.now() - begin > plan.warmup_limit {
            break;
        }
    }

    // Enough calls that the clock's step is a small part of what is timed.
    let mut calls = 1;
    while last < 20.0 * resolution && calls < plan.max_calls {
        calls *= 2;
        between().await?;
        let t = clock.now();
        work(calls).await?;
        last = clock.now() - t;
    }

    let begin = clock.now();
    let mut samples: Vec<f64> = Vec::new();
    let mut rejected = 0;
    loop {
        between().await?;
        let t = clock.now();
        work(calls).await?;
        let span = clock.now() - t;
        if span > 0.0 {
            samples.push(span / f64::from(calls));
        } else {
            rejected += 1;
        }
        let gone = clock.now() - begin;
        let tried = samples.len() as u32 + rejected;
        let enough = samples.len() as u32 >= plan.runs
            && gone >= plan.time
            && relative_spread(&samples) <= plan.spread;
        let too_long = tried >= plan.min_runs && gone >= plan.max_time;
        // A clock that stands still would repeat for ever.
        let hopeless = rejected >= 1000 && samples.len() < plan.min_runs as usize;
        if enough || too_long || hopeless || tried >= 100_000 {
            break;
        }
    }
    if samples.is_empty() {
        return Err(LessonError::Timing {
            what: what.into(),
            rejected,
        });
    }
    samples.sort_by(f64::total_cmp);
    let median = quantile(&samples, 0.5);
    Ok(Timing {
        median,
        q1: quantile(&samples, 0.25),
        q3: quantile(&samples, 0.75),
        p10: quantile(&samples, 0.1),
        p90: quantile(&samples, 0.9),
        runs: samples.len() as u32,
        calls,
        rejected,
        below_resolution: median * f64::from(calls) < 2.0 * resolution,
        first,
    })
}

/// A quantile of sorted samples: the nearest one, never one that was not measured.
pub fn quantile(sorted: &[f64], p: f64) -> f64 {
    match sorted.len() {
        0 => f64::NAN,
        n => sorted[((n - 1) as f64 * p).round() as usize],
    }
}

fn relative_spread(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    (quantile(&sorted, 0.75) - quantile(&sorted, 0.25)) / quantile(&sorted, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::FakeClock;

    /// Times work whose `i`-th call takes `cost(i)` seconds, on a clock of the given step.
    fn timed(
        resolution: f64,
        plan: Plan,
        cost: impl Fn(u32) -> f64,
    ) -> Result<Timing, LessonError> {
        let clock = FakeClock::new(resolution);
        let mut call = 0;
        let work = async |calls: u32| {
            for _ in 0..calls {
                clock.advance(cost(call));
                call += 1;
            }
            Ok(())
        };
        pollster::block_on(measure(
            "work",
            &clock,
            resolution,
            &plan,
            work,
            async || Ok(()),
        ))
    }

    #[test]
    fn steady_work_on_a_fine_clock_is_timed_singly() {
        let t = timed(1e-8, Plan::thorough(), |_| 0.02).unwrap();
        assert!((t.median - 0.02).abs() < 1e-6, "{t:?}");
        assert_eq!((t.calls, t.rejected, t.below_resolution), (1, 0, false));
        assert_eq!(t.runs, 25, "half a second at 20 ms a call");
    }

    #[test]
    fn warm_up_is_not_in_the_figure_but_the_first_call_is_kept() {
        let t = timed(1e-8, Plan::thorough(), |i| if i < 5 { 1.0 } else { 0.02 }).unwrap();
        assert!(
            (t.median - 0.02).abs() < 1e-6 && (t.first - 1.0).abs() < 1e-6,
            "{t:?}"
        );
    }

    #[test]
    fn a_coarse_clock_makes_batches() {
        let t = timed(1e-4, Plan::quick(), |_| 1e-5).unwrap();
        assert!(t.calls >= 128, "{t:?}");
        assert!(
            (t.median - 1e-5).abs() < 1e-6 && !t.below_resolution,
            "{t:?}"
        );
    }

    #[test]
    fn what_the_clock_cannot_tell_is_marked() {
        let plan = Plan {
            max_calls: 2,
            ..Plan::quick()
        };
        let t = timed(1e-3, plan, |_| 4e-4).unwrap();
        assert!(t.below_resolution && t.rejected > 0, "{t:?}");
    }

    #[test]
    fn zero_and_negative_differences_are_no_results() {
        let e = timed(1e-3, Plan::quick(), |_| 0.0).unwrap_err();
        assert!(
            matches!(e, LessonError::Timing { rejected: 1.., .. }),
            "{e}"
        );
        // Every third call the clock jumps back.
        let t = timed(
            1e-8,
            Plan::quick(),
            |i| if i % 3 == 0 { -0.01 } else { 0.02 },
        )
        .unwrap();
        assert!(
            t.rejected > 0 && t.q1 > 0.0 && (t.median - 0.02).abs() < 1e-6,
            "{t:?}"
        );
    }

    #[test]
    fn noisy_work_goes_on_until_the_time_is_up() {
        let t = timed(
            1e-8,
            Plan::thorough(),
            |i| if i % 2 == 0 { 0.01 } else { 0.03 },
        )
        .unwrap();
        assert!(t.runs >= 149, "{t:?}");
        let rate = t.rate(0.03, "FLOP/s");
        let spread = rate.spread.unwrap();
        assert!(
            spread.q1 < spread.q3 && rate.value >= spread.q1 && rate.value <= spread.q3,
            "{rate:?}"
        );
    }

    #[test]
    fn a_cancel_between_runs_ends_it() {
        let clock = FakeClock::new(1e-8);
        let mut turns = 0;
        let work = async |_| {
            clock.advance(0.01);
            Ok(())
        };
        let between = async || {
            turns += 1;
            if turns > 9 {
                Err(LessonError::Cancelled)
            } else {
                Ok(())
            }
        };
        let e = pollster::block_on(measure(
            "work",
            &clock,
            1e-8,
            &Plan::thorough(),
            work,
            between,
        ))
        .unwrap_err();
        assert_eq!(e, LessonError::Cancelled);
    }
}
