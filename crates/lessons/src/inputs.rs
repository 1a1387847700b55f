//! Inputs of timed work: numbers that are the same on every device and machine.

use tensor::random::Generator;

/// Uniform numbers in [-0.5, 0.5); another seed or stream gives others.
pub fn uniform(len: usize, seed: u64, stream: u64) -> Vec<f32> {
    let mut numbers = vec![0.0; len];
    let generator = Generator::new(seed).fork(stream);
    generator
        .reserve(len as u64)
        .uniform_f32_between(-0.5, 0.5, &mut numbers);
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_spread_over_their_range_and_repeat() {
        let v = uniform(10_000, 7, 0);
        assert!(v.iter().all(|x| (-0.5..0.5).contains(x)));
        assert!((v.iter().sum::<f32>() / 1e4).abs() < 0.02);
        assert_eq!(v, uniform(10_000, 7, 0));
        assert_ne!(v[..8], uniform(8, 7, 1)[..]);
        assert_ne!(v[..8], uniform(8, 8, 0)[..]);
    }
}
