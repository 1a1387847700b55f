//! Index spaces cut into boxes that fit the first-level cache, and copies between memory and a box's dense block.

/// Most dimensions of a launch.
pub(crate) const RANK: usize = crate::kernel::MAX_RANK;

/// Neighbours of a transposed operand that a box takes at least: one or two cache lines.
const ACROSS: usize = 32;

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
    /// Cut `shape` into boxes of at most `budget` elements.
    ///
    /// The last dimensions are taken whole as far as they go, so that boxes are long runs. Where an operand runs along
    /// another dimension (it is transposed), boxes are about square between the two, so that what a box touches of
    /// either operand are whole cache lines.
    pub(crate) fn new(shape: &[usize], strides: &[&[isize]], budget: usize) -> Tiles {
        let mut size = vec![1; shape.len()];
        let mut left = budget.max(1);
        if let Some(last) = shape.len().checked_sub(1)
            && let Some(across) = crossing(shape, strides, last)
        {
            let few = shape[across].min(ACROSS).min(left);
            size[last] = shape[last].min(left / few).max(1);
            size[across] = shape[across].min(left / size[last]).max(1);
            left /= size[last] * size[across];
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

/// A dimension of a copy: size, stride in the source, stride in the destination.
type Dim = (usize, isize, isize);

/// The dimensions of a box that matter, the last one innermost, with neighbours merged.
struct Walk {
    dims: [Dim; RANK],
    rank: usize,
}

impl Walk {
    fn new(tile: &Tile, strides: &[isize], to_memory: bool) -> Walk {
        let mut walk = Walk {
            dims: [(1, 0, 0); RANK],
            rank: 0,
        };
        let mut dense = [0isize; RANK];
        let mut next = 1;
        for d in (0..tile.rank).rev() {
            dense[d] = next;
            next *= tile.size[d] as isize;
        }
        for d in 0..tile.rank {
            let (n, memory, block) = (tile.size[d], strides[d], dense[d]);
            if n == 1 {
                continue;
            }
            let dim = if to_memory {
                (n, block, memory)
            } else {
                (n, memory, block)
            };
            match walk.dims[..walk.rank].last_mut() {
                Some(outer) if outer.1 == dim.1 * n as isize && outer.2 == dim.2 * n as isize => {
                    *outer = (outer.0 * n, dim.1, dim.2);
                }
                _ => {
                    walk.dims[walk.rank] = dim;
                    walk.rank += 1;
                }
            }
        }
        // The memory side is the slow one: its neighbours are visited one after the other.
        let memory = |dim: &Dim| if to_memory { dim.2 } else { dim.1 }.unsigned_abs();
        if let Some(best) = (0..walk.rank)
            .filter(|&d| memory(&walk.dims[d]) != 0)
            .min_by_key(|&d| memory(&walk.dims[d]))
            && best + 1 < walk.rank
            && memory(&walk.dims[walk.rank - 1]) > memory(&walk.dims[best])
        {
            walk.dims[best..walk.rank].rotate_left(1);
        }
        walk
    }
}

/// Copy a box out of memory into a dense block.
///
/// # Safety
/// `from` is the box's first element; every index of the box lies in initialised memory; `to` has room for the box.
pub(crate) unsafe fn gather(
    bytes: usize,
    tile: &Tile,
    from: *const u8,
    strides: &[isize],
    to: *mut u8,
) {
    let walk = Walk::new(tile, strides, false);
    // SAFETY: the caller's promise.
    unsafe { copy_sized(bytes, &walk, from, to) }
}

/// Copy a dense block to a box of memory.
///
/// # Safety
/// As for [`gather`], the other way around.
pub(crate) unsafe fn scatter(
    bytes: usize,
    tile: &Tile,
    from: *const u8,
    to: *mut u8,
    strides: &[isize],
) {
    let walk = Walk::new(tile, strides, true);
    // SAFETY: the caller's promise.
    unsafe { copy_sized(bytes, &walk, from, to) }
}

unsafe fn copy_sized(bytes: usize, walk: &Walk, from: *const u8, to: *mut u8) {
    let dims = &walk.dims[..walk.rank];
    // SAFETY: the caller's promise; types of one size and alignment.
    unsafe {
        match bytes {
            1 => copy::<u8>(dims, from, to),
            2 => copy::<u16>(dims, from.cast(), to.cast()),
            4 => copy::<u32>(dims, from.cast(), to.cast()),
            _ => copy::<u64>(dims, from.cast(), to.cast()),
        }
    }
}

unsafe fn copy<T: Copy>(dims: &[Dim], from: *const T, to: *mut T) {
    // SAFETY: the caller's promise covers every index that the loops name.
    unsafe {
        match *dims {
            [] => to.write(from.read()),
            [dim] => run(dim, from, to),
            [(n, s, d), inner] => {
                for i in 0..n as isize {
                    run(inner, from.offset(i * s), to.offset(i * d));
                }
            }
            [(n, s, d), ref inner @ ..] => {
                for i in 0..n as isize {
                    copy(inner, from.offset(i * s), to.offset(i * d));
                }
            }
        }
    }
}

#[inline]
unsafe fn run<T: Copy>((n, s, d): Dim, from: *const T, to: *mut T) {
    // SAFETY: the caller's promise.
    unsafe {
        match (s, d) {
            // A call costs more than a few elements.
            (1, 1) if n >= 16 => to.copy_from_nonoverlapping(from, n),
            (0, 1) => std::slice::from_raw_parts_mut(to, n).fill(from.read()),
            (s, 1) => {
                for i in 0..n as isize {
                    to.offset(i).write(from.offset(i * s).read());
                }
            }
            (1, d) => {
                for i in 0..n as isize {
                    to.offset(i * d).write(from.offset(i).read());
                }
            }
            (s, d) => {
                for i in 0..n as isize {
                    to.offset(i * d).write(from.offset(i * s).read());
                }
            }
        }
    }
}
