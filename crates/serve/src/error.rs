//! What can go wrong between a folder and a browser.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why the page cannot be served.
#[derive(Debug)]
pub enum ServeError {
    /// The folder holds no built page.
    NoPage {
        /// The folder that was looked in.
        folder: PathBuf,
    },
    /// A port could not be taken for another reason than being busy.
    Bind {
        /// The port that was tried.
        port: u16,
        /// What the system said.
        cause: io::Error,
    },
    /// Every port of the range is busy.
    AllBusy {
        /// The first port that was tried.
        first: u16,
        /// The last port that was tried.
        last: u16,
    },
    /// The server could not start, or stopped.
    Start {
        /// What the system said.
        cause: io::Error,
    },
}

impl ServeError {
    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            Self::NoPage { .. } => "build the page first: `cargo xtask play` builds and serves it",
            Self::Bind { .. } => {
                "choose another port with --port; ports under 1024 need administrator rights"
            }
            Self::AllBusy { .. } => "choose a free port with --port, or --port 0 for any",
            Self::Start { .. } => {
                "try again; if it stays, the system allows no more open files or sockets"
            }
        }
    }
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPage { folder } => write!(f, "no index.html in {}", folder.display()),
            Self::Bind { port, cause } => write!(f, "cannot listen on 127.0.0.1:{port}: {cause}"),
            Self::AllBusy { first, last } if first == last => {
                write!(f, "port {first} is busy and there is none after it")
            }
            Self::AllBusy { first, last } => write!(f, "every port from {first} to {last} is busy"),
            Self::Start { cause } => write!(f, "the server stopped: {cause}"),
        }
    }
}

impl std::error::Error for ServeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Bind { cause, .. } | Self::Start { cause } => Some(cause),
            Self::NoPage { .. } | Self::AllBusy { .. } => None,
        }
    }
}
