//! Modules, the parameters and buffers in them, and their state as a dictionary.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use tensor::{DType, Device, Error, Result, Tensor};

/// What an entry of a module is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Trained: it requires a gradient and optimisers change it.
    Parameter,
    /// Kept with the module and saved, but not trained (running statistics).
    Buffer,
}

/// A place that holds a tensor. Clones are the same place.
#[derive(Clone, Debug)]
pub struct Parameter(Arc<RwLock<Tensor>>);

impl Parameter {
    /// A trained tensor.
    pub fn new(value: Tensor) -> Result<Parameter> {
        let value = value.detach();
        value.requires_grad_(true)?;
        Ok(Parameter(Arc::new(RwLock::new(value))))
    }

    /// A tensor that is kept, not trained.
    pub fn buffer(value: Tensor) -> Parameter {
        Parameter(Arc::new(RwLock::new(value.detach())))
    }

    /// What it holds now.
    pub fn tensor(&self) -> Tensor {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .alias()
    }

    /// Hold another tensor, which requires a gradient as the one before did.
    pub fn set(&self, value: &Tensor) -> Result<()> {
        let value = value.detach();
        value.requires_grad_(self.tensor().requires_grad())?;
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = value;
        Ok(())
    }

    /// Whether both are one place.
    pub fn is(&self, other: &Parameter) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A named parameter or buffer of a module.
#[derive(Clone, Debug)]
pub struct Entry {
    /// PyTorch's name of it, such as `features.0.weight`.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// The place.
    pub value: Parameter,
}

/// Names and tensors, as `state_dict` gives them.
pub type StateDict = BTreeMap<String, Tensor>;

/// Something with a forward pass, and with parameters perhaps.
pub trait Module: Send + Sync {
    /// PyTorch's name of the class.
    fn name(&self) -> &'static str;

    /// The forward pass.
    fn forward(&self, x: &Tensor) -> Result<Tensor>;

    /// The forward pass and a ReLU after it as one operation, if this module has that.
    fn forward_relu(&self, x: &Tensor) -> Option<Result<Tensor>> {
        let _ = x;
        None
    }

    /// Whether it is a ReLU, which the module before it may take over.
    fn is_relu(&self) -> bool {
        false
    }

    /// Add all parameters and buffers, names beginning with `prefix`, in PyTorch's order.
    fn collect(&self, prefix: &str, into: &mut Vec<Entry>) {
        let _ = (prefix, into);
    }

    /// Behave as in training (`true`) or in evaluation: this module and those in it.
    fn train(&self, on: bool) {
        let _ = on;
    }
}

/// What every module can do.
pub trait ModuleExt: Module {
    /// Behave as in evaluation.
    fn eval(&self) {
        self.train(false);
    }

    /// All parameters and buffers with their names.
    fn entries(&self) -> Vec<Entry> {
        let mut all = Vec::new();
        self.collect("", &mut all);
        all
    }

    /// All parameters with their names.
    fn named_parameters(&self) -> Vec<(String, Parameter)> {
        self.entries()
            .into_iter()
            .filter(|e| e.kind == Kind::Parameter)
            .map(|e| (e.name, e.value))
            .collect()
    }

    /// All parameters.
    fn parameters(&self) -> Vec<Parameter> {
        self.named_parameters()
            .into_iter()
            .map(|(_, p)| p)
            .collect()
    }

    /// Number of trained values.
    fn parameter_count(&self) -> usize {
        self.parameters().iter().map(|p| p.tensor().numel()).sum()
    }

    /// Move every parameter and buffer in place (floats are converted to `dtype`, others keep their type): this module
    /// is changed, unlike a tensor by its `to`.
    fn to(
        &self,
        device: &Device,
        dtype: Option<DType>,
    ) -> impl std::future::Future<Output = Result<()>> {
        let entries = self.entries();
        let device = device.clone();
        async move {
            for entry in entries {
                let old = entry.value.tensor();
                let target = dtype
                    .filter(|_| old.dtype().is_float())
                    .unwrap_or(old.dtype());
                let moved = old.detach().to(&device, target).await?;
                let grad = match old.grad() {
                    Some(grad) => Some(grad.to(&device, target).await?),
                    None => None,
                };
                entry.value.set(&moved)?;
                entry.value.tensor().set_grad(grad);
            }
            Ok(())
        }
    }

    /// Names and tensors of all parameters and buffers. The tensors share the module's memory.
    fn state_dict(&self) -> StateDict {
        self.entries()
            .into_iter()
            .map(|e| (e.name, e.value.tensor().detach()))
            .collect()
    }

    /// Copy values in by name, to the device and type that each place has. Every name must fit, or nothing is changed.
    fn load_state_dict(&self, state: &StateDict) -> Result<()> {
        let entries = self.entries();
        let mut lines = Vec::new();
        let quoted = |names: Vec<&str>| {
            names
                .iter()
                .map(|n| format!("\"{n}\""))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let missing: Vec<&str> = entries
            .iter()
            .filter(|e| !state.contains_key(&e.name))
            .map(|e| e.name.as_str())
            .collect();
        if !missing.is_empty() {
            lines.push(format!(
                "Missing key(s) in state_dict: {}. ",
                quoted(missing)
            ));
        }
        let unexpected: Vec<&str> = state
            .keys()
            .filter(|k| entries.iter().all(|e| e.name != **k))
            .map(String::as_str)
            .collect();
        if !unexpected.is_empty() {
            lines.push(format!(
                "Unexpected key(s) in state_dict: {}. ",
                quoted(unexpected)
            ));
        }
        for e in &entries {
            if let Some(t) = state.get(&e.name)
                && t.shape() != e.value.tensor().shape()
            {
                lines.push(format!(
                    "size mismatch for {}: copying a param with shape torch.Size({:?}) from checkpoint, the shape in current model is torch.Size({:?}).",
                    e.name,
                    t.shape(),
                    e.value.tensor().shape()
                ));
            }
        }
        if !lines.is_empty() {
            return Err(Error::StateDict {
                module: self.name().to_owned(),
                lines,
            });
        }
        for e in &entries {
            if let Some(t) = state.get(&e.name) {
                tensor::autograd::no_grad(|| e.value.tensor().copy_(t).map(|_| ()))?;
            }
        }
        Ok(())
    }
}

impl<M: Module + ?Sized> ModuleExt for M {}
