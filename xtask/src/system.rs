//! What only the system's own package manager can bring: a browser, a software GPU, Node.js.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Failure;
use crate::process::{on_path, output, run};

/// Something of the system's that a suite needs.
pub struct Part {
    pub name: &'static str,
    pub why: &'static str,
    /// The Debian packages that bring it.
    pub debian: &'static [&'static str],
    /// What to do where there is no apt.
    pub elsewhere: &'static str,
    pub find: fn() -> Option<PathBuf>,
}

pub const BROWSER: Part = Part {
    name: "Chromium",
    why: "the browser tests open the page in it",
    debian: &["chromium"],
    elsewhere: "install Chromium or Google Chrome, or set TENSORSCOPE_CHROMIUM to one",
    find: browser,
};

pub const VULKAN: Part = Part {
    name: "lavapipe",
    why: "a Vulkan device on the CPU, so that the WGSL tests need no GPU",
    debian: &["mesa-vulkan-drivers", "libvulkan1"],
    elsewhere: "install Mesa's lavapipe, or set VK_DRIVER_FILES to another driver's manifest",
    find: software_vulkan,
};

pub const NODE: Part = Part {
    name: "Node.js",
    why: "the script of the browser tests runs in it",
    debian: &["nodejs", "npm"],
    elsewhere: "install Node.js 18 or later with npm",
    find: node,
};

/// The manifest of the Vulkan driver that a browser brings: SwiftShader, what its WebGPU is without a GPU.
pub fn swiftshader() -> Option<PathBuf> {
    const FOLDERS: [&str; 4] = [
        "/usr/lib/chromium",
        "/usr/lib/chromium-browser",
        "/opt/google/chrome",
        "/snap/chromium/current/usr/lib/chromium-browser",
    ];
    FOLDERS
        .iter()
        .map(|folder| Path::new(folder).join("vk_swiftshader_icd.json"))
        .find(|manifest| manifest.is_file())
}

/// The oldest Node.js that the pinned playwright-core runs in.
const OLDEST_NODE: u32 = 18;

fn browser() -> Option<PathBuf> {
    const NAMES: [&str; 5] = [
        "chromium",
        "chromium-browser",
        "google-chrome",
        "google-chrome-stable",
        "chrome",
    ];
    const PLACES: [&str; 3] = [
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
        "/Applications/Chromium.app/Contents/MacOS/Chromium",
        "C:/Program Files/Google/Chrome/Application/chrome.exe",
    ];
    if let Some(named) = env::var_os("TENSORSCOPE_CHROMIUM") {
        return Some(PathBuf::from(named)).filter(|path| path.is_file());
    }
    let known = || PLACES.iter().map(PathBuf::from).find(|path| path.is_file());
    NAMES.iter().find_map(|name| on_path(name)).or_else(known)
}

fn software_vulkan() -> Option<PathBuf> {
    const FOLDERS: [&str; 3] = [
        "/usr/share/vulkan/icd.d",
        "/usr/local/share/vulkan/icd.d",
        "/etc/vulkan/icd.d",
    ];
    let manifests = FOLDERS
        .iter()
        .filter_map(|folder| Path::new(folder).read_dir().ok());
    let manifests = manifests
        .flatten()
        .filter_map(Result::ok)
        .map(|entry| entry.path());
    let architecture = format!(".{}.json", env::consts::ARCH);
    manifests
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            // Several architectures may be installed side by side; a manifest without one in its name fits any.
            name.starts_with("lvp_icd") && (name.ends_with(&architecture) || name == "lvp_icd.json")
        })
        .min()
}

fn node() -> Option<PathBuf> {
    on_path("npm")?;
    let node = on_path("node")?;
    let version = output(Command::new(&node).arg("--version"))?;
    (major(&version)? >= OLDEST_NODE).then_some(node)
}

/// The first number of a version: 18 of `v18.20.4`.
fn major(version: &str) -> Option<u32> {
    let digits: String = version
        .trim_start_matches('v')
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().ok()
}

/// Installs Debian packages, where this is a Debian and we may; otherwise says exactly what to type.
pub fn install(packages: &[&str]) -> Result<(), Failure> {
    let list = packages.join(" ");
    if on_path("apt-get").is_none() {
        return Err(Failure::new(
            "this system has no apt-get, so its packages are for you to install",
            format!("Debian's names for them are: {list}"),
        ));
    }
    let by_hand =
        format!("sudo apt-get update && sudo apt-get install --no-install-recommends {list}");
    let Some(mut update) = as_root("apt-get") else {
        return Err(Failure::new(
            "system packages are missing, and installing them takes root",
            format!("type: {by_hand}"),
        ));
    };
    eprintln!("   installing with apt-get: {list}");
    run(update.args(["update", "-q"]), &by_hand)?;
    let Some(mut install) = as_root("apt-get") else {
        return Err(Failure::new("sudo refused the second command", by_hand));
    };
    // dpkg asks no questions, whoever starts it.
    install.env("DEBIAN_FRONTEND", "noninteractive");
    run(
        install
            .args(["install", "-q", "-y", "--no-install-recommends"])
            .args(packages),
        &by_hand,
    )
}

/// A command that runs as root without asking for a password, where that is possible.
pub fn as_root(program: &str) -> Option<Command> {
    if output(Command::new("id").arg("-u")).is_some_and(|id| id.trim() == "0") {
        return Some(Command::new(program));
    }
    output(Command::new("sudo").args(["-n", "true"]))?;
    let mut command = Command::new("sudo");
    command.args(["-n", "--preserve-env=DEBIAN_FRONTEND", program]);
    Some(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_number_of_a_version() {
        assert_eq!(major("v18.20.4\n"), Some(18));
        assert_eq!(major("20.1"), Some(20));
        assert_eq!(major("node"), None);
    }
}
