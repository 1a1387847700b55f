//! CIFAR-10 in its binary version: records of one label byte and 3 x 32 x 32 pixel bytes.
//!
//! Taken from a folder of `data_batch_1.bin` ... `data_batch_5.bin` and `test_batch.bin`, or from the original
//! `cifar-10-binary.tar.gz`.

use std::io::Read;

use crate::error::DataError;
use crate::set::{ImageSet, ImageShape, Split, Splits};
use crate::unpack::Unpacked;

/// The classes, by label.
pub const CLASSES: [&str; 10] = [
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
];

/// Mean of all training pixels by channel, scaled to 0..1.
pub const MEAN: [f32; 3] = [0.4914, 0.4822, 0.4465];

/// Standard deviation of all training pixels by channel, scaled to 0..1.
pub const STD: [f32; 3] = [0.2470, 0.2435, 0.2616];

/// What the original archive is called.
pub const ARCHIVE_NAME: &str = "cifar-10-binary.tar.gz";

const SHAPE: ImageShape = ImageShape {
    channels: 3,
    height: 32,
    width: 32,
};
const RECORD: usize = 1 + 3 * 32 * 32;
const TEST_FILE: &str = "test_batch.bin";
/// The most that is unpacked from one file: 32 times an original batch.
const LARGEST: u64 = 1 << 30;

/// The training files in order.
fn train_files() -> impl Iterator<Item = String> {
    (1..=5).map(|number| format!("data_batch_{number}.bin"))
}

fn looked_for() -> Vec<String> {
    vec![
        "data_batch_1.bin ... data_batch_5.bin".to_owned(),
        TEST_FILE.to_owned(),
    ]
}

/// One file's images and labels, not yet a set.
#[derive(Default)]
struct Records {
    images: Vec<u8>,
    labels: Vec<i64>,
}

impl Records {
    fn append(&mut self, file: &str, bytes: &[u8]) -> Result<(), DataError> {
        let whole = bytes.len() / RECORD;
        if whole == 0 || !bytes.len().is_multiple_of(RECORD) {
            return Err(DataError::Truncated {
                file: file.to_owned(),
                offset: bytes.len() as u64,
                expected: format!(
                    "whole records of {RECORD} bytes: record {whole} begins at offset {}",
                    whole * RECORD
                ),
            });
        }
        for (at, record) in bytes.chunks_exact(RECORD).enumerate() {
            let label = record[0];
            if usize::from(label) >= CLASSES.len() {
                return Err(DataError::LabelOutOfRange {
                    file: file.to_owned(),
                    offset: (at * RECORD) as u64,
                    label: i64::from(label),
                    classes: CLASSES.len(),
                });
            }
            self.labels.push(i64::from(label));
            self.images.extend_from_slice(&record[1..]);
        }
        Ok(())
    }

    fn into_set(self, split: Split) -> Result<ImageSet, DataError> {
        let classes = CLASSES.iter().map(|name| (*name).to_owned()).collect();
        ImageSet::new("cifar10", split, SHAPE, self.images, self.labels, classes)
    }
}

/// A set from one file of records. `file` is its name for errors.
///
/// # Errors
/// When it does not consist of whole records or a label is out of range.
pub fn parse(file: &str, bytes: &[u8], split: Split) -> Result<ImageSet, DataError> {
    let mut records = Records::default();
    records.append(file, bytes)?;
    records.into_set(split)
}

/// The records of a set in the file format.
///
/// # Errors
/// When the images are not 3x32x32 or a label is above 9.
pub fn to_bytes(set: &ImageSet) -> Result<Vec<u8>, DataError> {
    if set.shape() != SHAPE {
        return Err(DataError::InvalidSetting {
            name: "shape",
            value: format!("{:?}", set.shape()),
            expected: format!("{SHAPE:?}"),
        });
    }
    let mut file = Vec::with_capacity(set.len() * RECORD);
    for (image, &label) in set.images().chunks_exact(RECORD - 1).zip(set.labels()) {
        let byte = u8::try_from(label)
            .ok()
            .filter(|byte| usize::from(*byte) < CLASSES.len());
        file.push(byte.ok_or_else(|| DataError::InvalidSetting {
            name: "label",
            value: label.to_string(),
            expected: "0 to 9".to_owned(),
        })?);
        file.extend_from_slice(image);
    }
    Ok(file)
}

/// The set in the original archive, gzipped or already unpacked to a .tar. `file` is its name for errors.
///
/// # Errors
/// When the archive is damaged or lacks a file.
pub fn from_archive(file: &str, bytes: &[u8]) -> Result<Splits, DataError> {
    let mut members = std::collections::BTreeMap::new();
    // Unpacked first, so that a damaged gzip stream is told from a damaged tar.
    let tar = {
        let mut input = Unpacked::new(file, bytes);
        let tar = input.read_up_to(LARGEST)?;
        input.end("at most 1 GiB")?;
        tar
    };
    let damaged = |error: std::io::Error, offset: u64| DataError::Corrupt {
        file: file.to_owned(),
        offset,
        expected: "a tar archive's header or member".to_owned(),
        found: error.to_string(),
    };
    let mut offset = 0;
    let mut archive = tar::Archive::new(tar.as_slice());
    for entry in archive.entries().map_err(|error| damaged(error, 0))? {
        let mut entry = entry.map_err(|error| damaged(error, offset))?;
        offset = entry.raw_file_position();
        let name = entry
            .path()
            .ok()
            .and_then(|path| Some(path.file_name()?.to_str()?.to_owned()));
        if let Some(name) =
            name.filter(|name| *name == TEST_FILE || train_files().any(|t| t == *name))
        {
            let mut content = Vec::new();
            entry
                .read_to_end(&mut content)
                .map_err(|error| damaged(error, offset))?;
            if content.len() as u64 != entry.size() {
                return Err(DataError::Truncated {
                    file: format!("{file}/{name}"),
                    offset: content.len() as u64,
                    expected: format!("{} bytes", entry.size()),
                });
            }
            members.insert(name, content);
        }
    }
    splits(file, |name| {
        Ok(members
            .remove(name)
            .map(|content| (format!("{file}/{name}"), content)))
    })
}

/// The set in `path`: a folder with the .bin files, a folder with the archive or the folder unpacked from it, or the
/// archive itself.
///
/// # Errors
/// When files are missing, unreadable or damaged.
#[cfg(not(target_arch = "wasm32"))]
pub fn from_path(path: &std::path::Path) -> Result<Splits, DataError> {
    use crate::files::{first_existing, read};
    if path.is_file() {
        return from_archive(&path.display().to_string(), &read(path)?);
    }
    for folder in [path.to_path_buf(), path.join("cifar-10-batches-bin")] {
        if first_existing(&folder, &[TEST_FILE.to_owned()]).is_ok() {
            return splits(&folder.display().to_string(), |name| {
                let file = folder.join(name);
                if file.is_file() {
                    Ok(Some((file.display().to_string(), read(&file)?)))
                } else {
                    Ok(None)
                }
            });
        }
    }
    let names = [
        TEST_FILE,
        "cifar-10-batches-bin/test_batch.bin",
        ARCHIVE_NAME,
    ]
    .map(str::to_owned);
    let archive = first_existing(path, &names)?;
    from_archive(&archive.display().to_string(), &read(&archive)?)
}

/// Whether a path holds CIFAR-10 files or is the archive.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn is_in(path: &std::path::Path) -> bool {
    let inside = [
        TEST_FILE,
        "data_batch_1.bin",
        "cifar-10-batches-bin",
        ARCHIVE_NAME,
    ];
    inside.iter().any(|name| path.join(name).exists())
        || (path.is_file() && path.display().to_string().ends_with(".tar.gz"))
}

/// Those training files that exist (a sample may have fewer than five), and the test file.
fn splits(
    place: &str,
    mut file: impl FnMut(&str) -> Result<Option<(String, Vec<u8>)>, DataError>,
) -> Result<Splits, DataError> {
    let missing = || DataError::NotFound {
        place: place.to_owned(),
        looked_for: looked_for(),
    };
    let mut train = Records::default();
    for name in train_files() {
        if let Some((name, bytes)) = file(&name)? {
            train.append(&name, &bytes)?;
        }
    }
    if train.labels.is_empty() {
        return Err(missing());
    }
    let mut test = Records::default();
    let (name, bytes) = file(TEST_FILE)?.ok_or_else(missing)?;
    test.append(&name, &bytes)?;
    Ok(Splits {
        train: train.into_set(Split::Train)?,
        test: test.into_set(Split::Test)?,
    })
}

#[cfg(test)]
mod tests;
