//! `tensorscope serve`: the page on this machine.

use std::path::PathBuf;

use clap::ArgMatches;
use serve::{Opened, Server, open_browser};

use crate::failure::Failure;

/// Serves the built page until the program is ended.
pub fn serve(matches: &ArgMatches) -> Result<(), Failure> {
    let site = matches
        .get_one::<PathBuf>("site")
        .cloned()
        .unwrap_or_else(|| PathBuf::from("dist"));
    let port = matches.get_one::<u16>("port").copied().unwrap_or(0);
    let server = Server::bind(port)?;
    if let Some(busy) = server.moved_from() {
        anstream::eprintln!("port {busy} is busy, taking {}", server.port());
    }
    let url = server.url();
    let running = server.spawn(&site)?;
    anstream::println!("{url}");
    if !matches.get_flag("no-open") && !matches!(open_browser(&url), Opened::Yes) {
        anstream::eprintln!("open this address in a browser");
    }
    match running.join() {
        Ok(end) => Ok(end?),
        Err(_) => Err(Failure::failed("the server stopped", "start it again")),
    }
}
