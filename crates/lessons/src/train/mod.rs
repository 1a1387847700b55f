//! A network learns: the loss at each step, the accuracy after each epoch, how fast, and in how much memory.

mod evaluate;
mod launches;
mod loss_log;
mod model;
mod problem;

use tensor::{Device, Tensor};

use crate::ctx::Ctx;
use crate::error::LessonError;
use crate::event::Progress;
use crate::host::LocalFuture;
use crate::lesson::{Lesson, LessonInfo};
use crate::measure::quantile;
use crate::params::{ParamSpec, Params};
use crate::report::{Axis, Cell, Column, Metric, Point, Series, Spread, Table, TimingMethod};

use loss_log::LossLog;
use model::Network;
use problem::Problem;

/// The lesson.
pub const LESSON: Lesson = Lesson {
    info,
    run,
    prepare: Some(prepare),
};

fn info() -> LessonInfo {
    LessonInfo {
        id: "train".into(),
        title: "A network learns".into(),
        question: "How does the loss fall, what accuracy does it buy, and how many images a second does this device learn from?"
            .into(),
        instrument: false,
        params: vec![
            ParamSpec::choice("model", &model::NAMES, "what learns"),
            ParamSpec::device("device", "where it learns"),
            ParamSpec::choice("optimizer", &model::OPTIMIZERS, "how the weights change"),
            ParamSpec::float("lr", 1e-7..=10.0, 1e-3, "learning rate"),
            ParamSpec::int("batch", 1..=4096, 64, "examples a step"),
            ParamSpec::int("epochs", 1..=1000, 3, "times through the training set"),
            ParamSpec::int("steps", 0..=1_000_000, 0, "stop after this many steps; 0 for none"),
            ParamSpec::bool("fused", true, "merge launches: a layer with its ReLU, the loss, the optimiser's whole step"),
            ParamSpec::choice("data", &problem::DATA, "images; auto takes MNIST for the mnist-mlp, the generated set for lenet"),
            ParamSpec::folder("data-dir", "where the image files are, instead of the set that comes with the program"),
            ParamSpec::choice("image-size", &problem::IMAGE_SIZES, "lenet's images, enlarged if need be").unit("px"),
        ],
    }
}

fn run<'a>(params: &'a Params, ctx: &'a Ctx) -> LocalFuture<'a, Result<(), LessonError>> {
    Box::pin(train(params, ctx))
}

fn prepare<'a>(params: &'a Params, ctx: &'a Ctx) -> LocalFuture<'a, Result<(), LessonError>> {
    Box::pin(warm(params, ctx))
}

/// One step and one evaluation, as the run will have them.
async fn warm(params: &Params, ctx: &Ctx) -> Result<(), LessonError> {
    let device = ctx.open(params.text("device")?).await?;
    ctx.checkpoint().await?;
    let problem = Problem::load(params, ctx).await?;
    let mut network = Network::new(params, &problem, ctx.seed(), &device)?;
    let batch = params.size("batch")?.min(WARM_BATCH);
    if let Some(examples) = problem.epoch(0, batch, ctx.seed())?.next() {
        ctx.checkpoint().await?;
        let (input, target) = examples.to(&device)?;
        let loss = network.step(&input, &target)?;
        let right = network.evaluate(&input, &target)?;
        Tensor::stack(&[&loss, &right], 0)?.to_f64s().await?;
    }
    Ok(())
}

/// Most examples of a step that only builds what a run needs.
const WARM_BATCH: usize = 64;

/// How the loop goes.
struct Course {
    batch: usize,
    epochs: usize,
    /// Most steps; no limit is `usize::MAX`.
    steps: usize,
}

async fn train(params: &Params, ctx: &Ctx) -> Result<(), LessonError> {
    let device = ctx.open(params.text("device")?).await?;
    let course = Course {
        batch: params.size("batch")?,
        epochs: params.size("epochs")?,
        steps: match params.size("steps")? {
            0 => usize::MAX,
            steps => steps,
        },
    };
    ctx.progress(Progress::new("reading the data", 0, 0));
    let problem = Problem::load(params, ctx).await?;
    let mut network = Network::new(params, &problem, ctx.seed(), &device)?;
    begin(ctx, params, &problem, &network)?;
    device.memory().reset_peaks();

    let mut pace = Pace::default();
    let mut log = LossLog::new();
    let per_epoch = problem.batches(course.batch);
    let total = (per_epoch * course.epochs).min(course.steps);
    let mut step = 0;
    for epoch in 0..course.epochs {
        if step >= total {
            break;
        }
        let began = ctx.clock().now();
        let first_step = step;
        let mut seen = 0;
        for batch in problem.epoch(epoch as u64, course.batch, ctx.seed())? {
            if step >= total {
                break;
            }
            let (input, target) = batch.to(&device)?;
            let loss = network.step(&input, &target)?;
            seen += batch.len();
            step += 1;
            if log.push(&loss) {
                publish(ctx, &device, &mut log, step, total).await?;
            }
            ctx.checkpoint().await?;
        }
        publish(ctx, &device, &mut log, step, total).await?;
        let seconds = ctx.clock().now() - began;
        pace.epoch(seen, seconds);
        let accuracy = evaluate::score(ctx, &network, &problem, &device).await?;
        write_epoch(
            ctx,
            epoch,
            log.mean_since(first_step).unwrap_or(f64::NAN),
            accuracy,
            seen as f64 / seconds,
        );
        ctx.memory_of(&device);
    }
    finish(ctx, &device, &problem, &log, &pace, &network).await?;
    launches::compare(ctx, params, &problem, &device, course.batch).await
}

fn begin(
    ctx: &Ctx,
    params: &Params,
    problem: &Problem,
    network: &Network,
) -> Result<(), LessonError> {
    ctx.note(format!(
        "{}: {} parameters, {} with learning rate {}; {}.",
        params.text("model")?,
        network.parameter_count(),
        params.text("optimizer")?,
        crate::params::ParamValue::Float(params.float("lr")?),
        problem.description()
    ));
    ctx.series(Series::new(
        "loss",
        "loss",
        Axis::linear("step", "1"),
        Axis::log("loss", "1"),
    ));
    let curves = [
        ("memory", "memory held for tensors"),
        ("process_memory", "memory of the process"),
    ];
    for (id, label) in curves {
        let (x, y) = (Axis::linear("step", "1"), Axis::linear("memory", "B"));
        ctx.series(Series::new(id, label, x, y));
    }
    let mut columns = vec![
        Column::new("epoch", "epoch", "1"),
        Column::new("train_loss", "training loss", "1"),
    ];
    if problem.classes().is_some() {
        columns.push(Column::new("test_accuracy", "test accuracy", "1"));
        ctx.series(Series::new(
            "accuracy",
            "test accuracy",
            Axis::linear("epoch", "1"),
            Axis::linear("accuracy", "1"),
        ));
    } else {
        columns.push(Column::new("test_loss", "test loss", "1"));
    }
    columns.push(Column::new("rate", "images a second", "1/s"));
    ctx.table(Table::new("epochs", "After each epoch", columns));
    ctx.timing(TimingMethod {
        method: "wall clock around each epoch's steps, batches made and sent included, evaluation left out; the losses stay on \
                 the device and are fetched in groups"
            .into(),
        clock_resolution: ctx.clock_resolution(),
        empty_queue: Default::default(),
    });
    Ok(())
}

/// Fetches the losses of the last steps and shows them.
async fn publish(
    ctx: &Ctx,
    device: &Device,
    log: &mut LossLog,
    step: usize,
    total: usize,
) -> Result<(), LessonError> {
    let points: Vec<Point> = log
        .fetch(ctx.clock())
        .await?
        .into_iter()
        .map(|(step, loss)| Point::new(step as f64, loss))
        .collect();
    let Some(last) = points.last() else {
        return Ok(());
    };
    ctx.progress(
        Progress::new("training", step as u64, total as u64).message(format!("loss {:.4}", last.y)),
    );
    if !last.y.is_finite() {
        let help =
            "lower the learning rate: the weights have left the range of numbers".to_string();
        let error = LessonError::Engine {
            message: format!("the loss is {} at step {}", last.y, last.x),
            help: Some(help),
        };
        ctx.points("loss", points);
        return Err(error);
    }
    let x = last.x;
    ctx.points("loss", points);
    let held = Some(device.memory().stats().reserved);
    let process = ctx.surroundings().devices.process_memory();
    for (id, bytes) in [("memory", held), ("process_memory", process)] {
        if let Some(bytes) = bytes {
            ctx.points(id, vec![Point::new(x, bytes as f64)]);
        }
    }
    Ok(())
}

fn write_epoch(ctx: &Ctx, epoch: usize, loss: f64, score: evaluate::Score, rate: f64) {
    let number = (epoch + 1) as f64;
    let value = match score {
        evaluate::Score::Accuracy(value) => {
            ctx.points("accuracy", vec![Point::new(number, value)]);
            ctx.metric("test_accuracy", Metric::new(value, "1"));
            value
        }
        evaluate::Score::Loss(value) => {
            ctx.metric("test_loss", Metric::new(value, "1"));
            value
        }
    };
    ctx.row(
        "epochs",
        vec![
            Cell::number(number),
            Cell::number(loss),
            Cell::number(value),
            Cell::number(rate),
        ],
    );
}

/// Images and seconds by epoch.
#[derive(Default)]
struct Pace(Vec<f64>);

impl Pace {
    fn epoch(&mut self, images: usize, seconds: f64) {
        if seconds > 0.0 {
            self.0.push(images as f64 / seconds);
        }
    }

    /// Median over the epochs. The first one pays for pipelines and pages, so it counts only when it is alone.
    fn metric(&self) -> Option<Metric> {
        let mut rates = if self.0.len() > 1 {
            self.0[1..].to_vec()
        } else {
            self.0.clone()
        };
        rates.sort_by(f64::total_cmp);
        let spread = Spread {
            q1: quantile(&rates, 0.25),
            q3: quantile(&rates, 0.75),
            runs: rates.len() as u32,
            below_resolution: false,
        };
        let spread = (rates.len() > 1).then_some(spread);
        (!rates.is_empty()).then(|| Metric {
            value: quantile(&rates, 0.5),
            unit: "1/s".into(),
            spread,
        })
    }
}

async fn finish(
    ctx: &Ctx,
    device: &Device,
    problem: &Problem,
    log: &LossLog,
    pace: &Pace,
    network: &Network,
) -> Result<(), LessonError> {
    if let (Some(first), Some(last)) = (log.first(), log.last_mean(20)) {
        ctx.metric("first_loss", Metric::new(first, "1"));
        ctx.metric("final_loss", Metric::new(last, "1"));
    }
    ctx.metric("steps", Metric::new(log.len() as f64, "1"));
    if let Some(rate) = pace.metric() {
        ctx.metric("images_per_second", rate);
    }
    ctx.metric(
        "memory_peak_bytes",
        Metric::new(device.memory().stats().peak_allocated as f64, "B"),
    );
    if let (Some(classes), Some(first)) = (problem.classes(), log.first()) {
        let guess = (classes as f64).ln();
        ctx.metric("guessing_loss", Metric::new(guess, "1"));
        let verdict = if (first - guess).abs() < 0.35 {
            "about that of guessing, as it should be before anything is learnt"
        } else {
            "far from that of guessing: look at the scale of the inputs or at the last layer's start"
        };
        ctx.note(format!("The first loss is {first:.3}; guessing among {classes} classes costs ln({classes}) = {guess:.3}: {verdict}."));
    }
    if let Some(error) = network.distance_from_truth(problem).await? {
        ctx.metric("weight_error", Metric::new(error, "1"));
    }
    ctx.memory_of(device);
    Ok(())
}
