//! The cipher, and the stretch of its output that one fill owns.

/// Philox4x32-10: four random words for a counter and a key.
#[inline]
pub fn philox4x32(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    // Multipliers and key increments (the golden ratio, the square root of three) are the published ones.
    const MULTIPLIERS: [u64; 2] = [0xD251_1F53, 0xCD9E_8D57];
    const INCREMENTS: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
    let [mut c0, mut c1, mut c2, mut c3] = counter;
    let [mut k0, mut k1] = key;
    for _ in 0..10 {
        let product0 = MULTIPLIERS[0] * u64::from(c0);
        let product1 = MULTIPLIERS[1] * u64::from(c2);
        c0 = (product1 >> 32) as u32 ^ c1 ^ k0;
        c1 = product1 as u32;
        c2 = (product0 >> 32) as u32 ^ c3 ^ k1;
        c3 = product0 as u32;
        k0 = k0.wrapping_add(INCREMENTS[0]);
        k1 = k1.wrapping_add(INCREMENTS[1]);
    }
    [c0, c1, c2, c3]
}

/// A stretch of random words, taken from a generator by [`Generator::reserve`](super::Generator::reserve). This is all
/// that a kernel needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draw {
    /// The seed, low word first.
    pub key: [u32; 2],
    /// The counter of block 0: position (low, high), stream (low, high).
    pub counter: [u32; 4],
}

impl Draw {
    /// The draw that starts at `position` of a stream.
    pub fn new(seed: u64, stream: u64, position: u64) -> Draw {
        let [k0, k1] = words(seed);
        let [c0, c1] = words(position);
        let [c2, c3] = words(stream);
        Draw {
            key: [k0, k1],
            counter: [c0, c1, c2, c3],
        }
    }

    /// Words `4 * index` to `4 * index + 3`.
    #[inline]
    pub fn block(&self, index: u64) -> [u32; 4] {
        let position = u64::from(self.counter[0]) | u64::from(self.counter[1]) << 32;
        let [c0, c1] = words(position.wrapping_add(index));
        philox4x32([c0, c1, self.counter[2], self.counter[3]], self.key)
    }

    /// One word.
    pub fn word(&self, index: u64) -> u32 {
        self.block(index / 4)[(index % 4) as usize]
    }
}

/// A 64-bit number as two words, low first.
#[inline]
pub(super) fn words(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

/// Two words, low first, as a 64-bit number.
#[inline]
pub(super) fn joined(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}
