//! What can go wrong with data: which file, where in it, what was expected, what stood there.

use std::fmt;

/// Every failure of this crate. `Display` says what is wrong, [`DataError::help`] what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DataError {
    /// A value in a file is not what the format requires.
    Corrupt {
        /// The file, as the person named it.
        file: String,
        /// Byte offset in the (unpacked) file.
        offset: u64,
        /// What the format requires there.
        expected: String,
        /// What stood there.
        found: String,
    },
    /// The file ends before its own header, or the format, says that it should.
    Truncated {
        /// The file, as the person named it.
        file: String,
        /// Where it ends, in (unpacked) bytes.
        offset: u64,
        /// What should have been there.
        expected: String,
    },
    /// The file goes on after its last expected byte.
    Oversized {
        /// The file, as the person named it.
        file: String,
        /// Where it should have ended, in (unpacked) bytes.
        offset: u64,
        /// How that length follows from the header.
        expected: String,
    },
    /// A label names a class that the set does not have.
    LabelOutOfRange {
        /// The file, as the person named it.
        file: String,
        /// Byte offset of the label in the (unpacked) file.
        offset: u64,
        /// The label.
        label: i64,
        /// How many classes there are.
        classes: usize,
    },
    /// Two files that belong together hold a different number of items.
    CountMismatch {
        /// The file of images.
        images_file: String,
        /// How many images it holds.
        images: usize,
        /// The file of labels.
        labels_file: String,
        /// How many labels it holds.
        labels: usize,
    },
    /// A compressed file does not unpack.
    Compression {
        /// The file, as the person named it.
        file: String,
        /// How many unpacked bytes came before the fault.
        offset: u64,
        /// What the decoder said.
        reason: String,
    },
    /// Nothing usable where it was looked for.
    NotFound {
        /// The folder or archive.
        place: String,
        /// What was looked for in it.
        looked_for: Vec<String>,
    },
    /// The operating system refused.
    Io {
        /// The file or folder.
        path: String,
        /// What was being done: "read", "write"...
        action: &'static str,
        /// What the system said.
        reason: String,
    },
    /// A setting of a loader, transform or generator that cannot work.
    InvalidSetting {
        /// Its name.
        name: &'static str,
        /// The value given.
        value: String,
        /// What is allowed.
        expected: String,
    },
    /// No data set has that name.
    UnknownSource {
        /// The name given.
        name: String,
        /// The names that exist, the nearest first.
        known: Vec<String>,
    },
    /// A file is complete but is not the file it should be.
    Checksum {
        /// The file.
        file: String,
        /// SHA-256 expected.
        expected: String,
        /// SHA-256 found.
        found: String,
    },
    /// Every way of fetching a file failed.
    Download {
        /// The file.
        file: String,
        /// Each address or command tried, and why it failed.
        attempts: Vec<(String, String)>,
        /// The folder in which the file can be put by hand.
        folder: String,
    },
    /// The person stopped a download; what had come is kept.
    Cancelled {
        /// The file that was being fetched.
        file: String,
    },
}

impl DataError {
    /// The likely cause and the repair, in one or two sentences.
    pub fn help(&self) -> String {
        match self {
            DataError::Corrupt { file, .. } => format!(
                "{file} is damaged or of another format. Fetch it again, or check that --data-dir names the right folder."
            ),
            DataError::Truncated { file, .. } => format!(
                "{file} was probably cut short while it was copied or downloaded. Delete it and fetch it again."
            ),
            DataError::Oversized { file, .. } => format!(
                "{file} holds more than its header says: two files joined, or one of another format. Fetch it again."
            ),
            DataError::LabelOutOfRange { file, classes, .. } => format!(
                "Labels run from 0 to {}. Either {file} is damaged, or it belongs to a set with more classes.",
                classes.saturating_sub(1)
            ),
            DataError::CountMismatch { .. } => {
                "The two files come from different sets (training and test, perhaps). Put matching files side by side."
                    .to_owned()
            }
            DataError::Compression { file, .. } => format!(
                "{file} is not a whole gzip file. Delete it and fetch it again; an already unpacked file must not be named .gz."
            ),
            DataError::NotFound { .. } => {
                "Check the folder given with --data-dir, or run `tensorscope data get mnist`. Without --data-dir the \
                 built-in MNIST subset is used."
                    .to_owned()
            }
            DataError::Io { path, action, .. } => {
                format!("Check that {path} exists and that you may {action} it.")
            }
            DataError::InvalidSetting { name, expected, .. } => {
                format!("Give {name} a value that is {expected}.")
            }
            DataError::UnknownSource { known, .. } => match known.first() {
                Some(nearest) => format!("Did you mean {nearest}?"),
                None => "No data set is built in.".to_owned(),
            },
            DataError::Checksum { file, .. } => format!(
                "{file} was changed on its way or at its source. Delete it and run the command again."
            ),
            DataError::Download { file, folder, .. } => format!(
                "Check the network connection or the proxy (HTTPS_PROXY), then run the command again: what has come so \
                 far is kept. Or put {file} (plain or .gz) into {folder} by hand."
            ),
            DataError::Cancelled { .. } => {
                "Run the command again to go on where it stopped.".to_owned()
            }
        }
    }
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DataError::Corrupt {
                file,
                offset,
                expected,
                found,
            } => {
                write!(
                    f,
                    "{file}: {expected} expected at offset {offset}, found {found}"
                )
            }
            DataError::Truncated {
                file,
                offset,
                expected,
            } => {
                write!(
                    f,
                    "{file}: file ends at offset {offset}, expected {expected}"
                )
            }
            DataError::Oversized {
                file,
                offset,
                expected,
            } => write!(
                f,
                "{file}: file should end at offset {offset} ({expected}), but goes on after it"
            ),
            DataError::LabelOutOfRange {
                file,
                offset,
                label,
                classes,
            } => write!(
                f,
                "{file}: label 0 to {} expected at offset {offset}, found {label}",
                classes.saturating_sub(1)
            ),
            DataError::CountMismatch {
                images_file,
                images,
                labels_file,
                labels,
            } => write!(
                f,
                "{images_file} holds {images} images, but {labels_file} holds {labels} labels"
            ),
            DataError::Compression {
                file,
                offset,
                reason,
            } => {
                write!(
                    f,
                    "{file}: cannot be unpacked beyond offset {offset}: {reason}"
                )
            }
            DataError::NotFound { place, looked_for } => {
                write!(
                    f,
                    "nothing to load in {place}: looked for {}",
                    looked_for.join(", ")
                )
            }
            DataError::Io {
                path,
                action,
                reason,
            } => {
                write!(f, "cannot {action} {path}: {reason}")
            }
            DataError::InvalidSetting {
                name,
                value,
                expected,
            } => {
                write!(f, "{name} = {value}: expected {expected}")
            }
            DataError::UnknownSource { name, known } => {
                write!(
                    f,
                    "unknown data set {name:?}: known are {}",
                    known.join(", ")
                )
            }
            DataError::Checksum {
                file,
                expected,
                found,
            } => {
                write!(f, "{file}: SHA-256 {expected} expected, found {found}")
            }
            DataError::Download { file, attempts, .. } => {
                write!(f, "{file} could not be fetched")?;
                for (place, reason) in attempts {
                    write!(f, "\n  {place}: {reason}")?;
                }
                Ok(())
            }
            DataError::Cancelled { file } => write!(f, "the download of {file} was cancelled"),
        }
    }
}

impl std::error::Error for DataError {}
