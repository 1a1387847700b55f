//! Which images make up which batch.

use tensor::random::Generator;

/// The order of one epoch: `0..len`, or a permutation of it that depends on `seed` and `epoch` alone.
///
/// Each epoch has a stream of its own: with a sum of seed and epoch, epoch 1 of seed 0 would be epoch 0 of seed 1.
pub fn epoch_order(len: usize, shuffle: bool, seed: u64, epoch: u64) -> Vec<usize> {
    if shuffle {
        Generator::new(seed).fork(epoch).permutation(len)
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
