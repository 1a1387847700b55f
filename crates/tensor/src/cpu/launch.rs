//! What a hand-written kernel is given: its operands as slices, its parameters, its check.

use super::memory::Block;
use super::operand::failure;
use super::parallel;
use crate::device::DeviceId;
use crate::dtype::{DType, Element};
use crate::error::{Error, Result};
use crate::kernel::{Binding, Check, Kernel, Slot};
use bytemuck::Pod;
use std::cell::Cell;

/// One launch of a hand-written kernel on the processor.
pub(crate) struct CpuLaunch<'a> {
    kernel: &'static Kernel,
    operands: Vec<Slice>,
    params: &'a [u8],
    check: Option<Check>,
}

struct Slice {
    start: *mut u8,
    bytes: usize,
    dtype: DType,
    slot: Slot,
    taken: Cell<bool>,
}

impl<'a> CpuLaunch<'a> {
    /// Check the operands against the kernel's declaration, the buffers, and one another: what is written may overlap
    /// nothing else.
    pub(crate) fn new(
        kernel: &'static Kernel,
        params: &'a [u8],
        check: Option<Check>,
        bindings: &[Binding<'_>],
    ) -> Result<CpuLaunch<'a>> {
        if bindings.len() != kernel.operands.len() || params.len() != kernel.params {
            return Err(failure(
                kernel.name,
                format!(
                    "{} operands and {} bytes of parameters, declared with {} and {}",
                    bindings.len(),
                    params.len(),
                    kernel.operands.len(),
                    kernel.params
                ),
            ));
        }
        let mut operands: Vec<Slice> = Vec::with_capacity(bindings.len());
        for (binding, &slot) in bindings.iter().zip(kernel.operands) {
            let (size, end) = (binding.dtype.size(), binding.span.1);
            let count = end.saturating_sub(binding.offset);
            let block = Block::of(binding.buffer)?;
            let start = if count == 0 {
                block.start()
            } else {
                block.range(kernel.name, binding.offset * size, count * size)?
            };
            operands.push(Slice {
                start,
                bytes: count * size,
                dtype: binding.dtype,
                slot,
                taken: Cell::new(false),
            });
        }
        for (i, a) in operands.iter().enumerate() {
            for b in operands[..i]
                .iter()
                .filter(|b| a.slot.writes() || b.slot.writes())
            {
                if a.bytes.min(b.bytes) > 0 && a.start < b.end() && b.start < a.end() {
                    return Err(failure(
                        kernel.name,
                        "an operand that is written overlaps another".into(),
                    ));
                }
            }
        }
        Ok(CpuLaunch {
            kernel,
            operands,
            params,
            check,
        })
    }

    /// Element type of operand `n`.
    pub(crate) fn dtype(&self, n: usize) -> DType {
        self.operands[n].dtype
    }

    /// Operand `n`, from the element at which it begins to the last that it may touch.
    pub(crate) fn read<T: Element>(&self, n: usize) -> Result<&[T]> {
        let slice = self.typed::<T>(n)?;
        if slice.slot.writes() {
            return Err(failure(
                self.kernel.name,
                format!("operand {n} is written, but asked for to be read"),
            ));
        }
        // SAFETY: inside its block, aligned (blocks start on cache lines and offsets count elements), of a type that
        // any bytes are valid for; nothing that overlaps it is written, and the device's lock keeps other launches away.
        Ok(unsafe { std::slice::from_raw_parts(slice.start.cast(), slice.bytes / size_of::<T>()) })
    }

    /// Operand `n`, to be written; handed out once.
    #[allow(clippy::mut_from_ref)] // `taken` sees to it that there is one
    pub(crate) fn write<T: Element>(&self, n: usize) -> Result<&mut [T]> {
        let slice = self.typed::<T>(n)?;
        if !slice.slot.writes() || slice.taken.replace(true) {
            return Err(failure(
                self.kernel.name,
                format!("operand {n} cannot be written, or is being written"),
            ));
        }
        // SAFETY: as in `read`; nothing overlaps it and it is handed out once.
        Ok(unsafe {
            std::slice::from_raw_parts_mut(slice.start.cast(), slice.bytes / size_of::<T>())
        })
    }

    fn typed<T: Element>(&self, n: usize) -> Result<&Slice> {
        let slice = self
            .operands
            .get(n)
            .ok_or_else(|| failure(self.kernel.name, format!("there is no operand {n}")))?;
        if slice.dtype != T::DTYPE {
            return Err(Error::ExpectedDType {
                expected: T::DTYPE,
                found: slice.dtype,
            });
        }
        Ok(slice)
    }

    /// The parameter block.
    pub(crate) fn params<P: Pod>(&self) -> Result<P> {
        bytemuck::try_pod_read_unaligned(self.params).map_err(|e| {
            failure(
                self.kernel.name,
                format!("parameters of {} bytes: {e}", self.params.len()),
            )
        })
    }

    /// The error to raise for this bad value.
    pub(crate) fn fault(&self, value: i64) -> Error {
        match self.check {
            Some(check) => check.error(value),
            None => failure(
                self.kernel.name,
                format!("bad value {value}, and no check was given with the launch"),
            ),
        }
    }

    /// The error for a kernel that does not compute in the type of operand `n`.
    pub(crate) fn unsupported(&self, n: usize) -> Error {
        Error::UnsupportedDType {
            op: self.kernel.name,
            dtype: self.dtype(n),
            device: DeviceId::CPU,
        }
    }

    /// How many threads `elements` of work are worth.
    pub(crate) fn threads(&self, elements: usize) -> usize {
        parallel::threads(elements)
    }
}

impl Slice {
    fn end(&self) -> *mut u8 {
        self.start.wrapping_add(self.bytes)
    }
}

/// Call a function that is generic over floats with the type of operand `n` of the launch.
macro_rules! for_float {
    ($launch:expr, $n:expr, $function:ident) => {
        match $launch.dtype($n) {
            $crate::dtype::DType::F32 => $function::<f32>($launch),
            $crate::dtype::DType::F64 => $function::<f64>($launch),
            _ => Err($launch.unsupported($n)),
        }
    };
}
pub(crate) use for_float;
