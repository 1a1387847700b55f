//! Memory that tensors share, and the counter of changes made to it.

use crate::device::{Buffer, Device, wait};
use crate::dtype::Element;
use crate::error::{Error, Result};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A block of a device's memory. Views share it; it returns to the device's pool when the last of them is dropped.
#[derive(Debug)]
pub struct Storage {
    id: u64,
    device: Device,
    buffer: Buffer,
    version: AtomicU32,
}

impl Storage {
    /// Memory with undefined contents.
    pub(crate) fn uninit(device: &Device, bytes: usize) -> Result<Arc<Storage>> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let buffer = device.backend().alloc(bytes)?;
        Ok(Arc::new(Storage {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            device: device.clone(),
            buffer,
            version: AtomicU32::new(0),
        }))
    }

    /// Memory holding these bytes.
    pub(crate) fn from_bytes(device: &Device, bytes: &[u8]) -> Result<Arc<Storage>> {
        let storage = Storage::uninit(device, bytes.len())?;
        if !bytes.is_empty() {
            device.backend().upload(&storage.buffer, 0, bytes)?;
        }
        Ok(storage)
    }

    /// A number that no other storage of this process has had.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Where it is.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Size as asked for.
    pub fn bytes(&self) -> usize {
        self.buffer.bytes
    }

    pub(crate) fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// How many in-place operations have changed it.
    pub fn version(&self) -> u32 {
        self.version.load(Ordering::Acquire)
    }

    pub(crate) fn bump(&self) {
        self.version.fetch_add(1, Ordering::AcqRel);
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        self.device.backend().free(&self.buffer);
    }
}

/// An array whose memory tensors may share: what NumPy's arrays are to `torch.from_numpy` and `Tensor.numpy`.
///
/// A change on either side is seen by the other, as long as the tensor stays on the CPU.
#[derive(Clone, Debug)]
pub struct Shared<T> {
    pub(crate) storage: Arc<Storage>,
    pub(crate) offset: usize,
    len: usize,
    kind: PhantomData<T>,
}

impl<T: Element> Shared<T> {
    /// Take over these values.
    pub fn new(values: &[T]) -> Result<Shared<T>> {
        let storage = Storage::from_bytes(&Device::cpu(), bytemuck::cast_slice(values))?;
        Ok(Shared::over(storage, 0, values.len()))
    }

    pub(crate) fn over(storage: Arc<Storage>, offset: usize, len: usize) -> Shared<T> {
        Shared {
            storage,
            offset,
            len,
            kind: PhantomData,
        }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All values.
    pub fn get(&self) -> Result<Vec<T>> {
        let (size, device) = (size_of::<T>(), self.storage.device());
        let mut values: Vec<T> = vec![bytemuck::Zeroable::zeroed(); self.len];
        let into = bytemuck::cast_slice_mut(&mut values);
        let copied = device
            .backend()
            .download(&self.storage.buffer, self.offset * size, into);
        wait(copied, device.id())?;
        Ok(values)
    }

    /// Change one value.
    pub fn set(&self, index: usize, value: T) -> Result<()> {
        if index >= self.len {
            return Err(Error::IndexOutOfBounds {
                index: index as isize,
                dim: 0,
                size: self.len,
            });
        }
        let at = (self.offset + index) * size_of::<T>();
        self.storage
            .device()
            .backend()
            .upload(&self.storage.buffer, at, bytemuck::bytes_of(&value))
    }
}
