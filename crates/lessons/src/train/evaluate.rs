//! What was learnt, on examples that were not learnt from.

use tensor::{Device, Tensor};

use super::model::Network;
use super::problem::Problem;
use crate::ctx::Ctx;
use crate::error::LessonError;
use crate::event::Progress;

/// Examples evaluated at once.
const BATCH: usize = 250;

/// How good it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Score {
    /// Share of test images put into the right class.
    Accuracy(f64),
    /// Mean loss on the test set.
    Loss(f64),
}

/// Evaluates the network on the test set. The counts stay on the device until the end.
pub async fn score(
    ctx: &Ctx,
    network: &Network,
    problem: &Problem,
    device: &Device,
) -> Result<Score, LessonError> {
    let mut sums: Vec<Tensor> = Vec::new();
    let mut count = 0;
    for examples in problem.test(BATCH)? {
        ctx.progress(Progress::new("testing", count as u64, 0));
        let (input, target) = examples.to(device)?;
        sums.push(network.evaluate(&input, &target)?);
        count += examples.len();
        ctx.checkpoint().await?;
    }
    let total: f64 = Tensor::stack(&sums.iter().collect::<Vec<_>>(), 0)?
        .to_f64s()
        .await?
        .iter()
        .sum();
    let mean = total / count.max(1) as f64;
    Ok(if problem.classes().is_some() {
        Score::Accuracy(mean)
    } else {
        Score::Loss(mean)
    })
}
