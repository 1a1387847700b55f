//! A value that a callback delivers and a future awaits.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

struct Slot<T> {
    value: Option<T>,
    waker: Option<Waker>,
}

/// The receiving end. Cloned into the callback, which calls [`Signal::set`].
pub(crate) struct Signal<T>(Arc<Mutex<Slot<T>>>);

impl<T> Clone for Signal<T> {
    fn clone(&self) -> Self {
        Signal(self.0.clone())
    }
}

impl<T> Signal<T> {
    pub(crate) fn new() -> Signal<T> {
        Signal(Arc::new(Mutex::new(Slot {
            value: None,
            waker: None,
        })))
    }

    fn slot(&self) -> MutexGuard<'_, Slot<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Deliver the value.
    pub(crate) fn set(&self, value: T) {
        let waker = {
            let mut slot = self.slot();
            slot.value = Some(value);
            slot.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Whether the value is there.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn is_set(&self) -> bool {
        self.slot().value.is_some()
    }
}

impl<T> Future for Signal<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let mut slot = self.slot();
        match slot.value.take() {
            Some(value) => Poll::Ready(value),
            None => {
                slot.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}
