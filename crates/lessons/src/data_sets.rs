//! Where data sets come from: folders natively, files that the page fetched or was given in the browser.

use std::cell::RefCell;
use std::collections::BTreeMap;

use data::{Source, Split, Splits, cifar, mnist, synthetic};

use crate::error::LessonError;
use crate::host::LocalFuture;

/// Where data sets come from.
pub trait DataSets {
    /// Loads a set. `folder` is empty for the set's own default: MNIST's built-in subset, CIFAR-10 where it was fetched to.
    fn load<'a>(
        &'a self,
        source: Source,
        folder: &'a str,
        seed: u64,
    ) -> LocalFuture<'a, Result<Splits, LessonError>>;

    /// Which set the files of a folder are.
    fn detect(&self, folder: &str) -> Result<Source, LessonError>;
}

/// Files in memory, by folder and name: what the page fetched (under the folder `mnist-subset`) or was given (under the name
/// that the page gave to the learner's choice).
#[derive(Default)]
pub struct GivenFiles(RefCell<BTreeMap<(String, String), Vec<u8>>>);

/// Folder under which the page hands over the MNIST subset that comes with the program.
pub const MNIST_SUBSET: &str = mnist::SUBSET_NAME;

impl GivenFiles {
    /// Takes a file; one of the same folder and name is replaced.
    pub fn insert(&self, folder: &str, name: &str, bytes: Vec<u8>) {
        self.0
            .borrow_mut()
            .insert((folder.into(), name.into()), bytes);
    }

    fn missing(&self, folder: &str, looked_for: &str) -> LessonError {
        let files = self.0.borrow();
        let there: Vec<&str> = files
            .keys()
            .filter(|(f, _)| f == folder)
            .map(|(_, name)| name.as_str())
            .collect();
        let there = if there.is_empty() {
            "none".to_string()
        } else {
            there.join(", ")
        };
        LessonError::Data {
            message: format!("looked for {looked_for} among the given files ({there})"),
            help: Some("choose the data set's files, or leave the choice empty for the set that comes with the page".into()),
        }
    }

    /// The file of this name, or of this name with `.gz`.
    fn find(&self, folder: &str, name: &str) -> Option<Vec<u8>> {
        let files = self.0.borrow();
        let of = |name: String| files.get(&(folder.to_string(), name)).cloned();
        of(name.into()).or_else(|| of(format!("{name}.gz")))
    }

    fn mnist(&self, folder: &str) -> Result<Splits, LessonError> {
        let folder = if folder.is_empty() {
            MNIST_SUBSET
        } else {
            folder
        };
        let file = |i: usize| {
            self.find(folder, mnist::FILE_NAMES[i])
                .ok_or_else(|| self.missing(folder, mnist::FILE_NAMES[i]))
        };
        let files = [file(0)?, file(1)?, file(2)?, file(3)?];
        Ok(mnist::from_bytes(
            folder,
            [&files[0], &files[1], &files[2], &files[3]],
        )?)
    }

    fn cifar10(&self, folder: &str) -> Result<Splits, LessonError> {
        if let Some(bytes) = self.find(folder, cifar::ARCHIVE_NAME) {
            return Ok(cifar::from_archive(cifar::ARCHIVE_NAME, &bytes)?);
        }
        let read = |name: &str, split| match self.find(folder, name) {
            Some(bytes) => Ok(cifar::parse(name, &bytes, split)?),
            None => Err(self.missing(folder, name)),
        };
        // Training records may be spread over up to five files; together they are one file of records.
        let train: Vec<u8> = (1..=5)
            .filter_map(|i| self.find(folder, &format!("data_batch_{i}.bin")))
            .flatten()
            .collect();
        if train.is_empty() {
            return Err(self.missing(folder, "data_batch_1.bin"));
        }
        Ok(Splits {
            train: cifar::parse("data_batch_*.bin", &train, Split::Train)?,
            test: read("test_batch.bin", Split::Test)?,
        })
    }
}

impl DataSets for GivenFiles {
    fn load<'a>(
        &'a self,
        source: Source,
        folder: &'a str,
        seed: u64,
    ) -> LocalFuture<'a, Result<Splits, LessonError>> {
        let splits = match source {
            Source::Mnist => self.mnist(folder),
            Source::Cifar10 => self.cifar10(folder),
            Source::Synthetic => synthetic::default_splits(seed).map_err(Into::into),
        };
        Box::pin(std::future::ready(splits))
    }

    fn detect(&self, folder: &str) -> Result<Source, LessonError> {
        if self.find(folder, mnist::FILE_NAMES[0]).is_some() {
            Ok(Source::Mnist)
        } else if self.find(folder, cifar::ARCHIVE_NAME).is_some()
            || self.find(folder, "test_batch.bin").is_some()
        {
            Ok(Source::Cifar10)
        } else {
            Err(self.missing(folder, "the files of MNIST or of CIFAR-10"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_files_say_what_was_looked_for_and_what_is_there() {
        let files = GivenFiles::default();
        files.insert("mine", "notes.txt", vec![1]);
        let e = pollster::block_on(files.load(Source::Mnist, "mine", 0)).unwrap_err();
        assert_eq!(
            e.to_string(),
            "looked for train-images-idx3-ubyte among the given files (notes.txt)"
        );
        let e = files.detect("").unwrap_err();
        assert_eq!(
            e.to_string(),
            "looked for the files of MNIST or of CIFAR-10 among the given files (none)"
        );
    }

    #[test]
    fn given_cifar_files_become_a_set() {
        let files = GivenFiles::default();
        let record = |label: u8| [vec![label], vec![0; 3072]].concat();
        files.insert("mine", "data_batch_1.bin", record(3));
        files.insert("mine", "data_batch_2.bin", record(4));
        files.insert("mine", "test_batch.bin", record(5));
        assert_eq!(files.detect("mine").unwrap(), Source::Cifar10);
        let splits = pollster::block_on(files.load(Source::Cifar10, "mine", 0)).unwrap();
        assert_eq!(
            (splits.train.labels(), splits.test.labels()),
            (&[3i64, 4][..], &[5i64][..])
        );
    }
}
