//! The report: what a run measured, in one versioned form that the terminal, the page and other programs read alike.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::params::Params;

/// Version of the report's form. It rises when a reader of the old form would misread the new one.
pub const SCHEMA: u32 = 1;

/// What one run of a lesson measured.
///
/// Figures are in base units (seconds, bytes, FLOP/s); [`crate::quantity`] makes them readable. Maps are ordered by key and
/// lists by time, so that equal runs give equal text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Version of this form: [`SCHEMA`].
    pub schema: u32,
    /// Id of the lesson.
    pub lesson: String,
    /// Every parameter, defaults included.
    pub params: Params,
    /// Seed of weights, batches and inputs.
    pub seed: u64,
    /// How the run ended.
    pub status: Status,
    /// Whether something that was asked for is missing: the run was cancelled or failed.
    pub partial: bool,
    /// The machine.
    pub environment: Environment,
    /// Headline figures by stable name.
    pub metrics: BTreeMap<String, Metric>,
    /// Tables, in the order in which the lesson began them.
    pub tables: Vec<Table>,
    /// Curves, in the order in which the lesson began them.
    pub series: Vec<Series>,
    /// How the times were taken; none when the lesson times nothing.
    pub timing: Option<TimingMethod>,
    /// Memory at the end of the run, by device name.
    pub memory: BTreeMap<String, Memory>,
    /// What the reader should know to read the figures right.
    pub notes: Vec<Note>,
    /// Statements decided by this run.
    #[serde(default)]
    pub claims: Vec<Claim>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Status {
    /// Still going; a report written in this state was cut off, for example by a crash.
    Running,
    /// Everything asked for was measured.
    Done,
    /// The learner stopped it; what came before is kept.
    Cancelled,
    /// It could not go on; what came before is kept.
    Failed {
        /// What went wrong.
        error: String,
        /// What to do about it.
        help: Option<String>,
    },
}

/// A figure with its unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// The value; JSON null (read back as NaN) when it is not finite.
    #[serde(with = "maybe_finite")]
    pub value: f64,
    /// Base unit: `s`, `B`, `FLOP/s`, `B/s`, `1/s`, or `1` for a ratio or a count.
    pub unit: String,
    /// Spread over the repeats, where the figure was repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
}

impl Metric {
    /// A figure that was taken once or counted.
    pub fn new(value: f64, unit: &str) -> Self {
        Metric {
            value,
            unit: unit.into(),
            spread: None,
        }
    }
}

/// Spread of a repeated figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Lower quartile.
    pub q1: f64,
    /// Upper quartile.
    pub q3: f64,
    /// How many repeats.
    pub runs: u32,
    /// The figure is smaller than the clock can tell: draw it hollow and do not build on it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub below_resolution: bool,
}

/// A table: columns with units, rows in the order in which they were measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Id, stable.
    pub id: String,
    /// Title for people.
    pub title: String,
    /// Columns.
    pub columns: Vec<Column>,
    /// Rows; each has one cell a column.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// An empty table.
    pub fn new(id: &str, title: &str, columns: Vec<Column>) -> Self {
        Table {
            id: id.into(),
            title: title.into(),
            columns,
            rows: Vec::new(),
        }
    }
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Id, stable.
    pub id: String,
    /// Heading for people.
    pub title: String,
    /// Base unit of its numbers; empty for text.
    pub unit: String,
}

impl Column {
    /// A column of numbers in `unit`, or of text when `unit` is empty.
    pub fn new(id: &str, title: &str, unit: &str) -> Self {
        Column {
            id: id.into(),
            title: title.into(),
            unit: unit.into(),
        }
    }
}

/// One cell of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A number in the column's unit, with its spread where it was repeated.
    Number {
        /// The value; JSON null (read back as NaN) when it is not finite.
        #[serde(with = "maybe_finite")]
        value: f64,
        /// Spread over the repeats.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spread: Option<Spread>,
    },
    /// Nothing was measured here; a note says why.
    Missing,
}

impl Cell {
    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Cell::Text(text.into())
    }

    /// A number that was taken once, counted or derived.
    pub fn number(value: f64) -> Self {
        Cell::Number {
            value,
            spread: None,
        }
    }
}

impl From<Metric> for Cell {
    fn from(metric: Metric) -> Self {
        Cell::Number {
            value: metric.value,
            spread: metric.spread,
        }
    }
}

/// A curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Id, stable.
    pub id: String,
    /// Label for people.
    pub label: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Points in the order in which they were measured.
    pub points: Vec<Point>,
}

impl Series {
    /// An empty curve.
    pub fn new(id: &str, label: &str, x: Axis, y: Axis) -> Self {
        Series {
            id: id.into(),
            label: label.into(),
            x,
            y,
            points: Vec::new(),
        }
    }
}

/// An axis of a curve. Curves with the same `x` and `y` belong in one figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// What it shows.
    pub label: String,
    /// Base unit.
    pub unit: String,
    /// Logarithmic.
    pub log: bool,
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: &str, unit: &str) -> Self {
        Axis {
            label: label.into(),
            unit: unit.into(),
            log: false,
        }
    }

    /// A logarithmic axis.
    pub fn log(label: &str, unit: &str) -> Self {
        Axis {
            label: label.into(),
            unit: unit.into(),
            log: true,
        }
    }
}

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Horizontal position.
    pub x: f64,
    /// Vertical position; JSON null (read back as NaN) when it is not finite.
    #[serde(with = "maybe_finite")]
    pub y: f64,
    /// Spread of `y`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
}

impl Point {
    /// A point that was taken once.
    pub fn new(x: f64, y: f64) -> Self {
        Point { x, y, spread: None }
    }
}

/// How the times of a run were taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimingMethod {
    /// In words, for people: "wall clock around work and wait, median of at least 20".
    pub method: String,
    /// Resolution of the clock, in seconds.
    pub clock_resolution: f64,
    /// What a wait with nothing to wait for costs, in seconds, by device name.
    pub empty_queue: BTreeMap<String, Metric>,
}

/// Memory of one device, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// In use by tensors.
    pub allocated: u64,
    /// Most that was in use by tensors.
    pub allocated_peak: u64,
    /// Held by the allocator.
    pub reserved: u64,
    /// Most that was held by the allocator.
    pub reserved_peak: u64,
}

/// A remark that the figures need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// How much it matters.
    pub level: NoteLevel,
    /// The remark.
    pub text: String,
}

/// How much a note matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteLevel {
    /// Good to know.
    Info,
    /// The figures mean less than they seem to, or something asked for was changed.
    Warning,
}

/// A statement that people repeat, and what this run says about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// Id of the statement.
    pub id: String,
    /// What follows from this run's figures.
    pub verdict: Verdict,
    /// The figures, in words.
    pub evidence: String,
    /// The rule that led from figures to verdict.
    pub rule: String,
}

/// What a run says about a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The figures bear it out.
    Holds,
    /// The figures contradict it.
    DoesNotHold,
    /// This machine or this run cannot decide it.
    NotDecidedHere,
}

impl Report {
    /// A report with nothing measured yet.
    pub fn new(lesson: &str, params: Params, seed: u64, environment: Environment) -> Self {
        Report {
            schema: SCHEMA,
            lesson: lesson.into(),
            params,
            seed,
            status: Status::Running,
            partial: true,
            environment,
            metrics: BTreeMap::new(),
            tables: Vec::new(),
            series: Vec::new(),
            timing: None,
            memory: BTreeMap::new(),
            notes: Vec::new(),
            claims: Vec::new(),
        }
    }

    /// The table with this id.
    pub fn table(&self, id: &str) -> Option<&Table> {
        self.tables.iter().find(|t| t.id == id)
    }

    /// The curve with this id.
    pub fn curve(&self, id: &str) -> Option<&Series> {
        self.series.iter().find(|s| s.id == id)
    }

    /// The report as JSON for people and programs.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }

    /// Reads a report; one of another version is refused by number.
    pub fn from_json(text: &str) -> Result<Self, ReadError> {
        #[derive(Deserialize)]
        struct Version {
            schema: u32,
        }
        let version: Version = serde_json::from_str(text).map_err(ReadError::Json)?;
        if version.schema != SCHEMA {
            return Err(ReadError::Schema {
                found: version.schema,
                known: SCHEMA,
            });
        }
        serde_json::from_str(text).map_err(ReadError::Json)
    }
}

/// Why a text is not a report.
#[derive(Debug)]
pub enum ReadError {
    /// Not JSON, or not of this form.
    Json(serde_json::Error),
    /// A report of another version.
    Schema {
        /// Version of the report.
        found: u32,
        /// Version that this program reads.
        known: u32,
    },
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ReadError::Json(e) => write!(f, "this is not a report: {e}"),
            ReadError::Schema { found, known } => {
                write!(
                    f,
                    "the report has schema {found}, this program reads schema {known}"
                )
            }
        }
    }
}

impl std::error::Error for ReadError {}

/// JSON has no NaN and no infinity: they become null, and null becomes NaN.
mod maybe_finite {
    use serde::{Deserialize, Deserializer, Serializer};

    #[allow(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde asks for a reference"
    )]
    pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        if value.is_finite() {
            serializer.serialize_f64(*value)
        } else {
            serializer.serialize_none()
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Ok(Option::<f64>::deserialize(deserializer)?.unwrap_or(f64::NAN))
    }
}
