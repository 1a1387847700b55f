//! The built page on a loopback port, for `cargo xtask play`, the browser tests and `tensorscope serve`.
//!
//! Only this machine can connect: WebGPU exists only in a secure context, and plain http is one on loopback alone.

mod browser;
mod error;
mod site;

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::thread::JoinHandle;

pub use browser::{Opened, open_browser};
pub use error::ServeError;

/// How many ports are tried from the wanted one on.
const TRIES: u16 = 100;

/// A port that is taken and waits for a site to serve.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    wanted: u16,
}

impl Server {
    /// Takes `port` on loopback, or the next free one when it is busy. Port 0 takes any free port.
    pub fn bind(port: u16) -> Result<Self, ServeError> {
        let last = if port == 0 {
            0
        } else {
            port.saturating_add(TRIES)
        };
        for candidate in port..=last {
            match TcpListener::bind((Ipv4Addr::LOCALHOST, candidate)) {
                Ok(listener) => {
                    let address = listener.local_addr().map_err(|cause| ServeError::Bind {
                        port: candidate,
                        cause,
                    })?;
                    return Ok(Self {
                        listener,
                        address,
                        wanted: port,
                    });
                }
                Err(cause) if cause.kind() == ErrorKind::AddrInUse && candidate < last => {}
                Err(cause) if cause.kind() == ErrorKind::AddrInUse => {
                    return Err(ServeError::AllBusy { first: port, last });
                }
                Err(cause) => {
                    return Err(ServeError::Bind {
                        port: candidate,
                        cause,
                    });
                }
            }
        }
        Err(ServeError::AllBusy { first: port, last })
    }

    /// The port that was taken.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The address to open.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// The port that was asked for, when it was busy and another one was taken.
    pub fn moved_from(&self) -> Option<u16> {
        (self.wanted != 0 && self.wanted != self.port()).then_some(self.wanted)
    }

    /// Serves the folder until the process ends.
    pub fn run(self, folder: &Path) -> Result<(), ServeError> {
        let router = site::router(folder)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .map_err(|cause| ServeError::Start { cause })?;
        runtime.block_on(async {
            self.listener
                .set_nonblocking(true)
                .map_err(|cause| ServeError::Start { cause })?;
            let listener = tokio::net::TcpListener::from_std(self.listener)
                .map_err(|cause| ServeError::Start { cause })?;
            axum::serve(listener, router)
                .await
                .map_err(|cause| ServeError::Start { cause })
        })
    }

    /// Serves the folder from a thread of its own and lets the caller go on. The folder is checked before it returns.
    pub fn spawn(self, folder: &Path) -> Result<JoinHandle<Result<(), ServeError>>, ServeError> {
        site::check(folder)?;
        let folder = folder.to_owned();
        Ok(std::thread::spawn(move || self.run(&folder)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_port_moves_to_the_next_free_one_and_says_so() {
        let held = Server::bind(0).unwrap();
        assert_eq!(held.moved_from(), None);
        let moved = Server::bind(held.port()).unwrap();
        assert!(moved.port() > held.port());
        assert_eq!(moved.moved_from(), Some(held.port()));
        assert_eq!(moved.url(), format!("http://127.0.0.1:{}/", moved.port()));
    }

    #[test]
    fn the_last_port_does_not_wrap_around() {
        let Ok(held) = Server::bind(u16::MAX) else {
            return;
        };
        let error = Server::bind(held.port()).err().unwrap();
        assert!(error.to_string().contains("65535"), "{error}");
    }

    #[test]
    fn a_folder_without_a_page_is_refused_before_the_thread_starts() {
        let folder = tempfile::tempdir().unwrap();
        let error = Server::bind(0).unwrap().spawn(folder.path()).err().unwrap();
        assert!(error.to_string().contains("index.html"), "{error}");
        assert!(error.help().contains("cargo xtask play"));
    }
}
