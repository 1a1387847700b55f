//! What is this machine? Each device, why one is missing, and in which order to look.

use crate::ctx::Ctx;
use crate::environment::{Check, CheckStep, DeviceFacts, DeviceKind, Outcome};
use crate::error::LessonError;
use crate::host::LocalFuture;
use crate::lesson::{Lesson, LessonInfo};
use crate::params::Params;
use crate::report::{Cell, Column, Metric, Table};

/// The lesson.
pub const LESSON: Lesson = Lesson {
    info,
    run,
    prepare: None,
};

fn info() -> LessonInfo {
    LessonInfo {
        id: "doctor".into(),
        title: "What this machine is".into(),
        question: "Which devices can compute here, and if one is missing, what stands in its way?"
            .into(),
        instrument: false,
        params: Vec::new(),
    }
}

fn run<'a>(_params: &'a Params, ctx: &'a Ctx) -> LocalFuture<'a, Result<(), LessonError>> {
    Box::pin(examine(ctx))
}

async fn examine(ctx: &Ctx) -> Result<(), LessonError> {
    let environment = ctx.report().environment;
    ctx.table(Table::new(
        "devices",
        "Devices",
        vec![
            Column::new("device", "device", ""),
            Column::new("memory", "memory", "B"),
            Column::new("api", "through", ""),
            Column::new("model", "what it is", ""),
        ],
    ));
    for d in &environment.devices {
        ctx.row("devices", device_row(d));
        ctx.checkpoint().await?;
    }

    ctx.table(Table::new(
        "checks",
        "Checks, in the order in which to make them",
        vec![
            Column::new("kind", "kind", ""),
            Column::new("step", "look at", ""),
            Column::new("outcome", "", ""),
            Column::new("seen", "seen", ""),
        ],
    ));
    let mut remedies = Vec::new();
    for diagnosis in ctx.surroundings().devices.diagnose().await {
        for check in &diagnosis.checks {
            ctx.row("checks", check_row(diagnosis.kind, check));
            if let Some(remedy) = &check.remedy {
                remedies.push(format!(
                    "{}, {}: {remedy}",
                    kind_name(diagnosis.kind),
                    step_name(check.step)
                ));
            }
        }
        ctx.checkpoint().await?;
    }

    let count =
        |test: fn(&DeviceFacts) -> bool| environment.devices.iter().filter(|d| test(d)).count();
    let gpus = count(|d| d.kind != DeviceKind::Cpu && !d.software);
    let software = count(|d| d.kind != DeviceKind::Cpu && d.software);
    ctx.metric(
        "devices",
        Metric::new(environment.devices.len() as f64, "1"),
    );
    ctx.metric("gpus", Metric::new(gpus as f64, "1"));
    ctx.metric("software_adapters", Metric::new(software as f64, "1"));
    ctx.metric("cores", Metric::new(f64::from(environment.cores), "1"));
    ctx.metric(
        "clock_resolution",
        Metric::new(environment.clock_resolution, "s"),
    );

    match (gpus, software) {
        (1.., _) => {}
        (0, 0) => ctx.warn("No GPU was found. Every lesson runs on the CPU; what needs a GPU says so."),
        (0, _) => ctx.warn(
            "The only adapter is software that plays a GPU on the processor. Results are right; its times say little about \
             GPUs.",
        ),
    }
    ctx.note(format!(
        "`auto` chooses {} here.",
        crate::devices::automatic(&environment.devices)
    ));
    for remedy in remedies {
        ctx.note(remedy);
    }
    Ok(())
}

fn device_row(d: &DeviceFacts) -> Vec<Cell> {
    let mut what = d.model.clone();
    for (has, text) in [
        (d.software, "software adapter"),
        (d.integrated == Some(true), "shares the processor's memory"),
    ] {
        if has {
            what.push_str(&format!(", {text}"));
        }
    }
    if !d.driver.is_empty() {
        what.push_str(&format!(" ({})", d.driver));
    }
    vec![
        Cell::text(&d.name),
        d.memory
            .map_or(Cell::Missing, |bytes| Cell::number(bytes as f64)),
        Cell::text(&d.api),
        Cell::text(what),
    ]
}

fn check_row(kind: DeviceKind, check: &Check) -> Vec<Cell> {
    let outcome = match check.outcome {
        Outcome::Ok => "ok",
        Outcome::Warning => "warning",
        Outcome::Missing => "missing",
        Outcome::Unknown => "unknown",
    };
    vec![
        Cell::text(kind_name(kind)),
        Cell::text(step_name(check.step)),
        Cell::text(outcome),
        Cell::text(&check.seen),
    ]
}

fn kind_name(kind: DeviceKind) -> &'static str {
    match kind {
        DeviceKind::Cpu => "cpu",
        DeviceKind::Wgpu => "wgpu",
        DeviceKind::Cuda => "cuda",
    }
}

fn step_name(step: CheckStep) -> &'static str {
    match step {
        CheckStep::Driver => "driver",
        CheckStep::Build => "build",
        CheckStep::Version => "version",
        CheckStep::Visibility => "visibility",
        CheckStep::Memory => "memory",
    }
}
