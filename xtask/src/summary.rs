//! What became of each suite, and the test runners' own last lines, said again at the end.

use std::fmt::Write;
use std::time::Duration;

use crate::Failure;

/// How a suite ended.
#[derive(Debug)]
pub enum Outcome {
    Passed,
    Skipped(String),
    Failed(Failure),
}

/// One suite's end.
pub struct Ended {
    pub suite: &'static str,
    pub outcome: Outcome,
    pub took: Duration,
    /// The runners' summary lines, as they printed them.
    pub lines: Vec<String>,
}

/// Whether a line is a test runner's count: cargo's `test result: ...`, or the browser tests' `N passed, N failed`.
pub fn is_count(line: &str) -> bool {
    line.starts_with("test result: ") || passed_and_failed(line).is_some()
}

/// Passed and failed tests of a count.
fn passed_and_failed(line: &str) -> Option<(u32, u32)> {
    let line = line.strip_prefix("test result: ").map_or(line, |rest| {
        rest.split_once(". ").map_or(rest, |(_, counts)| counts)
    });
    let mut words = line.split([' ', ',', ';']).filter(|word| !word.is_empty());
    let passed = words.next()?.parse().ok()?;
    (words.next()? == "passed").then_some(())?;
    let failed = words.next()?.parse().ok()?;
    (words.next()? == "failed").then_some((passed, failed))
}

/// The table of suites, then the runners' lines of those that ran a test, failures last.
pub fn text(ended: &[Ended]) -> String {
    let mut text = String::new();
    for suite in ended {
        let counts = suite
            .lines
            .iter()
            .filter_map(|line| passed_and_failed(line));
        let (passed, failed) = counts.fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
        let tests = if suite.lines.is_empty() {
            String::new()
        } else {
            format!("{passed} passed, {failed} failed")
        };
        let outcome = match &suite.outcome {
            Outcome::Passed => "ok".to_owned(),
            Outcome::Skipped(why) => format!("skipped: {why}"),
            Outcome::Failed(failure) => format!("FAILED: {}", failure.what()),
        };
        let minutes = suite.took.as_secs_f64() / 60.0;
        let line = format!(
            "{minutes:>8.2} min  {:<8} {tests:<24} {outcome}",
            suite.suite
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    let said = |failed: bool| {
        let lines = ended
            .iter()
            .flat_map(|suite| suite.lines.iter().map(move |line| (suite.suite, line)));
        lines.filter(move |(_, line)| match passed_and_failed(line) {
            Some((_, count)) if count > 0 => failed,
            Some((passed, _)) => !failed && passed > 0,
            None => false,
        })
    };
    let mut suite = "";
    for (name, line) in said(false).chain(said(true)) {
        if name != suite {
            let _ = writeln!(text, "\n{name}");
            suite = name;
        }
        let _ = writeln!(text, "{line}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "test result: ok. 7 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.02s";
    const BAD: &str = "test result: FAILED. 3 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 1.20s";
    const NONE: &str = "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";

    #[test]
    fn counts_of_both_runners_are_read() {
        assert_eq!(passed_and_failed(GOOD), Some((7, 0)));
        assert_eq!(passed_and_failed(BAD), Some((3, 2)));
        assert_eq!(passed_and_failed("12 passed, 1 failed"), Some((12, 1)));
        assert!(is_count(NONE) && is_count("12 passed, 1 failed"));
        assert!(!is_count("test tests::result ... ok") && !is_count("3 tests passed"));
    }

    #[test]
    fn the_runners_lines_come_last_without_the_empty_ones() {
        let suite = |suite, lines: &[&str], outcome| Ended {
            suite,
            outcome,
            took: Duration::from_secs(6),
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        };
        let text = text(&[
            suite("lint", &[], Outcome::Passed),
            suite(
                "unit",
                &[BAD, NONE],
                Outcome::Failed(Failure::new("2 tests failed", "")),
            ),
            suite("golden", &[GOOD, GOOD], Outcome::Passed),
            suite(
                "cuda",
                &[],
                Outcome::Skipped("no CUDA device in this build".into()),
            ),
        ]);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(
            lines[0],
            "    0.10 min  lint                              ok"
        );
        assert!(
            lines[1].contains("3 passed, 2 failed") && lines[1].contains("FAILED: 2 tests failed")
        );
        assert!(lines[2].contains("14 passed, 0 failed"));
        assert!(lines[3].ends_with("skipped: no CUDA device in this build"));
        assert_eq!(lines[4..], ["", "golden", GOOD, GOOD, "", "unit", BAD]);
    }
}
