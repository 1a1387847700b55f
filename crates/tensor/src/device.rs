//! Devices: their names, and the narrow trait that each backend implements.

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernel::Launch;
use crate::memory::{MemoryStats, Snapshot};
use crate::trace::Trace;
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

/// A future that stays on its thread: browsers' promises cannot leave it.
pub type LocalFuture<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// The kind of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// The processor.
    Cpu,
    /// WGSL: WebGPU in a browser; Vulkan, Metal or DX12 natively.
    Wgpu,
    /// NVIDIA's CUDA.
    Cuda,
}

/// A device's name: `cpu`, `wgpu:0`, `cuda:1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DeviceId {
    /// Its kind.
    pub kind: DeviceKind,
    /// Its number among its kind, 0 for the CPU.
    pub index: usize,
}

impl DeviceId {
    /// The processor.
    pub const CPU: DeviceId = DeviceId {
        kind: DeviceKind::Cpu,
        index: 0,
    };

    /// A WGSL adapter by number.
    pub const fn wgpu(index: usize) -> DeviceId {
        DeviceId {
            kind: DeviceKind::Wgpu,
            index,
        }
    }

    /// A CUDA device by its logical number.
    pub const fn cuda(index: usize) -> DeviceId {
        DeviceId {
            kind: DeviceKind::Cuda,
            index,
        }
    }

    /// From `cpu`, `cuda`, `cuda:1`, `wgpu:0`; PyTorch's rules on what follows the colon.
    pub fn parse(text: &str) -> Result<DeviceId> {
        let (kind, index) = match text.split_once(':') {
            Some((kind, index)) => (kind, Some(index)),
            None => (text, None),
        };
        let kind = match kind {
            "cpu" => DeviceKind::Cpu,
            "cuda" => DeviceKind::Cuda,
            "wgpu" => DeviceKind::Wgpu,
            _ => {
                return Err(Error::DeviceType {
                    text: text.to_owned(),
                });
            }
        };
        let invalid = || Error::DeviceString {
            text: text.to_owned(),
        };
        let index = match index {
            None => 0,
            Some(i) if i.len() > 1 && i.starts_with('0') => return Err(invalid()),
            Some(i) if i.is_empty() || !i.bytes().all(|b| b.is_ascii_digit()) => {
                return Err(invalid());
            }
            Some(i) => i.parse().map_err(|_| invalid())?,
        };
        if kind == DeviceKind::Cpu && index != 0 {
            return Err(invalid());
        }
        Ok(DeviceId { kind, index })
    }

    /// PyTorch's legacy name of a tensor there, which its errors print: `torch.cuda.FloatTensor`.
    pub fn tensor_type(self, dtype: DType) -> String {
        let place = match self.kind {
            DeviceKind::Cpu => "",
            DeviceKind::Wgpu => "wgpu.",
            DeviceKind::Cuda => "cuda.",
        };
        format!("torch.{place}{}Tensor", dtype.scalar_name())
    }
}

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            DeviceKind::Cpu => f.write_str("cpu"),
            DeviceKind::Wgpu => write!(f, "wgpu:{}", self.index),
            DeviceKind::Cuda => write!(f, "cuda:{}", self.index),
        }
    }
}

impl From<DeviceId> for String {
    fn from(id: DeviceId) -> String {
        id.to_string()
    }
}

impl TryFrom<String> for DeviceId {
    type Error = Error;
    fn try_from(text: String) -> Result<DeviceId> {
        DeviceId::parse(&text)
    }
}

/// What can be said about a device without measuring it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceFacts {
    /// The adapter's or processor's own name.
    pub name: String,
    /// Vendor, where known.
    pub vendor: String,
    /// Driver and its version, or the SIMD level of a CPU.
    pub driver: String,
    /// The interface it is driven through: `vulkan`, `webgpu`, `metal`, `dx12`, `cpu`.
    pub interface: String,
    /// Whether it is software that only plays a GPU: its timings say little.
    pub software: bool,
    /// Threads that compute, where that is known.
    pub threads: usize,
    /// Limits by name, in bytes or counts.
    pub limits: BTreeMap<String, u64>,
    /// Features by name.
    pub features: Vec<String>,
    /// What the engine chose for this device, such as the matrix kernel that its tuning run found fastest.
    pub choices: BTreeMap<String, String>,
}

/// A piece of a device's memory. Only the backend that made it knows what `raw` is.
#[derive(Clone)]
pub struct Buffer {
    /// The backend's handle.
    pub raw: Arc<dyn Any + Send + Sync>,
    /// Size in bytes as asked for.
    pub bytes: usize,
    /// The allocator's number of the block.
    pub block: u64,
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer(block {}, {} bytes)", self.block, self.bytes)
    }
}

/// What every device can do. It moves bytes and runs kernels; shapes and gradients are not its business.
pub trait Backend: Send + Sync + 'static {
    /// Its name.
    fn id(&self) -> DeviceId;

    /// What is known of it.
    fn facts(&self) -> DeviceFacts;

    /// Whether tensors of this type can live and compute here.
    fn supports(&self, dtype: DType) -> bool;

    /// Take memory from the caching allocator. Contents are undefined.
    fn alloc(&self, bytes: usize) -> Result<Buffer>;

    /// Give memory back. Work already launched may still use it; later launches may reuse it at once.
    fn free(&self, buffer: &Buffer);

    /// Copy bytes in, in order with the launches before and after. Returns when `src` may be changed.
    fn upload(&self, dst: &Buffer, offset: usize, src: &[u8]) -> Result<()>;

    /// Copy bytes out, as many as `into` holds, after everything launched before. Raises what checks have found.
    fn download<'a>(
        &'a self,
        src: &'a Buffer,
        offset: usize,
        into: &'a mut [u8],
    ) -> LocalFuture<'a, Result<()>>;

    /// Run a kernel after everything launched before; may return before it has run.
    fn launch(&self, launch: &Launch<'_>) -> Result<()>;

    /// Wait until everything launched has run. Raises what checks have found.
    fn synchronize(&self) -> LocalFuture<'_, Result<()>>;

    /// The allocator's account and its controls.
    fn memory(&self) -> &dyn MemoryControl;

    /// The flight recorder.
    fn trace(&self) -> &Trace;

    /// Lose the device on purpose, as a crash of its driver would. Everything afterwards is [`Error::DeviceLost`].
    fn destroy(&self) {}

    /// Control over batches of launches, where the device batches them.
    fn batching(&self) -> Option<&dyn Batching> {
        None
    }
}

/// The allocator as lessons see it, the same on every device.
pub trait MemoryControl: Send + Sync {
    /// Allocated, reserved, peaks, counts.
    fn stats(&self) -> MemoryStats;
    /// Segments and the blocks in them.
    fn snapshot(&self) -> Snapshot;
    /// Allow at most this many bytes to be reserved; `None` lifts the limit to the device's own.
    fn set_memory_limit(&self, bytes: Option<usize>);
    /// Give whole free segments back to the device.
    fn empty_cache(&self);
    /// Start the peaks anew from what is held now.
    fn reset_peaks(&self);
}

/// Devices that collect launches and submit them together.
pub trait Batching: Send + Sync {
    /// Launches in one submission.
    fn batch_size(&self) -> usize;
    /// Change it (1 submits each by itself).
    fn set_batch_size(&self, launches: usize);
    /// Submissions so far.
    fn submissions(&self) -> u64;
    /// Submit what is pending.
    fn flush(&self);
}

/// A device that tensors live on; cloning gives another handle to the same one.
#[derive(Clone)]
pub struct Device(Arc<dyn Backend>);

impl Device {
    /// Wrap a backend.
    pub fn new(backend: Arc<dyn Backend>) -> Device {
        Device(backend)
    }

    /// The processor: one for the whole process.
    pub fn cpu() -> Device {
        static CPU: OnceLock<Device> = OnceLock::new();
        CPU.get_or_init(|| Device(Arc::new(crate::cpu::CpuDevice::new())))
            .clone()
    }

    /// Its name.
    pub fn id(&self) -> DeviceId {
        self.0.id()
    }

    /// Whether it is the processor.
    pub fn is_cpu(&self) -> bool {
        self.id().kind == DeviceKind::Cpu
    }

    /// The backend itself.
    pub fn backend(&self) -> &dyn Backend {
        &*self.0
    }

    /// Whether both are handles to one device (a device that was lost and opened anew is another one).
    pub fn same(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// What is known of it.
    pub fn facts(&self) -> DeviceFacts {
        self.0.facts()
    }

    /// Wait until everything launched has run.
    pub async fn synchronize(&self) -> Result<()> {
        self.0.synchronize().await
    }

    /// The allocator's account and its controls.
    pub fn memory(&self) -> &dyn MemoryControl {
        self.0.memory()
    }

    /// The flight recorder.
    pub fn trace(&self) -> &Trace {
        self.0.trace()
    }

    /// Lose the device on purpose.
    pub fn destroy(&self) {
        self.0.destroy();
    }

    /// Fail unless tensors of this type can live here.
    pub(crate) fn require(&self, op: &'static str, dtype: DType) -> Result<()> {
        if self.0.supports(dtype) {
            Ok(())
        } else {
            Err(Error::UnsupportedDType {
                op,
                dtype,
                device: self.id(),
            })
        }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({})", self.id())
    }
}

/// Wait for a future where waiting is possible: anywhere natively; in a browser only for what is ready at once, as the
/// CPU's are.
pub fn wait<T>(future: LocalFuture<'_, Result<T>>, device: DeviceId) -> Result<T> {
    #[cfg(not(target_arch = "wasm32"))]
    {
        let _ = device;
        pollster::block_on(future)
    }
    #[cfg(target_arch = "wasm32")]
    {
        use std::task::{Context, Poll, Waker};
        let mut future = future;
        match future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            Poll::Ready(value) => value,
            Poll::Pending => Err(Error::ReadBackIsAsync { device }),
        }
    }
}
