//! The lessons: parameters in, a measured report out.
//!
//! A lesson describes itself ([`LessonInfo`]) and runs in a [`Ctx`]; what it measures leaves as [`Event`]s, and a [`Report`]
//! is the fold of them. Nothing here prints or draws: the terminal and the page are two faces of the same lessons.

mod bench;
mod clock;
mod ctx;
mod data_sets;
mod devices;
mod doctor;
mod environment;
mod error;
mod event;
mod host;
mod inputs;
mod lesson;
mod machine;
mod measure;
mod messages;
mod nearest;
mod params;
pub mod quantity;
mod report;
mod trace;
mod train;
mod transfer;

pub use clock::{Clock, WallClock};
pub use ctx::Ctx;
pub use data_sets::{DataSets, GivenFiles, MNIST_SUBSET};
pub use devices::{Devices, automatic, beside_cpu, resolve};
pub use environment::{Check, CheckStep, DeviceFacts, DeviceKind, Diagnosis, Environment, Outcome};
pub use error::LessonError;
pub use event::{Event, Progress};
pub use host::{Host, LocalFuture, Surroundings};
pub use lesson::{Lesson, LessonInfo, all, catalogue, find, prepare, run};
pub use machine::Machine;
pub use measure::{Plan, Timing, measure, quantile};
pub use messages::{FromWorker, ToWorker};
pub use nearest::nearest;
pub use params::{ParamError, ParamKind, ParamSpec, ParamValue, Params};
pub use report::{
    Axis, Cell, Claim, Column, Memory, Metric, Note, NoteLevel, Point, ReadError, Report, SCHEMA,
    Series, Spread, Status, Table, TimingMethod, Verdict,
};
pub use tensor::Device;
pub use trace::snapshot;
