//! From bytes to the numbers a network takes.

use crate::error::DataError;
use crate::set::ImageShape;

/// Rows or columns an image may have: far beyond any lesson, and a slip of the keyboard does not fill the memory.
const LARGEST: usize = 4096;

/// What is done to every image of a batch, in this order: pad, resize, scale to 0..1, normalise, flatten.
///
/// The order is fixed because padding and nearest-neighbour resizing only move pixels: any other order would give the
/// same values at a higher cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transform {
    pad: usize,
    resize: Option<(usize, usize)>,
    normalize: Option<(Vec<f32>, Vec<f32>)>,
    flatten: bool,
}

impl Transform {
    /// Bytes to f32 between 0 and 1, and nothing else.
    pub fn to_tensor() -> Transform {
        Transform::default()
    }

    /// Afterwards `(x - mean) / std` by channel.
    pub fn normalize(mut self, mean: &[f32], std: &[f32]) -> Transform {
        self.normalize = Some((mean.to_vec(), std.to_vec()));
        self
    }

    /// Black pixels on all four sides: MNIST's 28x28 becomes the 32x32 that LeNet takes with `pad(2)`.
    pub fn pad(mut self, pixels: usize) -> Transform {
        self.pad = pixels;
        self
    }

    /// Nearest-neighbour resizing, as PyTorch's `interpolate(mode='nearest')`.
    pub fn resize(mut self, height: usize, width: usize) -> Transform {
        self.resize = Some((height, width));
        self
    }

    /// One row of numbers per image.
    pub fn flatten(mut self) -> Transform {
        self.flatten = true;
        self
    }

    /// The shape of a batch of `count` images of `shape` after this transform.
    pub fn batch_shape(&self, count: usize, shape: ImageShape) -> Vec<usize> {
        let (height, width) = self.output_size(shape);
        if self.flatten {
            vec![count, shape.channels * height * width]
        } else {
            vec![count, shape.channels, height, width]
        }
    }

    fn output_size(&self, shape: ImageShape) -> (usize, usize) {
        self.resize.unwrap_or(self.padded_size(shape))
    }

    fn padded_size(&self, shape: ImageShape) -> (usize, usize) {
        let padding = self.pad.saturating_mul(2);
        (
            shape.height.saturating_add(padding),
            shape.width.saturating_add(padding),
        )
    }

    /// Works the settings out for images of `shape`.
    pub(crate) fn prepare(&self, shape: ImageShape) -> Result<Prepared, DataError> {
        let (height, width) = self.output_size(shape);
        let padded = self.padded_size(shape);
        for (name, (height, width)) in [("pad", padded), ("resize", (height, width))] {
            if !(1..=LARGEST).contains(&height) || !(1..=LARGEST).contains(&width) {
                return Err(DataError::InvalidSetting {
                    name,
                    value: format!("{height}x{width}"),
                    expected: format!("between 1x1 and {LARGEST}x{LARGEST} pixels"),
                });
            }
        }
        Ok(Prepared {
            tables: self.tables(shape.channels)?,
            source: self.source_pixels(shape, (height, width)),
            plane: shape.height * shape.width,
        })
    }

    /// For each output pixel the place in the plane it is copied from; `None` in the padding.
    fn source_pixels(&self, shape: ImageShape, output: (usize, usize)) -> Vec<Option<usize>> {
        let padded = self.padded_size(shape);
        let inside = |at: usize, size: usize| at.checked_sub(self.pad).filter(|at| *at < size);
        let mut source = Vec::with_capacity(output.0 * output.1);
        for y in 0..output.0 {
            let row = inside(y * padded.0 / output.0, shape.height);
            for x in 0..output.1 {
                let column = inside(x * padded.1 / output.1, shape.width);
                source.push(
                    row.zip(column)
                        .map(|(row, column)| row * shape.width + column),
                );
            }
        }
        source
    }

    /// There are only 256 byte values: one table per channel replaces the arithmetic per pixel.
    fn tables(&self, channels: usize) -> Result<Vec<[f32; 256]>, DataError> {
        let (mean, std) = match &self.normalize {
            Some((mean, std)) => (mean.clone(), std.clone()),
            None => (vec![0.0; channels], vec![1.0; channels]),
        };
        for (name, values) in [("mean", &mean), ("std", &std)] {
            if values.len() != channels || values.iter().any(|v| !v.is_finite()) {
                return Err(DataError::InvalidSetting {
                    name,
                    value: format!("{values:?}"),
                    expected: format!("one finite number for each of the {channels} channels"),
                });
            }
        }
        if std.contains(&0.0) {
            return Err(DataError::InvalidSetting {
                name: "std",
                value: format!("{std:?}"),
                expected: "not zero".to_owned(),
            });
        }
        Ok(mean
            .iter()
            .zip(&std)
            .map(|(mean, std)| std::array::from_fn(|byte| (byte as f32 / 255.0 - mean) / std))
            .collect())
    }
}

/// A transform worked out for one image shape.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    tables: Vec<[f32; 256]>,
    source: Vec<Option<usize>>,
    plane: usize,
}

impl Prepared {
    /// Numbers per image after the transform.
    pub(crate) fn output_len(&self) -> usize {
        self.tables.len() * self.source.len()
    }

    /// Appends one image.
    pub(crate) fn append(&self, image: &[u8], out: &mut Vec<f32>) {
        for (plane, table) in image.chunks_exact(self.plane).zip(&self.tables) {
            out.extend(self.source.iter().map(|at| match at {
                Some(at) => table[usize::from(plane[*at])],
                None => table[0],
            }));
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Mean and standard deviation of bytes scaled to 0..1.
    pub(crate) fn moments(bytes: &[u8]) -> (f64, f64) {
        let count = bytes.len() as f64;
        let mean = bytes.iter().map(|b| f64::from(*b) / 255.0).sum::<f64>() / count;
        let squares = bytes
            .iter()
            .map(|b| (f64::from(*b) / 255.0 - mean).powi(2))
            .sum::<f64>();
        (mean, (squares / count).sqrt())
    }

    fn apply(transform: &Transform, shape: ImageShape, image: &[u8]) -> Vec<f32> {
        let mut out = Vec::new();
        transform.prepare(shape).unwrap().append(image, &mut out);
        out
    }

    fn shape(channels: usize, height: usize, width: usize) -> ImageShape {
        ImageShape {
            channels,
            height,
            width,
        }
    }

    #[test]
    fn bytes_become_fractions_and_are_normalised_by_channel() {
        let pixels = [0, 255, 51, 102];
        let plain = apply(&Transform::to_tensor(), shape(2, 1, 2), &pixels);
        assert_eq!(plain, [0.0, 1.0, 0.2, 0.4]);
        let normal = Transform::to_tensor().normalize(&[0.5, 0.2], &[0.25, 0.1]);
        let expected = [
            -2.0,
            2.0,
            (51.0 / 255.0 - 0.2) / 0.1,
            (102.0f32 / 255.0 - 0.2) / 0.1,
        ];
        assert_eq!(apply(&normal, shape(2, 1, 2), &pixels), expected);
    }

    #[test]
    fn resizing_takes_the_pixel_that_pytorch_takes() {
        // interpolate(arange(6).view(1, 1, 2, 3), size=(4, 6)) doubles each; size=(3, 2) takes rows 0, 0, 1 and
        // columns 0, 1.
        let pixels = [0, 51, 102, 153, 204, 255];
        let up = apply(
            &Transform::to_tensor().resize(4, 6),
            shape(1, 2, 3),
            &pixels,
        );
        let row = |a: f32, b: f32, c: f32| [a, a, b, b, c, c];
        let (top, bottom) = (row(0.0, 0.2, 0.4), row(0.6, 0.8, 1.0));
        assert_eq!(up, [top, top, bottom, bottom].concat());
        let other = apply(
            &Transform::to_tensor().resize(3, 2),
            shape(1, 2, 3),
            &pixels,
        );
        assert_eq!(other, [0.0, 0.2, 0.0, 0.2, 0.6, 0.8]);
    }

    #[test]
    fn padding_is_black_before_normalising() {
        let transform = Transform::to_tensor().pad(1).normalize(&[0.5], &[0.5]);
        let padded = apply(&transform, shape(1, 1, 1), &[255]);
        assert_eq!(
            padded,
            [-1.0, -1.0, -1.0, -1.0, 1.0, -1.0, -1.0, -1.0, -1.0]
        );
        assert_eq!(transform.batch_shape(5, shape(1, 28, 28)), [5, 1, 30, 30]);
        assert_eq!(
            transform.flatten().batch_shape(5, shape(1, 28, 28)),
            [5, 900]
        );
    }

    #[test]
    fn settings_that_cannot_work_are_refused_by_name() {
        let three = shape(3, 32, 32);
        let name = |transform: Transform| match transform.prepare(three) {
            Err(DataError::InvalidSetting { name, .. }) => name,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            name(Transform::to_tensor().normalize(&[0.1], &[0.3])),
            "mean"
        );
        assert_eq!(
            name(Transform::to_tensor().normalize(&[0.1; 3], &[0.0; 3])),
            "std"
        );
        assert_eq!(
            name(Transform::to_tensor().normalize(&[f32::NAN; 3], &[1.0; 3])),
            "mean"
        );
        assert_eq!(name(Transform::to_tensor().resize(0, 4)), "resize");
        assert_eq!(name(Transform::to_tensor().pad(usize::MAX)), "pad");
    }
}
