//! The page: built by trunk into dist/.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::run;
use crate::setup::{Need, Ready};
use crate::{Failure, Places};

/// Builds the page and gives the folder that it is in.
pub fn build(places: &Places, ready: &Ready) -> Result<PathBuf, Failure> {
    let trunk = ready.path(Need::Trunk)?;
    let bindgen = ready.path(Need::WasmBindgen)?;
    let mut command = Command::new(trunk);
    // Without the update check, trunk uses the network only for a tool that is not on PATH.
    command
        .args(["build", "--release", "--skip-version-check"])
        .current_dir(&places.root);
    let folders: Vec<_> = [trunk, bindgen]
        .into_iter()
        .filter_map(Path::parent)
        .collect();
    ready.wasm()?.set(&mut command, &folders)?;
    // Trunk takes NO_COLOR=1, which the convention allows, for a wrong value of its own option.
    command.env_remove("NO_COLOR");
    run(&mut command, "what the compiler says above is the reason")?;
    let dist = places.dist();
    for (name, bytes) in modules(&dist) {
        eprintln!("   {name}: {:.0} KB before compression", bytes as f64 / 1e3);
    }
    Ok(dist)
}

/// The WebAssembly modules of a built page, with their sizes.
fn modules(dist: &Path) -> Vec<(String, u64)> {
    let entries = dist.read_dir().into_iter().flatten().filter_map(Result::ok);
    let mut modules: Vec<_> = entries
        .filter(|entry| entry.path().extension().is_some_and(|end| end == "wasm"))
        .filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            Some((name, entry.metadata().ok()?.len()))
        })
        .collect();
    modules.sort();
    modules
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_modules_are_listed_in_order() {
        let dist = tempfile::tempdir().unwrap();
        for (name, text) in [("b.wasm", "12345"), ("a.wasm", "123"), ("a.js", "1")] {
            std::fs::write(dist.path().join(name), text).unwrap();
        }
        assert_eq!(
            modules(dist.path()),
            [("a.wasm".into(), 3), ("b.wasm".into(), 5)]
        );
        assert!(modules(&dist.path().join("none")).is_empty());
    }
}
