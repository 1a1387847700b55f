//! A generated set of ten classes, 32x32, colour, for when there is nothing else.
//!
//! Five shapes and five textures, in random colours, places, sizes and angles, under uneven light, noise and a patch
//! that hides a part. Colour says nothing about the class, and no single pixel says much: a network has to look at
//! neighbourhoods. Only additions, multiplications and divisions are used, which IEEE 754 fixes to the last bit, so a
//! seed gives the same images on every machine.

use crate::error::DataError;
use crate::set::{ImageSet, ImageShape, Split, Splits};
use tensor::random::{Draw, Generator};

/// The classes, by label.
pub const CLASSES: [&str; 10] = [
    "disc",
    "ring",
    "square",
    "triangle",
    "cross",
    "horizontal stripes",
    "vertical stripes",
    "diagonal stripes",
    "checkerboard",
    "dots",
];

/// Mean of the pixels by channel, scaled to 0..1 (measured over 5,000 images of seed 0).
pub const MEAN: [f32; 3] = [0.497, 0.498, 0.501];

/// Standard deviation of the pixels by channel, scaled to 0..1 (measured over 5,000 images of seed 0).
pub const STD: [f32; 3] = [0.281, 0.272, 0.286];

/// Training images in [`default_splits`].
pub const TRAIN: usize = 5000;

/// Test images in [`default_splits`].
pub const TEST: usize = 1000;

const SIDE: usize = 32;

/// 5,000 + 1,000 images.
///
/// # Errors
/// None in practice: the sizes are sound.
pub fn default_splits(seed: u64) -> Result<Splits, DataError> {
    Ok(Splits {
        train: generate(Split::Train, TRAIN, seed)?,
        test: generate(Split::Test, TEST, seed)?,
    })
}

/// `count` images, the classes in turn. Image `i` depends on the seed, the split and `i` alone.
///
/// # Errors
/// None in practice.
pub fn generate(split: Split, count: usize, seed: u64) -> Result<ImageSet, DataError> {
    let shape = ImageShape {
        channels: 3,
        height: SIDE,
        width: SIDE,
    };
    let generator = Generator::new(seed);
    let mut images = Vec::new();
    let mut labels = Vec::new();
    for index in 0..count {
        let class = index % CLASSES.len();
        let half = match split {
            Split::Train => 0,
            Split::Test => 1,
        };
        let mut dice = Dice::new(&generator, (index as u64) << 1 | half);
        draw(class, &mut dice, &mut images);
        labels.push(class as i64);
    }
    let classes = CLASSES.iter().map(|name| (*name).to_owned()).collect();
    ImageSet::new("synthetic", split, shape, images, labels, classes)
}

/// One picture's random numbers.
struct Dice {
    draw: Draw,
    words: [u32; 4],
    used: u64,
}

impl Dice {
    fn new(generator: &Generator, picture: u64) -> Dice {
        // The draw of a fork of its own may be as long as it likes: nobody else reads that stream.
        Dice {
            draw: generator.fork(picture).reserve(0),
            words: [0; 4],
            used: 0,
        }
    }

    fn word(&mut self) -> u32 {
        let lane = (self.used % 4) as usize;
        if lane == 0 {
            self.words = self.draw.block(self.used / 4);
        }
        self.used += 1;
        self.words[lane]
    }

    /// Even between `low` and `high`; 24 bits, so exact in f32.
    fn between(&mut self, low: f32, high: f32) -> f32 {
        let unit = (self.word() >> 8) as f32 / (1 << 24) as f32;
        low + (high - low) * unit
    }

    /// A bell of standard deviation 1: the four bytes of a word, added (mean 510, variance 4 (256^2 - 1) / 12).
    fn bell(&mut self) -> f32 {
        let sum: u32 = self.word().to_le_bytes().into_iter().map(u32::from).sum();
        (sum as f32 - 510.0) / 147.8
    }

    fn colour(&mut self) -> [f32; 3] {
        std::array::from_fn(|_| self.between(0.05, 0.95))
    }
}

fn brightness(colour: [f32; 3]) -> f32 {
    0.3 * colour[0] + 0.6 * colour[1] + 0.1 * colour[2]
}

/// Two colours that a grey picture would still tell apart.
fn two_colours(dice: &mut Dice) -> ([f32; 3], [f32; 3]) {
    let ground = dice.colour();
    let mut figure = dice.colour();
    let gap = 0.2;
    if (brightness(figure) - brightness(ground)).abs() < gap {
        let shift = if brightness(ground) > 0.5 {
            -0.35
        } else {
            0.35
        };
        figure = figure.map(|value| value + shift);
    }
    (ground, figure)
}

/// Where a figure lies and how it is turned.
struct Pose {
    centre: (f32, f32),
    /// Half the size of a shape, or a texture's period.
    size: f32,
    cos: f32,
    sin: f32,
    /// A texture's phase.
    phase: (f32, f32),
}

impl Pose {
    fn new(class: usize, dice: &mut Dice) -> Pose {
        let is_shape = class < 5;
        // The tangent of half the angle: up to 17 degrees for shapes, 11 for textures, which must not turn into
        // each other.
        let half = if is_shape {
            dice.between(-0.15, 0.15)
        } else {
            dice.between(-0.1, 0.1)
        };
        let scale = 1.0 + half * half;
        Pose {
            centre: (dice.between(10.0, 22.0), dice.between(10.0, 22.0)),
            size: if is_shape {
                dice.between(5.5, 10.5)
            } else {
                dice.between(4.5, 9.0)
            },
            cos: (1.0 - half * half) / scale,
            sin: 2.0 * half / scale,
            phase: (dice.between(0.0, 1.0), dice.between(0.0, 1.0)),
        }
    }

    /// A point of the picture in the figure's own axes.
    fn to_figure(&self, x: f32, y: f32) -> (f32, f32) {
        let (dx, dy) = (x - self.centre.0, y - self.centre.1);
        (self.cos * dx + self.sin * dy, self.cos * dy - self.sin * dx)
    }
}

/// Whether a point belongs to the figure of a class.
fn covers(class: usize, pose: &Pose, x: f32, y: f32) -> bool {
    let (x, y) = pose.to_figure(x, y);
    let size = pose.size;
    let square = x * x + y * y;
    // Position within a texture's period, 0 to 1.
    let u = fraction(x / size + pose.phase.0);
    let v = fraction(y / size + pose.phase.1);
    match class {
        0 => square < size * size,
        1 => square < size * size && square > 0.3 * size * size,
        2 => x.abs() < 0.88 * size && y.abs() < 0.88 * size,
        3 => y < 0.75 * size && 2.0 * x.abs() < 0.75 * size + y + 0.5 * size,
        4 => {
            let arm = 0.33 * size;
            (x.abs() < arm && y.abs() < size) || (y.abs() < arm && x.abs() < size)
        }
        5 => v < 0.5,
        6 => u < 0.5,
        7 => fraction((x + y) / (1.4 * size) + pose.phase.0) < 0.5,
        8 => (u < 0.5) == (v < 0.5),
        _ => (u - 0.5) * (u - 0.5) + (v - 0.5) * (v - 0.5) < 0.1,
    }
}

fn fraction(value: f32) -> f32 {
    value - value.floor()
}

/// Appends one picture, channel by channel.
fn draw(class: usize, dice: &mut Dice, images: &mut Vec<u8>) {
    let (ground, figure) = two_colours(dice);
    let pose = Pose::new(class, dice);
    let light = (dice.between(-0.006, 0.006), dice.between(-0.006, 0.006));
    let noise = dice.between(0.04, 0.14);
    let patch = dice.colour();
    let corner = (dice.between(-4.0, 30.0), dice.between(-4.0, 30.0));
    let extent = (dice.between(4.0, 10.0), dice.between(4.0, 10.0));

    let start = images.len();
    images.resize(start + 3 * SIDE * SIDE, 0);
    for row in 0..SIDE {
        for column in 0..SIDE {
            let (x, y) = (column as f32, row as f32);
            let hidden = (corner.0..corner.0 + extent.0).contains(&x)
                && (corner.1..corner.1 + extent.1).contains(&y);
            let share = coverage(class, &pose, x, y);
            let shade = light.0 * (x - 15.5) + light.1 * (y - 15.5);
            for channel in 0..3 {
                let clean = if hidden {
                    patch[channel]
                } else {
                    ground[channel] + share * (figure[channel] - ground[channel])
                };
                let value = clean + shade + noise * dice.bell();
                images[start + (channel * SIDE + row) * SIDE + column] =
                    (value.clamp(0.0, 1.0) * 255.0 + 0.5) as u8;
            }
        }
    }
}

/// The share of a pixel that the figure covers, from four points in it: soft edges, as a camera would give.
fn coverage(class: usize, pose: &Pose, x: f32, y: f32) -> f32 {
    let points = [(-0.25, -0.25), (-0.25, 0.25), (0.25, -0.25), (0.25, 0.25)];
    let inside = points
        .iter()
        .filter(|(dx, dy)| covers(class, pose, x + dx, y + dy));
    inside.count() as f32 / 4.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transform::tests::moments;

    #[test]
    fn an_image_depends_on_seed_split_and_index_alone() {
        let few = generate(Split::Train, 25, 7).unwrap();
        let many = generate(Split::Train, 50, 7).unwrap();
        assert_eq!(few.images(), &many.images()[..few.images().len()]);
        assert_ne!(
            few.images(),
            generate(Split::Train, 25, 8).unwrap().images()
        );
        assert_ne!(few.images(), generate(Split::Test, 25, 7).unwrap().images());
        assert_eq!(many.class_counts(), [5; 10]);
    }

    #[test]
    fn the_published_mean_and_deviation_are_those_of_the_images() {
        let set = generate(Split::Train, 1000, 1).unwrap();
        for channel in 0..3 {
            let planes = set
                .images()
                .chunks_exact(SIDE * SIDE)
                .skip(channel)
                .step_by(3);
            let (mean, std) = moments(&planes.flatten().copied().collect::<Vec<u8>>());
            assert!(
                (mean - f64::from(MEAN[channel])).abs() < 0.03,
                "{channel}: {mean}"
            );
            assert!(
                (std - f64::from(STD[channel])).abs() < 0.03,
                "{channel}: {std}"
            );
        }
    }

    /// What a network could do without looking at neighbourhoods: compare with the mean picture of each class.
    #[test]
    fn mean_pictures_do_not_tell_the_classes_apart() {
        let splits = default_splits(0).unwrap();
        let size = splits.train.shape().len();
        let mut means = vec![vec![0.0f32; size]; CLASSES.len()];
        let per_class = (TRAIN / CLASSES.len()) as f32;
        for (image, &label) in splits
            .train
            .images()
            .chunks_exact(size)
            .zip(splits.train.labels())
        {
            for (mean, &pixel) in means[label as usize].iter_mut().zip(image) {
                *mean += f32::from(pixel) / per_class;
            }
        }
        let distance = |mean: &[f32], image: &[u8]| -> f32 {
            mean.iter()
                .zip(image)
                .map(|(m, &p)| (m - f32::from(p)).powi(2))
                .sum()
        };
        let right = splits
            .test
            .images()
            .chunks_exact(size)
            .zip(splits.test.labels())
            .filter(|(image, label)| {
                let by_distance = |a: &usize, b: &usize| {
                    distance(&means[*a], image).total_cmp(&distance(&means[*b], image))
                };
                (0..CLASSES.len()).min_by(by_distance) == Some(**label as usize)
            })
            .count();
        let accuracy = right as f64 / TEST as f64;
        assert!(
            accuracy < 0.25,
            "too easy: {accuracy} from mean pictures alone"
        );
    }
}
