//! What cargo knows of the workspace: its packages, their tests, the versions in the lock file.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::process::{cargo, output};
use crate::{Failure, Places};

/// The packages of the workspace, each with the names of its integration tests.
pub fn packages(places: &Places) -> Result<BTreeMap<String, Vec<String>>, Failure> {
    let text = output(
        cargo()
            .args(["metadata", "--no-deps", "--format-version", "1"])
            .current_dir(&places.root),
    )
    .ok_or_else(|| {
        Failure::new(
            "cargo cannot read the workspace",
            "`cargo metadata --no-deps` says why",
        )
    })?;
    let metadata: Value = serde_json::from_str(&text).map_err(|error| {
        Failure::new(format!("cargo's description of the workspace: {error}"), "")
    })?;
    Ok(tests_by_package(&metadata))
}

fn tests_by_package(metadata: &Value) -> BTreeMap<String, Vec<String>> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let is_test = |target: &Value| list(&target["kind"]).iter().any(|kind| kind == "test");
    list(&metadata["packages"])
        .iter()
        .map(|package| {
            let targets = list(&package["targets"]);
            let tests = targets.iter().filter(|target| is_test(target));
            (
                text(&package["name"]),
                tests.map(|target| text(&target["name"])).collect(),
            )
        })
        .collect()
}

/// The version of a crate in Cargo.lock.
pub fn locked_version(places: &Places, name: &str) -> Option<String> {
    version_in_lock(
        &fs::read_to_string(places.root.join("Cargo.lock")).ok()?,
        name,
    )
}

fn version_in_lock(lock: &str, name: &str) -> Option<String> {
    let wanted = format!("name = \"{name}\"");
    let mut lines = lock.lines().skip_while(|line| *line != wanted);
    lines.next()?;
    let version = lines
        .next()?
        .strip_prefix("version = \"")?
        .strip_suffix('"')?;
    Some(version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_file_gives_the_version_of_the_very_crate() {
        let lock = "[[package]]\nname = \"wasm-bindgen-futures\"\nversion = \"0.4.1\"\n\n\
                    [[package]]\nname = \"wasm-bindgen\"\nversion = \"0.2.130\"\n";
        assert_eq!(
            version_in_lock(lock, "wasm-bindgen").as_deref(),
            Some("0.2.130")
        );
        assert_eq!(version_in_lock(lock, "wasm"), None);
    }

    #[test]
    fn this_package_is_part_of_the_workspace() {
        let packages = packages(&Places::find().unwrap()).unwrap();
        assert!(
            packages.contains_key("xtask") && packages.contains_key("tensor"),
            "{packages:?}"
        );
    }

    #[test]
    fn integration_tests_are_listed_by_package() {
        let metadata = serde_json::json!({"packages": [{"name": "conformance", "targets": [
            {"kind": ["lib"], "name": "conformance"},
            {"kind": ["test"], "name": "golden"},
        ]}]});
        assert_eq!(tests_by_package(&metadata)["conformance"], ["golden"]);
    }
}
