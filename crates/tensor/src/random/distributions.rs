//! From random words to numbers with a distribution.

use std::f64::consts::TAU;

use super::Draw;
use super::philox::joined;

/// Elements that one thread fills at a time. A multiple of four, so that a piece starts at a block.
const PIECE: usize = 1 << 14;

impl Draw {
    /// Uniform numbers in [0, 1), multiples of 2^-24. Takes one word an element.
    pub fn uniform_f32(&self, out: &mut [f32]) {
        self.fill::<4, _>(out, |block| block.map(unit_f32));
    }

    /// Uniform numbers in [0, 1), multiples of 2^-53. Takes two words an element.
    pub fn uniform_f64(&self, out: &mut [f64]) {
        self.fill::<2, _>(out, |[a, b, c, d]| [unit_f64(a, b), unit_f64(c, d)]);
    }

    /// Uniform numbers in [low, high), from the same words as [`Draw::uniform_f32`]. Rounding never reaches `high`.
    pub fn uniform_f32_between(&self, low: f32, high: f32, out: &mut [f32]) {
        let (start, width) = (f64::from(low), f64::from(high) - f64::from(low));
        self.fill::<4, _>(out, |block| {
            block.map(|word| {
                let value = (start + width * f64::from(unit_f32(word))) as f32;
                if value >= high && high > low {
                    high.next_down()
                } else {
                    value
                }
            })
        });
    }

    /// Numbers of a normal distribution (Box and Muller). Takes two words an element.
    pub fn normal_f64(&self, mean: f64, std: f64, out: &mut [f64]) {
        self.fill::<2, _>(out, |block| {
            normal_pair(block).map(|value| mean + std * value)
        });
    }

    /// As [`Draw::normal_f64`], rounded at the end: the same seed gives the same numbers in either precision.
    pub fn normal_f32(&self, mean: f64, std: f64, out: &mut [f32]) {
        self.fill::<2, _>(out, |block| {
            normal_pair(block).map(|value| (mean + std * value) as f32)
        });
    }

    /// Ones with probability `p`, zeros otherwise. Takes one word an element.
    pub fn bernoulli(&self, p: f64, out: &mut [u8]) {
        let threshold = bernoulli_threshold(p);
        self.fill::<4, _>(out, |block| {
            block.map(|word| u8::from(word >> 8 < threshold))
        });
    }

    /// Integers in [low, high); `low` everywhere if there are none. Takes two words an element. The product's high half
    /// is taken rather than a remainder; no value is favoured by more than (high - low) / 2^64.
    pub fn integers(&self, low: i64, high: i64, out: &mut [i64]) {
        let span = if low < high {
            high.wrapping_sub(low) as u64
        } else {
            0
        };
        let scale = |a, b| {
            let scaled = (u128::from(joined(a, b)) * u128::from(span)) >> 64;
            low.wrapping_add(scaled as i64)
        };
        self.fill::<2, _>(out, |[a, b, c, d]| [scale(a, b), scale(c, d)]);
    }

    /// Fills `out` from blocks that give `N` elements each, on all cores if it is worth it.
    fn fill<const N: usize, T: Copy + Send>(
        &self,
        out: &mut [T],
        from_block: impl Fn([u32; 4]) -> [T; N] + Sync,
    ) {
        let piece = |(index, piece): (usize, &mut [T])| {
            let first = (index * PIECE / N) as u64;
            for (block, elements) in piece.chunks_mut(N).enumerate() {
                let values = from_block(self.block(first.wrapping_add(block as u64)));
                elements.copy_from_slice(&values[..elements.len()]);
            }
        };
        #[cfg(feature = "parallel")]
        {
            use rayon::prelude::*;
            out.par_chunks_mut(PIECE).enumerate().for_each(piece);
        }
        #[cfg(not(feature = "parallel"))]
        out.chunks_mut(PIECE).enumerate().for_each(piece);
    }
}

/// The number of 24-bit values below probability `p`: `word >> 8 < bernoulli_threshold(p)` holds with probability `p`
/// (rounded up to a multiple of 2^-24). Values outside [0, 1] count as the nearer end, NaN as zero.
pub fn bernoulli_threshold(p: f64) -> u32 {
    (p * f64::from(1 << 24))
        .ceil()
        .clamp(0.0, f64::from(1 << 24)) as u32
}

#[inline]
fn unit_f32(word: u32) -> f32 {
    (word >> 8) as f32 * (1.0 / (1 << 24) as f32)
}

#[inline]
fn unit_f64(low: u32, high: u32) -> f64 {
    (joined(low, high) >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// Two independent standard normals. The logarithm and the sine are taken from one portable library, not from the
/// machine's, so that a browser and a server make the same weights.
#[inline]
fn normal_pair([a, b, c, d]: [u32; 4]) -> [f64; 2] {
    // 1 - u lies in (0, 1], where the logarithm is finite.
    let radius = (-2.0 * libm::log(1.0 - unit_f64(a, b))).sqrt();
    let (sin, cos) = libm::sincos(TAU * unit_f64(c, d));
    [radius * cos, radius * sin]
}
