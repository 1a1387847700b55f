//! Tensors in the raw, and a launch over them.

use tensor::device::Buffer;
use tensor::kernel::{Binding, Launch, Work};
use tensor::{DType, Device};

/// A tensor in the raw: type, bytes, first element, strides.
#[derive(Clone)]
pub struct Raw {
    pub dtype: DType,
    pub bytes: Vec<u8>,
    pub offset: usize,
    pub strides: Vec<isize>,
}

impl Raw {
    pub fn dense(dtype: DType, bytes: Vec<u8>) -> Raw {
        Raw {
            dtype,
            bytes,
            offset: 0,
            strides: vec![1],
        }
    }

    fn span(&self, shape: &[usize]) -> (usize, usize) {
        let (mut low, mut high) = (self.offset as isize, self.offset as isize);
        for (&n, &s) in shape.iter().zip(&self.strides) {
            let reach = (n as isize - 1) * s;
            if reach < 0 {
                low += reach
            } else {
                high += reach
            }
        }
        (low as usize, high as usize + 1)
    }
}

/// Upload, run, read everything back.
pub fn run<'w>(
    device: &Device,
    operands: &[Raw],
    shape: &[usize],
    work: impl Fn() -> Work<'w>,
) -> tensor::Result<Vec<Vec<u8>>> {
    let backend = device.backend();
    let buffers: Vec<Buffer> = operands
        .iter()
        .map(|o| {
            let buffer = backend.alloc(o.bytes.len())?;
            backend.upload(&buffer, 0, &o.bytes)?;
            Ok(buffer)
        })
        .collect::<tensor::Result<_>>()?;
    let bindings: Vec<Binding<'_>> = operands
        .iter()
        .zip(&buffers)
        .map(|(o, buffer)| Binding {
            buffer,
            dtype: o.dtype,
            offset: o.offset,
            span: o.span(&shape[..o.strides.len().min(shape.len())]),
            strides: &o.strides,
        })
        .collect();
    backend.launch(&Launch {
        work: work(),
        bindings: &bindings,
        bytes: 0,
        flops: 0,
    })?;
    let out = buffers
        .iter()
        .zip(operands)
        .map(|(b, o)| {
            let mut bytes = vec![0; o.bytes.len()];
            pollster::block_on(backend.download(b, 0, &mut bytes)).map(|()| bytes)
        })
        .collect();
    buffers.iter().for_each(|b| backend.free(b));
    out
}
