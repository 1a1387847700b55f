//! `cargo xtask bench`: this machine's figures on every device, beside those of other libraries, in rounds.
//!
//! A round measures a device and then its peer, one after the other, so that whatever else the machine does falls on both.
//! Peers come from a folder of their own (`TENSORSCOPE_PEERS`, else `../shared/peers`); without it, ours are measured alone.

mod record;
mod table;

use std::path::{Path, PathBuf};
use std::process::Command;

use serve::Server;

use crate::process::{cargo, run};
use crate::setup::{Need, PAGE, prepare};
use crate::stages::Stages;
use crate::{Failure, Places, site};
use record::Record;

/// Where this project's figures are taken, and who is measured beside them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Cpu,
    WebGpu,
    Wasm,
    Vulkan,
}

impl Place {
    pub const ALL: [Self; 4] = [Self::Cpu, Self::WebGpu, Self::Wasm, Self::Vulkan];

    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::WebGpu => "webgpu",
            Self::Wasm => "wasm",
            Self::Vulkan => "vulkan",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|place| place.name() == name)
    }

    fn title(self) -> &'static str {
        match self {
            Self::Cpu => "CPU, native, against PyTorch",
            Self::WebGpu => "WebGPU in a browser, against jax-js",
            Self::Wasm => "wasm in a browser, one thread, against jax-js with threads",
            Self::Vulkan => "native WGSL on the first Vulkan device",
        }
    }

    /// The peer, as the peers' folder calls it.
    fn peer(self) -> Option<&'static str> {
        match self {
            Self::Cpu => Some("torch"),
            Self::WebGpu => Some("jax-webgpu"),
            Self::Wasm => Some("jax-wasm"),
            Self::Vulkan => None,
        }
    }

    /// How many times as fast as the peer each case is to be.
    fn goals(self) -> &'static [(&'static str, &'static str, f64)] {
        match self {
            Self::Cpu => &[
                ("W1", "n=64 compute", 0.95),
                ("W1", "n=256 compute", 0.95),
                ("W1", "n=512 compute", 0.95),
                ("W1", "n=1024 compute", 0.95),
                ("W1", "n=2048 compute", 0.95),
                ("W2", "2^22", 1.0),
                ("W2", "2^24", 3.0),
                ("W2b", "2^24", 0.9),
                ("W2c", "4096x4096", 3.0),
                ("W3a", "3x32x32", 1.2),
                ("W3b", "3x64x64", 1.2),
                ("W4", "784-128-10", 1.5),
            ],
            Self::WebGpu => &[
                ("W1", "n=512 compute", 1.1),
                ("W2", "2^24", 1.2),
                ("W2b", "2^24", 2.0),
                ("W3a", "3x32x32", 2.0),
                ("W3b", "3x64x64", 2.0),
                ("W4", "784-128-10", 2.0),
            ],
            Self::Wasm => &[
                ("W1", "n=512 compute", 0.6),
                ("W3a", "3x32x32", 6.0),
                ("W4", "784-128-10", 2.5),
            ],
            Self::Vulkan => &[],
        }
    }
}

/// What measures, once everything is built.
struct Bench<'a> {
    places: &'a Places,
    node: PathBuf,
    modules: PathBuf,
    browser: PathBuf,
    vulkan: Option<PathBuf>,
    url: String,
    peers: Option<PathBuf>,
    results: PathBuf,
}

pub fn bench(places: &Places, rounds: usize, wanted: &[Place]) -> Result<(), Failure> {
    let mut stages = Stages::default();
    let mut needs = PAGE.to_vec();
    needs.extend([Need::Node, Need::Playwright, Need::Browser]);
    // Without a Vulkan driver for the CPU, the system's own is the device.
    let ready = prepare(places, &[&needs[..], &[Need::Vulkan]].concat(), &mut stages);
    ready.check(&needs)?;
    let dist = stages.run("build the page", || site::build(places, &ready))?;
    stages.run("build the program", || {
        let mut command = cargo();
        command.args(["build", "--release", "--package", "tensorscope-cli"]);
        run(command.current_dir(&places.root), "")
    })?;
    eprint!("\n{}", stages.summary());

    let failed = |error: serve::ServeError| Failure::new(error.to_string(), error.help());
    let server = Server::bind(0).map_err(failed)?;
    let url = server.url();
    // The thread ends with this process.
    server.spawn(&dist).map_err(failed)?;
    let results = places.target().join("bench");
    std::fs::create_dir_all(&results)
        .map_err(|e| Failure::new(format!("{}: {e}", results.display()), ""))?;
    let bench = Bench {
        places,
        node: ready.path(Need::Node)?.to_owned(),
        modules: ready.path(Need::Playwright)?.to_owned(),
        browser: ready.path(Need::Browser)?.to_owned(),
        vulkan: ready.path(Need::Vulkan).ok().map(Path::to_owned),
        url,
        peers: peers(places),
        results,
    };
    let mut records: Vec<(Place, Record)> =
        wanted.iter().map(|p| (*p, Record::default())).collect();
    for round in 1..=rounds {
        for (place, record) in &mut records {
            eprintln!("\nround {round} of {rounds}: {}", place.title());
            bench.measure(*place, record)?;
        }
    }
    let mut text = String::new();
    for (place, record) in &records {
        text += &table::of(place.title(), place.goals(), record);
    }
    let file = bench.results.join("tables.md");
    std::fs::write(&file, &text)
        .map_err(|e| Failure::new(format!("{}: {e}", file.display()), ""))?;
    println!("\n{text}");
    eprintln!("the tables are in {}", file.display());
    Ok(())
}

/// The folder with the other libraries' benchmarks.
fn peers(places: &Places) -> Option<PathBuf> {
    let folder = std::env::var_os("TENSORSCOPE_PEERS")
        .map_or_else(|| places.root.join("../shared/peers"), PathBuf::from);
    if folder.join("run").is_file() {
        return Some(folder);
    }
    eprintln!(
        "{} is not there: only this project is measured",
        folder.display()
    );
    None
}

impl Bench<'_> {
    /// One round of a place: ours, then its peer's.
    fn measure(&self, place: Place, record: &mut Record) -> Result<(), Failure> {
        for mut command in self.ours(place) {
            record.ours(&record::lines(&mut command)?);
        }
        if let (Some(folder), Some(peer)) = (&self.peers, place.peer()) {
            record.theirs(&self.peer(folder, peer)?);
        }
        Ok(())
    }

    fn ours(&self, place: Place) -> Vec<Command> {
        match place {
            Place::Cpu => vec![self.native(&["--device", "cpu"])],
            Place::Vulkan => vec![
                self.native(&[
                    "--device",
                    "wgpu:0",
                    "--scale",
                    "small",
                    "--workloads",
                    "W1",
                ]),
                self.native(&[
                    "--device",
                    "wgpu:0",
                    "--scale",
                    "full",
                    "--workloads",
                    "W3a,W4",
                ]),
            ],
            Place::WebGpu => vec![
                self.in_browser("wgpu:0", "full", "W2,W2b,W3a,W3b,W4"),
                self.in_browser("wgpu:0", "small", "W1"),
            ],
            Place::Wasm => vec![
                self.in_browser("cpu", "full", "W3a,W4"),
                self.in_browser("cpu", "small", "W1"),
            ],
        }
    }

    fn native(&self, arguments: &[&str]) -> Command {
        let name = format!("tensorscope{}", std::env::consts::EXE_SUFFIX);
        let mut command = Command::new(self.places.target().join("release").join(name));
        command.args(["bench", "--peer-lines"]).args(arguments);
        if let Some(manifest) = &self.vulkan
            && std::env::var_os("VK_DRIVER_FILES").is_none()
        {
            command.env("VK_DRIVER_FILES", manifest);
        }
        command
    }

    fn in_browser(&self, device: &str, scale: &str, workloads: &str) -> Command {
        let mut command = Command::new(&self.node);
        command
            .arg(self.places.root.join("tests/browser/bench.mjs"))
            .args([&self.url, device, scale, workloads])
            .env("NODE_PATH", &self.modules)
            .env("TENSORSCOPE_CHROMIUM", &self.browser)
            .env("TENSORSCOPE_TEST_PATIENCE_MS", "600000");
        command
    }

    /// What the peers' own script writes for one of them.
    fn peer(&self, folder: &Path, peer: &str) -> Result<serde_json::Value, Failure> {
        let out = self.places.cache.join("peers");
        std::fs::create_dir_all(&out)
            .map_err(|e| Failure::new(format!("{}: {e}", out.display()), ""))?;
        let date = "bench";
        let file = out.join(format!("results-{date}.json"));
        // What an earlier round left would be taken for this one's if the peer failed.
        let _ = std::fs::remove_file(&file);
        let mut command = Command::new("bash");
        command
            .arg(folder.join("run"))
            .arg(peer)
            .env("OUT", &out)
            .env("DATE", date)
            .env("CHROMIUM", &self.browser);
        let remedy = "TORCH_PY names a python that has torch; see the peers' README";
        run(command.stdout(std::process::Stdio::null()), remedy)?;
        let text = std::fs::read_to_string(&file)
            .map_err(|e| Failure::new(format!("{peer} left no results: {e}"), remedy))?;
        let all: serde_json::Value = serde_json::from_str(&text)
            .map_err(|e| Failure::new(format!("{}: {e}", file.display()), ""))?;
        Ok(all.get(peer).cloned().unwrap_or_default())
    }
}
