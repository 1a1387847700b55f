//! What a lesson has in its hands while it runs.

use std::cell::{Cell, RefCell};

use tensor::Device;

use crate::clock::Clock;
use crate::error::LessonError;
use crate::event::{Event, Progress};
use crate::host::Surroundings;
use crate::measure::{Plan, Timing, measure};
use crate::report::{
    Cell as TableCell, Memory, Metric, Note, NoteLevel, Point, Report, Series, Table, TimingMethod,
};

/// Longest stretch of work, in seconds, between two turns of the event loop.
const LONGEST_STRETCH: f64 = 0.05;

/// What a lesson has in its hands while it runs: devices, clock, seed, and a pen for the report.
///
/// Everything written goes out at once as an [`Event`], so that the listener holds the partial report whatever happens next.
pub struct Ctx {
    surroundings: Surroundings,
    report: RefCell<Report>,
    last_turn: Cell<f64>,
    stage: RefCell<Stage>,
}

/// When the present stage of the work began, and where.
#[derive(Default)]
struct Stage {
    name: String,
    began: f64,
    from: u64,
}

impl Stage {
    /// Seconds left, if the rest goes as what has been done of this stage.
    fn remaining(&mut self, progress: &Progress, now: f64) -> Option<f64> {
        if self.name != progress.stage || progress.done < self.from {
            *self = Stage {
                name: progress.stage.clone(),
                began: now,
                from: progress.done,
            };
        }
        let (done, left) = (
            progress.done - self.from,
            progress.total.saturating_sub(progress.done),
        );
        (done > 0).then(|| (now - self.began) * left as f64 / done as f64)
    }
}

impl Ctx {
    /// The context of a run whose report is `report`; the listener hears of its beginning.
    pub fn new(surroundings: Surroundings, report: Report) -> Self {
        let last_turn = Cell::new(surroundings.clock.now());
        surroundings.host.emit(&Event::Begin {
            report: Box::new(report.clone()),
        });
        Ctx {
            surroundings,
            report: RefCell::new(report),
            last_turn,
            stage: RefCell::default(),
        }
    }

    /// Seed of weights, batches and inputs.
    pub fn seed(&self) -> u64 {
        self.report.borrow().seed
    }

    /// The clock for timing.
    pub fn clock(&self) -> &dyn Clock {
        &*self.surroundings.clock
    }

    /// Smallest step of the clock, in seconds.
    pub fn clock_resolution(&self) -> f64 {
        self.report.borrow().environment.clock_resolution
    }

    /// Opens a device by name, and writes into the report that the run used it.
    pub async fn open(&self, name: &str) -> Result<Device, LessonError> {
        let device = self.surroundings.devices.open(name).await?;
        self.emit(Event::Device {
            device: device.id().to_string(),
            choices: device.facts().choices,
        });
        Ok(device)
    }

    /// Writes the memory figures of a device.
    pub fn memory_of(&self, device: &Device) {
        let stats = device.memory().stats();
        let memory = Memory {
            allocated: stats.allocated,
            allocated_peak: stats.peak_allocated,
            reserved: stats.reserved,
            reserved_peak: stats.peak_reserved,
        };
        self.emit(Event::Memory {
            device: device.id().to_string(),
            memory,
        });
    }

    /// What surrounds the run.
    pub fn surroundings(&self) -> &Surroundings {
        &self.surroundings
    }

    /// The report so far.
    pub fn report(&self) -> Report {
        self.report.borrow().clone()
    }

    /// Says something, and writes it into the report.
    pub fn emit(&self, event: Event) {
        self.report.borrow_mut().apply(&event);
        self.surroundings.host.emit(&event);
    }

    /// Says how far the run is; how long the rest will take is worked out here.
    pub fn progress(&self, mut progress: Progress) {
        progress.remaining = self
            .stage
            .borrow_mut()
            .remaining(&progress, self.clock().now());
        self.emit(Event::Progress { progress });
    }

    /// Begins a table.
    pub fn table(&self, table: Table) {
        self.emit(Event::Table { table });
    }

    /// Writes a row.
    pub fn row(&self, table: &str, row: Vec<TableCell>) {
        self.emit(Event::Row {
            table: table.into(),
            row,
        });
    }

    /// Begins a curve.
    pub fn series(&self, series: Series) {
        self.emit(Event::Series { series });
    }

    /// Adds points to a curve.
    pub fn points(&self, series: &str, points: Vec<Point>) {
        self.emit(Event::Points {
            series: series.into(),
            points,
        });
    }

    /// Writes a headline figure.
    pub fn metric(&self, name: &str, metric: Metric) {
        self.emit(Event::Metric {
            name: name.into(),
            metric,
        });
    }

    /// Writes how times are taken.
    pub fn timing(&self, timing: TimingMethod) {
        self.emit(Event::Timing { timing });
    }

    /// A remark that is good to know.
    pub fn note(&self, text: impl Into<String>) {
        self.emit(Event::Note {
            note: Note {
                level: NoteLevel::Info,
                text: text.into(),
            },
        });
    }

    /// A remark that lessens the figures, or says that something asked for was changed.
    pub fn warn(&self, text: impl Into<String>) {
        self.emit(Event::Note {
            note: Note {
                level: NoteLevel::Warning,
                text: text.into(),
            },
        });
    }

    /// Gives the event loop a turn when one is due, and ends the run if the learner asked for it. Call it between pieces of
    /// work of less than 50 ms.
    pub async fn checkpoint(&self) -> Result<(), LessonError> {
        if self.clock().now() - self.last_turn.get() >= LONGEST_STRETCH {
            self.surroundings.host.turn().await;
            self.last_turn.set(self.clock().now());
        }
        if self.surroundings.host.cancelled() {
            Err(LessonError::Cancelled)
        } else {
            Ok(())
        }
    }

    /// Times `work(calls)`, which makes that many calls and waits for the device; see [`measure`].
    pub async fn time(
        &self,
        what: &str,
        plan: &Plan,
        work: impl AsyncFnMut(u32) -> Result<(), LessonError>,
    ) -> Result<Timing, LessonError> {
        measure(
            what,
            self.clock(),
            self.clock_resolution(),
            plan,
            work,
            async || self.checkpoint().await,
        )
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_told_from_what_was_done() {
        let mut stage = Stage::default();
        let mut at = |name: &str, done, now| stage.remaining(&Progress::new(name, done, 10), now);
        assert_eq!(at("training", 0, 5.0), None);
        assert_eq!(at("training", 2, 6.0), Some(4.0));
        assert_eq!(at("training", 10, 9.0), Some(0.0));
        assert_eq!(at("testing", 5, 9.0), None, "another stage begins anew");
        assert_eq!(at("testing", 6, 10.0), Some(4.0));
    }
}
