//! Files and folders, natively.

use std::path::{Path, PathBuf};

use crate::error::DataError;

/// An error of the operating system.
pub(crate) fn io_error(path: &Path, action: &'static str, error: &std::io::Error) -> DataError {
    DataError::Io {
        path: path.display().to_string(),
        action,
        reason: error.to_string(),
    }
}

/// The whole content of a file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, DataError> {
    std::fs::read(path).map_err(|error| io_error(path, "read", &error))
}

/// The first of `names` that exists in `dir` as a file.
pub(crate) fn first_existing(dir: &Path, names: &[String]) -> Result<PathBuf, DataError> {
    names
        .iter()
        .map(|name| dir.join(name))
        .find(|path| path.is_file())
        .ok_or_else(|| DataError::NotFound {
            place: if dir.is_dir() {
                dir.display().to_string()
            } else {
                format!("{} (no such folder)", dir.display())
            },
            looked_for: names.to_vec(),
        })
}

/// Where data sets are kept: `tensorscope` in the user's data folder (`XDG_DATA_HOME` or its like elsewhere).
pub fn default_data_dir() -> Option<PathBuf> {
    dirs::data_dir().map(|dir| dir.join("tensorscope"))
}
