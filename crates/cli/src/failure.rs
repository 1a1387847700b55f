//! What ends the program with a code other than 0.

use anstyle::{AnsiColor, Style};
use lessons::LessonError;

/// Exit code: the run failed or was stopped.
pub const FAILED: u8 = 1;
/// Exit code: the program was asked for something that it does not have.
pub const USAGE: u8 = 2;

/// An end with a code other than 0.
#[derive(Debug)]
pub struct Failure {
    /// Exit code.
    pub code: u8,
    /// What went wrong; empty when it has been shown already.
    message: String,
    /// What to do about it.
    help: Option<String>,
}

impl Failure {
    /// The program was asked for something that it does not have.
    pub fn usage(message: impl Into<String>, help: impl Into<String>) -> Self {
        Failure {
            code: USAGE,
            message: message.into(),
            help: Some(help.into()),
        }
    }

    /// Something failed outside a run.
    pub fn failed(message: impl Into<String>, help: impl Into<String>) -> Self {
        Failure {
            code: FAILED,
            message: message.into(),
            help: Some(help.into()),
        }
    }

    /// A run failed, and its report, which people do not read, says why.
    pub fn run(message: &str, help: Option<&str>) -> Self {
        Failure {
            code: FAILED,
            message: message.into(),
            help: help.map(Into::into),
        }
    }

    /// A run ended before its end, and its report has said why.
    pub fn shown() -> Self {
        Failure {
            code: FAILED,
            message: String::new(),
            help: None,
        }
    }

    /// Writes it to standard error.
    pub fn print(&self) {
        if self.message.is_empty() {
            return;
        }
        let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
        let bold = Style::new().bold();
        anstream::eprintln!("{red}error:{red:#} {}", self.message);
        if let Some(help) = &self.help {
            anstream::eprintln!("{bold} help:{bold:#} {help}");
        }
    }
}

impl From<LessonError> for Failure {
    fn from(e: LessonError) -> Self {
        let code = match e {
            LessonError::UnknownLesson { .. }
            | LessonError::UnknownDevice { .. }
            | LessonError::Param(_) => USAGE,
            _ => FAILED,
        };
        Failure {
            code,
            message: e.to_string(),
            help: e.help(),
        }
    }
}

impl From<data::DataError> for Failure {
    fn from(e: data::DataError) -> Self {
        let code = if matches!(e, data::DataError::UnknownSource { .. }) {
            USAGE
        } else {
            FAILED
        };
        Failure {
            code,
            message: e.to_string(),
            help: Some(e.help()),
        }
    }
}

impl From<serve::ServeError> for Failure {
    fn from(e: serve::ServeError) -> Self {
        Failure::failed(e.to_string(), e.help())
    }
}

/// Standard output went away or could not be written.
impl From<std::io::Error> for Failure {
    fn from(e: std::io::Error) -> Self {
        // A reader that has seen enough (`| head`) is no failure of ours to report.
        if e.kind() == std::io::ErrorKind::BrokenPipe {
            return Failure {
                code: 0,
                message: String::new(),
                help: None,
            };
        }
        Failure::failed(
            format!("the result could not be written: {e}"),
            "look at where standard output goes",
        )
    }
}
