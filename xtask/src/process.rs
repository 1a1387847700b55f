//! Running other programs.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Failure;

/// The cargo that runs this tool.
pub fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The first program of that name on PATH.
pub fn on_path(name: &str) -> Option<PathBuf> {
    all_on_path(name, env::var_os("PATH").as_deref())
        .into_iter()
        .next()
}

/// Every program of that name on a search path, in its order.
pub fn all_on_path(name: &str, path: Option<&OsStr>) -> Vec<PathBuf> {
    let file = format!("{name}{}", env::consts::EXE_SUFFIX);
    let folders = path
        .map(|path| env::split_paths(path).collect::<Vec<_>>())
        .unwrap_or_default();
    folders
        .into_iter()
        .map(|folder| folder.join(&file))
        .filter(|path| is_program(path))
        .collect()
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

/// PATH with folders put before the others.
pub fn path_with(first: &[&Path]) -> Result<OsString, Failure> {
    let rest = env::var_os("PATH").unwrap_or_default();
    let folders = first
        .iter()
        .map(|folder| folder.to_path_buf())
        .chain(env::split_paths(&rest));
    env::join_paths(folders).map_err(|error| {
        Failure::new(
            format!("a folder cannot be put on PATH: {error}"),
            "move it to a path without `:`",
        )
    })
}

/// Runs a program in the open: what it prints is seen. An exit status other than 0 is a failure.
pub fn run(command: &mut Command, remedy: &str) -> Result<(), Failure> {
    let shown = shown(command);
    let status = command
        .status()
        .map_err(|error| not_started(&shown, &error))?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::new(format!("`{shown}`: {status}"), remedy))
    }
}

/// What a program prints, when it can be run and succeeds.
pub fn output(command: &mut Command) -> Option<String> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a program in the open and hands over each line of its standard output as well; true when it succeeded.
pub fn watch(command: &mut Command, mut line_seen: impl FnMut(&str)) -> Result<bool, Failure> {
    let shown = shown(command);
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| not_started(&shown, &error))?;
    if let Some(stdout) = child.stdout.take() {
        let mut reader = BufReader::new(stdout);
        let mut line = Vec::new();
        while reader
            .read_until(b'\n', &mut line)
            .is_ok_and(|read| read > 0)
        {
            let mut screen = std::io::stdout().lock();
            // A closed screen does not make the tests fail.
            let _ = screen.write_all(&line).and_then(|()| screen.flush());
            line_seen(String::from_utf8_lossy(&line).trim_end());
            line.clear();
        }
    }
    let status = child.wait().map_err(|error| not_started(&shown, &error))?;
    Ok(status.success())
}

/// The command line as a person would type it.
pub fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program
        .file_name()
        .unwrap_or(program.as_os_str())
        .to_string_lossy();
    let arguments = command.get_args().map(OsStr::to_string_lossy);
    [name]
        .into_iter()
        .chain(arguments)
        .collect::<Vec<_>>()
        .join(" ")
}

fn not_started(shown: &str, error: &std::io::Error) -> Failure {
    Failure::new(
        format!("`{shown}` did not start: {error}"),
        "is it installed and on PATH?",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_handed_over_and_the_status_kept() {
        let mut lines = Vec::new();
        let version = watch(cargo().arg("--version"), |line| lines.push(line.to_owned())).unwrap();
        assert!(version);
        assert!(
            lines.len() == 1 && lines[0].starts_with("cargo "),
            "{lines:?}"
        );
        assert!(!watch(cargo().arg("no-such-command").stderr(Stdio::null()), |_| {}).unwrap());
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let error = run(&mut Command::new("no-such-program"), "")
            .unwrap_err()
            .to_string();
        assert!(error.contains("no-such-program"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn only_programs_are_found_and_in_the_order_of_the_path() {
        assert!(on_path("sh").is_some());
        assert!(all_on_path("passwd", Some(OsStr::new("/etc"))).is_empty());
        let twice = all_on_path("sh", Some(OsStr::new("/bin:/nowhere:/bin")));
        assert_eq!(twice, [Path::new("/bin/sh"), Path::new("/bin/sh")]);
    }
}
