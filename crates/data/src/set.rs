//! A labelled set of images in memory, as bytes.

use std::fmt;
use std::sync::Arc;

use crate::error::DataError;

/// Which half of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Split {
    /// To learn from.
    Train,
    /// To be measured on.
    Test,
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Split::Train => "train",
            Split::Test => "test",
        })
    }
}

/// Images and labels. Cloning shares the bytes.
///
/// The labels are known to lie in `0..classes.len()`: that is checked when the set is made.
#[derive(Clone)]
pub struct ImageSet {
    name: String,
    split: Split,
    images: Arc<[u8]>,
    labels: Arc<[i64]>,
    channels: usize,
    height: usize,
    width: usize,
    classes: Arc<[String]>,
}

/// Channels, height and width of every image of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageShape {
    /// 1 for grey, 3 for colour.
    pub channels: usize,
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
}

impl ImageShape {
    /// Values in one image.
    pub fn len(self) -> usize {
        self.channels
            .saturating_mul(self.height)
            .saturating_mul(self.width)
    }

    /// Whether an image has no pixel at all.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
}

impl ImageSet {
    /// Puts a set together from `images` in N, C, H, W order and one label each.
    ///
    /// # Errors
    /// When the lengths do not fit each other or a label has no class.
    pub fn new(
        name: impl Into<String>,
        split: Split,
        shape: ImageShape,
        images: Vec<u8>,
        labels: Vec<i64>,
        classes: Vec<String>,
    ) -> Result<ImageSet, DataError> {
        let name = name.into();
        if shape.is_empty() {
            return Err(DataError::InvalidSetting {
                name: "shape",
                value: format!("{}x{}x{}", shape.channels, shape.height, shape.width),
                expected: "at least one channel, row and column".to_owned(),
            });
        }
        if labels.len().checked_mul(shape.len()) != Some(images.len()) {
            return Err(DataError::InvalidSetting {
                name: "images",
                value: format!("{} bytes", images.len()),
                expected: format!(
                    "{} labels x {}x{}x{} bytes",
                    labels.len(),
                    shape.channels,
                    shape.height,
                    shape.width
                ),
            });
        }
        let in_range = |label: &i64| usize::try_from(*label).is_ok_and(|l| l < classes.len());
        if let Some(at) = labels.iter().position(|label| !in_range(label)) {
            return Err(DataError::LabelOutOfRange {
                file: name,
                offset: at as u64,
                label: labels[at],
                classes: classes.len(),
            });
        }
        Ok(ImageSet {
            name,
            split,
            images: images.into(),
            labels: labels.into(),
            channels: shape.channels,
            height: shape.height,
            width: shape.width,
            classes: classes.into(),
        })
    }

    /// What the set is called in reports, for example `mnist-subset`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Training or test.
    pub fn split(&self) -> Split {
        self.split
    }

    /// How many images.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there is no image.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Channels, height, width.
    pub fn shape(&self) -> ImageShape {
        ImageShape {
            channels: self.channels,
            height: self.height,
            width: self.width,
        }
    }

    /// All pixels, N, C, H, W, 0 to 255.
    pub fn images(&self) -> &[u8] {
        &self.images
    }

    /// The pixels of one image, C, H, W; `None` beyond the end.
    pub fn image(&self, index: usize) -> Option<&[u8]> {
        let size = self.shape().len();
        let start = index.checked_mul(size)?;
        self.images.get(start..start.checked_add(size)?)
    }

    /// All labels.
    pub fn labels(&self) -> &[i64] {
        &self.labels
    }

    /// The names of the classes, by label.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// How many images each class has.
    pub fn class_counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.classes.len()];
        for &label in self.labels.iter() {
            // In range since `new`.
            counts[label as usize] += 1;
        }
        counts
    }

    /// The first `per_class` images of every class, in the set's own order.
    ///
    /// A class that has fewer keeps what it has.
    pub fn first_of_each_class(&self, per_class: usize) -> ImageSet {
        let mut taken = vec![0; self.classes.len()];
        self.pick(|label| {
            taken[label as usize] += 1;
            taken[label as usize] <= per_class
        })
    }

    /// The first `count` images, all of them where there are fewer.
    pub fn take(&self, count: usize) -> ImageSet {
        let mut left = count;
        self.pick(|_| {
            let keep = left > 0;
            left = left.saturating_sub(1);
            keep
        })
    }

    fn pick(&self, mut keep: impl FnMut(i64) -> bool) -> ImageSet {
        let mut images = Vec::new();
        let mut labels = Vec::new();
        for (image, &label) in self
            .images
            .chunks_exact(self.shape().len())
            .zip(self.labels.iter())
        {
            if keep(label) {
                images.extend_from_slice(image);
                labels.push(label);
            }
        }
        ImageSet {
            images: images.into(),
            labels: labels.into(),
            ..self.clone()
        }
    }
}

impl fmt::Debug for ImageSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "ImageSet({} {}: {} images of {}x{}x{}, {} classes)",
            self.name,
            self.split,
            self.len(),
            self.channels,
            self.height,
            self.width,
            self.classes.len()
        )
    }
}

/// The two halves of a data set.
#[derive(Clone, Debug)]
pub struct Splits {
    /// To learn from.
    pub train: ImageSet,
    /// To be measured on.
    pub test: ImageSet,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(images: Vec<u8>, labels: Vec<i64>) -> Result<ImageSet, DataError> {
        let shape = ImageShape {
            channels: 1,
            height: 1,
            width: 2,
        };
        let classes = vec!["a".to_owned(), "b".to_owned()];
        ImageSet::new("tiny", Split::Test, shape, images, labels, classes)
    }

    #[test]
    fn lengths_and_labels_are_checked() {
        assert_eq!(
            set(vec![0; 5], vec![0, 1]).unwrap_err().to_string(),
            "images = 5 bytes: expected 2 labels x 1x1x2 bytes"
        );
        for label in [-1, 2] {
            let error = set(vec![0; 4], vec![0, label]).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("tiny: label 0 to 1 expected at offset 1, found {label}")
            );
        }
    }

    #[test]
    fn picking_keeps_the_order() {
        let whole = set(vec![1, 1, 2, 2, 3, 3, 4, 4, 5, 5], vec![1, 1, 0, 1, 0]).unwrap();
        let two = whole.first_of_each_class(2);
        assert_eq!(two.labels(), [1, 1, 0, 0]);
        assert_eq!(two.images(), [1, 1, 2, 2, 3, 3, 5, 5]);
        assert_eq!(whole.take(2).images(), [1, 1, 2, 2]);
        assert_eq!(whole.take(99).len(), 5);
        assert_eq!(whole.image(4), Some([5, 5].as_slice()));
        assert_eq!(whole.image(5), None);
        assert_eq!(whole.image(usize::MAX), None);
    }
}
