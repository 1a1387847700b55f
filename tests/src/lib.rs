//! What the suites that cross crates share: recorded values, devices, comparison, and the names of operations.

pub mod compare;
pub mod devices;
pub mod golden;
pub mod layouts;
pub mod ops;
pub mod problem;
pub mod step;
