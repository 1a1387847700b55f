//! Where things are: the repository, the cache outside it, the build folder.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::Failure;

/// The folders that every command needs.
pub struct Places {
    /// The repository's root.
    pub root: PathBuf,
    /// What is kept between clones: tools, and what the browser tests load.
    pub cache: PathBuf,
}

impl Places {
    pub fn find() -> Result<Self, Failure> {
        // As `cargo run` says it, not as it was compiled: two clones that share a build folder share this program too.
        let manifest = env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest.parent().unwrap_or(Path::new("."));
        if !root.join("Cargo.toml").is_file() {
            return Err(Failure::new(
                format!("the repository is no longer at {}", root.display()),
                "run `cargo xtask` inside the repository, so that cargo builds it anew",
            ));
        }
        let cache = cache(|name| env::var_os(name)).ok_or_else(|| {
            Failure::new(
                "no folder for tools: neither TENSORSCOPE_CACHE nor HOME is set",
                "set TENSORSCOPE_CACHE to a folder outside the repository",
            )
        })?;
        Ok(Self {
            root: root.to_owned(),
            cache,
        })
    }

    /// Where tools are installed: the `--root` of `cargo install`.
    pub fn tools(&self) -> PathBuf {
        self.cache.join("tools")
    }

    /// Where tools are built; removed after each.
    pub fn scratch(&self) -> PathBuf {
        self.cache.join("build")
    }

    /// Cargo's build folder.
    pub fn target(&self) -> PathBuf {
        env::var_os("CARGO_TARGET_DIR").map_or_else(|| self.root.join("target"), PathBuf::from)
    }

    /// The built page.
    pub fn dist(&self) -> PathBuf {
        self.root.join("dist")
    }

    /// Data that is too large for the repository and lies beside it, where it does.
    pub fn shared_data(&self) -> PathBuf {
        self.root.join("../shared/data")
    }
}

fn cache(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = |name: &str| {
        variable(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    folder("TENSORSCOPE_CACHE")
        .or_else(|| folder("XDG_CACHE_HOME").map(|base| base.join("tensorscope")))
        .or_else(|| folder("LOCALAPPDATA").map(|base| base.join("tensorscope")))
        .or_else(|| folder("HOME").map(|home| home.join(".cache/tensorscope")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_the_most_specific_folder_that_is_set() {
        let with = |set: &'static [(&str, &str)]| {
            cache(move |name| {
                set.iter()
                    .find(|(key, _)| *key == name)
                    .map(|(_, value)| OsString::from(*value))
            })
        };
        let all = &[
            ("TENSORSCOPE_CACHE", "/t"),
            ("XDG_CACHE_HOME", "/x"),
            ("HOME", "/h"),
        ];
        assert_eq!(with(all), Some("/t".into()));
        assert_eq!(
            with(&[("XDG_CACHE_HOME", "/x"), ("HOME", "/h")]),
            Some("/x/tensorscope".into())
        );
        assert_eq!(
            with(&[("XDG_CACHE_HOME", ""), ("HOME", "/h")]),
            Some("/h/.cache/tensorscope".into())
        );
        assert_eq!(with(&[]), None);
    }
}
