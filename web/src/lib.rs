//! The page and the worker in which the engine runs.
//!
//! The page draws and never computes; the worker computes and never draws. They speak in [`lessons::ToWorker`] and
//! [`lessons::FromWorker`], so a run that crashes takes the worker with it and leaves the page and what was measured.

pub mod engine;
pub mod page;

mod chart;
mod words;
