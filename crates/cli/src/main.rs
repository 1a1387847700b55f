//! `tensorscope`: the lessons in the terminal.
//!
//! Results go to standard output, progress and complaints to standard error. Exit codes: 0 done, 1 the run failed or was
//! stopped, 2 wrong usage.

mod args;
mod bench;
mod data;
mod failure;
mod folders;
mod list;
mod output;
mod run;
mod serve;
mod show;
mod table;
mod terminal;
mod trace;

use std::process::ExitCode;

fn main() -> ExitCode {
    hush_device_selection();
    let matches = match args::command().try_get_matches() {
        Ok(matches) => matches,
        // Help and version come as errors too; clap knows which are none, and where each is printed.
        Err(e) => {
            let code = if e.use_stderr() { failure::USAGE } else { 0 };
            let _ = e.print();
            return ExitCode::from(code);
        }
    };
    let result = match matches.subcommand() {
        Some(("list", m)) => list::list(m),
        Some(("doctor", m)) => run::doctor(m),
        Some(("run", m)) => run::lesson(m),
        Some(("train", m)) => run::train(m),
        Some(("bench", m)) => bench::bench(m),
        Some(("data", m)) => data::data(m),
        Some(("serve", m)) => serve::serve(m),
        _ => Ok(()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print();
            ExitCode::from(failure.code)
        }
    }
}

/// Outside a desktop session, Mesa's layer that moves the desktop's GPU to the front finds no desktop to ask and complains on
/// standard error each time that devices are listed. There it is told to stay away.
fn hush_device_selection() {
    let unset = |name| std::env::var_os(name).is_none();
    if cfg!(target_os = "linux") && unset("XDG_RUNTIME_DIR") && unset("NODEVICE_SELECT") {
        // SAFETY: nothing else runs yet: this is the first thing that `main` does, and no thread has been started.
        unsafe { std::env::set_var("NODEVICE_SELECT", "1") };
    }
}
