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
