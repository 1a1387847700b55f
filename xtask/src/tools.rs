//! Tools of an exact version: on PATH, or in the cache, or a prebuilt one, or built from source.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{all_on_path, cargo, on_path, output, run};
use crate::{Failure, Places, workspace};

/// The newest trunk that builds with the Rust version of the workspace.
const TRUNK: &str = "0.21.14";

/// playwright-core: the newest that runs in the Node.js of Debian 12.
pub const PLAYWRIGHT: &str = "1.60.0";

/// A program that crates.io has.
pub struct Tool {
    pub name: &'static str,
    krate: &'static str,
    pub version: String,
    /// Whether the versions of its own lock file are used. One of wasm-bindgen-cli's has been withdrawn.
    locked: bool,
}

pub fn trunk() -> Tool {
    Tool {
        name: "trunk",
        krate: "trunk",
        version: TRUNK.to_owned(),
        locked: true,
    }
}

/// The command line tool must have the very version of the library, which Cargo.lock names.
pub fn wasm_bindgen(places: &Places) -> Result<Tool, Failure> {
    let version = workspace::locked_version(places, "wasm-bindgen").ok_or_else(|| {
        Failure::new(
            "Cargo.lock names no wasm-bindgen",
            "`cargo generate-lockfile` writes the file; web/ depends on wasm-bindgen",
        )
    })?;
    Ok(Tool {
        name: "wasm-bindgen",
        krate: "wasm-bindgen-cli",
        version,
        locked: false,
    })
}

impl Tool {
    /// The program of the exact version, on PATH or in the cache.
    pub fn find(&self, places: &Places) -> Option<PathBuf> {
        let mut candidates = all_on_path(self.name, env::var_os("PATH").as_deref());
        let folder = places.tools().join("bin");
        candidates.extend(all_on_path(self.name, Some(folder.as_os_str())));
        candidates.into_iter().find(|program| {
            let found = version_of(program);
            if found.as_ref().is_some_and(|found| *found != self.version) {
                eprintln!(
                    "   {} is {} {}, but {} is needed",
                    program.display(),
                    self.name,
                    found.as_deref().unwrap_or_default(),
                    self.version
                );
            }
            found.as_ref() == Some(&self.version)
        })
    }

    /// Installs it into the cache.
    pub fn install(&self, places: &Places) -> Result<PathBuf, Failure> {
        let root = places.tools();
        if on_path("cargo-binstall").is_some() {
            eprintln!(
                "   asking cargo-binstall for a prebuilt one, into {}",
                root.display()
            );
            let mut binstall = cargo();
            binstall.args([
                "binstall",
                "--no-confirm",
                "--disable-strategies",
                "compile",
            ]);
            binstall
                .args(["--version", &self.version, "--root"])
                .arg(&root)
                .arg(self.krate);
            match run(&mut binstall, "") {
                Ok(()) if self.find(places).is_some() => return self.found(places),
                Ok(()) => eprintln!("   cargo-binstall brought another version"),
                Err(failure) => eprintln!("   {}", failure.what()),
            }
        }
        eprintln!(
            "   building it from source, into {} (minutes)",
            root.display()
        );
        let scratch = places.scratch().join(self.krate);
        let mut install = cargo();
        install
            .args(["install", self.krate, "--version", &self.version, "--root"])
            .arg(&root);
        if self.locked {
            install.arg("--locked");
        }
        // Whole-program optimisation takes longer than these tools will ever run here.
        install.env("CARGO_PROFILE_RELEASE_LTO", "off");
        install.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
        install.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1");
        // Kept after a failure, so that a second try goes on where the first one stopped.
        install.env("CARGO_TARGET_DIR", &scratch);
        run(
            &mut install,
            &format!("put {} {} on PATH in another way", self.name, self.version),
        )?;
        if let Err(error) = fs::remove_dir_all(&scratch) {
            eprintln!("   {} could not be removed: {error}", scratch.display());
        }
        self.found(places)
    }

    fn found(&self, places: &Places) -> Result<PathBuf, Failure> {
        self.find(places).ok_or_else(|| {
            Failure::new(
                format!(
                    "{} {} was installed but does not run",
                    self.name, self.version
                ),
                format!(
                    "try {} by hand",
                    places.tools().join("bin").join(self.name).display()
                ),
            )
        })
    }
}

fn version_of(program: &Path) -> Option<String> {
    version_in(&output(Command::new(program).arg("--version"))?)
}

/// The version in what `--version` prints: the first word that starts with a digit.
fn version_in(printed: &str) -> Option<String> {
    let mut words = printed.split_whitespace();
    words
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()))
        .map(str::to_owned)
}

/// The folder that holds playwright-core, which drives the browser, in the exact version.
pub fn find_playwright(places: &Places) -> Option<PathBuf> {
    let modules = node_modules(places);
    let about = fs::read_to_string(modules.join("playwright-core/package.json")).ok()?;
    let about: serde_json::Value = serde_json::from_str(&about).ok()?;
    (about["version"] == PLAYWRIGHT).then_some(modules)
}

pub fn install_playwright(places: &Places) -> Result<PathBuf, Failure> {
    let folder = places.tools().join("node");
    let failed = |error| Failure::new(format!("{}: {error}", folder.display()), "");
    fs::create_dir_all(&folder).map_err(failed)?;
    eprintln!(
        "   installing playwright-core {PLAYWRIGHT} with npm, into {}",
        folder.display()
    );
    let npm = on_path("npm").unwrap_or_else(|| "npm".into());
    let mut install = Command::new(npm);
    install
        .args([
            "install",
            "--no-save",
            "--no-audit",
            "--no-fund",
            "--prefix",
        ])
        .arg(&folder);
    install.arg(format!("playwright-core@{PLAYWRIGHT}"));
    run(&mut install, "the browser tests need npm's registry once")?;
    find_playwright(places).ok_or_else(|| {
        Failure::new(
            format!("npm put no playwright-core into {}", folder.display()),
            "",
        )
    })
}

fn node_modules(places: &Places) -> PathBuf {
    places.tools().join("node/node_modules")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_what_tools_print() {
        assert_eq!(version_in("trunk 0.21.14\n").as_deref(), Some("0.21.14"));
        assert_eq!(
            version_in("wasm-bindgen 0.2.130 (ab12cd)").as_deref(),
            Some("0.2.130")
        );
        assert_eq!(version_in("no version here"), None);
    }

    #[cfg(unix)]
    #[test]
    fn only_the_exact_version_in_the_cache_is_taken() {
        use std::os::unix::fs::PermissionsExt;
        let cache = tempfile::tempdir().unwrap();
        let places = Places {
            root: "/".into(),
            cache: cache.path().into(),
        };
        let program = cache.path().join("tools/bin/tool-of-the-test");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        fs::write(&program, "#!/bin/sh\necho tool-of-the-test 1.2.3\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let tool = |version: &str| Tool {
            name: "tool-of-the-test",
            krate: "",
            version: version.into(),
            locked: true,
        };
        assert_eq!(tool("1.2.3").find(&places), Some(program));
        assert_eq!(tool("1.2.4").find(&places), None);
    }
}
