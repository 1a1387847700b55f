//! What was measured: of each case ours and the peer's, round by round.

use std::process::Command;

use serde_json::Value;

use crate::Failure;
use crate::process::watch;

/// A case's workload and name.
pub type Key = (String, String);

/// The figures of one case: milliseconds, a round each.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Case {
    pub ours: Vec<f64>,
    pub theirs: Vec<f64>,
    /// The least that this machine could take, as the run's own peaks say.
    pub floor: Vec<f64>,
}

/// All cases of one place.
#[derive(Debug, Default)]
pub struct Record {
    /// In the order in which they were first measured.
    pub cases: Vec<(Key, Case)>,
    /// What the peer calls itself.
    pub peer: Option<String>,
}

impl Record {
    /// Takes in our lines of a round.
    pub fn ours(&mut self, lines: &[Value]) {
        for line in lines {
            if let (Some(key), Some(median)) = (key(line), line["median_ms"].as_f64()) {
                let case = self.case(key);
                case.ours.push(median);
                case.floor.extend(line["floor_ms"].as_f64());
            }
        }
    }

    /// Takes in a peer's results of a round, of the cases that we have.
    pub fn theirs(&mut self, results: &Value) {
        self.peer = results["version"].as_str().map(str::to_owned);
        for row in results["rows"].as_array().into_iter().flatten() {
            if let (Some(key), Some(median)) = (key(row), row["median_ms"].as_f64())
                && let Some((_, case)) = self.cases.iter_mut().find(|(k, _)| *k == key)
            {
                case.theirs.push(median);
            }
        }
    }

    fn case(&mut self, key: Key) -> &mut Case {
        let at = match self.cases.iter().position(|(k, _)| *k == key) {
            Some(at) => at,
            None => {
                self.cases.push((key, Case::default()));
                self.cases.len() - 1
            }
        };
        &mut self.cases[at].1
    }
}

fn key(line: &Value) -> Option<Key> {
    let text = |name: &str| line[name].as_str().map(str::to_owned);
    Some((text("workload")?, text("case")?))
}

/// The JSON lines that a program prints.
pub fn lines(command: &mut Command) -> Result<Vec<Value>, Failure> {
    let mut lines = Vec::new();
    let done = watch(command, |line| {
        lines.extend(serde_json::from_str::<Value>(line));
    })?;
    match done {
        true => Ok(lines),
        false => Err(Failure::new(
            format!("`{}` failed", crate::process::shown(command)),
            "what it says above is the reason",
        )),
    }
}
