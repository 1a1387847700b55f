//! Lists the hand-written kernels, so that a new file in `shaders/` needs no entry anywhere.

use std::fmt::Write;
use std::{env, fs, io, path::Path};

fn main() -> io::Result<()> {
    // As cargo says now: a build folder may outlive the clone that this program was compiled in.
    let package = env::var_os("CARGO_MANIFEST_DIR")
        .ok_or_else(|| io::Error::other("cargo sets CARGO_MANIFEST_DIR"))?;
    let folder = Path::new(&package).join("../../shaders");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut stems: Vec<String> = fs::read_dir(&folder)?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| Some(name.strip_suffix(".wgsl")?.to_owned()))
        .filter(|stem| stem != "library")
        .collect();
    stems.sort();
    let mut list = String::from("&[\n");
    for stem in stems {
        let path = folder.join(format!("{stem}.wgsl"));
        let _ = writeln!(
            list,
            "    ({stem:?}, include_str!({:?})),",
            path.display().to_string()
        );
    }
    list.push(']');
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    fs::write(Path::new(&out).join("shaders.rs"), list)
}
