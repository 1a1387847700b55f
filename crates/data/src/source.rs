//! Data sets by name.

use crate::error::DataError;
use crate::{cifar, mnist, synthetic};

/// A data set that can be named in a command or a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// Handwritten digits: the built-in subset, or the files of a folder.
    Mnist,
    /// Small photographs, from files.
    Cifar10,
    /// Generated shapes and textures.
    Synthetic,
}

impl Source {
    /// All of them.
    pub const ALL: [Source; 3] = [Source::Mnist, Source::Cifar10, Source::Synthetic];

    /// The name that [`Source::parse`] takes.
    pub fn name(self) -> &'static str {
        match self {
            Source::Mnist => "mnist",
            Source::Cifar10 => "cifar10",
            Source::Synthetic => "synthetic",
        }
    }

    /// The source of that name.
    ///
    /// # Errors
    /// When there is none; the error lists the names, the nearest first.
    pub fn parse(name: &str) -> Result<Source, DataError> {
        let wanted = name.to_lowercase();
        if let Some(source) = Source::ALL
            .into_iter()
            .find(|source| source.name() == wanted)
        {
            return Ok(source);
        }
        let mut known = Source::ALL.map(|source| source.name().to_owned()).to_vec();
        known.sort_by_key(|known| strsim::damerau_levenshtein(known, &wanted));
        Err(DataError::UnknownSource {
            name: name.to_owned(),
            known,
        })
    }

    /// Mean and standard deviation by channel, for [`crate::Transform::normalize`].
    pub fn normalization(self) -> (&'static [f32], &'static [f32]) {
        match self {
            Source::Mnist => (&mnist::MEAN, &mnist::STD),
            Source::Cifar10 => (&cifar::MEAN, &cifar::STD),
            Source::Synthetic => (&synthetic::MEAN, &synthetic::STD),
        }
    }

    /// Loads the set: from `data_dir` where one is given; else MNIST is the built-in subset, CIFAR-10 is looked for in
    /// [`crate::default_data_dir`], and `seed` makes the synthetic one, which never comes from files.
    ///
    /// # Errors
    /// When files are missing, unreadable or damaged.
    #[cfg(all(not(target_arch = "wasm32"), feature = "embed-mnist"))]
    pub fn load(
        self,
        data_dir: Option<&std::path::Path>,
        seed: u64,
    ) -> Result<crate::Splits, DataError> {
        match (self, data_dir) {
            (Source::Mnist, None) => mnist::embedded(),
            (Source::Mnist, Some(dir)) => mnist::from_dir(dir),
            (Source::Cifar10, Some(path)) => cifar::from_path(path),
            (Source::Cifar10, None) => {
                let data = crate::default_data_dir().unwrap_or_default();
                cifar::from_path(&data.join(Source::Cifar10.name()))
            }
            (Source::Synthetic, _) => synthetic::default_splits(seed),
        }
    }

    /// Which set the files of a folder (or an archive) are.
    ///
    /// # Errors
    /// When it holds the files of neither; the error says what was looked for.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn detect(path: &std::path::Path) -> Result<Source, DataError> {
        if mnist::is_in(path) {
            Ok(Source::Mnist)
        } else if cifar::is_in(path) {
            Ok(Source::Cifar10)
        } else {
            Err(DataError::NotFound {
                place: if path.exists() {
                    path.display().to_string()
                } else {
                    format!("{} (no such folder)", path.display())
                },
                looked_for: vec![
                    format!(
                        "{} and its like (MNIST, plain or .gz)",
                        mnist::FILE_NAMES[0]
                    ),
                    format!(
                        "data_batch_1.bin and its like, or {} (CIFAR-10)",
                        cifar::ARCHIVE_NAME
                    ),
                ],
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_near_misses_named() {
        for source in Source::ALL {
            assert_eq!(Source::parse(source.name()), Ok(source));
        }
        let error = Source::parse("cifar-10").unwrap_err();
        assert_eq!(error.help(), "Did you mean cifar10?");
        assert!(error.to_string().contains("mnist"), "{error}");
    }

    #[cfg(feature = "embed-mnist")]
    #[test]
    fn a_folder_is_known_by_its_files() {
        let dir = tempfile::tempdir().unwrap();
        let error = Source::detect(dir.path()).unwrap_err().to_string();
        assert!(
            error.contains("MNIST") && error.contains("CIFAR-10"),
            "{error}"
        );

        std::fs::write(dir.path().join("test_batch.bin"), [0; 3073]).unwrap();
        std::fs::write(dir.path().join("data_batch_3.bin"), [1; 3073]).unwrap();
        assert_eq!(Source::detect(dir.path()), Ok(Source::Cifar10));
        let splits = Source::Cifar10.load(Some(dir.path()), 0).unwrap();
        assert_eq!(
            (splits.train.labels(), splits.test.labels()),
            (&[1][..], &[0][..])
        );

        std::fs::write(dir.path().join("t10k-labels-idx1-ubyte.gz"), [0; 4]).unwrap();
        assert_eq!(Source::detect(dir.path()), Ok(Source::Mnist));
    }
}
