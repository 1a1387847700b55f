//! The test suites: what each needs and what it runs.

use std::env;
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use serve::Server;

use crate::process::{cargo, watch};
use crate::setup::{Need, PAGE, Ready, prepare};
use crate::stages::Stages;
use crate::summary::{Ended, Outcome, is_count, text};
use crate::{Failure, Places, site, system, wasm, workspace};

/// A part of `cargo xtask test` that can be run alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suite {
    Fmt,
    Lint,
    Unit,
    Golden,
    Layout,
    Wgsl,
    Cuda,
    Cli,
    Browser,
}

/// The package of the tests that cross crates.
const CONFORMANCE: &str = "conformance";

/// The devices of the tests that run on all devices; a named one that is missing is a failure.
const DEVICES: &str = "TENSORSCOPE_TEST_DEVICES";

impl Suite {
    pub const ALL: [Self; 9] = [
        Self::Fmt,
        Self::Lint,
        Self::Unit,
        Self::Golden,
        Self::Layout,
        Self::Wgsl,
        Self::Cuda,
        Self::Cli,
        Self::Browser,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Fmt => "fmt",
            Self::Lint => "lint",
            Self::Unit => "unit",
            Self::Golden => "golden",
            Self::Layout => "layout",
            Self::Wgsl => "wgsl",
            Self::Cuda => "cuda",
            Self::Cli => "cli",
            Self::Browser => "browser",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|suite| suite.name() == name)
    }

    fn proves(self) -> &'static str {
        match self {
            Self::Fmt => "the code has rustfmt's format",
            Self::Lint => "clippy has nothing to say, natively and for WebAssembly",
            Self::Unit => "each crate's own tests, on the CPU",
            Self::Golden => "values, gradients and messages are PyTorch's, on the CPU",
            Self::Layout => "shapes, strides and views are PyTorch's",
            Self::Wgsl => {
                "the same on WGSL, on a software Vulkan device unless VK_DRIVER_FILES names another"
            }
            Self::Cuda => "the same on CUDA",
            Self::Cli => "the terminal's commands, their tables and their JSON",
            Self::Browser => "the built page in a headless Chromium, with and without WebGPU",
        }
    }

    fn needs(self) -> Vec<Need> {
        match self {
            Self::Fmt => vec![Need::Rustfmt],
            Self::Lint => vec![Need::Clippy, Need::Wasm, Need::WasmClippy],
            // Elsewhere the system's own graphics driver is the device.
            Self::Wgsl if cfg!(target_os = "linux") && env::var_os("VK_DRIVER_FILES").is_none() => {
                vec![Need::Vulkan]
            }
            Self::Unit | Self::Golden | Self::Layout | Self::Wgsl | Self::Cuda | Self::Cli => {
                Vec::new()
            }
            Self::Browser => [&PAGE[..], &[Need::Browser, Need::Node, Need::Playwright]].concat(),
        }
    }

    fn run(
        self,
        places: &Places,
        ready: &Ready,
        lines: &mut Vec<String>,
    ) -> Result<Outcome, Failure> {
        ready.check(&self.needs())?;
        let mut tests = Tests { places, lines };
        let tests = &mut tests;
        match self {
            Self::Fmt => tests.check(cargo().args(["fmt", "--all", "--check"])),
            Self::Lint => lint(tests, ready),
            Self::Unit => unit(tests),
            Self::Golden => golden(tests),
            Self::Layout => layout(tests),
            Self::Wgsl => wgsl(tests, ready),
            Self::Cuda => cuda(tests),
            Self::Cli => tests.cargo(&["--package", "tensorscope-cli"].map(String::from), &[]),
            Self::Browser => browser(tests, ready),
        }
    }
}

/// `cargo xtask test --list`.
pub fn list() -> String {
    let mut text = String::new();
    for suite in Suite::ALL {
        let _ = writeln!(text, "{:<8} {}", suite.name(), suite.proves());
    }
    text
}

/// `cargo xtask test`: sets up what the suites need, runs each whatever became of the others, and says the end again.
pub fn test(places: &Places, suites: &[Suite]) -> Result<ExitCode, Failure> {
    let mut stages = Stages::default();
    let needs: Vec<_> = suites.iter().flat_map(|suite| suite.needs()).collect();
    let ready = prepare(places, &needs, &mut stages);
    let mut ended = Vec::new();
    for suite in suites {
        let mut lines = Vec::new();
        let start = Instant::now();
        let outcome = stages.run(suite.name(), || suite.run(places, &ready, &mut lines));
        let outcome = outcome.unwrap_or_else(Outcome::Failed);
        match &outcome {
            Outcome::Passed => {}
            Outcome::Skipped(why) => eprintln!("   skipped: {why}"),
            Outcome::Failed(failure) => eprintln!("   {failure}"),
        }
        ended.push(Ended {
            suite: suite.name(),
            outcome,
            took: start.elapsed(),
            lines,
        });
    }
    let failed = ended
        .iter()
        .any(|suite| matches!(suite.outcome, Outcome::Failed(_)));
    println!("\n{}\n{}", stages.summary(), text(&ended));
    Ok(if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// A suite at work: it runs commands and keeps the test runners' counts.
struct Tests<'a> {
    places: &'a Places,
    lines: &'a mut Vec<String>,
}

impl Tests<'_> {
    /// Runs a command whose exit status is the result.
    fn check(&mut self, command: &mut Command) -> Result<Outcome, Failure> {
        let ok = self.watch(command)?;
        outcome(ok, "what it says above is the reason")
    }

    /// Runs `cargo test` with further arguments and variables.
    fn cargo(
        &mut self,
        arguments: &[String],
        variables: &[(&str, &str)],
    ) -> Result<Outcome, Failure> {
        let mut command = cargo();
        command.args(["test", "--no-fail-fast"]).args(arguments);
        command.envs(variables.iter().copied());
        let before = self.lines.len();
        let ok = self.watch(&mut command)?;
        if ok && self.lines.len() == before {
            return Err(Failure::new(
                "no test ran",
                "the suite's packages have no tests; see above",
            ));
        }
        outcome(ok, "the failed tests are named above")
    }

    fn watch(&mut self, command: &mut Command) -> Result<bool, Failure> {
        watch(command.current_dir(&self.places.root), |line| {
            if is_count(line) {
                self.lines.push(line.to_owned());
            }
        })
    }

    /// The tests across crates whose file has such a name. That there is none is a failure.
    fn conformance(&self, wanted: impl Fn(&str) -> bool) -> Result<Vec<String>, Failure> {
        let mut packages = workspace::packages(self.places)?;
        let mut names = packages.remove(CONFORMANCE).unwrap_or_default();
        names.retain(|name| wanted(name));
        if names.is_empty() {
            return Err(Failure::new(
                "there are no tests of this suite in tests/",
                "",
            ));
        }
        Ok(names)
    }
}

fn outcome(ok: bool, remedy: &str) -> Result<Outcome, Failure> {
    if ok {
        Ok(Outcome::Passed)
    } else {
        Err(Failure::new("it did not pass", remedy))
    }
}

fn lint(tests: &mut Tests, ready: &Ready) -> Result<Outcome, Failure> {
    const STRICT: [&str; 3] = ["--", "-D", "warnings"];
    let mut native = cargo();
    native.args(["clippy", "--workspace", "--exclude", "web", "--all-targets"]);
    // With the page's compiler this sees what is compiled for WebAssembly alone, in the engine's crates too.
    let mut wasm = ready.wasm()?.cargo()?;
    wasm.args(["clippy", "--package", "web", "--target", wasm::TARGET]);
    let native = tests.watch(native.args(STRICT))?;
    let wasm = tests.watch(wasm.args(STRICT))?;
    outcome(native && wasm, "`cargo clippy --fix` repairs some of it")
}

/// Everything that needs neither a device beside the CPU nor another suite's preparation.
fn unit(tests: &mut Tests) -> Result<Outcome, Failure> {
    const ELSEWHERE: [&str; 5] = [
        CONFORMANCE,
        "tensor-wgpu",
        "tensor-cuda",
        "tensorscope-cli",
        "web",
    ];
    let packages = workspace::packages(tests.places)?;
    let names: Vec<_> = packages
        .keys()
        .map(String::as_str)
        .filter(|name| !ELSEWHERE.contains(name))
        .collect();
    tests.cargo(&packages_and_tests(&names, &[]), &[])
}

fn layout(tests: &mut Tests) -> Result<Outcome, Failure> {
    let names = tests.conformance(is_layout)?;
    tests.cargo(&packages_and_tests(&[], &names), &[])
}

fn golden(tests: &mut Tests) -> Result<Outcome, Failure> {
    say_what_is_absent(tests.places);
    let names = tests.conformance(|name| !is_layout(name) && !is_device(name))?;
    let mut arguments = packages_and_tests(&[], &names);
    arguments.push("--lib".to_owned());
    let devices = devices("cpu");
    tests.cargo(&arguments, &[(DEVICES, &devices)])
}

/// The WGSL device's own tests, then everything across crates on it.
fn wgsl(tests: &mut Tests, ready: &Ready) -> Result<Outcome, Failure> {
    say_what_is_absent(tests.places);
    let names = tests.conformance(|name| !is_layout(name) && !name.starts_with("cuda"))?;
    let devices = devices("cpu,wgpu:0");
    let manifest = ready
        .path(Need::Vulkan)
        .map(Path::to_string_lossy)
        .unwrap_or_default();
    let mut variables = vec![(DEVICES, devices.as_str())];
    if !manifest.is_empty() {
        variables.push(("VK_DRIVER_FILES", &manifest));
    }
    // Without a desktop session Mesa's layer that puts the desktop's GPU first finds none to ask, and says so each time.
    if env::var_os("XDG_RUNTIME_DIR").is_none() {
        variables.push(("NODEVICE_SELECT", "1"));
    }
    let own = packages_and_tests(&["tensor-wgpu"], &[]);
    let mut outcome = tests.cargo(&own, &variables);
    // Every form of every kernel on the other software adapter too, unless somebody asked for a driver of their own.
    if let (false, Some(other)) = (manifest.is_empty(), system::swiftshader()) {
        eprintln!("   once more on {}", other.display());
        let other = other.to_string_lossy().into_owned();
        let variables = [
            ("VK_DRIVER_FILES", other.as_str()),
            ("NODEVICE_SELECT", "1"),
        ];
        outcome = outcome.and(tests.cargo(&own, &variables));
    }
    let all = tests.cargo(&packages_and_tests(&[], &names), &variables);
    outcome.and(all)
}

fn cuda(tests: &mut Tests) -> Result<Outcome, Failure> {
    if !tests.places.root.join("crates/tensor-cuda").is_dir() {
        return Ok(Outcome::Skipped("no CUDA device in this build".into()));
    }
    tests.cargo(&packages_and_tests(&["tensor-cuda"], &[]), &[])
}

fn browser(tests: &mut Tests, ready: &Ready) -> Result<Outcome, Failure> {
    const SCRIPT: &str = "tests/browser/run.mjs";
    if !tests.places.root.join(SCRIPT).is_file() {
        return Err(Failure::new(format!("there is no {SCRIPT}"), ""));
    }
    let dist = site::build(tests.places, ready)?;
    let failed = |error: serve::ServeError| Failure::new(error.to_string(), error.help());
    let server = Server::bind(0).map_err(failed)?;
    let url = server.url();
    // The thread ends with this process.
    server.spawn(&dist).map_err(failed)?;
    let mut node = Command::new(ready.path(Need::Node)?);
    node.arg(SCRIPT).arg(&url);
    node.env("NODE_PATH", ready.path(Need::Playwright)?);
    node.env("TENSORSCOPE_CHROMIUM", ready.path(Need::Browser)?);
    tests.check(&mut node)
}

/// The arguments of `cargo test` for whole packages, or for single test files of the tests across crates.
fn packages_and_tests(packages: &[&str], tests: &[String]) -> Vec<String> {
    let package = |name: &str| ["--package".to_owned(), name.to_owned()];
    let mut arguments: Vec<_> = packages.iter().flat_map(|name| package(name)).collect();
    if !tests.is_empty() {
        arguments.extend(package(CONFORMANCE));
        arguments.extend(
            tests
                .iter()
                .flat_map(|name| ["--test".to_owned(), name.clone()]),
        );
    }
    arguments
}

fn is_layout(name: &str) -> bool {
    name.starts_with("layout")
}

/// Tests of one device only; the others run on every device.
fn is_device(name: &str) -> bool {
    name.starts_with("wgsl") || name.starts_with("cuda")
}

/// The devices that somebody asked for, or else the suite's own.
fn devices(own: &str) -> String {
    env::var(DEVICES).unwrap_or_else(|_| own.to_owned())
}

fn say_what_is_absent(places: &Places) {
    if !places.shared_data().is_dir() {
        eprintln!(
            "   skip: {} is not there, so tests on real CIFAR-10 images do not run",
            places.shared_data().display()
        );
    }
    if let Some(folder) = env::var_os("TENSORSCOPE_GOLDEN_DIR") {
        eprintln!("   reference values: {}", Path::new(&folder).display());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suite_has_a_name_of_its_own_and_is_listed() {
        let list = list();
        assert_eq!(list.lines().count(), Suite::ALL.len());
        for (suite, line) in Suite::ALL.iter().zip(list.lines()) {
            assert_eq!(Suite::named(suite.name()), Some(*suite));
            assert!(line.starts_with(suite.name()), "{line}");
        }
        assert_eq!(Suite::named("Unit"), None);
    }

    #[test]
    fn test_files_belong_to_one_package_and_packages_stand_alone() {
        let arguments = packages_and_tests(&[], &["golden".into(), "errors".into()]);
        assert_eq!(
            arguments,
            [
                "--package",
                "conformance",
                "--test",
                "golden",
                "--test",
                "errors"
            ]
        );
        assert_eq!(packages_and_tests(&["nn"], &[]), ["--package", "nn"]);
    }

    #[test]
    fn the_browser_suite_needs_what_the_page_needs() {
        let needs = Suite::Browser.needs();
        assert!(PAGE.iter().all(|need| needs.contains(need)));
    }
}
