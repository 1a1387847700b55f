//! What a lesson is, the list of lessons, and how one is run.

use serde::{Deserialize, Serialize};

use crate::ctx::Ctx;
use crate::environment::Environment;
use crate::error::LessonError;
use crate::event::Event;
use crate::host::{LocalFuture, Surroundings};
use crate::nearest::nearest;
use crate::params::{ParamSpec, Params};
use crate::report::{Report, Status};
use crate::{bench, doctor, train, transfer};

/// What a lesson says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LessonInfo {
    /// Id, stable: the name on the command line, in links and in reports.
    pub id: String,
    /// Title.
    pub title: String,
    /// The question that a run answers.
    pub question: String,
    /// A tool rather than a lesson: the page shows it apart.
    #[serde(default)]
    pub instrument: bool,
    /// What it can be asked for, in the order of the form.
    pub params: Vec<ParamSpec>,
}

/// A lesson: what it says of itself, and what it does.
#[derive(Clone, Copy)]
pub struct Lesson {
    /// What it says of itself.
    pub info: fn() -> LessonInfo,
    /// What it does; figures go to the context as they come.
    pub run: Act,
    /// Opens devices and builds the kernels that a run with these parameters needs, and loads its data: done while the
    /// learner reads, so that a run begins at once.
    pub prepare: Option<Act>,
}

/// Something that a lesson does in a context.
pub type Act = for<'a> fn(&'a Params, &'a Ctx) -> LocalFuture<'a, Result<(), LessonError>>;

/// All lessons, in the order in which to take them.
pub fn all() -> &'static [Lesson] {
    &[
        doctor::LESSON,
        transfer::LESSON,
        train::LESSON,
        bench::LESSON,
    ]
}

/// What all lessons say of themselves.
pub fn catalogue() -> Vec<LessonInfo> {
    all().iter().map(|l| (l.info)()).collect()
}

/// The lesson with this id.
pub fn find(id: &str) -> Result<(&'static Lesson, LessonInfo), LessonError> {
    let known = catalogue();
    match all().iter().zip(&known).find(|(_, info)| info.id == id) {
        Some((lesson, info)) => Ok((lesson, info.clone())),
        None => Err(LessonError::UnknownLesson {
            name: id.into(),
            nearest: nearest(id, known.iter().map(|i| i.id.as_str())),
            known: known.iter().map(|i| i.id.clone()).collect(),
        }),
    }
}

/// Gets ready for a run, on its device before all others, and leaves no trace but what is open, compiled and loaded. A
/// failure is left for the run to tell.
pub async fn prepare(
    lesson: &Lesson,
    params: &Params,
    seed: u64,
    environment: Environment,
    surroundings: Surroundings,
) {
    let Some(act) = lesson.prepare else { return };
    let names: Vec<String> = environment.devices.iter().map(|d| d.name.clone()).collect();
    let report = Report::new(&(lesson.info)().id, params.clone(), seed, environment);
    let ctx = Ctx::new(surroundings, report);
    let devices = &ctx.surroundings().devices;
    match act(params, &ctx).await {
        // The device is what a learner changes first, and opening one takes a while.
        Ok(()) => {
            for name in names {
                if ctx.checkpoint().await.is_err() || devices.open(&name).await.is_err() {
                    break;
                }
            }
        }
        Err(LessonError::Cancelled) => {}
        Err(_) => devices.forget(),
    }
    for device in devices.opened() {
        device.memory().empty_cache();
        device.memory().reset_peaks();
        device.trace().clear();
    }
}

/// Runs a lesson to its end, however it ends: a run that fails or is cancelled leaves a partial report.
pub async fn run(
    lesson: &Lesson,
    params: &Params,
    seed: u64,
    environment: Environment,
    surroundings: Surroundings,
) -> Report {
    let id = (lesson.info)().id;
    let ctx = Ctx::new(
        surroundings,
        Report::new(&id, params.clone(), seed, environment),
    );
    let status = match (lesson.run)(params, &ctx).await {
        Ok(()) => Status::Done,
        Err(LessonError::Cancelled) => Status::Cancelled,
        Err(e) => Status::Failed {
            error: e.to_string(),
            help: e.help(),
        },
    };
    if matches!(status, Status::Failed { .. }) {
        // A lost device must not be handed to the next run.
        ctx.surroundings().devices.forget();
    }
    ctx.emit(Event::End { status });
    ctx.report()
}
