//! Random numbers that are the same on every device.
//!
//! The generator is counter-based (Philox4x32-10, Salmon et al., 2011): the word at a position is a function of the
//! seed and the position alone. So any number of threads, or a GPU, can make a tensor's numbers in any order and get
//! the same bits.
//!
//! The contract, for kernels in other languages too:
//!
//! - a fill owns a [`Draw`]: a key (the seed, low word first) and a first counter (words 0 and 1 are the position, low
//!   word first; words 2 and 3 are the stream);
//! - *word* `i` of a draw is lane `i % 4` of `philox4x32` at the first counter plus `i / 4` (a 64-bit addition in words
//!   0 and 1 that wraps around);
//! - element `i` of a 32-bit fill (uniform `f32`, Bernoulli) uses word `i`; of a 64-bit fill (uniform `f64`, integers)
//!   words `2i` (low) and `2i + 1` (high); normals `2i` and `2i + 1` come from words `4i` to `4i + 3`;
//! - a uniform `f32` is `(word >> 8) * 2^-24`; a Bernoulli trial succeeds where `word >> 8` is below
//!   [`bernoulli_threshold`], which is the same as comparing that uniform number with the probability.
//!
//! Normals are made on the host and uploaded, since GPU cosines and logarithms differ from one another.

mod distributions;
mod generator;
mod philox;

#[cfg(test)]
mod tests;

pub use distributions::bernoulli_threshold;
pub use generator::{DEFAULT_SEED, Generator, GeneratorState, default_generator, manual_seed};
pub use philox::{Draw, philox4x32};
