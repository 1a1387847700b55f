//! Modules one after another.

use crate::module::{Entry, Module};
use tensor::fused::is_fused;
use tensor::{Result, Tensor};

/// Runs its modules in order, a ReLU within the layer before it ([`tensor::fused`]). They are named `0`, `1`, ... or as they were added.
#[derive(Default)]
pub struct Sequential {
    modules: Vec<(String, Box<dyn Module>)>,
}

impl Sequential {
    /// None yet.
    pub fn new() -> Sequential {
        Sequential::default()
    }

    /// One more, named by its number.
    pub fn push(self, module: impl Module + 'static) -> Sequential {
        let name = self.modules.len().to_string();
        self.named(&name, module)
    }

    /// One more, with a name of its own.
    pub fn named(mut self, name: &str, module: impl Module + 'static) -> Sequential {
        self.modules.push((name.to_owned(), Box::new(module)));
        self
    }

    /// Its modules with their names.
    pub fn children(&self) -> impl Iterator<Item = (&str, &dyn Module)> {
        self.modules
            .iter()
            .map(|(name, module)| (name.as_str(), &**module))
    }
}

impl Module for Sequential {
    fn name(&self) -> &'static str {
        "Sequential"
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let mut x = x.alias();
        let mut left = self.modules.iter().map(|(_, module)| module).peekable();
        while let Some(module) = left.next() {
            let fused = match left.peek() {
                Some(next) if next.is_relu() && is_fused() => module.forward_relu(&x),
                _ => None,
            };
            x = match fused {
                Some(y) => {
                    left.next();
                    y?
                }
                None => module.forward(&x)?,
            };
        }
        Ok(x)
    }

    fn collect(&self, prefix: &str, into: &mut Vec<Entry>) {
        for (name, module) in &self.modules {
            module.collect(&format!("{prefix}{name}."), into);
        }
    }

    fn train(&self, on: bool) {
        self.modules.iter().for_each(|(_, module)| module.train(on));
    }
}
