//! What went wrong and what to do about it.

use std::fmt;

/// A command of this tool could not be carried out.
#[derive(Debug, Clone)]
pub struct Failure {
    what: String,
    remedy: String,
}

impl Failure {
    pub fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            remedy: remedy.into(),
        }
    }

    /// The same failure with another way out beside its own.
    pub fn or(mut self, other: &str) -> Self {
        self.remedy = if self.remedy.is_empty() {
            other.into()
        } else {
            format!("{}; or {other}", self.remedy)
        };
        self
    }

    pub fn what(&self) -> &str {
        &self.what
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.what)?;
        if self.remedy.is_empty() {
            Ok(())
        } else {
            write!(f, "\nhelp: {}", self.remedy)
        }
    }
}
