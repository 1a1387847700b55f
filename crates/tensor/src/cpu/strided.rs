//! Copies between a box of memory, with any strides, and a dense block.

#[cfg(target_arch = "x86_64")]
use super::simd::Level;
use super::tile::{RANK, Tile};

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
            [(n, s, 1), (m, 1, d)] if n >= 8 && m >= 8 => turn(n, s, m, d, from, to),
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

/// Copy `n` rows of `m` neighbours, `s` apart, to columns: element `(i, j)` goes to `j * d + i`.
unsafe fn turn<T: Copy>(n: usize, s: isize, m: usize, d: isize, from: *const T, to: *mut T) {
    // SAFETY: the caller's promise covers every index that the loops name.
    unsafe {
        #[cfg(not(target_arch = "x86_64"))]
        let (rows, columns) = (0, 0);
        #[cfg(target_arch = "x86_64")]
        let (rows, columns) = if size_of::<T>() == 4 && Level::here() != Level::Baseline {
            (n & !7, m & !7)
        } else {
            (0, 0)
        };
        #[cfg(target_arch = "x86_64")]
        for i in (0..rows as isize).step_by(8) {
            for j in (0..columns as isize).step_by(8) {
                let from = from.offset(i * s + j).cast();
                turn_eight(from, s, to.offset(j * d + i).cast(), d);
            }
        }
        for i in 0..n {
            let done = if i < rows { columns } else { 0 };
            let row = from.offset(i as isize * s);
            for j in done..m {
                to.offset(j as isize * d + i as isize)
                    .write(row.add(j).read());
            }
        }
    }
}

/// Turn a square of eight by eight values of four bytes, in registers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn turn_eight(from: *const f32, s: isize, to: *mut f32, d: isize) {
    use std::arch::x86_64::*;
    // SAFETY: the caller's square lies in memory on both sides.
    let row = |i: isize| unsafe { _mm256_loadu_ps(from.offset(i * s)) };
    let pair = |i: isize| {
        let (a, b) = (row(i), row(i + 1));
        (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b))
    };
    let four = |i: isize| {
        let ((a, b), (c, d)) = (pair(i), pair(i + 2));
        [
            _mm256_shuffle_ps(a, c, 0x44),
            _mm256_shuffle_ps(a, c, 0xee),
            _mm256_shuffle_ps(b, d, 0x44),
            _mm256_shuffle_ps(b, d, 0xee),
        ]
    };
    let (upper, lower) = (four(0), four(4));
    for (j, (a, b)) in upper.into_iter().zip(lower).enumerate() {
        let j = j as isize;
        // SAFETY: as above.
        unsafe {
            _mm256_storeu_ps(to.offset(j * d), _mm256_permute2f128_ps(a, b, 0x20));
            _mm256_storeu_ps(to.offset((j + 4) * d), _mm256_permute2f128_ps(a, b, 0x31));
        }
    }
}
