//! The fault record: four words on the device in which a kernel that checks values notes the first bad one.

use crate::binding::Range;
use crate::memory::Segment;
use std::sync::Arc;
use tensor::kernel::Check;
use tensor::{Error, Result};

/// Words of the record: whether one was found, which check, and its value (an int64).
pub(crate) const RECORD_BYTES: u64 = 16;

/// The record and what its check numbers mean.
pub(crate) struct Faults {
    segment: Arc<Segment>,
    checks: Vec<Check>,
    /// Whether a kernel that checks has been launched since the record was last read.
    pub armed: bool,
}

impl Faults {
    pub(crate) fn new(device: &wgpu::Device) -> Faults {
        let buffer = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("fault record"),
            size: 256,
            usage: wgpu::BufferUsages::STORAGE
                | wgpu::BufferUsages::COPY_SRC
                | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let segment = Arc::new(Segment {
            id: u64::MAX,
            buffer,
        });
        Faults {
            segment,
            checks: Vec::new(),
            armed: false,
        }
    }

    /// The record's buffer.
    pub(crate) fn buffer(&self) -> &wgpu::Buffer {
        &self.segment.buffer
    }

    /// The record as a kernel binds it.
    pub(crate) fn range(&self) -> Range {
        Range {
            segment: self.segment.clone(),
            start: 0,
            end: RECORD_BYTES as usize,
        }
    }

    /// The number under which a kernel reports this check.
    pub(crate) fn number(&mut self, check: Check) -> u32 {
        self.armed = true;
        let at = self
            .checks
            .iter()
            .position(|c| *c == check)
            .unwrap_or_else(|| {
                self.checks.push(check);
                self.checks.len() - 1
            });
        at as u32
    }

    /// Raise what the record says.
    pub(crate) fn raise(&self, record: &[u8]) -> Result<()> {
        let words: Vec<u32> = record
            .chunks_exact(4)
            .map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]))
            .collect();
        if words.len() < 4 || words[0] == 0 {
            return Ok(());
        }
        let value = (u64::from(words[3]) << 32 | u64::from(words[2])) as i64;
        match self.checks.get(words[1] as usize) {
            Some(check) => Err(check.error(value)),
            None => Err(Error::argument(
                "check",
                "a kernel reported an unknown check",
                "run it on the CPU",
            )),
        }
    }
}
