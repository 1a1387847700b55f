//! Switches: whether operations are recorded, and whether every result is searched for NaN.

use crate::error::Result;
use crate::kernel::Check;
use crate::ops::check;
use crate::tensor::Tensor;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    static ENABLED: Cell<bool> = const { Cell::new(true) };
}

static ANOMALY: AtomicBool = AtomicBool::new(false);

/// Whether operations of this thread are recorded.
pub fn is_grad_enabled() -> bool {
    ENABLED.get()
}

/// While it lives, operations of this thread are not recorded.
#[must_use = "recording resumes as soon as the guard is dropped"]
pub struct NoGrad {
    before: bool,
}

impl NoGrad {
    /// Stop recording.
    pub fn new() -> NoGrad {
        NoGrad {
            before: ENABLED.replace(false),
        }
    }
}

impl Default for NoGrad {
    fn default() -> Self {
        NoGrad::new()
    }
}

impl Drop for NoGrad {
    fn drop(&mut self) {
        ENABLED.set(self.before);
    }
}

/// Run `f` without recording.
pub fn no_grad<T>(f: impl FnOnce() -> T) -> T {
    let _guard = NoGrad::new();
    f()
}

/// Search the result of every recorded operation, and every gradient, for NaN; the first names its operation.
///
/// The CPU raises at once, other devices at the next await.
pub fn detect_anomaly(on: bool) {
    ANOMALY.store(on, Ordering::Release);
}

/// Whether results are searched for NaN.
pub fn is_anomaly_enabled() -> bool {
    ANOMALY.load(Ordering::Acquire)
}

pub(super) fn check_forward(out: &Tensor, function: &'static str) -> Result<()> {
    if is_anomaly_enabled() && out.dtype().is_float() {
        check::nan(
            out,
            Check::Nan {
                function,
                backward: false,
                output: 0,
            },
        )?;
    }
    Ok(())
}

pub(super) fn check_backward(grads: &[Option<Tensor>], function: &'static str) -> Result<()> {
    if is_anomaly_enabled() {
        for (output, grad) in grads.iter().enumerate() {
            if let Some(grad) = grad {
                check::nan(
                    grad,
                    Check::Nan {
                        function,
                        backward: true,
                        output,
                    },
                )?;
            }
        }
    }
    Ok(())
}
