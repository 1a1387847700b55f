//! What was asked for. Parsing only; nothing is done here.

use std::ffi::OsString;

use lexopt::prelude::{Long, Short, Value};

use crate::Failure;
use crate::bench::Place;
use crate::suites::Suite;

/// The port that `play` asks for first.
const PORT: u16 = 8080;

pub const HELP: &str = "\
cargo xtask COMMAND

  play [--port N] [--no-open]   install what is missing, build the page, serve it on this machine
                                and open a browser (N: 8080; a busy port moves to the next free one)
  test [NAME...] [--list]       install what the tests need and run all suites, or the named ones
  bench [--rounds N] [PLACE...] measure this machine beside other libraries, N times (5), on all places or the
                                named ones: cpu, webgpu, wasm, vulkan
  setup [--check]               install what play and test need, and do nothing else;
                                with --check only say what is there and what is missing
  help                          this text

Tools that are on PATH are used first. What has to be installed goes to a cache folder:
$TENSORSCOPE_CACHE, or tensorscope in $XDG_CACHE_HOME, or ~/.cache/tensorscope.
";

/// One command with its options.
#[derive(Debug, PartialEq, Eq)]
pub enum Command {
    Help,
    List,
    Play { port: u16, open: bool },
    Test { suites: Vec<Suite> },
    Bench { rounds: usize, places: Vec<Place> },
    Setup { check: bool },
}

pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, Failure> {
    let mut parser = lexopt::Parser::from_args(arguments);
    let command = match parser.next().map_err(usage)? {
        None | Some(Short('h') | Long("help")) => return Ok(Command::Help),
        Some(Value(name)) => name.to_string_lossy().into_owned(),
        Some(other) => return Err(usage(other.unexpected())),
    };
    match command.as_str() {
        "help" => Ok(Command::Help),
        "play" => play(parser),
        "test" => test(parser),
        "setup" => setup(parser),
        "bench" => bench(parser),
        other => Err(Failure::new(
            format!("there is no command `{other}`"),
            "the commands are play, test, bench, setup and help",
        )),
    }
}

fn play(mut parser: lexopt::Parser) -> Result<Command, Failure> {
    let (mut port, mut open) = (PORT, true);
    while let Some(argument) = parser.next().map_err(usage)? {
        match argument {
            Long("port") => {
                let text = parser.value().map_err(usage)?;
                port = text
                    .to_str()
                    .and_then(|text| text.parse().ok())
                    .ok_or_else(|| {
                        Failure::new(
                            format!("--port {} is not a port", text.to_string_lossy()),
                            "a port is a number from 0 (any free one) to 65535",
                        )
                    })?;
            }
            Long("no-open") => open = false,
            Short('h') | Long("help") => return Ok(Command::Help),
            other => return Err(usage(other.unexpected())),
        }
    }
    Ok(Command::Play { port, open })
}

fn test(mut parser: lexopt::Parser) -> Result<Command, Failure> {
    let mut suites = Vec::new();
    while let Some(argument) = parser.next().map_err(usage)? {
        match argument {
            Long("list") => return Ok(Command::List),
            Short('h') | Long("help") => return Ok(Command::Help),
            Value(name) => {
                let name = name.to_string_lossy();
                let suite = Suite::named(&name).ok_or_else(|| {
                    let names: Vec<_> = Suite::ALL.iter().map(|suite| suite.name()).collect();
                    Failure::new(
                        format!("there is no suite `{name}`"),
                        format!("the suites are {}", names.join(", ")),
                    )
                })?;
                if !suites.contains(&suite) {
                    suites.push(suite);
                }
            }
            other => return Err(usage(other.unexpected())),
        }
    }
    Ok(Command::Test {
        suites: if suites.is_empty() {
            Suite::ALL.to_vec()
        } else {
            suites
        },
    })
}

/// Reads `--rounds N` and the places, all by default.
fn bench(mut parser: lexopt::Parser) -> Result<Command, Failure> {
    let (mut rounds, mut places) = (5, Vec::new());
    while let Some(argument) = parser.next().map_err(usage)? {
        match argument {
            Long("rounds") => {
                let text: OsString = parser.value().map_err(usage)?;
                let number = text.to_str().and_then(|t| t.parse().ok());
                rounds = number.filter(|n| *n > 0).ok_or_else(|| {
                    Failure::new(
                        format!(
                            "--rounds {} is not a number of rounds",
                            text.to_string_lossy()
                        ),
                        "give a number from 1 on",
                    )
                })?;
            }
            Value(name) => {
                let name = name.to_string_lossy();
                let place = Place::named(&name).ok_or_else(|| {
                    let names = Place::ALL.map(Place::name).join(", ");
                    Failure::new(
                        format!("there is no place `{name}`"),
                        format!("figures are taken on {names}"),
                    )
                })?;
                places.push(place);
            }
            Short('h') | Long("help") => return Ok(Command::Help),
            other => return Err(usage(other.unexpected())),
        }
    }
    if places.is_empty() {
        places = Place::ALL.to_vec();
    }
    Ok(Command::Bench { rounds, places })
}

fn setup(mut parser: lexopt::Parser) -> Result<Command, Failure> {
    let mut check = false;
    while let Some(argument) = parser.next().map_err(usage)? {
        match argument {
            Long("check") => check = true,
            Short('h') | Long("help") => return Ok(Command::Help),
            other => return Err(usage(other.unexpected())),
        }
    }
    Ok(Command::Setup { check })
}

fn usage(error: lexopt::Error) -> Failure {
    Failure::new(
        error.to_string(),
        "`cargo xtask help` lists the commands and their options",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, Failure> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn play_takes_a_port_and_no_open_in_any_order() {
        assert_eq!(
            parsed("play").unwrap(),
            Command::Play {
                port: 8080,
                open: true
            }
        );
        let both = Command::Play {
            port: 9000,
            open: false,
        };
        assert_eq!(parsed("play --port 9000 --no-open").unwrap(), both);
        assert_eq!(parsed("play --no-open --port=9000").unwrap(), both);
    }

    #[test]
    fn a_wrong_port_is_refused_with_the_range() {
        for line in ["play --port 65536", "play --port http", "play --port -1"] {
            let error = parsed(line).unwrap_err().to_string();
            assert!(error.contains("65535"), "{line}: {error}");
        }
        assert!(
            parsed("play --port")
                .unwrap_err()
                .to_string()
                .contains("--port")
        );
    }

    #[test]
    fn test_runs_all_suites_or_the_named_ones_once() {
        assert_eq!(
            parsed("test").unwrap(),
            Command::Test {
                suites: Suite::ALL.to_vec()
            }
        );
        let named = Command::Test {
            suites: vec![Suite::Unit, Suite::Fmt],
        };
        assert_eq!(parsed("test unit fmt unit").unwrap(), named);
        assert_eq!(parsed("test --list").unwrap(), Command::List);
    }

    #[test]
    fn an_unknown_suite_or_command_names_the_valid_ones() {
        let error = parsed("test fnt").unwrap_err().to_string();
        assert!(
            error.contains("fnt") && error.contains("fmt, lint, unit"),
            "{error}"
        );
        let error = parsed("paly").unwrap_err().to_string();
        assert!(
            error.contains("paly") && error.contains("play, test"),
            "{error}"
        );
        assert!(
            parsed("play --prot 1")
                .unwrap_err()
                .to_string()
                .contains("--prot")
        );
    }

    #[test]
    fn bench_takes_rounds_and_places() {
        let all = Command::Bench {
            rounds: 5,
            places: Place::ALL.to_vec(),
        };
        assert_eq!(parsed("bench").unwrap(), all);
        let some = Command::Bench {
            rounds: 2,
            places: vec![Place::Wasm, Place::Cpu],
        };
        assert_eq!(parsed("bench --rounds 2 wasm cpu").unwrap(), some);
        let wrong = |line| parsed(line).unwrap_err().to_string();
        assert!(wrong("bench moon").contains("cpu, webgpu, wasm, vulkan"));
        assert!(wrong("bench --rounds 0").contains("rounds"));
    }

    #[test]
    fn nothing_is_help() {
        for line in ["", "help", "--help", "-h", "play --help"] {
            assert_eq!(parsed(line).unwrap(), Command::Help, "{line}");
        }
    }
}
