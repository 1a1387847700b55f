//! What surrounds a run: the terminal or the page's worker. A lesson sees it only through [`crate::Ctx`].

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use crate::clock::Clock;
use crate::event::Event;

/// A boxed future of one thread: driven by `pollster` natively and by `spawn_local` in the browser.
pub type LocalFuture<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Who listens to a run and may stop it.
pub trait Host {
    /// Hears what the run says. Called often: it must be quick.
    fn emit(&self, event: &Event);

    /// Whether the learner asked to stop.
    fn cancelled(&self) -> bool;

    /// Gives the event loop a turn, so that a message asking to stop can arrive. Natively nothing needs one.
    fn turn(&self) -> LocalFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Everything that a run needs from outside. Cheap to clone.
#[derive(Clone)]
pub struct Surroundings {
    /// The devices of this machine.
    pub devices: Rc<dyn crate::Devices>,
    /// Who listens.
    pub host: Rc<dyn Host>,
    /// The clock for timing.
    pub clock: Rc<dyn Clock>,
    /// Where data sets come from.
    pub data: Rc<dyn crate::DataSets>,
}
