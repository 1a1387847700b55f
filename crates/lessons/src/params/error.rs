//! Why a parameter was refused, and what to do about it.

use std::fmt;

/// Why a parameter was refused.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamError {
    /// The lesson has no such parameter.
    Unknown {
        /// The name given.
        name: String,
        /// The closest name, when one is close.
        nearest: Option<String>,
        /// All names.
        known: Vec<String>,
    },
    /// The text is not a value of the right kind.
    Value {
        /// Parameter.
        name: String,
        /// The text given.
        given: String,
        /// What is allowed.
        allowed: String,
    },
    /// The value is of the right kind but outside the range.
    Range {
        /// Parameter.
        name: String,
        /// The text given.
        given: String,
        /// What is allowed.
        allowed: String,
    },
    /// The word is not among the choices.
    Choice {
        /// Parameter.
        name: String,
        /// The word given.
        given: String,
        /// The words allowed.
        options: Vec<String>,
        /// The closest one, when one is close.
        nearest: Option<String>,
    },
    /// The lesson asked for a parameter that it does not declare: a fault of the lesson, not of its user.
    Undeclared {
        /// Parameter.
        name: String,
        /// What the lesson expected it to be.
        expected: String,
    },
}

impl ParamError {
    /// The one-line repair.
    pub fn help(&self) -> String {
        match self {
            ParamError::Unknown {
                nearest: Some(n), ..
            } => format!("did you mean `{n}`?"),
            ParamError::Unknown { known, .. } if known.is_empty() => {
                "this lesson takes no parameters".into()
            }
            ParamError::Unknown { known, .. } => {
                format!("the parameters are: {}", known.join(", "))
            }
            ParamError::Choice {
                nearest: Some(n), ..
            } => format!("did you mean `{n}`?"),
            ParamError::Choice { options, .. } => format!("choose one of: {}", options.join(", ")),
            ParamError::Value { allowed, .. } | ParamError::Range { allowed, .. } => {
                format!("give {allowed}")
            }
            ParamError::Undeclared { name, .. } => {
                format!("declare `{name}` in the lesson's description")
            }
        }
    }
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParamError::Unknown { name, .. } => write!(f, "unknown parameter `{name}`"),
            ParamError::Value {
                name,
                given,
                allowed,
            } => {
                write!(f, "`{given}` is not a value for `{name}` ({allowed})")
            }
            ParamError::Range {
                name,
                given,
                allowed,
            } => {
                write!(f, "`{name}` = {given} is out of range ({allowed})")
            }
            ParamError::Choice {
                name,
                given,
                options,
                ..
            } => {
                write!(
                    f,
                    "`{given}` is not a choice for `{name}` ({})",
                    options.join(", ")
                )
            }
            ParamError::Undeclared { name, expected } => {
                write!(
                    f,
                    "the lesson reads `{name}` as {expected} but does not declare it so"
                )
            }
        }
    }
}

impl std::error::Error for ParamError {}
