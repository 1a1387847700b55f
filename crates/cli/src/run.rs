//! `tensorscope run`, `train` and `doctor`: a lesson from flags to report.

use std::path::Path;
use std::rc::Rc;

use clap::ArgMatches;
use lessons::{
    Devices, Environment, Lesson, LessonInfo, Machine, ParamKind, Params, Report, Status,
    Surroundings, WallClock,
};

use crate::args;
use crate::failure::Failure;
use crate::folders::Folders;
use crate::output::{self, Ink};
use crate::show;
use crate::terminal::Terminal;
use crate::trace;

/// What a run is asked for besides its parameters.
#[derive(Default)]
pub struct Ask<'a> {
    /// Seed.
    pub seed: u64,
    /// File for the trace.
    pub trace: Option<&'a Path>,
}

impl<'a> Ask<'a> {
    /// From the command line.
    pub fn of(matches: &'a ArgMatches) -> Self {
        Ask {
            seed: matches.get_one("seed").copied().unwrap_or(0),
            trace: matches
                .get_one::<std::path::PathBuf>("trace")
                .map(std::path::PathBuf::as_path),
        }
    }
}

/// `tensorscope run LESSON`.
pub fn lesson(matches: &ArgMatches) -> Result<(), Failure> {
    let (id, matches) = args::named(matches)?;
    from_flags(id, matches)
}

/// `tensorscope train MODEL`.
pub fn train(matches: &ArgMatches) -> Result<(), Failure> {
    from_flags("train", matches)
}

/// `tensorscope doctor`.
pub fn doctor(matches: &ArgMatches) -> Result<(), Failure> {
    let (lesson, info) = lessons::find("doctor")?;
    let report = run(lesson, &info, &[], &Ask::default())?;
    finish(&info, &report, matches.get_flag("json"))
}

fn from_flags(id: &str, matches: &ArgMatches) -> Result<(), Failure> {
    let (lesson, info) = lessons::find(id)?;
    let report = run(
        lesson,
        &info,
        &args::given(&info, matches),
        &Ask::of(matches),
    )?;
    finish(&info, &report, matches.get_flag("json"))
}

/// Runs a lesson. What is wrong with the asking is refused before anything runs; what goes wrong later is in the report.
pub fn run(
    lesson: &Lesson,
    info: &LessonInfo,
    given: &[(&str, &str)],
    ask: &Ask<'_>,
) -> Result<Report, Failure> {
    let params =
        Params::parse(&info.params, given.iter().copied()).map_err(lessons::LessonError::from)?;
    let machine = Rc::new(Machine::new());
    let surroundings = Surroundings {
        devices: machine.clone(),
        host: Rc::new(Terminal::new()?),
        clock: Rc::new(WallClock::new()),
        data: Rc::new(Folders),
    };
    machine.set_tracing(ask.trace.is_some());
    let report = pollster::block_on(async {
        let environment = Environment::survey(&*machine, &*surroundings.clock).await;
        for spec in info.params.iter().filter(|p| p.kind == ParamKind::Device) {
            lessons::resolve(
                params
                    .text(&spec.name)
                    .map_err(lessons::LessonError::from)?,
                &environment.devices,
            )?;
        }
        Ok::<_, Failure>(lessons::run(lesson, &params, ask.seed, environment, surroundings).await)
    })?;
    if let Some(path) = ask.trace {
        trace::write(path, &machine.opened())?;
    }
    Ok(report)
}

/// Prints a report and turns its status into the program's end.
pub fn finish(info: &LessonInfo, report: &Report, json: bool) -> Result<(), Failure> {
    if json {
        output::json(report)?;
    } else {
        show::report(&mut Ink::stdout(), report, info)?;
    }
    ended(report, json)
}

/// The program's end for a report. Where people have not read the report, it says what went wrong.
pub fn ended(report: &Report, unread: bool) -> Result<(), Failure> {
    match &report.status {
        Status::Done => Ok(()),
        Status::Failed { error, help } if unread => Err(Failure::run(error, help.as_deref())),
        _ => Err(Failure::shown()),
    }
}
