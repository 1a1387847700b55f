//! Copying costs more than computing: one matrix product on the CPU, on a device with its inputs there, and on a device that
//! has to be sent the inputs and asked for the result.

mod crossover;
mod sizes;

use tensor::{DType, Device, Tensor};

use crate::ctx::Ctx;
use crate::devices::beside_cpu;
use crate::error::LessonError;
use crate::event::Progress;
use crate::host::LocalFuture;
use crate::inputs::uniform;
use crate::lesson::{Lesson, LessonInfo};
use crate::measure::{Plan, Timing};
use crate::params::{ParamSpec, Params};
use crate::report::{Axis, Cell, Column, Metric, Point, Series, Spread, Table, TimingMethod};

use crossover::{Crossover, crossover};

/// The lesson.
pub const LESSON: Lesson = Lesson {
    info,
    run,
    prepare: Some(prepare),
};

fn info() -> LessonInfo {
    LessonInfo {
        id: "transfer".into(),
        title: "Copying costs more than computing".into(),
        question: "From which size on does a matrix product on the device win, once sending the inputs and fetching the \
                   result are counted?"
            .into(),
        instrument: false,
        params: vec![
            ParamSpec::sizes("sizes", 1..=8192, &[64, 256, 1024, 4096], "rows and columns of the square matrices"),
            ParamSpec::device("device", "the device to set beside the CPU; auto takes the GPU, or else a software adapter"),
            ParamSpec::float("limit", 0.01..=60.0, 0.5, "longest that one product may take; larger sizes are left out").unit("s"),
            ParamSpec::bool("thorough", false, "repeat more often, for figures that are to be compared"),
        ],
    }
}

fn run<'a>(params: &'a Params, ctx: &'a Ctx) -> LocalFuture<'a, Result<(), LessonError>> {
    Box::pin(compare(params, ctx))
}

fn prepare<'a>(params: &'a Params, ctx: &'a Ctx) -> LocalFuture<'a, Result<(), LessonError>> {
    Box::pin(warm(params, ctx))
}

/// The products of the probe and of the smallest size, on both devices.
async fn warm(params: &Params, ctx: &Ctx) -> Result<(), LessonError> {
    let (cpu, device) = devices(params, ctx).await?;
    ctx.checkpoint().await?;
    sizes::probe(ctx, &[&cpu, &device]).await?;
    let smallest = params.sizes("sizes")?.iter().min().copied().unwrap_or(1);
    let n = (smallest as usize).min(256);
    let (a, b) = inputs(ctx.seed(), n);
    let send = |values: &[f32]| Tensor::from_slice(values, &[n, n], &device);
    send(&a)?.matmul(&send(&b)?)?.to_vec::<f32>().await?;
    Ok(())
}

/// The CPU, and the device beside it.
async fn devices(params: &Params, ctx: &Ctx) -> Result<(Device, Device), LessonError> {
    let facts = ctx.report().environment.devices;
    let wanted = match params.text("device")? {
        "auto" => beside_cpu(&facts).unwrap_or("cpu"),
        name => name,
    };
    let cpu = ctx.surroundings().devices.open("cpu").await?;
    Ok((cpu, ctx.open(wanted).await?))
}

/// The times of one size.
struct Row {
    n: usize,
    cpu: Timing,
    compute: Timing,
    upload: Timing,
    readback: Timing,
    end_to_end: Timing,
}

async fn compare(params: &Params, ctx: &Ctx) -> Result<(), LessonError> {
    let (cpu, device) = devices(params, ctx).await?;
    let plan = if params.bool("thorough")? {
        Plan::thorough()
    } else {
        Plan::quick()
    };
    describe_device(ctx, &device);
    begin_tables(ctx, &device);
    begin_timing(ctx, &plan, &device).await?;

    let asked: Vec<usize> = params.sizes("sizes")?.iter().map(|&n| n as usize).collect();
    let limit = params.float("limit")?;
    let probed = sizes::probe(ctx, &[&cpu, &device]).await?;
    let chosen = sizes::choose(&asked, limit, probed);
    if let Some(note) = chosen.note {
        ctx.warn(note);
    }

    let mut rows: Vec<Row> = Vec::new();
    for (i, &n) in chosen.sizes.iter().enumerate() {
        let stage = |what: &str| {
            ctx.progress(
                Progress::new("transfer", i as u64, chosen.sizes.len() as u64)
                    .message(format!("{n}x{n}, {what}")),
            );
        };
        let row = measure_size(ctx, &plan, n, &cpu, &device, &stage).await?;
        write_row(ctx, &device, &row);
        rows.push(row);
    }
    headline(ctx, &device, &rows);
    ctx.memory_of(&device);
    Ok(())
}

fn describe_device(ctx: &Ctx, device: &Device) {
    let report = ctx.report();
    if device.is_cpu() {
        ctx.warn(
            "The device here is the CPU itself: sending and fetching are copies within its memory. Whether a GPU would win \
             cannot be measured on this machine, so no speed-up is given.",
        );
    } else if report.environment.used().is_some_and(|d| d.software) {
        ctx.warn(
            "The device is a software adapter: the processor plays the GPU, and there is no bus to cross. The figures are \
             true of it and say little about GPUs.",
        );
    }
}

fn begin_tables(ctx: &Ctx, device: &Device) {
    let name = device.id().to_string();
    ctx.table(Table::new(
        "times",
        "Time of one product, and how much faster than the CPU",
        vec![
            Column::new("n", "n", "1"),
            Column::new("cpu", "CPU", "s"),
            Column::new("compute", "compute only", "s"),
            Column::new("end_to_end", "end to end", "s"),
            Column::new("speedup_compute", "speed-up", "x"),
            Column::new("speedup_end_to_end", "end to end", "x"),
        ],
    ));
    ctx.table(Table::new(
        "split",
        "Where the end-to-end time goes, each part measured by itself",
        vec![
            Column::new("n", "n", "1"),
            Column::new("upload", "send A, B", "s"),
            Column::new("compute", "compute", "s"),
            Column::new("readback", "fetch C", "s"),
            Column::new("copy_share", "copies", "%"),
            Column::new("bytes", "moved", "B"),
        ],
    ));
    let axes = || (Axis::log("n", "1"), Axis::log("time", "s"));
    let curves = [
        ("cpu", "CPU".to_string()),
        ("compute", format!("{name}, compute only")),
        ("end_to_end", format!("{name}, end to end")),
    ];
    for (id, label) in curves {
        let (x, y) = axes();
        ctx.series(Series::new(id, &label, x, y));
    }
}

async fn begin_timing(ctx: &Ctx, plan: &Plan, device: &Device) -> Result<(), LessonError> {
    let empty = ctx
        .time("an empty wait", &Plan::quick(), async |calls| {
            for _ in 0..calls {
                device.synchronize().await?;
            }
            Ok(())
        })
        .await?;
    ctx.timing(TimingMethod {
        method: plan.method(),
        clock_resolution: ctx.clock_resolution(),
        empty_queue: [(device.id().to_string(), empty.seconds())].into(),
    });
    Ok(())
}

/// Inputs of a product, from the run's seed.
fn inputs(seed: u64, n: usize) -> (Vec<f32>, Vec<f32>) {
    (uniform(n * n, seed, 0), uniform(n * n, seed, 1))
}

async fn measure_size(
    ctx: &Ctx,
    plan: &Plan,
    n: usize,
    cpu: &Device,
    device: &Device,
    stage: &dyn Fn(&str),
) -> Result<Row, LessonError> {
    let (a, b) = inputs(ctx.seed(), n);
    let shape = [n, n];
    let send = |values: &[f32]| Tensor::from_slice(values, &shape, device);

    stage("CPU");
    let (on_cpu, by_cpu) = (
        Tensor::from_slice(&a, &shape, cpu)?,
        Tensor::from_slice(&b, &shape, cpu)?,
    );
    let cpu_time = ctx
        .time("the product on the CPU", plan, async |calls| {
            multiply(&on_cpu, &by_cpu, calls).await
        })
        .await?;

    // Each figure goes out as it comes: a learner should not wait for the row.
    write_point(ctx, "cpu", n, &cpu_time);

    stage("compute only");
    let (left, right) = (send(&a)?, send(&b)?);
    let product = left.matmul(&right)?;
    check(&product, &on_cpu.matmul(&by_cpu)?, n).await?;
    let compute = ctx
        .time("the product", plan, async |calls| {
            multiply(&left, &right, calls).await
        })
        .await?;

    write_point(ctx, "compute", n, &compute);

    stage("sending");
    let upload = ctx
        .time("sending the inputs", plan, async |calls| {
            for _ in 0..calls {
                let sent = (send(&a)?, send(&b)?);
                device.synchronize().await?;
                drop(sent);
            }
            Ok(())
        })
        .await?;

    stage("fetching");
    let readback = ctx
        .time("fetching the result", plan, async |calls| {
            for _ in 0..calls {
                drop(product.to_vec::<f32>().await?);
            }
            Ok(())
        })
        .await?;

    stage("end to end");
    let end_to_end = ctx
        .time("the product end to end", plan, async |calls| {
            for _ in 0..calls {
                drop(send(&a)?.matmul(&send(&b)?)?.to_vec::<f32>().await?);
            }
            Ok(())
        })
        .await?;
    write_point(ctx, "end_to_end", n, &end_to_end);
    Ok(Row {
        n,
        cpu: cpu_time,
        compute,
        upload,
        readback,
        end_to_end,
    })
}

async fn multiply(a: &Tensor, b: &Tensor, calls: u32) -> Result<(), LessonError> {
    for _ in 0..calls {
        drop(a.matmul(b)?);
    }
    Ok(a.device().synchronize().await?)
}

/// A kernel that never ran looks very fast, so the result is compared before anything is timed.
async fn check(product: &Tensor, expected: &Tensor, n: usize) -> Result<(), LessonError> {
    debug_assert_eq!(product.dtype(), DType::F32);
    let (found, expected) = (
        product.to_vec::<f32>().await?,
        expected.to_vec::<f32>().await?,
    );
    // Sums of n products of numbers below one, in two orders.
    let tolerance = 1e-5 * n as f32;
    match found
        .iter()
        .zip(&expected)
        .position(|(f, e)| (f - e).abs() > tolerance || !f.is_finite())
    {
        None => Ok(()),
        Some(i) => Err(LessonError::Engine {
            message: format!(
                "{} gives {} where the CPU gives {} (row {}, column {} of a {n}x{n} product)",
                product.device().id(),
                found[i],
                expected[i],
                i / n,
                i % n
            ),
            help: Some(
                "its times would mean nothing; update the graphics driver or choose another device"
                    .into(),
            ),
        }),
    }
}

/// A ratio of two timings, with the spread that the quartiles of both allow.
fn ratio(above: &Timing, below: &Timing) -> Metric {
    let spread = Spread {
        q1: above.q1 / below.q3,
        q3: above.q3 / below.q1,
        runs: above.runs.min(below.runs),
        below_resolution: above.below_resolution || below.below_resolution,
    };
    Metric {
        value: above.median / below.median,
        unit: "x".into(),
        spread: Some(spread),
    }
}

/// Bytes that cross to the device and back for one product.
fn bytes_moved(n: usize) -> f64 {
    3.0 * 4.0 * (n as f64).powi(2)
}

fn write_row(ctx: &Ctx, device: &Device, row: &Row) {
    let n = || Cell::number(row.n as f64);
    let speedup = |time: &Timing| {
        if device.is_cpu() {
            Cell::Missing
        } else {
            Cell::number(ratio(&row.cpu, time).value)
        }
    };
    ctx.row(
        "times",
        vec![
            n(),
            row.cpu.seconds().into(),
            row.compute.seconds().into(),
            row.end_to_end.seconds().into(),
            speedup(&row.compute),
            speedup(&row.end_to_end),
        ],
    );
    let copies = row.upload.median + row.readback.median;
    ctx.row(
        "split",
        vec![
            n(),
            row.upload.seconds().into(),
            row.compute.seconds().into(),
            row.readback.seconds().into(),
            Cell::number(100.0 * copies / (copies + row.compute.median)),
            Cell::number(bytes_moved(row.n)),
        ],
    );
}

fn write_point(ctx: &Ctx, series: &str, n: usize, time: &Timing) {
    let point = Point {
        x: n as f64,
        y: time.median,
        spread: Some(time.spread()),
    };
    ctx.points(series, vec![point]);
}

fn headline(ctx: &Ctx, device: &Device, rows: &[Row]) {
    let Some(last) = rows.last() else { return };
    let largest = (last.n as f64).powi(2) * 4.0;
    ctx.metric("largest_size", Metric::new(last.n as f64, "1"));
    ctx.metric("upload_bandwidth", last.upload.rate(2.0 * largest, "B/s"));
    ctx.metric("readback_bandwidth", last.readback.rate(largest, "B/s"));
    ctx.metric(
        "cpu_flops",
        last.cpu.rate(2.0 * (last.n as f64).powi(3), "FLOP/s"),
    );
    ctx.metric(
        "device_flops",
        last.compute.rate(2.0 * (last.n as f64).powi(3), "FLOP/s"),
    );
    if device.is_cpu() {
        return;
    }
    ctx.metric("speedup_compute", ratio(&last.cpu, &last.compute));
    ctx.metric("speedup_end_to_end", ratio(&last.cpu, &last.end_to_end));
    let sizes: Vec<(f64, f64)> = rows
        .iter()
        .map(|r| (r.n as f64, r.cpu.median / r.end_to_end.median))
        .collect();
    match crossover(&sizes) {
        Crossover::At(n) => {
            ctx.metric("crossover", Metric::new(n.round(), "1"));
            ctx.note(format!(
                "End to end the device draws level with the CPU at about {n:.0}x{n:.0}, read off between the measured sizes."
            ));
        }
        Crossover::Below(n) => ctx.note(format!(
            "End to end the device wins from the smallest size on ({n}x{n})."
        )),
        Crossover::Above(n) => ctx.note(format!(
            "End to end the device does not win at any measured size (up to {n}x{n})."
        )),
    }
}
