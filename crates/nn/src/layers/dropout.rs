//! Dropout.

use crate::module::Module;
use std::sync::atomic::{AtomicBool, Ordering};
use tensor::random::Generator;
use tensor::{Error, Result, Tensor};

/// In training, zero each value with probability `p` and scale the others by 1 / (1 - p); in evaluation, do nothing.
pub struct Dropout {
    p: f64,
    generator: Generator,
    training: AtomicBool,
}

impl Dropout {
    /// Masks are drawn from `generator`, the same for one seed on every device.
    pub fn new(p: f64, generator: Generator) -> Result<Dropout> {
        if !(0.0..=1.0).contains(&p) {
            return Err(Error::argument(
                "Dropout",
                format!("dropout probability has to be between 0 and 1, but got {p}"),
                "give the share of values to drop",
            ));
        }
        Ok(Dropout {
            p,
            generator,
            training: AtomicBool::new(true),
        })
    }
}

impl Module for Dropout {
    fn name(&self) -> &'static str {
        "Dropout"
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        if self.training.load(Ordering::Relaxed) {
            x.dropout(self.p, &self.generator)
        } else {
            Ok(x.alias())
        }
    }

    fn train(&self, on: bool) {
        self.training.store(on, Ordering::Relaxed);
    }
}
