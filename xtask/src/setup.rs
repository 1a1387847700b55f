//! What the commands need: looked for first, installed where it is missing, and said either way.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::process::{cargo, on_path, output, run};
use crate::stages::Stages;
use crate::system::{self, BROWSER, NODE, Part, VULKAN};
use crate::wasm::{self, Toolchain};
use crate::{Failure, Places, tools};

/// Something that a command needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    Rustfmt,
    Clippy,
    Vulkan,
    Browser,
    Node,
    Wasm,
    WasmClippy,
    Trunk,
    WasmBindgen,
    Playwright,
}

/// What the page's build needs.
pub const PAGE: [Need; 3] = [Need::Wasm, Need::Trunk, Need::WasmBindgen];

impl Need {
    /// All of them, in the order in which they are installed.
    const ALL: [Self; 10] = [
        Self::Rustfmt,
        Self::Clippy,
        Self::Vulkan,
        Self::Browser,
        Self::Node,
        Self::Wasm,
        Self::WasmClippy,
        Self::Trunk,
        Self::WasmBindgen,
        Self::Playwright,
    ];

    /// What it is, with its version where that matters.
    fn name(self, places: &Places) -> String {
        let tool = |tool: &tools::Tool| format!("{} {}", tool.name, tool.version);
        match self {
            Self::Rustfmt => "rustfmt".into(),
            Self::Clippy => "clippy".into(),
            Self::WasmClippy => "clippy for WebAssembly".into(),
            Self::Wasm => "WebAssembly compiler".into(),
            Self::Trunk => tool(&tools::trunk()),
            Self::WasmBindgen => tools::wasm_bindgen(places)
                .map_or_else(|_| "wasm-bindgen".into(), |found| tool(&found)),
            Self::Playwright => format!("playwright-core {}", tools::PLAYWRIGHT),
            Self::Vulkan => VULKAN.name.into(),
            Self::Browser => BROWSER.name.into(),
            Self::Node => NODE.name.into(),
        }
    }

    /// What it is for.
    fn why(self) -> &'static str {
        match self {
            Self::Rustfmt => "checks the format of the code",
            Self::Clippy => "lints the code",
            Self::WasmClippy => "lints the page's code",
            Self::Wasm => "builds the page and its engine",
            Self::Trunk => "bundles the page",
            Self::WasmBindgen => "writes the JavaScript between the page and its engine",
            Self::Playwright => "drives the browser in its tests",
            Self::Vulkan => VULKAN.why,
            Self::Browser => BROWSER.why,
            Self::Node => NODE.why,
        }
    }

    /// The part of the system that it is, if it is one.
    fn part(self) -> Option<&'static Part> {
        match self {
            Self::Vulkan => Some(&VULKAN),
            Self::Browser => Some(&BROWSER),
            Self::Node => Some(&NODE),
            _ => None,
        }
    }

    /// Where it is, if it is there.
    fn find(self, places: &Places, wasm: Option<Toolchain>) -> Option<PathBuf> {
        // Something that is there but has no one path is said to be `found as`.
        let answers = |command: &mut Command| output(command).map(|text| text.trim().into());
        match self {
            Self::Rustfmt => answers(cargo().args(["fmt", "--version"])),
            Self::Clippy => answers(cargo().args(["clippy", "--version"])),
            Self::WasmClippy => answers(wasm?.cargo().ok()?.args(["clippy", "--version"])),
            Self::Wasm => wasm.map(|toolchain| toolchain.describe().into()),
            Self::Trunk => tools::trunk().find(places),
            Self::WasmBindgen => tools::wasm_bindgen(places).ok()?.find(places),
            Self::Playwright => tools::find_playwright(places),
            Self::Vulkan | Self::Browser | Self::Node => (self.part()?.find)(),
        }
    }
}

/// What was found or installed, and what could not be.
pub struct Ready {
    found: BTreeMap<Need, PathBuf>,
    wasm: Option<Toolchain>,
    missing: BTreeMap<Need, Failure>,
}

impl Ready {
    /// Where it is, or why it is not there.
    pub fn path(&self, need: Need) -> Result<&Path, Failure> {
        self.found
            .get(&need)
            .map(PathBuf::as_path)
            .ok_or_else(|| self.why_not(need))
    }

    pub fn wasm(&self) -> Result<Toolchain, Failure> {
        self.wasm.ok_or_else(|| self.why_not(Need::Wasm))
    }

    /// Fails with the first of the needs that is not there.
    pub fn check(&self, needs: &[Need]) -> Result<(), Failure> {
        needs.iter().try_for_each(|need| self.path(*need).map(drop))
    }

    fn why_not(&self, need: Need) -> Failure {
        let unasked = || Failure::new(format!("{need:?} was not looked for"), "");
        self.missing.get(&need).cloned().unwrap_or_else(unasked)
    }
}

/// Finds or installs what is needed. What cannot be had is kept as a failure, for those who need it.
pub fn prepare(places: &Places, needs: &[Need], stages: &mut Stages) -> Ready {
    let mut ready = Ready {
        found: BTreeMap::new(),
        wasm: None,
        missing: BTreeMap::new(),
    };
    let needs: Vec<_> = Need::ALL
        .into_iter()
        .filter(|need| needs.contains(need))
        .collect();
    let needs_wasm = needs.contains(&Need::Wasm) || needs.contains(&Need::WasmClippy);

    let absent = stages.run("set-up: what is there", || {
        if needs_wasm {
            ready.wasm = Toolchain::find(places);
        }
        look(places, &needs, &mut ready)
    });
    let parts: Vec<_> = absent.iter().filter_map(|need| need.part()).collect();
    if !parts.is_empty() {
        let result = stages.run("set-up: system packages", || install_parts(&parts));
        for need in absent.iter().filter(|need| need.part().is_some()) {
            settle(*need, places, result.clone(), &mut ready);
        }
    }
    for need in absent.into_iter().filter(|need| need.part().is_none()) {
        // Debian's compiler brings its clippy along.
        if let Some(path) = need.find(places, ready.wasm) {
            ready.found.insert(need, path);
            continue;
        }
        let name = need.name(places);
        let result = stages.run(&format!("set-up: {name}"), || {
            eprintln!("   {name} {}", need.why());
            install(need, places, &mut ready)
        });
        settle(need, places, result, &mut ready);
    }
    ready
}

/// Says of each need where it is, and gives those that are missing.
fn look(places: &Places, needs: &[Need], ready: &mut Ready) -> Vec<Need> {
    let mut absent = Vec::new();
    for need in needs {
        if let Some(path) = need.find(places, ready.wasm) {
            eprintln!("   {}: {}", need.name(places), path.display());
            ready.found.insert(*need, path);
        } else {
            eprintln!("   {}: missing ({})", need.name(places), need.why());
            absent.push(*need);
        }
    }
    absent
}

fn install_parts(parts: &[&Part]) -> Result<(), Failure> {
    for part in parts {
        eprintln!("   {}: {}", part.name, part.why);
    }
    let packages: Vec<_> = parts.iter().flat_map(|part| part.debian).copied().collect();
    system::install(&packages)
}

fn install(need: Need, places: &Places, ready: &mut Ready) -> Result<(), Failure> {
    match need {
        Need::Rustfmt => rustup_component("rustfmt"),
        Need::Clippy => rustup_component("clippy"),
        Need::WasmClippy => match ready.wasm()? {
            Toolchain::Own => rustup_component("clippy"),
            Toolchain::Debian => system::install(&["rust-web-clippy"]),
        },
        Need::Wasm => {
            ready.wasm = Some(wasm::provide(places)?);
            Ok(())
        }
        Need::Trunk => tools::trunk().install(places).map(drop),
        Need::WasmBindgen => tools::wasm_bindgen(places)?.install(places).map(drop),
        Need::Playwright => {
            ready.path(Need::Node)?;
            tools::install_playwright(places).map(drop)
        }
        Need::Vulkan | Need::Browser | Need::Node => Ok(()),
    }
}

fn rustup_component(name: &str) -> Result<(), Failure> {
    let by_hand = format!("`rustup component add {name}`, or your system's package of it");
    if on_path("rustup").is_none() {
        return Err(Failure::new(
            format!("this Rust tool chain has no {name}"),
            by_hand,
        ));
    }
    run(
        Command::new("rustup").args(["component", "add", name]),
        &by_hand,
    )
}

/// Looks again after an installation, and keeps the place or the failure.
fn settle(need: Need, places: &Places, result: Result<(), Failure>, ready: &mut Ready) {
    let name = need.name(places);
    if let Some(path) = need.find(places, ready.wasm) {
        eprintln!("   {name}: {}", path.display());
        ready.found.insert(need, path);
        return;
    }
    let remedy = need.part().map_or("", |part| part.elsewhere);
    let failure = match result {
        Err(failure) if remedy.is_empty() => failure,
        Err(failure) => failure.or(remedy),
        Ok(()) => Failure::new(format!("{name}: it was installed but is not found"), remedy),
    };
    eprintln!("   {failure}");
    ready.missing.insert(need, failure);
}

/// `cargo xtask setup`.
pub fn setup(places: &Places, check: bool) -> Result<ExitCode, Failure> {
    let mut stages = Stages::default();
    if check {
        let mut ready = Ready {
            found: BTreeMap::new(),
            wasm: Toolchain::find(places),
            missing: BTreeMap::new(),
        };
        let absent = look(places, &Need::ALL, &mut ready);
        return Ok(if absent.is_empty() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        });
    }
    let ready = prepare(places, &Need::ALL, &mut stages);
    eprint!("\n{}", stages.summary());
    ready.check(&Need::ALL)?;
    Ok(ExitCode::SUCCESS)
}
