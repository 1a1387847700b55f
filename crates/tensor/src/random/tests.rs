#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;

/// The known answers that Random123 publishes for ten rounds.
#[test]
fn philox_gives_the_published_answers() {
    let pi = [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344];
    for (counter, key, answer) in [
        (
            [0; 4],
            [0; 2],
            [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8],
        ),
        (
            [u32::MAX; 4],
            [u32::MAX; 2],
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd],
        ),
        (
            pi,
            [0xa409_3822, 0x299f_31d0],
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
        ),
    ] {
        assert_eq!(philox4x32(counter, key), answer);
    }
}

#[test]
fn a_draw_follows_the_documented_positions() {
    let draw = Draw::new(
        0x0123_4567_89ab_cdef,
        0xfedc_ba98_7654_3210,
        0x0000_0001_ffff_ffff,
    );
    assert_eq!(draw.key, [0x89ab_cdef, 0x0123_4567]);
    assert_eq!(draw.counter, [0xffff_ffff, 1, 0x7654_3210, 0xfedc_ba98]);
    // Word 6 is lane 2 of the next block, where the low word of the position has run over.
    assert_eq!(
        draw.word(6),
        philox4x32([0, 2, 0x7654_3210, 0xfedc_ba98], draw.key)[2]
    );
    let end = Draw::new(1, 2, u64::MAX);
    assert_eq!(end.block(1), philox4x32([0, 0, 2, 0], [1, 0]));
}

/// Large enough for several pieces, and not a multiple of anything.
const LONG: usize = 50_003;

#[test]
fn fills_agree_with_single_words() {
    let draw = Draw::new(7, 0, 12);
    let mut singles = vec![0.0; LONG];
    draw.uniform_f32(&mut singles);
    let mut mask = vec![0; LONG];
    draw.bernoulli(0.3, &mut mask);
    let mut doubles = vec![0.0; LONG];
    draw.uniform_f64(&mut doubles);
    let mut integers = vec![0; LONG];
    draw.integers(-3, 4, &mut integers);
    for i in 0..LONG {
        let word = draw.word(i as u64);
        assert_eq!(singles[i], (word >> 8) as f32 / 16_777_216.0);
        assert_eq!(mask[i] == 1, f64::from(singles[i]) < 0.3);
        let wide =
            u64::from(draw.word(2 * i as u64)) | u64::from(draw.word(2 * i as u64 + 1)) << 32;
        assert_eq!(doubles[i], (wide >> 11) as f64 / 2_f64.powi(53));
        assert_eq!(integers[i], -3 + ((u128::from(wide) * 7) >> 64) as i64);
    }
}

#[test]
fn normals_follow_box_and_muller_in_either_precision() {
    let draw = Draw::new(7, 0, 0);
    let mut doubles = vec![0.0; LONG];
    draw.normal_f64(1.0, 2.0, &mut doubles);
    let mut uniforms = vec![0.0; LONG + 1];
    draw.uniform_f64(&mut uniforms);
    for (pair, u) in doubles.chunks_exact(2).zip(uniforms.chunks_exact(2)) {
        let radius = (-2.0 * (1.0 - u[0]).ln()).sqrt();
        let (sin, cos) = (std::f64::consts::TAU * u[1]).sin_cos();
        assert!((pair[0] - (1.0 + 2.0 * radius * cos)).abs() < 1e-13);
        assert!((pair[1] - (1.0 + 2.0 * radius * sin)).abs() < 1e-13);
    }
    let mut singles = vec![0.0; LONG];
    draw.normal_f32(1.0, 2.0, &mut singles);
    assert!(
        singles
            .iter()
            .zip(&doubles)
            .all(|(&single, &double)| single == double as f32)
    );
}

/// Bits, so that a browser, another processor or a later change that gives other numbers is noticed.
#[test]
fn the_first_numbers_of_seed_zero_are_fixed() {
    let draw = Generator::new(0).reserve(8);
    let mut singles = [0.0; 4];
    draw.uniform_f32(&mut singles);
    // From the published answer for counter and key zero.
    assert_eq!(
        singles.map(|value| (value * 16_777_216.0) as u32),
        [0x6627e8, 0xe169c5, 0xbc57ac, 0x9b00db]
    );
    let mut normals = [0.0; 4];
    draw.normal_f64(0.0, 1.0, &mut normals);
    // Computed from the same words with 60 digits.
    let exact = [
        -1.6249634408710394,
        -1.2683492025469478,
        0.9225813876375342,
        0.21900507737292066,
    ];
    assert!(
        normals
            .iter()
            .zip(exact)
            .all(|(value, exact): (&f64, f64)| (value - exact).abs() < 1e-15),
        "{normals:?}"
    );
    let bits = [
        0xbff9_ffd9_aa3b_c9b7,
        0xbff4_4b28_888d_8c94,
        0x3fed_85c9_66f9_a5f4,
        0x3fcc_085b_be7c_c121,
    ];
    assert_eq!(normals.map(f64::to_bits), bits, "{normals:?}");
}

#[test]
fn a_range_never_reaches_its_end() {
    let draw = Draw::new(3, 0, 0);
    let mut out = vec![0.0; LONG];
    // One step of f32 wide: any rounding up would be the end itself.
    let (low, high) = (1.0_f32, 1.0_f32.next_up());
    draw.uniform_f32_between(low, high, &mut out);
    assert!(out.iter().all(|&value| value == low));
    draw.uniform_f32_between(-2.0, 6.0, &mut out);
    assert!(out.iter().all(|value| (-2.0..6.0).contains(value)));
    let mean = out.iter().map(|&value| f64::from(value)).sum::<f64>() / LONG as f64;
    assert!((mean - 2.0).abs() < 0.05, "{mean}");
    draw.uniform_f32_between(5.0, 5.0, &mut out);
    assert!(out.iter().all(|&value| value == 5.0));
}

#[test]
fn bernoulli_meets_both_ends() {
    assert_eq!(bernoulli_threshold(0.0), 0);
    assert_eq!(bernoulli_threshold(1.0), 1 << 24);
    assert_eq!(bernoulli_threshold(0.5), 1 << 23);
    assert_eq!(bernoulli_threshold(f64::MIN_POSITIVE), 1);
    assert_eq!(bernoulli_threshold(-1.0), 0);
    assert_eq!(bernoulli_threshold(2.0), 1 << 24);
    assert_eq!(bernoulli_threshold(f64::NAN), 0);
}

#[test]
fn integers_reach_the_whole_range_and_survive_an_empty_one() {
    let draw = Draw::new(3, 0, 0);
    let mut out = vec![0; 1000];
    draw.integers(i64::MIN, i64::MAX, &mut out);
    assert!(
        out.iter().any(|&value| value < i64::MIN / 2)
            && out.iter().any(|&value| value > i64::MAX / 2)
    );
    draw.integers(5, 5, &mut out);
    assert!(out.iter().all(|&value| value == 5));
    draw.integers(5, -5, &mut out);
    assert!(out.iter().all(|&value| value == 5));
}

#[test]
fn a_seed_starts_again_and_a_state_goes_on() {
    let generator = Generator::new(1);
    let first = generator.reserve(5);
    let second = generator.reserve(1);
    assert_eq!(
        (first.counter[0], second.counter[0]),
        (0, 2),
        "five words are two blocks"
    );
    let state = generator.state();
    let third = generator.reserve(4);
    generator.set_state(state);
    assert_eq!(generator.reserve(4), third);
    assert_eq!(Generator::from_state(state).reserve(4), third);
    generator.manual_seed(1);
    assert_eq!(generator.reserve(5), first);
    assert_eq!(generator.initial_seed(), 1);
    let json = serde_json::to_string(&state).unwrap();
    assert_eq!(
        serde_json::from_str::<GeneratorState>(&json).unwrap(),
        state
    );
}

#[test]
fn forks_part_ways() {
    let generator = Generator::new(1);
    let forks = [
        generator.fork(0),
        generator.fork(1),
        generator.fork(1).fork(2),
        generator.fork(2).fork(1),
    ];
    let mut streams: Vec<u64> = forks.iter().map(|fork| fork.state().stream).collect();
    streams.push(generator.state().stream);
    streams.sort_unstable();
    streams.dedup();
    assert_eq!(streams.len(), 5);
    generator.reserve(1000);
    assert_eq!(
        generator.fork(1).state(),
        forks[1].state(),
        "use does not matter"
    );
}

#[test]
fn threads_share_a_generator_without_overlap() {
    let generator = Generator::new(1);
    let mut starts: Vec<u32> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    (0..250)
                        .map(|_| generator.reserve(4).counter[0])
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap())
            .collect()
    });
    starts.sort_unstable();
    assert!(starts.iter().copied().eq(0..1000));
}

/// Pearson's statistic, as standard deviations from what chance alone gives.
fn chi_square_sigmas(counts: &[u64]) -> f64 {
    let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    let statistic: f64 = counts
        .iter()
        .map(|&count| (count as f64 - expected).powi(2) / expected)
        .sum();
    let freedom = counts.len() as f64 - 1.0;
    (statistic - freedom) / (2.0 * freedom).sqrt()
}

/// Mean, variance, skewness, excess kurtosis, correlation with the next element.
fn moments(values: &[f64]) -> [f64; 5] {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let central = |power: i32| {
        values
            .iter()
            .map(|value| (value - mean).powi(power))
            .sum::<f64>()
            / n
    };
    let variance = central(2);
    let next = values
        .windows(2)
        .map(|pair| (pair[0] - mean) * (pair[1] - mean))
        .sum::<f64>()
        / n;
    [
        mean,
        variance,
        central(3) / variance.powf(1.5),
        central(4) / variance.powi(2) - 3.0,
        next / variance,
    ]
}

const MANY: usize = 1_000_000;

#[test]
fn uniform_numbers_are_uniform() {
    for seed in [0, 1, u64::MAX] {
        let mut values = vec![0.0; MANY];
        Generator::new(seed)
            .reserve(MANY as u64)
            .uniform_f32(&mut values);
        assert!(values.iter().all(|value| (0.0..1.0).contains(value)));
        let mut counts = vec![0; 256];
        values
            .iter()
            .for_each(|value| counts[(value * 256.0) as usize] += 1);
        assert!(chi_square_sigmas(&counts).abs() < 4.0);
        let [mean, variance, skew, _, next] = moments(
            &values
                .iter()
                .map(|&value| f64::from(value))
                .collect::<Vec<_>>(),
        );
        assert!((mean - 0.5).abs() < 0.0015, "{mean}");
        assert!((variance - 1.0 / 12.0).abs() < 0.0004, "{variance}");
        assert!(skew.abs() < 0.01 && next.abs() < 0.005, "{skew} {next}");
    }
}

#[test]
fn every_bit_of_a_double_is_used() {
    let mut values = vec![0.0; MANY];
    Generator::new(5)
        .reserve(2 * MANY as u64)
        .uniform_f64(&mut values);
    for bit in 0..53 {
        let ones = values
            .iter()
            .filter(|&&value| (value * 2_f64.powi(53)) as u64 >> bit & 1 == 1)
            .count();
        assert!(ones.abs_diff(MANY / 2) < 2500, "bit {bit}: {ones}");
    }
}

#[test]
fn normal_numbers_are_normal() {
    let mut values = vec![0.0; MANY];
    Generator::new(0)
        .reserve(2 * MANY as u64)
        .normal_f64(0.0, 1.0, &mut values);
    let [mean, variance, skew, kurtosis, next] = moments(&values);
    assert!(
        mean.abs() < 0.004 && (variance - 1.0).abs() < 0.006,
        "{mean} {variance}"
    );
    assert!(
        skew.abs() < 0.01 && kurtosis.abs() < 0.02 && next.abs() < 0.004,
        "{skew} {kurtosis} {next}"
    );
    // Ten classes of equal probability: the deciles of the normal distribution.
    let deciles = [
        -1.281_551_566,
        -0.841_621_234,
        -0.524_400_513,
        -0.253_347_103,
        0.0,
    ];
    let cuts: Vec<f64> = deciles
        .iter()
        .copied()
        .chain(deciles[..4].iter().rev().map(|cut| -cut))
        .collect();
    let mut counts = vec![0; 10];
    values
        .iter()
        .for_each(|value| counts[cuts.partition_point(|cut| cut <= value)] += 1);
    assert!(chi_square_sigmas(&counts).abs() < 4.0, "{counts:?}");
    let beyond_three = values.iter().filter(|value| value.abs() > 3.0).count();
    assert!(beyond_three.abs_diff(2700) < 210, "{beyond_three}");
}

#[test]
fn masks_and_integers_have_their_frequencies() {
    let generator = Generator::new(9);
    let mut mask = vec![0; MANY];
    generator.reserve(MANY as u64).bernoulli(0.1, &mut mask);
    let ones = mask.iter().filter(|&&value| value == 1).count();
    assert!(ones.abs_diff(MANY / 10) < 1200, "{ones}");
    let mut integers = vec![0; MANY];
    generator
        .reserve(2 * MANY as u64)
        .integers(10, 20, &mut integers);
    let mut counts = vec![0; 10];
    integers
        .iter()
        .for_each(|&value| counts[(value - 10) as usize] += 1);
    assert!(chi_square_sigmas(&counts).abs() < 4.0, "{counts:?}");
}

#[test]
fn every_order_is_equally_likely() {
    let generator = Generator::new(2);
    let mut counts = std::collections::BTreeMap::new();
    for _ in 0..24_000 {
        *counts.entry(generator.permutation(4)).or_insert(0) += 1;
    }
    assert_eq!(counts.len(), 24);
    let counts: Vec<u64> = counts.into_values().collect();
    assert!(chi_square_sigmas(&counts).abs() < 4.0, "{counts:?}");
}

#[test]
fn a_permutation_has_every_index_once_and_costs_one_block() {
    let generator = Generator::new(2);
    for n in [0, 1, 2, 1000] {
        let before = generator.state().offset;
        let mut order = generator.permutation(n);
        assert_eq!(generator.state().offset, before + 1);
        order.sort_unstable();
        assert!(order.into_iter().eq(0..n));
    }
    assert_ne!(generator.permutation(1000), generator.permutation(1000));
}

#[test]
fn streams_are_unrelated() {
    let generator = Generator::new(4);
    let fill = |draw: Draw| {
        let mut out = vec![0.0; MANY];
        draw.uniform_f64(&mut out);
        out
    };
    let first = fill(generator.reserve(2 * MANY as u64));
    for other in [
        fill(generator.reserve(2 * MANY as u64)),
        fill(generator.fork(1).reserve(0)),
    ] {
        let covariance: f64 = first
            .iter()
            .zip(&other)
            .map(|(a, b)| (a - 0.5) * (b - 0.5))
            .sum::<f64>()
            / MANY as f64
            * 12.0;
        assert!(covariance.abs() < 0.004, "{covariance}");
    }
}
