//! Index spaces cut into boxes that fit the first-level cache.

use super::frame::BLOCK;

/// Most dimensions of a launch.
pub(crate) const RANK: usize = crate::kernel::MAX_RANK;

/// Side of the boxes between a transposed operand and another: what a box touches of either are then runs of a few
/// cache lines, which processors fetch ahead.
const ACROSS: usize = 64;

/// An index space and how it is cut.
#[derive(Clone, Debug)]
pub(crate) struct Tiles {
    /// Size of each dimension.
    pub shape: Vec<usize>,
    /// Size of a whole box in each dimension.
    pub size: Vec<usize>,
    /// Boxes in each dimension.
    pub count: Vec<usize>,
}

/// One box.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tile {
    pub start: [usize; RANK],
    pub size: [usize; RANK],
    pub rank: usize,
}

impl Tiles {
    /// Cut `shape` into boxes of about `most` elements, and at most [`BLOCK`].
    ///
    /// The last dimensions are taken whole as far as they go, so that boxes are long runs. Where an operand runs along
    /// another dimension (it is transposed), boxes are about square between the two.
    pub(crate) fn new(shape: &[usize], strides: &[&[isize]], most: usize) -> Tiles {
        let mut size = vec![1; shape.len()];
        let mut left = most;
        if let Some(last) = shape.len().checked_sub(1)
            && let Some(across) = crossing(shape, strides, last)
        {
            let few = shape[across].min(ACROSS);
            size[last] = shape[last].min(BLOCK / few).max(1);
            size[across] = shape[across].min(BLOCK / size[last]).max(1);
            left = BLOCK / (size[last] * size[across]);
        }
        for d in (0..shape.len()).rev() {
            if size[d] == 1 {
                size[d] = shape[d].min(left).max(1);
                left /= size[d];
            }
            if left <= 1 {
                break;
            }
        }
        let count = shape
            .iter()
            .zip(&size)
            .map(|(n, s)| n.div_ceil(*s))
            .collect();
        Tiles {
            shape: shape.to_vec(),
            size,
            count,
        }
    }

    /// How many boxes there are.
    pub(crate) fn len(&self) -> usize {
        self.count.iter().product()
    }

    /// Elements in a whole box.
    pub(crate) fn largest(&self) -> usize {
        self.size.iter().product()
    }

    /// Box number `index`, the last dimension's first.
    pub(crate) fn get(&self, mut index: usize) -> Tile {
        let mut tile = Tile {
            rank: self.shape.len(),
            ..Tile::default()
        };
        for d in (0..self.shape.len()).rev() {
            let at = index % self.count[d];
            index /= self.count[d];
            tile.start[d] = at * self.size[d];
            tile.size[d] = self.size[d].min(self.shape[d] - tile.start[d]);
        }
        tile
    }
}

/// The dimension along which some operand's neighbours lie, where that is not the last one.
fn crossing(shape: &[usize], strides: &[&[isize]], last: usize) -> Option<usize> {
    strides.iter().find_map(|s| {
        let inner = s[last].unsigned_abs();
        if inner <= 1 {
            return None;
        }
        (0..last)
            .filter(|&d| shape[d] > 1 && s[d] != 0)
            .min_by_key(|&d| s[d].unsigned_abs())
            .filter(|&d| s[d].unsigned_abs() < inner)
    })
}

impl Tile {
    /// Elements in the box.
    pub(crate) fn len(&self) -> usize {
        self.size[..self.rank].iter().product()
    }

    /// How far from index zero the box begins, for these strides.
    pub(crate) fn offset(&self, strides: &[isize]) -> isize {
        self.start[..self.rank]
            .iter()
            .zip(strides)
            .map(|(i, s)| *i as isize * s)
            .sum()
    }

    /// Whether the box's elements lie one after the other under these strides.
    pub(crate) fn is_dense(&self, strides: &[isize]) -> bool {
        let mut expected = 1;
        for d in (0..self.rank).rev() {
            if self.size[d] != 1 {
                if strides[d] != expected {
                    return false;
                }
                expected *= self.size[d] as isize;
            }
        }
        true
    }
}
