//! How a run in the worker reaches the page and lets the page reach it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use js_sys::Promise;
use lessons::{Event, FromWorker, Host, LocalFuture};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{DedicatedWorkerGlobalScope, MessageChannel};

/// The worker itself.
pub fn scope() -> DedicatedWorkerGlobalScope {
    js_sys::global().unchecked_into()
}

/// Says something to the page.
pub fn post(message: &FromWorker) {
    if let Ok(text) = serde_json::to_string(message) {
        // It fails for values that cannot be copied; text always can.
        let _ = scope().post_message(&text.into());
    }
}

/// The page as a run sees it.
pub struct PageHost {
    run: u32,
    stop: Rc<Cell<bool>>,
    turns: Turns,
}

impl PageHost {
    pub fn new(run: u32, stop: Rc<Cell<bool>>) -> Self {
        PageHost {
            run,
            stop,
            turns: Turns::open(),
        }
    }
}

impl Host for PageHost {
    fn emit(&self, event: &Event) {
        post(&FromWorker::Event {
            run: self.run,
            event: event.clone(),
        });
    }

    fn cancelled(&self) -> bool {
        self.stop.get()
    }

    fn turn(&self) -> LocalFuture<'_, ()> {
        Box::pin(async {
            self.turns.turn().await;
        })
    }
}

/// Nobody listens: a preparation, until another one or a run is asked for.
pub struct SilentHost {
    own: u32,
    latest: Rc<Cell<u32>>,
    turns: Turns,
}

impl SilentHost {
    /// The host of a new preparation: from here on it is the latest.
    pub fn new(latest: &Rc<Cell<u32>>) -> Self {
        let own = latest.get() + 1;
        latest.set(own);
        SilentHost {
            own,
            latest: latest.clone(),
            turns: Turns::open(),
        }
    }
}

impl Host for SilentHost {
    fn emit(&self, _: &Event) {}

    fn cancelled(&self) -> bool {
        self.latest.get() != self.own
    }

    fn turn(&self) -> LocalFuture<'_, ()> {
        Box::pin(async {
            self.turns.turn().await;
        })
    }
}

/// Turns of the event loop.
pub struct Turns(Option<Channel>);

impl Turns {
    pub fn open() -> Self {
        Turns(Channel::open())
    }

    /// Lets messages in that came meanwhile; false where the browser has nothing to wait by.
    pub async fn turn(&self) -> bool {
        match &self.0 {
            Some(channel) => {
                channel.round_trip().await;
                true
            }
            None => false,
        }
    }
}

/// A message to oneself comes back after the messages that came before it, and, unlike a timer, at once.
struct Channel {
    ends: MessageChannel,
    waiting: Rc<RefCell<Option<js_sys::Function>>>,
    _back: Closure<dyn FnMut()>,
}

impl Channel {
    fn open() -> Option<Self> {
        let ends = MessageChannel::new().ok()?;
        let waiting: Rc<RefCell<Option<js_sys::Function>>> = Rc::default();
        let waking = waiting.clone();
        let back = Closure::<dyn FnMut()>::new(move || {
            if let Some(resolve) = waking.borrow_mut().take() {
                let _ = resolve.call0(&JsValue::NULL);
            }
        });
        ends.port2()
            .set_onmessage(Some(back.as_ref().unchecked_ref()));
        Some(Channel {
            ends,
            waiting,
            _back: back,
        })
    }

    async fn round_trip(&self) {
        let promise = Promise::new(&mut |resolve, _| {
            self.waiting.replace(Some(resolve));
        });
        if self.ends.port1().post_message(&JsValue::NULL).is_ok() {
            let _ = JsFuture::from(promise).await;
        }
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.ends.port2().set_onmessage(None);
        self.ends.port1().close();
        self.ends.port2().close();
    }
}
