//! Why a lesson could not go on, with what to do about it.

use std::fmt;

use crate::params::ParamError;

/// Why a lesson could not go on.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum LessonError {
    /// The learner stopped the run.
    Cancelled,
    /// There is no lesson of this name.
    UnknownLesson {
        /// The name given.
        name: String,
        /// The closest name, when one is close.
        nearest: Option<String>,
        /// All names.
        known: Vec<String>,
    },
    /// There is no device of this name on this machine.
    UnknownDevice {
        /// The name given.
        name: String,
        /// The closest name, when one is close.
        nearest: Option<String>,
        /// All names.
        known: Vec<String>,
    },
    /// A parameter was refused.
    Param(ParamError),
    /// The engine refused an operation, or a device failed.
    Engine {
        /// What the engine said.
        message: String,
        /// Its repair.
        help: Option<String>,
    },
    /// Data are missing or broken.
    Data {
        /// What was looked for, where, and what was found.
        message: String,
        /// What to do.
        help: Option<String>,
    },
    /// Nothing could be timed: the clock gave no usable difference.
    Timing {
        /// What was timed.
        what: String,
        /// How many differences were zero or negative.
        rejected: u32,
    },
}

impl LessonError {
    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            LessonError::Cancelled => None,
            LessonError::UnknownLesson {
                nearest: Some(n), ..
            }
            | LessonError::UnknownDevice {
                nearest: Some(n), ..
            } => Some(format!("did you mean `{n}`?")),
            LessonError::UnknownLesson { known, .. } => {
                Some(format!("the lessons are: {}", known.join(", ")))
            }
            LessonError::UnknownDevice { known, .. } => Some(format!(
                "the devices here are: {}; `doctor` says why another is missing",
                known.join(", ")
            )),
            LessonError::Param(e) => Some(e.help()),
            LessonError::Engine { help, .. } | LessonError::Data { help, .. } => help.clone(),
            LessonError::Timing { .. } => {
                Some("the clock does not advance here: try another browser or machine".into())
            }
        }
    }
}

impl fmt::Display for LessonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LessonError::Cancelled => f.write_str("cancelled"),
            LessonError::UnknownLesson { name, .. } => write!(f, "unknown lesson `{name}`"),
            LessonError::UnknownDevice { name, .. } => {
                write!(f, "no device `{name}` on this machine")
            }
            LessonError::Param(e) => e.fmt(f),
            LessonError::Engine { message, .. } | LessonError::Data { message, .. } => {
                f.write_str(message)
            }
            LessonError::Timing { what, rejected } => {
                write!(
                    f,
                    "{what} could not be timed: {rejected} differences were zero or negative"
                )
            }
        }
    }
}

impl std::error::Error for LessonError {}

impl From<ParamError> for LessonError {
    fn from(e: ParamError) -> Self {
        LessonError::Param(e)
    }
}

impl From<tensor::Error> for LessonError {
    fn from(e: tensor::Error) -> Self {
        LessonError::Engine {
            message: e.to_string(),
            help: Some(e.help()),
        }
    }
}

impl From<data::DataError> for LessonError {
    fn from(e: data::DataError) -> Self {
        LessonError::Data {
            message: e.to_string(),
            help: Some(e.help()),
        }
    }
}
