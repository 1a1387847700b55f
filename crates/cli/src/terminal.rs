//! The terminal as the surroundings of a run: a progress bar on standard error, and Ctrl-C.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use lessons::{Event, Host, Progress};

use crate::failure::{FAILED, Failure};

/// How often Ctrl-C was pressed.
static INTERRUPTS: AtomicU32 = AtomicU32::new(0);

/// Hears Ctrl-C.
#[derive(Clone, Copy)]
pub struct Interrupts(());

impl Interrupts {
    /// From now on, the first Ctrl-C asks for an orderly stop and a second one ends the program.
    pub fn hear() -> Result<Self, Failure> {
        ctrlc::set_handler(|| {
            if INTERRUPTS.fetch_add(1, Ordering::Relaxed) > 0 {
                std::process::exit(i32::from(FAILED));
            }
        })
        .map_err(|e| {
            Failure::failed(
                format!("Ctrl-C cannot be heard: {e}"),
                "start the program from a terminal",
            )
        })?;
        Ok(Interrupts(()))
    }

    /// Whether a stop was asked for.
    pub fn any(self) -> bool {
        INTERRUPTS.load(Ordering::Relaxed) > 0
    }
}

/// A progress bar on standard error, while that is a terminal.
#[derive(Default)]
pub struct Bar(Option<ProgressBar>);

impl Bar {
    /// Shows how far the work is.
    pub fn show(&mut self, progress: &Progress) {
        let bar = self.0.get_or_insert_with(|| {
            let bar = ProgressBar::new(progress.total.max(1));
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        let template = if progress.total == 0 {
            "{spinner} {prefix} {msg}"
        } else {
            "{prefix:<18} [{bar:24}] {pos}/{len} {elapsed}<{eta} {msg}"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        if progress.total > 0 {
            bar.set_length(progress.total);
            bar.set_position(progress.done);
        }
        bar.set_prefix(progress.stage.clone());
        bar.set_message(progress.message.clone());
    }

    /// Takes it away.
    pub fn clear(&mut self) {
        if let Some(bar) = self.0.take() {
            bar.finish_and_clear();
        }
    }
}

/// The terminal as the surroundings of a run.
pub struct Terminal {
    bar: RefCell<Bar>,
    interrupts: Interrupts,
}

impl Terminal {
    /// The terminal, from now on listening for Ctrl-C.
    pub fn new() -> Result<Self, Failure> {
        Ok(Terminal {
            bar: RefCell::default(),
            interrupts: Interrupts::hear()?,
        })
    }
}

impl Host for Terminal {
    fn emit(&self, event: &Event) {
        match event {
            Event::Progress { progress } => self.bar.borrow_mut().show(progress),
            Event::End { .. } => self.bar.borrow_mut().clear(),
            _ => {}
        }
    }

    fn cancelled(&self) -> bool {
        self.interrupts.any()
    }
}
