//! MNIST: handwritten digits, 28x28, grey.
//!
//! Three ways in: [`embedded`] (a subset that travels with the program), [`from_bytes`] (files that somebody else
//! fetched: the page), [`from_dir`] (the four files in a folder, plain or .gz).

use crate::error::DataError;
use crate::idx::{self, Idx};
use crate::set::{ImageSet, ImageShape, Split, Splits};

/// The four files, in the order in which this module takes them; each may carry `.gz`.
pub const FILE_NAMES: [&str; 4] = [
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
];

/// What the subset is called in reports.
pub const SUBSET_NAME: &str = "mnist-subset";

/// Mean of all training pixels, scaled to 0..1.
pub const MEAN: [f32; 1] = [0.1307];

/// Standard deviation of all training pixels, scaled to 0..1.
pub const STD: [f32; 1] = [0.3081];

const SIDE: usize = 28;
const CLASSES: usize = 10;

/// The subset in the program: the first 500 training and 100 test images of each digit.
///
/// # Errors
/// Only if the program itself was built from damaged files.
#[cfg(feature = "embed-mnist")]
pub fn embedded() -> Result<Splits, DataError> {
    from_bytes(
        SUBSET_NAME,
        [
            include_bytes!("../assets/mnist-subset/train-images-idx3-ubyte.gz"),
            include_bytes!("../assets/mnist-subset/train-labels-idx1-ubyte.gz"),
            include_bytes!("../assets/mnist-subset/t10k-images-idx3-ubyte.gz"),
            include_bytes!("../assets/mnist-subset/t10k-labels-idx1-ubyte.gz"),
        ],
    )
}

/// A set from the contents of [`FILE_NAMES`], each gzipped or plain. `name` is what reports call it.
///
/// # Errors
/// When a file is damaged, of another kind, or does not fit its neighbour.
pub fn from_bytes(name: &str, files: [&[u8]; 4]) -> Result<Splits, DataError> {
    let [train_images, train_labels, test_images, test_labels] = files;
    splits(
        name,
        [
            (FILE_NAMES[0], train_images),
            (FILE_NAMES[1], train_labels),
            (FILE_NAMES[2], test_images),
            (FILE_NAMES[3], test_labels),
        ],
    )
}

/// The set in a folder that holds the four files, plain or .gz, or in its `MNIST/raw`, where torchvision puts them.
///
/// # Errors
/// When a file is missing, unreadable or damaged.
#[cfg(not(target_arch = "wasm32"))]
pub fn from_dir(dir: &std::path::Path) -> Result<Splits, DataError> {
    let mut found = Vec::with_capacity(FILE_NAMES.len());
    for name in FILE_NAMES {
        let path = crate::files::first_existing(dir, &candidates(name))?;
        found.push((path.display().to_string(), crate::files::read(&path)?));
    }
    let file = |at: usize| (found[at].0.as_str(), found[at].1.as_slice());
    splits("mnist", [file(0), file(1), file(2), file(3)])
}

/// Where in a folder the file `name` may lie.
#[cfg(not(target_arch = "wasm32"))]
fn candidates(name: &str) -> Vec<String> {
    ["", "MNIST/raw/"]
        .iter()
        .flat_map(|folder| [format!("{folder}{name}"), format!("{folder}{name}.gz")])
        .collect()
}

/// Whether a folder holds at least one of the files.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn is_in(dir: &std::path::Path) -> bool {
    FILE_NAMES
        .iter()
        .any(|name| crate::files::first_existing(dir, &candidates(name)).is_ok())
}

/// Name and content of a file.
type File<'a> = (&'a str, &'a [u8]);

fn splits(name: &str, files: [File<'_>; 4]) -> Result<Splits, DataError> {
    Ok(Splits {
        train: split(name, Split::Train, files[0], files[1])?,
        test: split(name, Split::Test, files[2], files[3])?,
    })
}

fn split(
    name: &str,
    split: Split,
    images_file: File<'_>,
    labels_file: File<'_>,
) -> Result<ImageSet, DataError> {
    let images = idx::parse(images_file.0, images_file.1, 3)?;
    for (axis, what) in [(1, "rows"), (2, "columns")] {
        if images.dims[axis] != SIDE {
            return Err(DataError::Corrupt {
                file: images_file.0.to_owned(),
                offset: 4 + 4 * axis as u64,
                expected: format!("{SIDE} {what}"),
                found: images.dims[axis].to_string(),
            });
        }
    }
    let labels = idx::parse(labels_file.0, labels_file.1, 1)?;
    if images.dims[0] != labels.dims[0] {
        return Err(DataError::CountMismatch {
            images_file: images_file.0.to_owned(),
            images: images.dims[0],
            labels_file: labels_file.0.to_owned(),
            labels: labels.dims[0],
        });
    }
    let header = 8;
    if let Some(at) = labels
        .bytes
        .iter()
        .position(|label| usize::from(*label) >= CLASSES)
    {
        return Err(DataError::LabelOutOfRange {
            file: labels_file.0.to_owned(),
            offset: header + at as u64,
            label: i64::from(labels.bytes[at]),
            classes: CLASSES,
        });
    }
    let shape = ImageShape {
        channels: 1,
        height: SIDE,
        width: SIDE,
    };
    let labels = labels.bytes.iter().map(|label| i64::from(*label)).collect();
    let classes = (0..CLASSES).map(|digit| digit.to_string()).collect();
    ImageSet::new(name, split, shape, images.bytes, labels, classes)
}

/// The contents of [`FILE_NAMES`] for a set, not compressed.
///
/// # Errors
/// When the images are not grey, or there are more than 256 classes.
pub fn to_bytes(splits: &Splits) -> Result<[Vec<u8>; 4], DataError> {
    let (train, test) = (&splits.train, &splits.test);
    Ok([
        images_idx(train)?,
        labels_idx(train)?,
        images_idx(test)?,
        labels_idx(test)?,
    ])
}

fn images_idx(set: &ImageSet) -> Result<Vec<u8>, DataError> {
    let shape = set.shape();
    if shape.channels != 1 {
        return Err(DataError::InvalidSetting {
            name: "channels",
            value: shape.channels.to_string(),
            expected: "1: IDX files of images hold grey ones".to_owned(),
        });
    }
    let dims = vec![set.len(), shape.height, shape.width];
    Idx {
        dims,
        bytes: set.images().to_vec(),
    }
    .encode()
}

fn labels_idx(set: &ImageSet) -> Result<Vec<u8>, DataError> {
    let mut bytes = Vec::with_capacity(set.len());
    for &label in set.labels() {
        bytes.push(u8::try_from(label).map_err(|_| DataError::InvalidSetting {
            name: "label",
            value: label.to_string(),
            expected: "0 to 255, to fit a byte".to_owned(),
        })?);
    }
    Idx {
        dims: vec![set.len()],
        bytes,
    }
    .encode()
}

#[cfg(test)]
mod tests;
