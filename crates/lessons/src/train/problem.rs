//! What there is to learn: images with their classes, or a line hidden in noise.

use data::{ImageSet, Loader, LoaderOptions, Source, Splits, Transform, sampler};
use tensor::{Device, Tensor};

use crate::ctx::Ctx;
use crate::error::LessonError;
use crate::inputs::uniform;
use crate::params::Params;

/// Names of the data sets; `auto` is what suits the model.
pub const DATA: [&str; 4] = ["auto", "mnist", "cifar10", "synthetic"];
/// Sizes of lenet's images.
pub const IMAGE_SIZES: [&str; 2] = ["32", "64"];

/// Inputs of the hidden line.
pub const FEATURES: usize = 4;
const LINE_TRAIN: usize = 64_000;
const LINE_TEST: usize = 1_000;
/// Largest noise on the hidden line; uniform, so that the best possible loss is its variance.
const NOISE: f32 = 0.05;

/// What there is to learn.
pub enum Problem {
    /// Images with their classes.
    Images(Box<Images>),
    /// A line hidden in noise.
    Line(Line),
}

/// Images with their classes.
pub struct Images {
    splits: Splits,
    transform: Transform,
}

/// A line hidden in noise: `y = w x + b`.
pub struct Line {
    /// Weights and, last, the bias.
    pub truth: Vec<f32>,
    inputs: Vec<f32>,
    targets: Vec<f32>,
}

/// Examples of one step.
pub struct Examples {
    inputs: Vec<f32>,
    shape: Vec<usize>,
    targets: Targets,
}

enum Targets {
    Classes(Vec<i64>),
    Values(Vec<f32>),
}

impl Examples {
    /// How many.
    pub fn len(&self) -> usize {
        self.shape.first().copied().unwrap_or(0)
    }

    /// As tensors on a device: input and target.
    pub fn to(&self, device: &Device) -> Result<(Tensor, Tensor), LessonError> {
        let input = Tensor::from_slice(&self.inputs, &self.shape, device)?;
        let target = match &self.targets {
            Targets::Classes(classes) => Tensor::from_slice(classes, &[classes.len()], device)?,
            Targets::Values(values) => Tensor::from_slice(values, &[values.len(), 1], device)?,
        };
        Ok((input, target))
    }
}

impl From<data::Batch> for Examples {
    fn from(batch: data::Batch) -> Self {
        Examples {
            inputs: batch.images,
            shape: batch.shape,
            targets: Targets::Classes(batch.labels),
        }
    }
}

impl Problem {
    /// What the parameters ask for.
    pub async fn load(params: &Params, ctx: &Ctx) -> Result<Problem, LessonError> {
        let model = params.text("model")?;
        if model == "linreg" {
            return Ok(Problem::Line(Line::new(ctx.seed())));
        }
        let sets = &ctx.surroundings().data;
        let folder = params.text("data-dir")?;
        let source = match params.text("data")? {
            "auto" if !folder.is_empty() => sets.detect(folder)?,
            "auto" if model == "mnist-mlp" => Source::Mnist,
            "auto" => Source::Synthetic,
            name => Source::parse(name)?,
        };
        let splits = sets.load(source, folder, ctx.seed()).await?;
        let (mean, std) = source.normalization();
        let plain = Transform::to_tensor();
        let shape = splits.train.shape();
        let transform = if model == "mnist-mlp" {
            if (shape.channels, shape.height, shape.width) != (1, 28, 28) {
                return Err(LessonError::Data {
                    message: format!(
                        "mnist-mlp takes grey 28x28 images, {} has {}x{}x{}",
                        source.name(),
                        shape.channels,
                        shape.height,
                        shape.width
                    ),
                    help: Some("take MNIST, or train lenet on these images".into()),
                });
            }
            plain.normalize(mean, std).flatten()
        } else {
            let size: usize = if params.text("image-size")? == "64" {
                64
            } else {
                32
            };
            let plain = if shape.height == size && shape.width == size {
                plain
            } else {
                plain.resize(size, size)
            };
            plain.normalize(mean, std)
        };
        Ok(Problem::Images(Box::new(Images { splits, transform })))
    }

    /// Classes to tell apart, if that is what there is to learn.
    pub fn classes(&self) -> Option<usize> {
        match self {
            Problem::Images(images) => Some(images.splits.train.classes().len()),
            Problem::Line(_) => None,
        }
    }

    /// Shape of one input.
    pub fn input_shape(&self) -> Vec<usize> {
        match self {
            Problem::Images(images) => {
                images.transform.batch_shape(1, images.splits.train.shape())[1..].to_vec()
            }
            Problem::Line(_) => vec![FEATURES],
        }
    }

    /// Steps of an epoch.
    pub fn batches(&self, batch: usize) -> usize {
        match self {
            Problem::Images(images) => {
                sampler::batch_count(images.splits.train.len(), batch, false)
            }
            Problem::Line(_) => LINE_TRAIN.div_ceil(batch),
        }
    }

    /// In words.
    pub fn description(&self) -> String {
        match self {
            Problem::Images(images) => format!(
                "{} with {} training and {} test images",
                images.splits.train.name(),
                images.splits.train.len(),
                images.splits.test.len()
            ),
            Problem::Line(_) => {
                format!(
                    "{LINE_TRAIN} training and {LINE_TEST} test points on a line of {FEATURES} inputs, noise up to {NOISE}"
                )
            }
        }
    }

    /// The batches of an epoch, the same for a seed on every device.
    pub fn epoch(
        &self,
        epoch: u64,
        batch: usize,
        seed: u64,
    ) -> Result<Box<dyn Iterator<Item = Examples> + '_>, LessonError> {
        match self {
            Problem::Images(images) => {
                // One thread makes the next batch while this one is learnt from.
                let options = LoaderOptions {
                    batch_size: batch,
                    shuffle: true,
                    seed,
                    drop_last: false,
                    workers: 1,
                };
                let loader = Loader::new(&images.splits.train, images.transform.clone(), options)?;
                Ok(Box::new(loader.epoch(epoch).map(Examples::from)))
            }
            Problem::Line(line) => {
                let order = sampler::epoch_order(LINE_TRAIN, true, seed, epoch);
                let batches: Vec<Vec<usize>> = order.chunks(batch).map(<[usize]>::to_vec).collect();
                Ok(Box::new(
                    batches.into_iter().map(|indices| line.examples(&indices)),
                ))
            }
        }
    }

    /// The test set in batches.
    pub fn test(
        &self,
        batch: usize,
    ) -> Result<Box<dyn Iterator<Item = Examples> + '_>, LessonError> {
        match self {
            Problem::Images(images) => {
                let set: &ImageSet = &images.splits.test;
                let options = LoaderOptions {
                    batch_size: batch,
                    ..LoaderOptions::default()
                };
                Ok(Box::new(
                    Loader::new(set, images.transform.clone(), options)?
                        .epoch(0)
                        .map(Examples::from),
                ))
            }
            Problem::Line(line) => {
                let all: Vec<usize> = (LINE_TRAIN..LINE_TRAIN + LINE_TEST).collect();
                Ok(Box::new(std::iter::once(line.examples(&all))))
            }
        }
    }
}

impl Line {
    fn new(seed: u64) -> Line {
        let all = LINE_TRAIN + LINE_TEST;
        let truth = uniform(FEATURES + 1, seed, 1);
        // Inputs of variance one, as good practice has it.
        let inputs: Vec<f32> = uniform(all * FEATURES, seed, 2)
            .into_iter()
            .map(|x| x * 12f32.sqrt())
            .collect();
        let noise = uniform(all, seed, 3);
        let targets = inputs
            .chunks(FEATURES)
            .zip(&noise)
            .map(|(x, noise)| {
                let sum: f32 = x.iter().zip(&truth).map(|(x, w)| x * w).sum();
                sum + truth[FEATURES] + noise * 2.0 * NOISE
            })
            .collect();
        Line {
            truth,
            inputs,
            targets,
        }
    }

    fn examples(&self, indices: &[usize]) -> Examples {
        let row = |&i: &usize| &self.inputs[i * FEATURES..(i + 1) * FEATURES];
        Examples {
            inputs: indices.iter().flat_map(row).copied().collect(),
            shape: vec![indices.len(), FEATURES],
            targets: Targets::Values(indices.iter().map(|&i| self.targets[i]).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_of_the_line_comes_once_an_epoch() {
        let problem = Problem::Line(Line::new(0));
        let sizes: Vec<usize> = problem.epoch(0, 64, 0).unwrap().map(|e| e.len()).collect();
        assert_eq!(sizes.len(), problem.batches(64));
        assert_eq!(sizes.iter().sum::<usize>(), LINE_TRAIN);
        let first = |epoch, seed| {
            problem
                .epoch(epoch, 64, seed)
                .unwrap()
                .next()
                .unwrap()
                .inputs
        };
        assert_eq!(first(0, 0), first(0, 0));
        assert_ne!(first(0, 0), first(1, 0));
        assert_ne!(first(0, 0), first(0, 1));
    }

    #[test]
    fn targets_lie_near_the_line() {
        let line = Line::new(3);
        for (x, y) in line.inputs.chunks(FEATURES).zip(&line.targets) {
            let sum: f32 = x.iter().zip(&line.truth).map(|(x, w)| x * w).sum();
            assert!((y - sum - line.truth[FEATURES]).abs() <= NOISE * 1.001);
        }
    }
}
