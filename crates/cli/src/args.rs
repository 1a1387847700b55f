//! The command line. Flags of lessons are made from the lessons' own descriptions; nothing is declared twice.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use lessons::{LessonInfo, ParamKind, ParamSpec};

use crate::failure::Failure;

const EXIT_CODES: &str = "Exit codes: 0 done, 1 the run failed or was stopped, 2 wrong usage.";

/// The whole command line.
pub fn command() -> Command {
    let catalogue = lessons::catalogue();
    let run = Command::new("run")
        .about("Run a lesson")
        .subcommand_required(true)
        .subcommand_value_name("LESSON")
        .subcommand_help_heading("Lessons")
        .disable_help_subcommand(true)
        .subcommands(
            catalogue
                .iter()
                .filter(|info| !info.instrument)
                .map(lesson_command),
        );
    let mut command = Command::new("tensorscope")
        .version(env!("CARGO_PKG_VERSION"))
        .about("What tensors on a GPU really cost, measured on your own machine")
        .after_help(EXIT_CODES)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("list")
                .about("List the lessons and what they ask")
                .arg(json_flag()),
        )
        .subcommand(
            Command::new("doctor")
                .about("What this machine is: its devices, and why one is missing")
                .arg(json_flag()),
        )
        .subcommand(run)
        .subcommand(data_command())
        .subcommand(serve_command());
    if let Some(bench) = catalogue.iter().find(|info| info.id == "bench") {
        command = command.subcommand(bench_command(bench));
    }
    if let Some(train) = catalogue.iter().find(|info| info.id == "train") {
        command = command.subcommand(train_command(train));
    }
    command
}

fn json_flag() -> Arg {
    Arg::new("json")
        .long("json")
        .action(ArgAction::SetTrue)
        .help("Print JSON instead of tables")
}

fn data_command() -> Command {
    let folder = || {
        Arg::new("data-dir")
            .long("data-dir")
            .value_name("DIR")
            .value_parser(value_parser!(PathBuf))
    };
    Command::new("data")
        .about("Fetch data sets, and look at what is there")
        .subcommand_required(true)
        .subcommand(
            Command::new("get")
                .about("Fetch a whole data set; a broken download is continued")
                .arg(
                    Arg::new("set")
                        .value_name("SET")
                        .required(true)
                        .help("mnist"),
                )
                .arg(folder().help("Where to put it, instead of the user's data folder")),
        )
        .subcommand(
            Command::new("info")
                .about("What a folder of data files holds, or what comes with the program")
                .arg(folder().help("The folder to look at"))
                .arg(json_flag()),
        )
}

fn serve_command() -> Command {
    Command::new("serve")
        .about("Serve the page on this machine")
        .arg(
            Arg::new("site")
                .long("site")
                .value_name("DIR")
                .value_parser(value_parser!(PathBuf))
                .help("Folder of the built page [default: dist]"),
        )
        .arg(
            Arg::new("port")
                .long("port")
                .value_name("N")
                .value_parser(value_parser!(u16))
                .default_value("8080")
                .help("Port; a busy one moves to the next free one"),
        )
        .arg(
            Arg::new("no-open")
                .long("no-open")
                .action(ArgAction::SetTrue)
                .help("Do not open a browser"),
        )
        .after_help(EXIT_CODES)
}

/// What every run takes besides its lesson's parameters.
fn common(command: Command) -> Command {
    command
        .arg(
            Arg::new("seed")
                .long("seed")
                .value_name("N")
                .value_parser(value_parser!(u64))
                .default_value("0")
                .help("Seed of weights, batches and inputs"),
        )
        .arg(json_flag())
        .arg(
            Arg::new("trace")
                .long("trace")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Write what the devices did as Chrome trace events (open it in Perfetto)"),
        )
        .after_help(EXIT_CODES)
}

fn lesson_command(info: &LessonInfo) -> Command {
    common(
        Command::new(info.id.clone())
            .about(info.title.clone())
            .long_about(info.question.clone()),
    )
    .args(info.params.iter().map(flag))
}

fn train_command(info: &LessonInfo) -> Command {
    let (model, rest): (Vec<_>, Vec<_>) = info.params.iter().partition(|p| p.name == "model");
    let positional = model.into_iter().map(|p| {
        Arg::new(p.name.clone())
            .value_name("MODEL")
            .required(true)
            .help(format!("{} [{}]", p.help, p.range()))
    });
    common(
        Command::new("train")
            .about("Train a network; short for `run train`")
            .long_about(info.question.clone()),
    )
    .args(positional)
    .args(rest.into_iter().map(flag))
}

fn bench_command(info: &LessonInfo) -> Command {
    lesson_command(info)
        .about("Measure fixed workloads, to set devices, machines and libraries beside each other")
        .arg(
            Arg::new("peer-lines")
                .long("peer-lines")
                .action(ArgAction::SetTrue)
                .conflicts_with("json")
                .help("Print one JSON line a case, as other libraries' benchmarks do"),
        )
}

fn flag(spec: &ParamSpec) -> Arg {
    let default = spec.default.to_string();
    let mut help = format!("{} [{}]", spec.help, spec.range());
    if !default.is_empty() {
        help.push_str(&format!(" [default: {default}]"));
    }
    let arg = Arg::new(spec.name.clone())
        .long(spec.name.clone())
        .help(help);
    match spec.kind {
        ParamKind::Bool => arg
            .num_args(0..=1)
            .default_missing_value("true")
            .value_name("true|false"),
        ParamKind::Int { .. } => arg.value_name("N").allow_hyphen_values(true),
        ParamKind::Float { .. } => arg.value_name("X").allow_hyphen_values(true),
        ParamKind::Choice { .. } => arg.value_name("WORD"),
        ParamKind::Subset { .. } => arg.value_name("WORD,..."),
        ParamKind::Sizes { .. } => arg.value_name("N,N,..."),
        ParamKind::Device => arg.value_name("DEVICE"),
        ParamKind::Folder => arg.value_name("DIR"),
    }
}

/// The lesson's parameters as they were typed.
pub fn given<'a>(info: &'a LessonInfo, matches: &'a ArgMatches) -> Vec<(&'a str, &'a str)> {
    let text = |name: &str| matches.try_get_one::<String>(name).ok().flatten();
    info.params
        .iter()
        .filter_map(|p| Some((p.name.as_str(), text(&p.name)?.as_str())))
        .collect()
}

/// The lesson named by the subcommand, with its own matches.
pub fn named(matches: &ArgMatches) -> Result<(&str, &ArgMatches), Failure> {
    matches
        .subcommand()
        .ok_or_else(|| Failure::usage("no lesson named", "`tensorscope list` shows the lessons"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::command().debug_assert();
    }
}
