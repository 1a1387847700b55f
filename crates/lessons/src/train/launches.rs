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
    max_time: 0.25,
    ..Plan::quick()
};

/// The two are timed in turns, and of each the quicker turn counts: whatever else the machine does then falls on both.
const TURNS: u64 = 2;

/// One of the two ways to run a step.
struct Path {
    network: Network,
    /// In the table, and as a figure.
    names: [&'static str; 2],
    launches: u64,
    time: Option<Timing>,
}

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
    let Some(examples) = problem.epoch(0, batch, ctx.seed())?.next() else {
        return Ok(());
    };
    let (input, target) = examples.to(device)?;
    let mut paths = Vec::new();
    for (fused, names) in [
        (true, ["merged", "launches"]),
        (false, ["each operation by itself", "launches_unfused"]),
    ] {
        let mut network = Network::new(params, problem, ctx.seed(), device)?;
        network.set_fused(fused);
        paths.push(count(network, names, &input, &target).await?);
    }
    for turn in 0..TURNS {
        ctx.progress(Progress::new("timing launches", turn, TURNS));
        for path in &mut paths {
            let network = &mut path.network;
            let time = ctx
                .time("a step", &PLAN, async |calls| {
                    for _ in 0..calls {
                        network.step(&input, &target)?;
                    }
                    Ok(device.synchronize().await?)
                })
                .await?;
            if path.time.as_ref().is_none_or(|t| time.median < t.median) {
                path.time = Some(time);
            }
        }
    }
    for Path {
        names: [shown, metric],
        launches,
        time,
        ..
    } in paths
    {
        ctx.metric(metric, Metric::new(launches as f64, "1"));
        let time = time.map_or(Cell::Missing, |t| t.seconds().into());
        ctx.row(
            "launches",
            vec![Cell::text(shown), Cell::number(launches as f64), time],
        );
    }
    Ok(())
}

async fn count(
    mut network: Network,
    names: [&'static str; 2],
    input: &Tensor,
    target: &Tensor,
) -> Result<Path, LessonError> {
    let device = input.device();
    // The first step makes the optimiser's state.
    network.step(input, target)?;
    device.synchronize().await?;
    let before = device.trace().launches();
    network.step(input, target)?;
    let launches = device.trace().launches() - before;
    device.synchronize().await?;
    Ok(Path {
        network,
        names,
        launches,
        time: None,
    })
}
