//! Which sizes a device can measure in the time that a person waits.

use tensor::{Device, Tensor};

use super::{inputs, multiply};
use crate::clock::Clock;
use crate::ctx::Ctx;
use crate::error::LessonError;
use crate::quantity;

/// The sizes to measure, and what to say if they are not those asked for.
pub struct Chosen {
    /// Ascending, each once.
    pub sizes: Vec<usize>,
    /// What was changed and why.
    pub note: Option<String>,
}

/// Rate of the slowest device at a size small enough for any: FLOP/s.
pub async fn probe(ctx: &Ctx, devices: &[&Device]) -> Result<f64, LessonError> {
    let n = 192;
    let (a, b) = inputs(ctx.seed(), n);
    let mut slowest = f64::INFINITY;
    for device in devices {
        let (a, b) = (
            Tensor::from_slice(&a, &[n, n], device)?,
            Tensor::from_slice(&b, &[n, n], device)?,
        );
        // The first product builds pipelines; of the next ones the best shows what the device can do.
        multiply(&a, &b, 1).await?;
        let mut best = f64::INFINITY;
        for _ in 0..3 {
            ctx.checkpoint().await?;
            let clock: &dyn Clock = ctx.clock();
            let begin = clock.now();
            multiply(&a, &b, 4).await?;
            let span = (clock.now() - begin).max(ctx.clock_resolution());
            best = best.min(span / 4.0);
        }
        slowest = slowest.min(2.0 * (n as f64).powi(3) / best);
    }
    Ok(slowest)
}

/// Leaves out sizes whose product would take longer than `limit` seconds at `rate` FLOP/s, and puts the largest power of two
/// that fits in their place.
pub fn choose(asked: &[usize], limit: f64, rate: f64) -> Chosen {
    let seconds = |n: usize| 2.0 * (n as f64).powi(3) / rate;
    let mut sizes: Vec<usize> = asked
        .iter()
        .copied()
        .filter(|&n| seconds(n) <= limit)
        .collect();
    let mut left_out: Vec<usize> = asked
        .iter()
        .copied()
        .filter(|&n| seconds(n) > limit)
        .collect();
    left_out.sort_unstable();
    left_out.dedup();
    let mut note = None;
    if let Some(&smallest_out) = left_out.first() {
        let fitting = (0..13)
            .rev()
            .map(|e| 1usize << e)
            .find(|&n| n < smallest_out && seconds(n) <= limit)
            .unwrap_or(1);
        let list: Vec<String> = left_out
            .iter()
            .map(|&n| format!("{n} (about {})", quantity::format(seconds(n), "s")))
            .collect();
        let instead = if sizes.iter().any(|&n| n >= fitting) {
            String::new()
        } else {
            format!(", {fitting} taken instead")
        };
        if !instead.is_empty() {
            sizes.push(fitting);
        }
        note = Some(format!(
            "Left out: {}{instead}. A probe found {} on the slowest device here, and one product may take {}; raise `limit` \
             to measure all sizes.",
            list.join(", "),
            quantity::format(rate, "FLOP/s"),
            quantity::format(limit, "s")
        ));
    }
    sizes.sort_unstable();
    sizes.dedup();
    Chosen { sizes, note }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fast_device_measures_what_was_asked() {
        let chosen = choose(&[1024, 64, 64], 1.0, 1e12);
        assert_eq!(chosen.sizes, [64, 1024]);
        assert!(chosen.note.is_none());
    }

    #[test]
    fn a_slow_device_takes_the_largest_that_fits_and_says_so() {
        let chosen = choose(&[64, 256, 1024, 4096], 1.0, 5e9);
        assert_eq!(chosen.sizes, [64, 256, 1024]);
        assert!(
            chosen
                .note
                .unwrap()
                .starts_with("Left out: 4096 (about 27.5 s). A probe found 5.00 GFLOP/s")
        );
        let chosen = choose(&[64, 4096], 1.0, 5e9);
        assert_eq!(chosen.sizes, [64, 1024]);
        assert!(chosen.note.unwrap().contains("1024 taken instead"));
    }

    #[test]
    fn something_is_always_measured() {
        assert_eq!(choose(&[4096], 0.01, 1.0).sizes, [1]);
    }
}
