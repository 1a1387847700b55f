//! The repository's own commands: `cargo xtask play | test | bench | setup | help`.

mod args;
mod bench;
mod failure;
mod places;
mod play;
mod process;
mod setup;
mod site;
mod stages;
mod suites;
mod summary;
mod system;
mod tools;
mod wasm;
mod workspace;

use std::process::ExitCode;

use args::Command;
use failure::Failure;
use places::Places;

fn main() -> ExitCode {
    let command = match args::parse(std::env::args_os().skip(1)) {
        Ok(command) => command,
        Err(failure) => {
            eprintln!("{failure}");
            return ExitCode::from(2);
        }
    };
    match run(command) {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("\n{failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<ExitCode, Failure> {
    let places = Places::find()?;
    match command {
        Command::Help => print!("{}", args::HELP),
        Command::List => print!("{}", suites::list()),
        Command::Play { port, open } => play::play(&places, port, open)?,
        Command::Setup { check } => return setup::setup(&places, check),
        Command::Test { suites } => return suites::test(&places, &suites),
        Command::Bench {
            rounds,
            places: wanted,
        } => bench::bench(&places, rounds, &wanted)?,
    }
    Ok(ExitCode::SUCCESS)
}
