//! The worker: looks at the machine, runs one lesson at a time, and says what it measures.

mod host;
mod sets;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use js_sys::{ArrayBuffer, Uint8Array};
use lessons::{
    Clock, Devices, Environment, FromWorker, Host, LessonError, Machine, ParamError, Params,
    Surroundings, ToWorker, WallClock,
};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::MessageEvent;

use host::{PageHost, SilentHost, Turns, post};
use sets::PageSets;

/// Starts the worker: it looks at the machine, says so, and then does what it is told.
pub fn start() {
    // A panic ends a WebAssembly program, so this is the last that the page hears from it.
    std::panic::set_hook(Box::new(|panic| {
        post(&FromWorker::Crashed {
            what: panic.to_string(),
        })
    }));
    let engine = Rc::new(Engine::default());
    let hearing = engine.clone();
    let hear = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
        hear(&hearing, &event.data())
    });
    host::scope().set_onmessage(Some(hear.as_ref().unchecked_ref()));
    // It hears as long as the worker lives.
    hear.forget();
    spawn_local(async move { engine.describe().await });
}

#[derive(Default)]
struct Engine {
    machine: Rc<Machine>,
    sets: Rc<PageSets>,
    clock: Rc<WallClock>,
    /// The run that is going.
    running: Cell<Option<u32>>,
    /// Whether it is to stop.
    stop: Rc<Cell<bool>>,
    /// The number of the preparation that was asked for last, and whether one is going.
    latest: Rc<Cell<u32>>,
    preparing: Cell<bool>,
    /// What was last found; looking anew takes a while in some browsers.
    environment: RefCell<Option<Environment>>,
}

fn hear(engine: &Rc<Engine>, data: &JsValue) {
    let (text, buffer) = match data.dyn_ref::<js_sys::Array>() {
        Some(parts) => (
            parts.get(0).as_string(),
            parts.get(1).dyn_into::<ArrayBuffer>().ok(),
        ),
        None => (data.as_string(), None),
    };
    let message = text
        .ok_or_else(|| "no text".to_string())
        .and_then(|t| serde_json::from_str::<ToWorker>(&t).map_err(|e| e.to_string()));
    match message {
        Ok(ToWorker::Describe) => {
            let engine = engine.clone();
            spawn_local(async move {
                engine.machine.forget();
                engine.describe().await;
            });
        }
        Ok(ToWorker::Prepare {
            lesson,
            params,
            seed,
        }) => {
            let engine = engine.clone();
            spawn_local(async move { engine.prepare(&lesson, &params, seed).await });
        }
        Ok(ToWorker::Run {
            run,
            lesson,
            params,
            seed,
        }) => {
            let engine = engine.clone();
            spawn_local(async move { engine.run(run, &lesson, &params, seed).await });
        }
        Ok(ToWorker::Cancel { run }) => {
            if engine.running.get() == Some(run) {
                engine.stop.set(true);
            }
        }
        Ok(ToWorker::Data {
            folder,
            name,
            bytes,
        }) => engine.take(&folder, &name, bytes, buffer.as_ref()),
        Err(e) => log(format!("a message that the engine does not know: {e}")),
    }
}

fn log(text: String) {
    post(&FromWorker::Log { text });
}

impl Engine {
    async fn describe(&self) {
        let environment = Environment::survey(&*self.machine, &*self.clock).await;
        let diagnoses = self.machine.diagnose().await;
        self.environment.replace(Some(environment.clone()));
        post(&FromWorker::Ready {
            lessons: lessons::catalogue(),
            environment: Box::new(environment),
            diagnoses,
        });
    }

    /// Gets ready for a run. A later preparation, and a run, put an end to it.
    async fn prepare(&self, lesson: &str, params: &BTreeMap<String, String>, seed: u64) {
        let Ok((lesson, info)) = lessons::find(lesson) else {
            return;
        };
        let given = params
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str()));
        let Ok(params) = Params::parse(&info.params, given) else {
            return;
        };
        let host = Rc::new(SilentHost::new(&self.latest));
        self.prepared().await;
        let known = self.environment.borrow().clone();
        let (Some(environment), None, false) = (known, self.running.get(), host.cancelled()) else {
            return;
        };
        self.preparing.set(true);
        let surroundings = Surroundings {
            devices: self.machine.clone(),
            host,
            clock: self.clock.clone() as Rc<dyn Clock>,
            data: self.sets.clone(),
        };
        lessons::prepare(lesson, &params, seed, environment, surroundings).await;
        self.preparing.set(false);
    }

    /// Waits for the end of the preparation that is going, if one is.
    async fn prepared(&self) {
        let turns = Turns::open();
        while self.preparing.get() && turns.turn().await {}
    }

    async fn run(&self, run: u32, lesson: &str, params: &BTreeMap<String, String>, seed: u64) {
        let refuse = |param: Option<String>, error: String, help: Option<String>| {
            post(&FromWorker::Refused {
                run,
                param,
                error,
                help,
            });
        };
        if self.running.get().is_some() {
            return refuse(
                None,
                "another run is going".into(),
                Some("cancel it or wait for its end".into()),
            );
        }
        let (lesson, info) = match lessons::find(lesson) {
            Ok(found) => found,
            Err(e) => return refuse(None, e.to_string(), e.help()),
        };
        let given = params
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str()));
        let params = match Params::parse(&info.params, given) {
            Ok(params) => params,
            Err(e) => {
                return refuse(at_fault(&e), e.to_string(), Some(e.help()));
            }
        };
        self.running.set(Some(run));
        self.stop.set(false);
        self.latest.set(self.latest.get() + 1);
        self.prepared().await;
        // Let go of before the wait: a survey that ends meanwhile stores its own.
        let known = self.environment.borrow().clone();
        let environment = match known {
            Some(environment) => environment,
            None => Environment::survey(&*self.machine, &*self.clock).await,
        };
        let surroundings = Surroundings {
            devices: self.machine.clone(),
            host: Rc::new(PageHost::new(run, self.stop.clone())),
            clock: self.clock.clone() as Rc<dyn Clock>,
            data: self.sets.clone(),
        };
        let report = lessons::run(lesson, &params, seed, environment, surroundings).await;
        self.running.set(None);
        post(&FromWorker::Finished {
            run,
            report: Box::new(report),
        });
    }

    fn take(&self, folder: &str, name: &str, bytes: u64, buffer: Option<&ArrayBuffer>) {
        match buffer {
            Some(buffer) if u64::from(buffer.byte_length()) == bytes => {
                self.sets
                    .given
                    .insert(folder, name, Uint8Array::new(buffer).to_vec());
            }
            Some(buffer) => log(format!(
                "{name}: {} bytes came, {bytes} were promised",
                buffer.byte_length()
            )),
            None => log(format!("{name}: no bytes came with it")),
        }
    }
}

/// The parameter that a form should mark.
fn at_fault(e: &ParamError) -> Option<String> {
    match e {
        ParamError::Value { name, .. }
        | ParamError::Range { name, .. }
        | ParamError::Choice { name, .. } => Some(name.clone()),
        ParamError::Unknown { .. } | ParamError::Undeclared { .. } => None,
    }
}

/// An error of the browser in words.
fn in_words(error: &JsValue) -> String {
    let message = js_sys::Reflect::get(error, &"message".into())
        .ok()
        .and_then(|m| m.as_string());
    message.unwrap_or_else(|| format!("{error:?}"))
}

/// A failure to get data, in the lessons' terms.
fn no_data(message: String, help: &str) -> LessonError {
    LessonError::Data {
        message,
        help: Some(help.into()),
    }
}
