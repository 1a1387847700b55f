//! One file from one address, continued where it stopped.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use ureq::http::header::{CONTENT_RANGE, HeaderMap, RANGE};

use super::{OnProgress, Progress, remove};
use crate::error::DataError;
use crate::files::io_error;

/// How often progress is told.
const REPORT_EVERY: Duration = Duration::from_millis(100);

/// A client that gives up on silence rather than on slowness.
pub(super) fn agent(proxy: Option<ureq::Proxy>) -> ureq::Agent {
    ureq::Agent::config_builder()
        .proxy(proxy)
        .http_status_as_error(false)
        .timeout_resolve(Some(Duration::from_secs(10)))
        .timeout_connect(Some(Duration::from_secs(10)))
        .timeout_recv_response(Some(Duration::from_secs(30)))
        .timeout_per_read(Some(Duration::from_secs(30)))
        .build()
        .new_agent()
}

/// Why an address did not give the file.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) reason: String,
    /// There was no answer at all: the next file will get none either.
    pub(super) unreachable: bool,
}

impl Failure {
    fn answered(reason: impl Into<String>) -> Failure {
        Failure {
            reason: reason.into(),
            unreachable: false,
        }
    }
}

pub(super) struct Request<'a> {
    pub(super) agent: &'a ureq::Agent,
    pub(super) url: &'a str,
    /// The file's name, for progress and errors.
    pub(super) file: &'a str,
    /// No more bytes than this are taken.
    pub(super) limit: u64,
}

impl Request<'_> {
    /// Adds to `part` what it lacks. The outer error ends everything (the disk, the person), the inner one only this
    /// address.
    pub(super) fn fetch_into(
        &self,
        part: &Path,
        on_progress: &mut OnProgress<'_>,
    ) -> Result<Result<(), Failure>, DataError> {
        let writing = |error: std::io::Error| io_error(part, "write", &error);
        let have = match std::fs::metadata(part) {
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        };
        let mut request = self.agent.get(self.url);
        if have > 0 {
            request = request.header(RANGE, format!("bytes={have}-"));
        }
        let mut response = match request.call() {
            Ok(response) => response,
            Err(error) => {
                return Ok(Err(Failure {
                    reason: error.to_string(),
                    unreachable: true,
                }));
            }
        };
        let start = match response.status().as_u16() {
            200 => 0,
            206 if range_start(response.headers()) == Some(have) => have,
            // Nothing is left to send: either the part is whole, or it is not a part of this file.
            416 if have > 0 && whole_length(response.headers()) == Some(have) => return Ok(Ok(())),
            416 if have > 0 => {
                remove(part)?;
                return self.fetch_into(part, on_progress);
            }
            status => {
                return Ok(Err(Failure::answered(format!(
                    "the server answered {status}"
                ))));
            }
        };
        // Only now: an address that has nothing leaves nothing behind.
        let mut file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(part)
            .map_err(writing)?;
        file.set_len(start).map_err(writing)?;
        file.seek(SeekFrom::Start(start)).map_err(writing)?;

        let total = response
            .body()
            .content_length()
            .map(|length| start + length);
        let mut body = response.body_mut().as_reader();
        let mut done = start;
        let mut chunk = vec![0; 64 * 1024];
        let mut reported: Option<Instant> = None;
        loop {
            if reported.is_none_or(|at| at.elapsed() >= REPORT_EVERY) {
                self.report(done, total, on_progress)?;
                reported = Some(Instant::now());
            }
            let count = match body.read(&mut chunk) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) => {
                    let reason = format!("broke off after {done} bytes: {error}");
                    return Ok(Err(Failure::answered(reason)));
                }
            };
            done += count as u64;
            if done > self.limit {
                drop(file);
                remove(part)?;
                let reason = format!("sent more than {} bytes", self.limit);
                return Ok(Err(Failure::answered(reason)));
            }
            file.write_all(&chunk[..count]).map_err(writing)?;
        }
        self.report(done, total, on_progress)?;
        Ok(match total {
            Some(total) if done < total => Err(Failure::answered(format!(
                "broke off after {done} of {total} bytes"
            ))),
            _ => Ok(()),
        })
    }

    fn report(
        &self,
        done: u64,
        total: Option<u64>,
        on_progress: &mut OnProgress<'_>,
    ) -> Result<(), DataError> {
        let progress = Progress {
            file: self.file,
            from: self.url,
            done,
            total,
        };
        match on_progress(&progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(DataError::Cancelled {
                file: self.file.to_owned(),
            }),
        }
    }
}

/// `7` of `bytes 7-99/100`.
fn range_start(headers: &HeaderMap) -> Option<u64> {
    let value = headers.get(CONTENT_RANGE)?.to_str().ok()?;
    value
        .strip_prefix("bytes ")?
        .split('-')
        .next()?
        .trim()
        .parse()
        .ok()
}

/// `100` of `bytes */100`.
fn whole_length(headers: &HeaderMap) -> Option<u64> {
    let value = headers.get(CONTENT_RANGE)?.to_str().ok()?;
    value.rsplit('/').next()?.trim().parse().ok()
}
