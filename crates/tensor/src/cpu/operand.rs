//! An operand of a launch as the processor sees it: a checked pointer and strides in elements.

use super::memory::Block;
use crate::device::DeviceId;
use crate::error::{Error, Result};
use crate::kernel::Binding;

/// A place from which elements are read, or to which they are written.
#[derive(Clone, Debug)]
pub(crate) struct Operand {
    /// The element at index zero.
    pub at: *mut u8,
    /// Elements to step per step of each dimension.
    pub strides: Vec<isize>,
    /// First and one past the last byte that the launch touches.
    pub range: (usize, usize),
}

// SAFETY: an operand is an address; the launch that holds it has the device's lock, and splits what is written into
// disjoint parts before it hands them to threads.
unsafe impl Send for Operand {}
// SAFETY: as above.
unsafe impl Sync for Operand {}

impl Operand {
    /// Check that every index of `shape` lies inside the buffer. `shape` may have more dimensions than the binding has
    /// strides (a reduction's output has none for the reduced ones).
    pub(crate) fn new(op: &str, binding: &Binding<'_>, shape: &[usize]) -> Result<Operand> {
        let block = Block::of(binding.buffer)?;
        let size = binding.dtype.size();
        if binding.strides.len() != shape.len() {
            return Err(failure(
                op,
                format!(
                    "{} strides for {} dimensions",
                    binding.strides.len(),
                    shape.len()
                ),
            ));
        }
        let (mut low, mut high) = (binding.offset as i128, binding.offset as i128);
        for (&n, &s) in shape.iter().zip(binding.strides) {
            let reach = (n.max(1) as i128 - 1) * s as i128;
            if reach < 0 {
                low += reach
            } else {
                high += reach
            }
        }
        let empty = shape.contains(&0);
        let capacity = (block.bytes() / size) as i128;
        if !empty && (low < 0 || high >= capacity) {
            return Err(failure(
                op,
                format!("elements {low}..={high} lie outside a buffer of {capacity}"),
            ));
        }
        // An empty operand may begin anywhere; nothing is read through its address.
        let offset = if empty { 0 } else { binding.offset * size };
        // SAFETY: inside the block, as checked.
        let at = unsafe { block.start().add(offset) };
        let base = block.start() as usize;
        let range = if empty {
            (0, 0)
        } else {
            (
                base + low as usize * size,
                base + (high as usize + 1) * size,
            )
        };
        Ok(Operand {
            at,
            strides: binding.strides.to_vec(),
            range,
        })
    }

    /// Whether both touch some byte.
    pub(crate) fn overlaps(&self, other: &Operand) -> bool {
        self.range.0 < other.range.1 && other.range.0 < self.range.1
    }
}

/// A launch that does not keep the rules of [`crate::kernel`]: a fault of the engine, reported as such.
pub(crate) fn failure(op: &str, message: String) -> Error {
    Error::DeviceFailure {
        device: DeviceId::CPU,
        operation: op.into(),
        message,
    }
}
