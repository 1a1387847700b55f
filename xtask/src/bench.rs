//! `cargo xtask bench`: the terminal's own benchmark, in the build that it is meant for.

use std::ffi::OsString;

use crate::process::{cargo, run};
use crate::{Failure, Places};

pub fn bench(places: &Places, arguments: &[OsString]) -> Result<(), Failure> {
    let mut command = cargo();
    command.args([
        "run",
        "--release",
        "--package",
        "tensorscope-cli",
        "--",
        "bench",
    ]);
    run(command.args(arguments).current_dir(&places.root), "")
}
