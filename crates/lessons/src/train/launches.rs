//! What merging launches saves: a step of the same network with merged kernels and with every operation by itself.

use tensor::{Device, Tensor};

use super::model::Network;
use super::problem::Problem;
use crate::ctx::Ctx;
use crate::error::LessonError;
use crate::event::Progress;
use crate::measure::{Plan, Timing};
use crate::params::Params;
use crate::report::{Cell, Column, Metric, Table};

/// Steps for a comparison within one run: few, since one may take a second.
const PLAN: Plan = Plan {
    warmups: 1,
    runs: 5,
    min_runs: 2,
    max_time: 0.5,
    ..Plan::quick()
};

/// Writes the table. The networks are made anew, so what was learnt is not touched.
pub async fn compare(
    ctx: &Ctx,
    params: &Params,
    problem: &Problem,
    device: &Device,
    batch: usize,
) -> Result<(), LessonError> {
    ctx.table(Table::new(
        "launches",
        "One step, merged into few launches and as its parts",
        vec![
            Column::new("path", "", ""),
            Column::new("launches", "launches", "1"),
            Column::new("step", "time of a step", "s"),
        ],
    ));
    for (fused, path) in [(true, "merged"), (false, "each operation by itself")] {
        ctx.progress(Progress::new("counting launches", u64::from(!fused), 2));
        let (launches, time) = measure(ctx, params, problem, device, batch, fused).await?;
        let name = if fused {
            "launches"
        } else {
            "launches_unfused"
        };
        ctx.metric(name, Metric::new(launches as f64, "1"));
        ctx.row(
            "launches",
            vec![
                Cell::text(path),
                Cell::number(launches as f64),
                time.seconds().into(),
            ],
        );
    }
    Ok(())
}

async fn measure(
    ctx: &Ctx,
    params: &Params,
    problem: &Problem,
    device: &Device,
    batch: usize,
    fused: bool,
) -> Result<(u64, Timing), LessonError> {
    let mut network = Network::new(params, problem, ctx.seed(), device)?;
    network.set_fused(fused);
    let Some(examples) = problem.epoch(0, batch, ctx.seed())?.next() else {
        return Err(LessonError::Data {
            message: "the training set is empty".into(),
            help: None,
        });
    };
    let (input, target) = examples.to(device)?;
    // The first step makes the optimiser's state.
    wait(&network.step(&input, &target)?).await?;
    let before = device.trace().launches();
    wait(&network.step(&input, &target)?).await?;
    let launches = device.trace().launches() - before;
    let time = ctx
        .time("a step", &PLAN, async |calls| {
            for _ in 0..calls {
                network.step(&input, &target)?;
            }
            Ok(device.synchronize().await?)
        })
        .await?;
    Ok((launches, time))
}

async fn wait(loss: &Tensor) -> Result<(), LessonError> {
    Ok(loss.device().synchronize().await?)
}
