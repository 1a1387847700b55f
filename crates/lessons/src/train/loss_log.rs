//! Losses that stay on the device until a group of them is fetched.
//!
//! Reading a loss waits for everything before it. Read at every step, the device runs dry between steps; read in groups, it
//! never does. The group grows until fetching it comes about four times a second.

use tensor::Tensor;

use crate::clock::Clock;
use crate::error::LessonError;

/// Most losses in a group.
const LARGEST: usize = 256;
/// Seconds between fetches to aim at.
const PERIOD: f64 = 0.25;

/// The losses of a run.
pub struct LossLog {
    losses: Vec<f64>,
    pending: Vec<Tensor>,
    group: usize,
    fetched_at: Option<f64>,
}

impl LossLog {
    /// An empty log.
    pub fn new() -> Self {
        LossLog {
            losses: Vec::new(),
            pending: Vec::new(),
            group: 1,
            fetched_at: None,
        }
    }

    /// Keeps a loss; tells whether it is time to fetch.
    pub fn push(&mut self, loss: &Tensor) -> bool {
        // The loss alone, not the graph that made it.
        self.pending.push(loss.detach());
        self.pending.len() >= self.group
    }

    /// Fetches what is pending: step (from 1) and loss.
    pub async fn fetch(&mut self, clock: &dyn Clock) -> Result<Vec<(usize, f64)>, LessonError> {
        if self.pending.is_empty() {
            return Ok(Vec::new());
        }
        let group = Tensor::stack(&self.pending.iter().collect::<Vec<_>>(), 0)?;
        let values = group.to_f64s().await?;
        let full = self.pending.len() >= self.group;
        self.pending.clear();
        let now = clock.now();
        if let (Some(before), true) = (self.fetched_at, full) {
            self.group = next_group(self.group, now - before);
        }
        self.fetched_at = Some(now);
        let first = self.losses.len() + 1;
        self.losses.extend_from_slice(&values);
        Ok(values
            .into_iter()
            .enumerate()
            .map(|(i, loss)| (first + i, loss))
            .collect())
    }

    /// Losses fetched so far.
    pub fn len(&self) -> usize {
        self.losses.len()
    }

    /// The first loss.
    pub fn first(&self) -> Option<f64> {
        self.losses.first().copied()
    }

    /// Mean of the last `n` losses: single ones jump with their batch.
    pub fn last_mean(&self, n: usize) -> Option<f64> {
        self.mean_since(self.losses.len().saturating_sub(n))
    }

    /// Mean of the losses after the first `steps`.
    pub fn mean_since(&self, steps: usize) -> Option<f64> {
        let part = self.losses.get(steps..).filter(|part| !part.is_empty())?;
        Some(part.iter().sum::<f64>() / part.len() as f64)
    }
}

/// The next group's size, after one of `group` took `seconds`.
fn next_group(group: usize, seconds: f64) -> usize {
    let wanted = (group as f64 * PERIOD / seconds.max(1e-6)) as usize;
    // Doubling at most: the first groups pay for set-up, and are no measure of the rest.
    wanted.clamp(1, (2 * group).min(LARGEST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::FakeClock;
    use tensor::Device;

    #[test]
    fn groups_grow_towards_four_fetches_a_second() {
        let mut group = 1;
        for _ in 0..20 {
            group = next_group(group, group as f64 * 0.004);
        }
        assert!((60..=64).contains(&group), "{group}");
        assert_eq!(next_group(16, 4.0), 1);
        assert_eq!(next_group(LARGEST, 1e-9), LARGEST);
    }

    #[test]
    fn losses_come_in_order_and_none_is_lost() {
        let clock = FakeClock::new(1e-6);
        let mut log = LossLog::new();
        let mut seen = Vec::new();
        for i in 0..100 {
            let loss = Tensor::scalar(i as f32, &Device::cpu()).unwrap();
            clock.advance(0.01);
            if log.push(&loss) {
                seen.extend(pollster::block_on(log.fetch(&clock)).unwrap());
            }
        }
        seen.extend(pollster::block_on(log.fetch(&clock)).unwrap());
        let expected: Vec<(usize, f64)> = (0..100).map(|i| (i + 1, i as f64)).collect();
        assert_eq!(seen, expected);
        assert_eq!(log.first(), Some(0.0));
        assert_eq!(log.last_mean(2), Some(98.5));
        assert_eq!(log.mean_since(100), None);
    }
}
