//! Data sets from folders.

use std::path::Path;

use data::{Source, Splits};
use lessons::{DataSets, LessonError, LocalFuture};

/// The file system.
pub struct Folders;

impl DataSets for Folders {
    fn load<'a>(
        &'a self,
        source: Source,
        folder: &'a str,
        seed: u64,
    ) -> LocalFuture<'a, Result<Splits, LessonError>> {
        let folder = (!folder.is_empty()).then(|| Path::new(folder));
        Box::pin(std::future::ready(
            source.load(folder, seed).map_err(LessonError::from),
        ))
    }

    fn detect(&self, folder: &str) -> Result<Source, LessonError> {
        Ok(Source::detect(Path::new(folder))?)
    }
}
