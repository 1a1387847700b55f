//! What the page and its worker say to each other, as JSON text. Large arrays travel beside a message as transferred buffers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::environment::{Diagnosis, Environment};
use crate::event::Event;
use crate::lesson::LessonInfo;
use crate::report::Report;

/// From the page to the worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToWorker {
    /// Look at the machine and answer [`FromWorker::Ready`].
    Describe,
    /// Get ready for a run with these parameters, while the learner reads. Not answered; a run puts an end to it.
    Prepare {
        /// Id of the lesson.
        lesson: String,
        /// Parameters as the form holds them.
        params: BTreeMap<String, String>,
        /// Seed.
        seed: u64,
    },
    /// Run a lesson. One run at a time.
    Run {
        /// Number by which answers name this run.
        run: u32,
        /// Id of the lesson.
        lesson: String,
        /// Parameters as the form holds them; those not given keep their defaults.
        params: BTreeMap<String, String>,
        /// Seed.
        seed: u64,
    },
    /// Stop a run and keep what was measured: answered by [`FromWorker::Finished`] with a partial report.
    Cancel {
        /// The run.
        run: u32,
    },
    /// A file. Its bytes are an `ArrayBuffer`, transferred with the message.
    Data {
        /// Folder under which lessons ask for it; empty for what comes with the program.
        folder: String,
        /// Name of the file.
        name: String,
        /// Size, to be checked against the buffer's.
        bytes: u64,
    },
}

/// From the worker to the page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromWorker {
    /// The worker has looked at the machine.
    Ready {
        /// What the lessons say of themselves.
        lessons: Vec<LessonInfo>,
        /// The machine.
        environment: Box<Environment>,
        /// What was found when looking for each kind of device.
        diagnoses: Vec<Diagnosis>,
    },
    /// A run says something. Fold it into the page's report with [`Report::apply`].
    Event {
        /// The run.
        run: u32,
        /// What it says.
        event: Event,
    },
    /// A run is over: done, cancelled or failed, as the report's status says.
    Finished {
        /// The run.
        run: u32,
        /// The report.
        report: Box<Report>,
    },
    /// A run was never begun: no such lesson, a parameter out of range.
    Refused {
        /// The run.
        run: u32,
        /// The parameter at fault, for the form to mark.
        param: Option<String>,
        /// What is wrong.
        error: String,
        /// What to do.
        help: Option<String>,
    },
    /// The worker is about to end: it panicked, or never started.
    Crashed {
        /// What it said.
        what: String,
    },
    /// For the console.
    Log {
        /// The text.
        text: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_tagged_json() {
        let text = r#"{"type":"run","run":3,"lesson":"train","params":{"batch":"32"},"seed":7}"#;
        let message: ToWorker = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&message).unwrap(), text);
        let refused = FromWorker::Refused {
            run: 3,
            param: Some("batch".into()),
            error: "no".into(),
            help: None,
        };
        let text = serde_json::to_string(&refused).unwrap();
        assert_eq!(serde_json::from_str::<FromWorker>(&text).unwrap(), refused);
    }
}
