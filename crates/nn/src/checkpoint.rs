//! State dictionaries as safetensors files.

use crate::module::StateDict;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use tensor::{DType, Device, Error, Result, Tensor};

const TYPES: [(DType, Dtype); 8] = [
    (DType::Bool, Dtype::BOOL),
    (DType::U8, Dtype::U8),
    (DType::I32, Dtype::I32),
    (DType::I64, Dtype::I64),
    (DType::F16, Dtype::F16),
    (DType::BF16, Dtype::BF16),
    (DType::F32, Dtype::F32),
    (DType::F64, Dtype::F64),
];

fn damaged(detail: impl std::fmt::Display) -> Error {
    Error::Format {
        what: "safetensors".into(),
        detail: detail.to_string(),
    }
}

/// The bytes of a safetensors file. Waits for tensors that lie on a GPU.
pub async fn save_safetensors(state: &StateDict) -> Result<Vec<u8>> {
    let mut held = Vec::with_capacity(state.len());
    for (name, t) in state {
        let dtype = TYPES
            .iter()
            .find(|(own, _)| *own == t.dtype())
            .map(|(_, theirs)| *theirs);
        held.push((
            name,
            dtype.unwrap_or(Dtype::F32),
            t.shape().to_vec(),
            t.to_bytes().await?,
        ));
    }
    let views = held
        .iter()
        .map(|(name, dtype, shape, bytes)| {
            TensorView::new(*dtype, shape.clone(), bytes)
                .map(|view| (name.as_str(), view))
                .map_err(damaged)
        })
        .collect::<Result<Vec<_>>>()?;
    safetensors::serialize(views, None).map_err(damaged)
}

/// The tensors of a safetensors file.
pub fn load_safetensors(bytes: &[u8], device: &Device) -> Result<StateDict> {
    let file = SafeTensors::deserialize(bytes).map_err(damaged)?;
    file.iter()
        .map(|(name, view)| {
            let dtype = TYPES
                .iter()
                .find(|(_, theirs)| *theirs == view.dtype())
                .map(|(own, _)| *own);
            let dtype = dtype.ok_or_else(|| {
                damaged(format!("{name} has elements of type {:?}", view.dtype()))
            })?;
            let t = Tensor::from_bytes(view.data(), view.shape(), dtype, device)?;
            Ok((name.to_owned(), t))
        })
        .collect()
}
