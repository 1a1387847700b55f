//! Values recorded from PyTorch: JSON indices and safetensors files (`tests/golden`, or `TENSORSCOPE_GOLDEN_DIR`).

use safetensors::{Dtype, SafeTensors};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::path::PathBuf;
use tensor::{DType, Device, Tensor};

/// Where the recorded values lie.
pub fn dir() -> PathBuf {
    std::env::var_os("TENSORSCOPE_GOLDEN_DIR").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden"),
        PathBuf::from,
    )
}

/// Read an index.
pub fn json<T: for<'a> Deserialize<'a>>(name: &str) -> T {
    let path = dir().join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// One recorded tensor. Numbers of every type are held as float64, which holds all that were recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Value64 {
    /// Element type in the file.
    pub dtype: DType,
    /// Shape.
    pub shape: Vec<usize>,
    /// Row-major values.
    pub values: Vec<f64>,
}

impl Value64 {
    /// As a tensor of `dtype`.
    pub fn tensor(&self, dtype: DType, device: &Device) -> Tensor {
        Tensor::from_f64s(self.values.iter().copied(), &self.shape, dtype, device).unwrap()
    }
}

/// Read a file of tensors.
pub fn tensors(name: &str) -> HashMap<String, Value64> {
    let path = dir().join(name);
    let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let file =
        SafeTensors::deserialize(&bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    file.iter()
        .map(|(key, view)| {
            let d = view.data();
            fn all<const N: usize>(d: &[u8], f: impl Fn([u8; N]) -> f64) -> Vec<f64> {
                d.chunks_exact(N)
                    .map(|c| f(c.try_into().unwrap()))
                    .collect()
            }
            let (dtype, values) = match view.dtype() {
                Dtype::F64 => (DType::F64, all(d, f64::from_le_bytes)),
                Dtype::F32 => (DType::F32, all(d, |b| f64::from(f32::from_le_bytes(b)))),
                Dtype::I64 => (DType::I64, all(d, |b| i64::from_le_bytes(b) as f64)),
                Dtype::I32 => (DType::I32, all(d, |b| f64::from(i32::from_le_bytes(b)))),
                Dtype::BOOL => (DType::Bool, all(d, |[b]| f64::from(b))),
                Dtype::U8 => (DType::U8, all(d, |[b]| f64::from(b))),
                other => panic!("{key}: element type {other:?}"),
            };
            (
                key.to_owned(),
                Value64 {
                    dtype,
                    shape: view.shape().to_vec(),
                    values,
                },
            )
        })
        .collect()
}

/// One case of `ops.json`.
#[derive(Clone, Debug, Deserialize)]
pub struct Case {
    /// Unique name.
    pub id: String,
    /// PyTorch's name of the function.
    pub op: String,
    /// Its keyword arguments.
    pub attrs: Map<String, Value>,
    /// Keys of its inputs.
    pub inputs: Vec<String>,
    /// Keys of its outputs.
    pub outputs: Vec<String>,
    /// Keys of the gradients that flow into its outputs.
    pub grad_outputs: Vec<String>,
    /// Keys of the gradients of its inputs; `None` where there is none.
    pub grads: Vec<Option<String>>,
}

/// All cases of `ops.json`.
pub fn cases() -> Vec<Case> {
    #[derive(Deserialize)]
    struct File {
        cases: Vec<Case>,
    }
    json::<File>("ops.json").cases
}
