//! A compiler that makes WebAssembly: the ordinary one with its target, or Debian's with a library built here.

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::process::{cargo, on_path, output, path_with, run};
use crate::system::{as_root, install};
use crate::{Failure, Places};

/// The target that the page is built for.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// Debian's compiler, the source of its standard library, and a linker.
const DEBIAN: [&str; 6] = [
    "rustc-web",
    "cargo-web",
    "rust-web-src",
    "rust-web-llvm",
    "rust-web-clippy",
    "lld-22",
];

/// The compiler that builds the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Toolchain {
    /// The one that builds everything else.
    Own,
    /// Debian's, in /usr/bin, where rustup cannot fetch the target.
    Debian,
}

impl Toolchain {
    /// The compiler that makes WebAssembly here, if there is one.
    pub fn find(places: &Places) -> Option<Self> {
        [Self::Own, Self::Debian]
            .into_iter()
            .find(|toolchain| toolchain.compiles(places))
    }

    pub fn describe(self) -> String {
        let version = output(self.rustc().arg("--version")).unwrap_or_default();
        match self {
            Self::Own => format!("{} with {TARGET}", version.trim()),
            Self::Debian => format!("Debian's {} with {TARGET}", version.trim()),
        }
    }

    fn rustc(self) -> Command {
        match self {
            Self::Own => Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())),
            Self::Debian => {
                let mut rustc = Command::new("/usr/bin/rustc");
                rustc.env_remove("LD_LIBRARY_PATH");
                rustc
            }
        }
    }

    /// This compiler's cargo, whatever cargo runs us.
    pub fn cargo(self) -> Result<Command, Failure> {
        let mut command = match self {
            Self::Own => cargo(),
            Self::Debian => Command::new("/usr/bin/cargo"),
        };
        self.set(&mut command, &[])?;
        Ok(command)
    }

    /// Makes a command use this compiler, and find the given folders first on PATH.
    pub fn set(self, command: &mut Command, folders: &[&Path]) -> Result<(), Failure> {
        match self {
            Self::Own => {
                command.env("PATH", path_with(folders)?);
            }
            Self::Debian => {
                let mut all = vec![Path::new("/usr/bin")];
                all.extend(folders);
                command
                    .env("PATH", path_with(&all)?)
                    .env("RUSTC", "/usr/bin/rustc");
                // What rustup's proxy set for the compiler that runs us is wrong for this one.
                for name in ["CARGO", "RUSTUP_TOOLCHAIN", "LD_LIBRARY_PATH"] {
                    command.env_remove(name);
                }
            }
        }
        Ok(())
    }

    /// Tries it, with the whole-program optimisation that the page is built with: that finds a missing library, one of
    /// another compiler's, one without bitcode and a missing linker alike.
    fn compiles(self, places: &Places) -> bool {
        const PROGRAM: &[u8] =
            b"#[no_mangle] pub extern \"C\" fn answer() -> usize { vec![42u8; 3].len() }";
        let folder = places.scratch().join("wasm-probe");
        if fs::create_dir_all(&folder).is_err() || (self == Self::Debian && !debian_is_new_enough())
        {
            return false;
        }
        let mut rustc = self.rustc();
        rustc.args([
            "--target",
            TARGET,
            "--crate-type",
            "cdylib",
            "--crate-name",
            "probe",
        ]);
        rustc
            .args([
                "-Copt-level=1",
                "-Clto=fat",
                "-Cpanic=abort",
                "-",
                "--out-dir",
            ])
            .arg(&folder);
        let child = rustc
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut child) = child else { return false };
        let sent = child
            .stdin
            .take()
            .is_some_and(|mut stdin| stdin.write_all(PROGRAM).is_ok());
        let done = child.wait().is_ok_and(|status| status.success());
        sent && done && folder.join("probe.wasm").is_file()
    }
}

/// Brings a compiler that makes WebAssembly: by rustup, or else by Debian's packages.
pub fn provide(places: &Places) -> Result<Toolchain, Failure> {
    if on_path("rustup").is_some() {
        eprintln!("   asking rustup for {TARGET}: the page is WebAssembly");
        match run(Command::new("rustup").args(["target", "add", TARGET]), "") {
            Ok(()) if Toolchain::Own.compiles(places) => return Ok(Toolchain::Own),
            Ok(()) => eprintln!("   rustup installed it for another compiler than `rustc`"),
            Err(failure) => eprintln!("   {}", failure.what()),
        }
    }
    if on_path("apt-get").is_none() {
        return Err(Failure::new(
            format!("no compiler for {TARGET}"),
            format!("`rustup target add {TARGET}`, or your system's package of it"),
        ));
    }
    eprintln!("   without rustup's {TARGET}, Debian's own compiler builds the page");
    install(&DEBIAN)?;
    if !debian_is_new_enough() {
        return Err(Failure::new(
            format!(
                "Debian's /usr/bin/rustc is older than {}",
                env!("CARGO_PKG_RUST_VERSION")
            ),
            format!("`rustup target add {TARGET}` on an open network, or a newer Debian"),
        ));
    }
    if !Toolchain::Debian.compiles(places) {
        build_library(places)?;
    }
    if Toolchain::Debian.compiles(places) {
        return Ok(Toolchain::Debian);
    }
    Err(Failure::new(
        format!("Debian's compiler still makes no {TARGET}"),
        format!("`/usr/bin/rustc --target {TARGET} --crate-type cdylib FILE.rs` says why"),
    ))
}

/// Builds the standard library from Debian's source and puts it where Debian's compiler looks.
fn build_library(places: &Places) -> Result<(), Failure> {
    let unwritten =
        |error| Failure::new(format!("the standard library's build folder: {error}"), "");
    let folder = places.scratch().join("wasm-std");
    fs::create_dir_all(folder.join("src")).map_err(unwritten)?;
    let manifest =
        "[package]\nname = \"empty\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n";
    fs::write(folder.join("Cargo.toml"), manifest).map_err(unwritten)?;
    fs::write(folder.join("src/lib.rs"), "").map_err(unwritten)?;

    eprintln!("   building the standard library for {TARGET} (about a minute)");
    let mut build = Toolchain::Debian.cargo()?;
    build.args([
        "build",
        "--release",
        "-Zbuild-std=std,panic_abort",
        "--target",
        TARGET,
    ]);
    build
        .current_dir(&folder)
        .env("CARGO_TARGET_DIR", folder.join("target"));
    // The compiler is a stable one; building its library is what this switch is for. The page is built with
    // whole-program optimisation, which reads bitcode.
    build
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", "-Cembed-bitcode=yes");
    run(
        &mut build,
        "the library's own dependencies come from crates.io: is it reachable?",
    )?;

    let built = libraries(&folder.join("target").join(TARGET).join("release/deps"))?;
    let built: Vec<_> = built
        .into_iter()
        .filter(|path| !is_the_empty_crate(path))
        .collect();
    let place =
        output(
            Toolchain::Debian
                .rustc()
                .args(["--print", "target-libdir", "--target", TARGET]),
        )
        .ok_or_else(|| Failure::new(format!("/usr/bin/rustc does not know {TARGET}"), ""))?;
    let place = PathBuf::from(place.trim());
    // A library of an older compiler beside the new one would be ambiguous.
    let old = if place.is_dir() {
        libraries(&place)?
    } else {
        Vec::new()
    };
    eprintln!(
        "   putting {} libraries into {}",
        built.len(),
        place.display()
    );
    as_root_run("mkdir", |command| command.arg("-p").arg(&place))?;
    if !old.is_empty() {
        as_root_run("rm", |command| command.arg("--").args(&old))?;
    }
    as_root_run("cp", |command| command.args(&built).arg(&place))?;
    remove(&folder);
    // Cargo does not notice that the library under its artefacts changed.
    remove(&places.target().join(TARGET));
    Ok(())
}

fn libraries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = folder
        .read_dir()
        .map_err(|error| Failure::new(format!("{}: {error}", folder.display()), ""))?;
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    Ok(paths
        .filter(|path| path.extension().is_some_and(|end| end == "rlib"))
        .collect())
}

fn is_the_empty_crate(path: &Path) -> bool {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    stem == "libempty" || stem.starts_with("libempty-")
}

fn as_root_run(
    program: &str,
    arguments: impl FnOnce(&mut Command) -> &mut Command,
) -> Result<(), Failure> {
    let mut command = as_root(program).ok_or_else(|| {
        Failure::new(
            "putting the library where Debian's compiler looks takes root",
            "run `cargo xtask setup` once as root or where sudo asks for no password",
        )
    })?;
    run(arguments(&mut command), "")
}

fn remove(folder: &Path) {
    if folder.exists()
        && let Err(error) = fs::remove_dir_all(folder)
    {
        eprintln!("   {} could not be removed: {error}", folder.display());
    }
}

/// Debian 12 has both an old compiler of its own and, for its browsers, a new one under the same name.
fn debian_is_new_enough() -> bool {
    let version = output(Toolchain::Debian.rustc().arg("--version")).unwrap_or_default();
    release(&version)
        .zip(release(&format!(
            "rustc {}",
            env!("CARGO_PKG_RUST_VERSION")
        )))
        .is_some_and(|(found, wanted)| found >= wanted)
}

/// Major and minor number of `rustc 1.96.0 (...)`.
fn release(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version
        .split_whitespace()
        .nth(1)?
        .split('.')
        .map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_compare_as_numbers() {
        assert_eq!(
            release("rustc 1.96.0 (ac68faa20 2026-05-25)"),
            Some((1, 96))
        );
        assert!(release("rustc 1.100.0") > release("rustc 1.95"));
        assert_eq!(release("rustc"), None);
        assert_eq!(release("rustc one.two"), None);
    }

    #[test]
    fn only_the_empty_crate_is_left_out() {
        assert!(is_the_empty_crate(Path::new("deps/libempty-0a1b.rlib")));
        assert!(!is_the_empty_crate(Path::new("deps/libstd-0a1b.rlib")));
    }
}
