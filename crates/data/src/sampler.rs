//! Which images make up which batch.

use crate::random::permutation;

/// The order of one epoch: `0..len`, or a permutation of it that depends on `seed + epoch` alone.
pub fn epoch_order(len: usize, shuffle: bool, seed: u64, epoch: u64) -> Vec<usize> {
    if shuffle {
        permutation(len, seed.wrapping_add(epoch))
    } else {
        (0..len).collect()
    }
}

/// How many batches `len` images make.
pub fn batch_count(len: usize, batch_size: usize, drop_last: bool) -> usize {
    match (batch_size, drop_last) {
        (0, _) => 0,
        (size, true) => len / size,
        (size, false) => len.div_ceil(size),
    }
}
