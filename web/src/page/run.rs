//! A run as the page knows it: what was asked for, what came, and how it stands.

use lessons::{Event, Note, NoteLevel, Progress, Report, Status};

/// How a run stands.
#[derive(Clone, Debug, PartialEq)]
pub enum Phase {
    /// Asked for; the worker has not begun.
    Asked,
    /// It goes.
    Going,
    /// It was asked to stop.
    Stopping,
    /// It is over; the report says how.
    Over,
    /// It was never begun.
    Refused {
        /// The parameter at fault.
        param: Option<String>,
        /// What is wrong.
        error: String,
        /// What to do.
        help: Option<String>,
    },
}

/// A run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Its number.
    pub id: u32,
    /// How it stands.
    pub phase: Phase,
    /// What was measured so far.
    pub report: Option<Report>,
    /// How far it is.
    pub progress: Option<Progress>,
    /// When it was asked for, in seconds.
    pub began: f64,
    /// When the worker was last heard, in seconds.
    pub heard: f64,
}

impl Run {
    pub fn asked(id: u32, now: f64) -> Self {
        Run {
            id,
            phase: Phase::Asked,
            report: None,
            progress: None,
            began: now,
            heard: now,
        }
    }

    /// Whether the worker is at it.
    pub fn is_live(&self) -> bool {
        matches!(self.phase, Phase::Asked | Phase::Going | Phase::Stopping)
    }

    /// Takes in what the worker said.
    pub fn hear(&mut self, event: &Event, now: f64) {
        self.heard = now;
        match event {
            Event::Begin { report } => self.report = Some((**report).clone()),
            Event::Progress { progress } => self.progress = Some(progress.clone()),
            event => {
                if let Some(report) = &mut self.report {
                    report.apply(event);
                }
            }
        }
        if self.phase == Phase::Asked {
            self.phase = Phase::Going;
        }
    }

    /// Ends a run whose worker is gone: what came is kept.
    pub fn cut_off(&mut self, status: Status, remark: Option<&str>) {
        match &mut self.report {
            Some(report) => {
                if let Some(text) = remark {
                    let note = Note {
                        level: NoteLevel::Warning,
                        text: text.into(),
                    };
                    report.apply(&Event::Note { note });
                }
                report.apply(&Event::End { status });
                self.phase = Phase::Over;
            }
            None => {
                let (error, help) = match status {
                    Status::Failed { error, help } => (error, help),
                    _ => (crate::words::NEVER_BEGAN.into(), None),
                };
                self.phase = Phase::Refused {
                    param: None,
                    error,
                    help,
                };
            }
        }
    }
}
