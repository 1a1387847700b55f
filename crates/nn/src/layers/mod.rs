//! Layers.

mod activation;
mod conv;
mod dropout;
mod linear;
mod norm;
mod pool;
mod sequential;

pub use activation::{Gelu, LeakyRelu, Relu, Sigmoid, Silu, Tanh};
pub use conv::Conv2d;
pub use dropout::Dropout;
pub use linear::Linear;
pub use norm::{BatchNorm1d, BatchNorm2d, LayerNorm};
pub use pool::{AvgPool2d, Flatten, MaxPool2d};
pub use sequential::Sequential;

use crate::module::{Entry, Kind, Parameter};

/// Add a module's own parameter or buffer under its name.
fn entry(into: &mut Vec<Entry>, prefix: &str, name: &str, kind: Kind, value: &Parameter) {
    into.push(Entry {
        name: format!("{prefix}{name}"),
        kind,
        value: value.clone(),
    });
}
