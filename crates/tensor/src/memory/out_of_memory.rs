//! What is said when there is not enough memory.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Why an allocation failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutOfMemoryCause {
    /// The segment would take the pool over its memory limit.
    Limit,
    /// No single buffer on this device can be that large.
    LargestBlock {
        /// The largest buffer that the device makes.
        bytes: u64,
    },
    /// The device itself refused.
    Device {
        /// What it said.
        detail: String,
    },
}

/// An allocation that failed even after all cached memory had been given back. All figures are bytes at that moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutOfMemory {
    /// What the caller asked for.
    pub requested: u64,
    /// What was asked of the device for it: a whole segment.
    pub attempted: u64,
    /// Bytes in live blocks.
    pub allocated: u64,
    /// Bytes in segments, live or cached.
    pub reserved: u64,
    /// The memory limit in force, if any.
    pub limit: Option<u64>,
    /// What the limit still leaves for new segments.
    pub free: Option<u64>,
    /// How often this pool has given back its cache and tried again, this time included.
    pub retries: u64,
    /// The allocation's label: what the memory was for.
    pub label: Cow<'static, str>,
    /// Why it failed.
    pub cause: OutOfMemoryCause,
}

impl OutOfMemory {
    /// Bytes that are reserved without being in use: cached, but in pieces or in segments that are partly in use.
    pub fn unallocated(&self) -> u64 {
        self.reserved.saturating_sub(self.allocated)
    }

    /// The likely cause with these figures, and what to do.
    pub fn help(&self) -> String {
        let unallocated = format_size(self.unallocated());
        match &self.cause {
            OutOfMemoryCause::LargestBlock { bytes } => format!(
                "One buffer on this device holds at most {}, however much memory is free: split the tensor (smaller \
                 batches, or chunks along a dimension), or use a device with a larger limit.",
                format_size(*bytes)
            ),
            _ if self.limit.is_some_and(|limit| self.attempted > limit) => format!(
                "The request alone is larger than the limit of {}: freeing tensors cannot help. Use a smaller batch or \
                 shape, or raise the limit with set_memory_limit.",
                format_size(self.limit.unwrap_or_default())
            ),
            _ if self.unallocated() >= self.attempted => format!(
                "{unallocated} are reserved but unallocated, yet in no single piece of {}: the cache is fragmented. \
                 Drop the small tensors that keep segments alive, then call empty_cache(), or allocate the largest \
                 tensors first.",
                format_size(self.attempted)
            ),
            _ => format!(
                "{} are held by live tensors. The usual holders are losses kept with their graph (keep loss.item() \
                 instead), evaluation without no_grad, and a batch that is too large: halve the batch size and try \
                 again.",
                format_size(self.allocated)
            ),
        }
    }
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "out of memory. Tried to allocate {}",
            format_size(self.attempted)
        )?;
        if format_size(self.attempted) != format_size(self.requested) {
            write!(
                f,
                " (a segment for a request of {})",
                format_size(self.requested)
            )?;
        }
        write!(f, ".")?;
        if let (Some(limit), Some(free)) = (self.limit, self.free) {
            write!(
                f,
                " The memory limit is {} of which {} is free.",
                format_size(limit),
                format_size(free)
            )?;
        }
        write!(
            f,
            " Of the allocated memory {} is allocated by tensors, and {} is reserved but unallocated.",
            format_size(self.allocated),
            format_size(self.unallocated())
        )?;
        match &self.cause {
            OutOfMemoryCause::Limit => Ok(()),
            OutOfMemoryCause::LargestBlock { bytes } => {
                write!(
                    f,
                    " The largest buffer on this device is {}.",
                    format_size(*bytes)
                )
            }
            OutOfMemoryCause::Device { detail } => write!(f, " The device said: {detail}."),
        }
    }
}

impl std::error::Error for OutOfMemory {}

/// A byte count as PyTorch prints it in its memory messages: `512 bytes`, `20.00 KiB`, `2.00 GiB`.
pub fn format_size(bytes: u64) -> String {
    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;
    const GIB: u64 = 1 << 30;
    let in_units = |unit: u64, name: &str| format!("{:.2} {name}", bytes as f64 / unit as f64);
    match bytes {
        0..=KIB => format!("{bytes} bytes"),
        _ if bytes <= MIB => in_units(KIB, "KiB"),
        _ if bytes <= GIB => in_units(MIB, "MiB"),
        _ => in_units(GIB, "GiB"),
    }
}
