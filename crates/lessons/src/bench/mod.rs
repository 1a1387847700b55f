//! Fixed workloads with fixed names, to set devices, machines and libraries beside each other.
//!
//! Rates are shares of this machine's own peaks, measured in the same run: the best rate of a large product for arithmetic,
//! the rate of a plain copy for memory.

mod cases;
mod step;

use tensor::Device;

use crate::ctx::Ctx;
use crate::error::LessonError;
use crate::event::Progress;
use crate::host::LocalFuture;
use crate::lesson::{Lesson, LessonInfo};
use crate::measure::{Plan, Timing};
use crate::params::{ParamSpec, Params};
use crate::report::{Cell, Column, Metric, Table, TimingMethod};

use cases::{Case, Scale};

/// The instrument.
pub const LESSON: Lesson = Lesson {
    info,
    run,
    prepare: None,
};

fn info() -> LessonInfo {
    LessonInfo {
        id: "bench".into(),
        title: "Fixed workloads".into(),
        question: "How fast is this device at fixed pieces of work, and what share of its own peak does it reach?".into(),
        instrument: true,
        params: vec![
            ParamSpec::device("device", "the device to measure"),
            ParamSpec::subset("workloads", &cases::WORKLOADS, "W1 products, W2 elementwise, W2b sum, W2c transpose, W3 LeNet, W4 MLP"),
            ParamSpec::choice("scale", &["auto", "full", "small"], "small sizes for a software adapter or a browser's CPU"),
        ],
    }
}

fn run<'a>(params: &'a Params, ctx: &'a Ctx) -> LocalFuture<'a, Result<(), LessonError>> {
    Box::pin(measure_all(params, ctx))
}

/// For figures that are set beside those of other libraries, whose benchmarks repeat in just this way.
const PLAN: Plan = Plan {
    spread: f64::INFINITY,
    ..Plan::thorough()
};

async fn measure_all(params: &Params, ctx: &Ctx) -> Result<(), LessonError> {
    let device = ctx.open(params.text("device")?).await?;
    let software = ctx.report().environment.used().is_some_and(|d| d.software);
    let scale = match params.text("scale")? {
        "full" => Scale::Full,
        "small" => Scale::Small,
        _ if software || (cfg!(target_arch = "wasm32") && device.is_cpu()) => Scale::Small,
        _ => Scale::Full,
    };
    if scale == Scale::Small {
        ctx.warn("Small sizes only: the large ones would keep a software adapter or a browser's CPU busy for minutes.");
    }
    begin(ctx, &device).await?;
    let wanted = params.text("workloads")?;
    let cases: Vec<Case> = cases::all(scale)
        .into_iter()
        .filter(|c| wanted.split(',').any(|w| w == c.workload))
        .collect();

    ctx.progress(Progress::new("bench", 0, cases.len() as u64).message("peaks"));
    let mut peaks = cases::peaks(ctx, &device, scale).await?;
    let mut measured = Vec::new();
    for (i, case) in cases.iter().enumerate() {
        ctx.progress(
            Progress::new("bench", i as u64, cases.len() as u64).message(case.to_string()),
        );
        let timing = case.time(ctx, &device, &PLAN).await?;
        write(ctx, case, &timing);
        peaks.flops = peaks.flops.max(case.flops / timing.median);
        measured.push((case, timing));
    }
    shares(ctx, &peaks, &measured);
    ctx.memory_of(&device);
    Ok(())
}

async fn begin(ctx: &Ctx, device: &Device) -> Result<(), LessonError> {
    ctx.table(Table::new(
        "cases",
        "Time of one call, with the tenth and the ninetieth percentile",
        vec![
            Column::new("workload", "work", ""),
            Column::new("case", "case", ""),
            Column::new("median", "median", "s"),
            Column::new("p10", "p10", "s"),
            Column::new("p90", "p90", "s"),
            Column::new("runs", "runs", "1"),
            Column::new("flops", "arithmetic", "FLOP/s"),
            Column::new("bandwidth", "memory", "B/s"),
        ],
    ));
    let empty = ctx
        .time("an empty wait", &Plan::quick(), async |calls| {
            for _ in 0..calls {
                device.synchronize().await?;
            }
            Ok(())
        })
        .await?;
    ctx.timing(TimingMethod {
        method: "wall clock around work and wait; median; 5 warm-ups, then at least 20 runs and 0.5 s, or 3 s".into(),
        clock_resolution: ctx.clock_resolution(),
        empty_queue: [(device.id().to_string(), empty.seconds())].into(),
    });
    Ok(())
}

fn write(ctx: &Ctx, case: &Case, timing: &Timing) {
    let rate = |amount: f64| {
        if amount > 0.0 {
            Cell::number(amount / timing.median)
        } else {
            Cell::Missing
        }
    };
    ctx.row(
        "cases",
        vec![
            Cell::text(case.workload),
            Cell::text(&case.name),
            Cell::number(timing.median),
            Cell::number(timing.p10),
            Cell::number(timing.p90),
            Cell::number(f64::from(timing.runs)),
            rate(case.flops),
            rate(case.bytes),
        ],
    );
    ctx.metric(&case.metric(), timing.seconds());
}

/// The last table: what share of the machine's own peak each case reaches. It comes last because the peak may be a case's.
fn shares(ctx: &Ctx, peaks: &cases::Peaks, measured: &[(&Case, Timing)]) {
    ctx.metric("peak_flops", Metric::new(peaks.flops, "FLOP/s"));
    ctx.metric("peak_bandwidth", Metric::new(peaks.bandwidth, "B/s"));
    ctx.table(Table::new(
        "shares",
        "Share of this machine's own peak, measured in the same run",
        vec![
            Column::new("workload", "work", ""),
            Column::new("case", "case", ""),
            Column::new("share", "share", "%"),
            Column::new("of", "of", ""),
        ],
    ));
    for (case, timing) in measured {
        let (amount, peak, of) = if case.bytes > 0.0 {
            (case.bytes, peaks.bandwidth, "memory copy")
        } else {
            (case.flops, peaks.flops, "best product")
        };
        let share = 100.0 * amount / timing.median / peak;
        ctx.row(
            "shares",
            vec![
                Cell::text(case.workload),
                Cell::text(&case.name),
                Cell::number(share),
                Cell::text(of),
            ],
        );
    }
}
