//! What the suites that cross crates share: recorded values, devices, comparison, and the names of operations.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // test support: a failure here fails the test

pub mod compare;
pub mod devices;
pub mod golden;
pub mod layouts;
pub mod ops;
