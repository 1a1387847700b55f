//! What takes how long: every stage says so when it ends, and all of them at the end.

use std::fmt::Write;
use std::time::{Duration, Instant};

/// The stages of this run, with their times.
#[derive(Default)]
pub struct Stages {
    done: Vec<(String, Duration)>,
}

impl Stages {
    /// Runs one stage, between a heading and its time.
    pub fn run<T>(&mut self, name: &str, work: impl FnOnce() -> T) -> T {
        eprintln!("\n== {name}");
        let start = Instant::now();
        let result = work();
        let took = start.elapsed();
        eprintln!("== {name}: {}", spoken(took));
        self.done.push((name.to_owned(), took));
        result
    }

    /// One line a stage, and the sum.
    pub fn summary(&self) -> String {
        let mut text = String::new();
        let all: Duration = self.done.iter().map(|(_, took)| *took).sum();
        let total = ("all stages".to_owned(), all);
        for (name, took) in self.done.iter().chain([&total]) {
            let _ = writeln!(text, "{:>8.2} min  {name}", took.as_secs_f64() / 60.0);
        }
        text
    }
}

/// A time as a person would say it.
pub fn spoken(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 60.0 {
        format!("{seconds:.1} s")
    } else {
        format!("{:.1} min", seconds / 60.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_is_in_minutes_and_ends_in_the_sum() {
        let mut stages = Stages::default();
        assert_eq!(stages.run("one", || 7), 7);
        stages.done = vec![
            ("one".into(), Duration::from_secs(90)),
            ("two".into(), Duration::from_secs(30)),
        ];
        let lines: Vec<_> = stages
            .summary()
            .lines()
            .map(|line| line.trim().to_owned())
            .collect();
        assert_eq!(
            lines,
            ["1.50 min  one", "0.50 min  two", "2.00 min  all stages"]
        );
    }

    #[test]
    fn times_are_spoken_in_their_own_unit() {
        assert_eq!(spoken(Duration::from_millis(1530)), "1.5 s");
        assert_eq!(spoken(Duration::from_secs(90)), "1.5 min");
    }
}
