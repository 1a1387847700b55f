//! Opening the learner's browser, where there is one.

use std::env;
use std::io;

/// What became of the wish to open a browser.
#[derive(Debug)]
pub enum Opened {
    /// A browser was asked to open the address.
    Yes,
    /// This machine has no screen to show one on.
    NoDisplay,
    /// The system's opener failed.
    Failed(io::Error),
}

/// Asks the system to open `url` and returns at once.
pub fn open_browser(url: &str) -> Opened {
    if !has_display(cfg!(target_os = "linux"), |name| {
        env::var_os(name).is_some_and(|value| !value.is_empty())
    }) {
        return Opened::NoDisplay;
    }
    match open::that_detached(url) {
        Ok(()) => Opened::Yes,
        Err(cause) => Opened::Failed(cause),
    }
}

/// A Linux machine without a display server would start a text browser in the terminal, or hang.
fn has_display(linux: bool, is_set: impl Fn(&str) -> bool) -> bool {
    !linux
        || ["DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME", "BROWSER"]
            .into_iter()
            .any(is_set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linux_needs_a_display_and_others_do_not() {
        assert!(!has_display(true, |_| false));
        assert!(has_display(true, |name| name == "WAYLAND_DISPLAY"));
        assert!(has_display(false, |_| false));
    }
}
