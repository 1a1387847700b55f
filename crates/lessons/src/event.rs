//! What a run says while it goes. A report is the fold of its events, so whoever listens holds the partial report.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::report::{
    Cell, Claim, Memory, Metric, Note, Point, Report, Series, Status, Table, TimingMethod,
};

/// Something a run says while it goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The run begins: lesson, parameters, seed and machine, with nothing measured yet.
    Begin {
        /// The report to fold the rest into.
        report: Box<Report>,
    },
    /// How far it is. Not part of the report.
    Progress {
        /// How far it is.
        progress: Progress,
    },
    /// A table begins, usually without rows.
    Table {
        /// The table.
        table: Table,
    },
    /// A row was measured.
    Row {
        /// Id of the table.
        table: String,
        /// One cell a column.
        row: Vec<Cell>,
    },
    /// A curve begins, usually without points.
    Series {
        /// The curve.
        series: Series,
    },
    /// Points were measured.
    Points {
        /// Id of the curve.
        series: String,
        /// The points.
        points: Vec<Point>,
    },
    /// A headline figure; a later one of the same name replaces it.
    Metric {
        /// Its stable name.
        name: String,
        /// The figure.
        metric: Metric,
    },
    /// How times are taken.
    Timing {
        /// The method.
        timing: TimingMethod,
    },
    /// Memory of a device; later figures replace earlier ones.
    Memory {
        /// Name of the device.
        device: String,
        /// Its figures.
        memory: Memory,
    },
    /// A remark.
    Note {
        /// The remark.
        note: Note,
    },
    /// A statement was decided.
    Claim {
        /// The statement and its verdict.
        claim: Claim,
    },
    /// The device that the run uses.
    Device {
        /// Its name.
        device: String,
        /// What the engine chose for it when it was opened, such as the matrix kernel that was fastest there.
        #[serde(default)]
        choices: BTreeMap<String, String>,
    },
    /// The run is over.
    End {
        /// How it ended.
        status: Status,
    },
}

/// How far a run is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// What it does now, in a few words.
    pub stage: String,
    /// Units of work done, of `total`.
    pub done: u64,
    /// Units of work in all; 0 when not known.
    pub total: u64,
    /// A figure worth showing beside the bar, such as the latest loss.
    pub message: String,
    /// Time left, in seconds, where it can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining: Option<f64>,
}

impl Progress {
    /// Progress without a message.
    pub fn new(stage: &str, done: u64, total: u64) -> Self {
        Progress {
            stage: stage.into(),
            done,
            total,
            message: String::new(),
            remaining: None,
        }
    }

    /// The same with a message.
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }
}

impl Report {
    /// Takes an event in. Rows and points of tables and curves that were never begun are dropped.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::Begin { report } => *self = (**report).clone(),
            Event::Progress { .. } => {}
            Event::Table { table } => self.tables.push(table.clone()),
            Event::Row { table, row } => {
                if let Some(t) = self.tables.iter_mut().find(|t| t.id == *table) {
                    t.rows.push(row.clone());
                }
            }
            Event::Series { series } => self.series.push(series.clone()),
            Event::Points { series, points } => {
                if let Some(s) = self.series.iter_mut().find(|s| s.id == *series) {
                    s.points.extend_from_slice(points);
                }
            }
            Event::Metric { name, metric } => {
                self.metrics.insert(name.clone(), metric.clone());
            }
            Event::Timing { timing } => self.timing = Some(timing.clone()),
            Event::Memory { device, memory } => {
                self.memory.insert(device.clone(), *memory);
            }
            Event::Note { note } => self.notes.push(note.clone()),
            Event::Claim { claim } => self.claims.push(claim.clone()),
            Event::Device { device, choices } => {
                self.environment.device.clone_from(device);
                let devices = &mut self.environment.devices;
                if let Some(facts) = devices.iter_mut().find(|d| d.name == *device) {
                    facts.choices.clone_from(choices);
                }
            }
            Event::End { status } => {
                self.partial = *status != Status::Done;
                self.status = status.clone();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;
    use crate::params::Params;
    use crate::report::{Axis, Column, Spread};

    #[test]
    fn a_report_is_the_fold_of_its_events_and_survives_json() {
        let begin = Report::new("transfer", Params::default(), 7, Environment::default());
        let spread = Spread {
            q1: 0.9,
            q3: 1.2,
            runs: 20,
            below_resolution: false,
        };
        let events = [
            Event::Begin {
                report: Box::new(begin.clone()),
            },
            Event::Table {
                table: Table::new("t", "Times", vec![Column::new("n", "n", "1")]),
            },
            Event::Row {
                table: "t".into(),
                row: vec![
                    Cell::Number {
                        value: 1.0,
                        spread: Some(spread),
                    },
                    Cell::Missing,
                ],
            },
            Event::Row {
                table: "nowhere".into(),
                row: vec![Cell::text("lost")],
            },
            Event::Series {
                series: Series::new(
                    "loss",
                    "loss",
                    Axis::linear("step", "1"),
                    Axis::log("loss", "1"),
                ),
            },
            Event::Points {
                series: "loss".into(),
                points: vec![Point {
                    x: 0.0,
                    y: f64::NAN,
                    spread: None,
                }],
            },
            Event::Metric {
                name: "final_loss".into(),
                metric: Metric::new(0.5, "1"),
            },
            Event::Progress {
                progress: Progress::new("train", 1, 2).message("loss 0.5"),
            },
            Event::End {
                status: Status::Failed {
                    error: "lost".into(),
                    help: None,
                },
            },
        ];
        let mut report = begin;
        for event in &events {
            let text = serde_json::to_string(event).unwrap();
            report.apply(&serde_json::from_str(&text).unwrap());
        }
        assert!(report.partial);
        assert_eq!(report.table("t").unwrap().rows.len(), 1);
        assert!(report.curve("loss").unwrap().points[0].y.is_nan());
        report.series.clear(); // NaN is not equal to itself.
        let text = report.to_json().unwrap();
        assert_eq!(Report::from_json(&text).unwrap(), report);
        let newer = text.replace("\"schema\": 1", "\"schema\": 9");
        let refusal = Report::from_json(&newer).unwrap_err().to_string();
        assert_eq!(
            refusal,
            "the report has schema 9, this program reads schema 1"
        );
    }
}
