//! `cargo xtask play`: from a fresh clone to an open page.

use serve::{Opened, Server};

use crate::setup::{PAGE, prepare};
use crate::stages::Stages;
use crate::{Failure, Places, site};

pub fn play(places: &Places, port: u16, open: bool) -> Result<(), Failure> {
    let mut stages = Stages::default();
    let ready = prepare(places, &PAGE, &mut stages);
    ready.check(&PAGE)?;
    let dist = stages.run("build the page", || site::build(places, &ready))?;
    eprint!("\n{}", stages.summary());

    let server = Server::bind(port).map_err(failed)?;
    if let Some(busy) = server.moved_from() {
        println!("\nport {busy} is busy: using {} instead", server.port());
    }
    let url = server.url();
    println!("\nTensorscope is at {url}\nCtrl-C ends it.");
    if open {
        match serve::open_browser(&url) {
            Opened::Yes => {}
            Opened::NoDisplay => {
                println!("This machine has no display: open the address yourself.")
            }
            Opened::Failed(error) => {
                println!("No browser could be opened ({error}): open the address yourself.")
            }
        }
    }
    server.run(&dist).map_err(failed)
}

fn failed(error: serve::ServeError) -> Failure {
    Failure::new(error.to_string(), error.help())
}
