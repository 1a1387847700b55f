//! Random numbers by counter, so that the same seed gives the same batches on every machine.

/// Philox4x32-10 (Salmon et al., 2011): four words for a 128-bit counter and a 64-bit key.
fn philox(mut counter: [u32; 4], seed: u64) -> [u32; 4] {
    let mut key = [seed as u32, (seed >> 32) as u32];
    for _ in 0..10 {
        let left = u64::from(counter[0]) * 0xD251_1F53;
        let right = u64::from(counter[2]) * 0xCD9E_8D57;
        counter = [
            (right >> 32) as u32 ^ counter[1] ^ key[0],
            right as u32,
            (left >> 32) as u32 ^ counter[3] ^ key[1],
            left as u32,
        ];
        key = [
            key[0].wrapping_add(0x9E37_79B9),
            key[1].wrapping_add(0xBB67_AE85),
        ];
    }
    counter
}

/// A stream of words: `stream` tells apart what is drawn under one seed.
pub(crate) struct Words {
    seed: u64,
    stream: u64,
    block: u64,
    buffer: [u32; 4],
    used: usize,
}

impl Words {
    pub(crate) fn new(seed: u64, stream: u64) -> Words {
        Words {
            seed,
            stream,
            block: 0,
            buffer: [0; 4],
            used: 4,
        }
    }

    pub(crate) fn next(&mut self) -> u32 {
        if self.used == 4 {
            let counter = [
                self.block as u32,
                (self.block >> 32) as u32,
                self.stream as u32,
                (self.stream >> 32) as u32,
            ];
            self.buffer = philox(counter, self.seed);
            self.block += 1;
            self.used = 0;
        }
        self.used += 1;
        self.buffer[self.used - 1]
    }
}

/// A permutation of `0..len` (Fisher and Yates, from the back).
pub(crate) fn permutation(len: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..len).collect();
    let mut words = Words::new(seed, 0);
    for last in (1..len).rev() {
        // 64 random bits scaled to 0..=last: the bias is below len / 2^64.
        let random = u64::from(words.next()) << 32 | u64::from(words.next());
        let at = ((u128::from(random) * (last as u128 + 1)) >> 64) as usize;
        order.swap(last, at);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers that the authors publish with the generator.
    #[test]
    fn philox_gives_the_published_answers() {
        let zero = [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8];
        assert_eq!(philox([0; 4], 0), zero);
        let ones = [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd];
        assert_eq!(philox([u32::MAX; 4], u64::MAX), ones);
    }

    #[test]
    fn every_place_is_about_as_likely() {
        let mut counts = [[0u32; 6]; 6];
        for seed in 0..6000 {
            for (place, item) in permutation(6, seed).into_iter().enumerate() {
                counts[place][item] += 1;
            }
        }
        // 1,000 expected; the deviation of one count is about 29.
        assert!(
            counts
                .iter()
                .flatten()
                .all(|count| (850..1150).contains(count)),
            "{counts:?}"
        );
    }
}
