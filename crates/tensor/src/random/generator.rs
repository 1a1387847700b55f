//! The generator: a seed, a stream, and how far the stream has been used.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::philox::joined;
use super::{Draw, philox4x32};

/// The seed before anyone sets one; PyTorch's.
pub const DEFAULT_SEED: u64 = 67_280_421_310_721;

/// Everything that decides what a generator gives next; a checkpoint stores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneratorState {
    /// The seed: Philox's key.
    pub seed: u64,
    /// The stream: the upper half of Philox's counter. Zero unless the generator was forked.
    pub stream: u64,
    /// Blocks of four words used so far: the lower half of the counter.
    pub offset: u64,
}

/// A source of random numbers that threads may share.
#[derive(Debug)]
pub struct Generator {
    state: Mutex<GeneratorState>,
}

/// The generator that operations use when they are given none.
pub fn default_generator() -> &'static Generator {
    static DEFAULT: Generator = Generator::new(DEFAULT_SEED);
    &DEFAULT
}

/// Seeds the default generator.
pub fn manual_seed(seed: u64) {
    default_generator().manual_seed(seed);
}

impl Generator {
    /// A generator at the start of stream zero.
    pub const fn new(seed: u64) -> Generator {
        Generator::from_state(GeneratorState {
            seed,
            stream: 0,
            offset: 0,
        })
    }

    /// A generator that goes on where another one stood.
    pub const fn from_state(state: GeneratorState) -> Generator {
        Generator {
            state: Mutex::new(state),
        }
    }

    /// Starts again from a seed, in the same stream.
    pub fn manual_seed(&self, seed: u64) {
        let mut state = self.lock();
        state.seed = seed;
        state.offset = 0;
    }

    /// The seed in use.
    pub fn initial_seed(&self) -> u64 {
        self.lock().seed
    }

    /// Where the generator stands.
    pub fn state(&self) -> GeneratorState {
        *self.lock()
    }

    /// Puts the generator where another one stood.
    pub fn set_state(&self, state: GeneratorState) {
        *self.lock() = state;
    }

    /// Takes the next `words` words for one fill. The generator moves on by whole blocks of four.
    pub fn reserve(&self, words: u64) -> Draw {
        let mut state = self.lock();
        let draw = Draw::new(state.seed, state.stream, state.offset);
        state.offset = state.offset.wrapping_add(words.div_ceil(4));
        draw
    }

    /// A generator of its own for a worker, an epoch, a layer. What it gives depends on the seed and on `stream`, not
    /// on how much this one has been used, and this one is not moved. Forks may be forked.
    pub fn fork(&self, stream: u64) -> Generator {
        let GeneratorState {
            seed, stream: from, ..
        } = self.state();
        // The new stream's number is a hash of both, so that fork(1).fork(2) and fork(2).fork(1) part ways.
        let [a, b, _, _] = Draw::new(!seed, from, stream).block(0);
        Generator::from_state(GeneratorState {
            seed,
            stream: joined(a, b),
            offset: 0,
        })
    }

    /// A random order of `0..n`, every order equally likely (Fisher and Yates). Moves the generator on by one block,
    /// whatever `n` is: that block names the stream from which the indices are drawn.
    pub fn permutation(&self, n: usize) -> Vec<usize> {
        let draw = self.reserve(4);
        let [k0, k1, stream_low, stream_high] = draw.block(0);
        let mut words = Words {
            key: [k0, k1],
            stream: [stream_low, stream_high],
            next: 0,
        };
        let mut order: Vec<usize> = (0..n).collect();
        for last in (1..n).rev() {
            order.swap(last, words.below(last as u64 + 1) as usize);
        }
        order
    }

    /// A panic elsewhere leaves nothing half-done in here, so a poisoned lock is taken as it is.
    fn lock(&self) -> MutexGuard<'_, GeneratorState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// 64-bit words one after the other, for draws whose number is not known beforehand.
struct Words {
    key: [u32; 2],
    stream: [u32; 2],
    next: u64,
}

impl Words {
    fn next(&mut self) -> u64 {
        let counter = [
            self.next as u32,
            (self.next >> 32) as u32,
            self.stream[0],
            self.stream[1],
        ];
        self.next += 1;
        let [low, high, _, _] = philox4x32(counter, self.key);
        joined(low, high)
    }

    /// An unbiased integer in [0, bound): of the 2^64 words, those are rejected that do not divide evenly among the
    /// `bound` results (Lemire, 2019).
    fn below(&mut self, bound: u64) -> u64 {
        loop {
            let product = u128::from(self.next()) * u128::from(bound);
            let low = product as u64;
            if low >= bound || low >= bound.wrapping_neg() % bound {
                return (product >> 64) as u64;
            }
        }
    }
}
