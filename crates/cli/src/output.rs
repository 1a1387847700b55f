//! Standard output: what is printed, and in which colours.

use std::io::{self, Write};

use anstyle::{AnsiColor, Color, RgbColor, Style};

use crate::failure::Failure;

/// Columns that everything printed for people keeps to.
pub const WIDTH: usize = 80;

/// Standard output for people: colours where the terminal has them and `NO_COLOR` is not set.
pub struct Ink {
    out: anstream::AutoStream<io::StdoutLock<'static>>,
}

impl Ink {
    /// Standard output.
    pub fn stdout() -> Self {
        Ink {
            out: anstream::AutoStream::auto(io::stdout().lock()),
        }
    }

    /// A line as it is.
    pub fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{text}")
    }

    /// A line in a style.
    pub fn styled(&mut self, style: Style, text: &str) -> io::Result<()> {
        writeln!(self.out, "{style}{text}{style:#}")
    }

    /// A heading: a name, and what it stands for.
    pub fn heading(&mut self, name: &str, title: &str) -> io::Result<()> {
        let bold = Style::new().bold();
        writeln!(self.out, "{bold}{name}{bold:#}  {title}")
    }
}

/// Bold.
pub fn bold() -> Style {
    Style::new().bold()
}

/// What needs attention.
pub fn warning() -> Style {
    Style::new().fg_color(Some(AnsiColor::Yellow.into()))
}

/// What is secondary.
pub fn faint() -> Style {
    Style::new().dimmed()
}

/// The colour of a device, the same as the page's: CPU orange, WGSL blue, CUDA green.
pub fn device(name: &str) -> Style {
    let rgb = |r, g, b| Style::new().fg_color(Some(Color::Rgb(RgbColor(r, g, b))));
    match name.split(':').next() {
        Some("cpu") => rgb(230, 159, 0),
        Some("wgpu") => rgb(86, 180, 233),
        Some("cuda") => rgb(0, 158, 115),
        _ => Style::new(),
    }
}

/// Prints a value as JSON.
pub fn json<T: serde::Serialize>(value: &T) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|e| {
        Failure::failed(
            format!("the result is not JSON: {e}"),
            "this is a fault of the program",
        )
    })?;
    writeln!(io::stdout().lock(), "{text}")?;
    Ok(())
}
