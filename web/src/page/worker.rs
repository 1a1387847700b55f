//! The page's end of the engine: the worker, whether it lives, and the runs that it was asked for.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use js_sys::{Array, ArrayBuffer};
use leptos::prelude::*;
use lessons::{Diagnosis, Environment, Event, FromWorker, LessonInfo, Report, Status, ToWorker};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{ErrorEvent, File, MessageEvent, Worker};

use super::run::{Phase, Run};
use super::{after, now};
use crate::words;

/// The script that starts the engine, beside the page.
const LOADER: &str = "engine-loader.js";
/// How long a worker may take to load and to look at the machine.
const START_LIMIT_MS: i32 = 60_000;
/// How long a run may take to stop by itself.
const STOP_LIMIT_MS: i32 = 1_000;
/// Events are taken in together, this long after the first: screens show no more, and a curve need not be drawn per step.
const GATHER_MS: i32 = 60;

/// Whether the worker lives.
#[derive(Clone, Debug, PartialEq)]
pub enum Life {
    /// It loads, or looks at the machine.
    Starting,
    /// It waits for work, or works.
    Ready,
    /// It is gone.
    Crashed(String),
}

/// What the worker said of this machine and of the lessons.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    pub lessons: Vec<LessonInfo>,
    pub environment: Environment,
    pub diagnoses: Vec<Diagnosis>,
}

/// The engine, as everything on the page sees it.
#[derive(Clone, Copy)]
pub struct Engine {
    /// Whether the worker lives.
    pub life: RwSignal<Life>,
    /// This machine, once it was looked at; a worker that starts anew looks anew.
    pub machine: RwSignal<Option<Machine>>,
    /// The last run of each lesson.
    pub runs: RwSignal<BTreeMap<String, Run>>,
    /// The lesson that is running.
    pub active: RwSignal<Option<String>>,
    inner: StoredValue<Inner, LocalStorage>,
}

#[derive(Clone, Default)]
struct Inner(Rc<RefCell<Held>>);

#[derive(Default)]
struct Held {
    worker: Option<Hired>,
    /// Counts workers, so that what concerned an earlier one is ignored.
    hired: u32,
    /// Counts runs.
    asked: u32,
    /// What came and is not yet taken in.
    events: Vec<(u32, Event)>,
}

/// A worker with the functions that it calls; they must live as long as it does.
struct Hired {
    worker: Worker,
    _hear: Closure<dyn FnMut(MessageEvent)>,
    _fail: Closure<dyn FnMut(ErrorEvent)>,
    _garbled: Closure<dyn FnMut()>,
}

impl Drop for Hired {
    fn drop(&mut self) {
        self.worker.set_onmessage(None);
        self.worker.set_onerror(None);
        self.worker.terminate();
    }
}

impl Engine {
    /// An engine whose worker is being started.
    pub fn start() -> Self {
        let engine = Engine {
            life: RwSignal::new(Life::Starting),
            machine: RwSignal::new(None),
            runs: RwSignal::default(),
            active: RwSignal::new(None),
            inner: StoredValue::new_local(Inner::default()),
        };
        engine.hire();
        engine
    }

    /// Starts a new worker in place of the one that is there.
    pub fn hire(self) {
        self.life.set(Life::Starting);
        let number = self.with(|held| {
            held.worker = None;
            held.hired += 1;
            held.hired
        });
        let worker = match Worker::new(LOADER) {
            Ok(worker) => worker,
            Err(error) => return self.life.set(Life::Crashed(in_words(&error))),
        };
        let hear = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| match event
            .data()
            .as_string()
            .map(|text| serde_json::from_str::<FromWorker>(&text))
        {
            Some(Ok(message)) => self.hear(message),
            Some(Err(error)) => self.crash(&format!("{} {error}", words::GARBLED)),
            None => {}
        });
        let fail = Closure::<dyn FnMut(ErrorEvent)>::new(move |event: ErrorEvent| {
            // It is shown on the page; the console need not repeat it.
            event.prevent_default();
            let what = event.message();
            self.crash(if what.is_empty() {
                words::NOT_LOADED
            } else {
                &what
            });
        });
        let garbled = Closure::<dyn FnMut()>::new(move || self.crash(words::GARBLED));
        worker.set_onmessage(Some(hear.as_ref().unchecked_ref()));
        worker.set_onerror(Some(fail.as_ref().unchecked_ref()));
        worker.set_onmessageerror(Some(garbled.as_ref().unchecked_ref()));
        self.with(|held| {
            held.worker = Some(Hired {
                worker,
                _hear: hear,
                _fail: fail,
                _garbled: garbled,
            })
        });
        after(START_LIMIT_MS, move || {
            if self.with(|held| held.hired) == number && self.life.get_untracked() == Life::Starting
            {
                self.crash(words::SILENT_START);
            }
        });
    }

    /// Runs a lesson. Files given for it are sent along first, since a worker that starts anew has none.
    pub fn run(
        self,
        lesson: String,
        mut params: BTreeMap<String, String>,
        seed: u64,
        files: BTreeMap<String, Vec<File>>,
    ) {
        if self.active.get_untracked().is_some() {
            return;
        }
        let run = self.with(|held| {
            held.asked += 1;
            held.asked
        });
        self.active.set(Some(lesson.clone()));
        self.runs.update(|runs| {
            runs.insert(lesson.clone(), Run::asked(run, now()));
        });
        spawn_local(async move {
            for (param, files) in files {
                let folder = format!("{}-{run}", words::CHOSEN_FILES);
                for file in files {
                    if let Err(error) = self.send_file(&folder, &file).await {
                        let error = format!("{}: {}", file.name(), in_words(&error));
                        self.over(
                            run,
                            Phase::Refused {
                                param: Some(param),
                                error,
                                help: Some(words::FILE_HELP.into()),
                            },
                        );
                        return;
                    }
                }
                params.insert(param, folder);
            }
            self.say(&ToWorker::Run {
                run,
                lesson,
                params,
                seed,
            });
        });
    }

    /// Lets the engine get ready for a run with these parameters, unless it has other things to do.
    pub fn prepare(self, lesson: String, params: BTreeMap<String, String>, seed: u64) {
        if self.active.get_untracked().is_none() && self.life.get_untracked() == Life::Ready {
            self.say(&ToWorker::Prepare {
                lesson,
                params,
                seed,
            });
        }
    }

    async fn send_file(self, folder: &str, file: &File) -> Result<(), JsValue> {
        let buffer: ArrayBuffer = JsFuture::from(file.array_buffer()).await?.unchecked_into();
        let message = ToWorker::Data {
            folder: folder.into(),
            name: file.name(),
            bytes: u64::from(buffer.byte_length()),
        };
        let text =
            serde_json::to_string(&message).map_err(|e| JsValue::from_str(&e.to_string()))?;
        let parts = Array::of2(&text.into(), &buffer);
        self.with(|held| match &held.worker {
            Some(hired) => hired
                .worker
                .post_message_with_transfer(&parts, &Array::of1(&buffer)),
            None => Ok(()),
        })
    }

    /// Asks the run to stop; one that does not within a second loses its worker.
    pub fn cancel(self) {
        let Some((_, run)) = self.live() else { return };
        self.say(&ToWorker::Cancel { run });
        self.alter(run, |r| r.phase = Phase::Stopping);
        after(STOP_LIMIT_MS, move || {
            if self.live().is_some_and(|(_, live)| live == run) {
                self.take_in();
                self.alter(run, |r| {
                    r.cut_off(Status::Cancelled, Some(words::STOPPED_HARD))
                });
                self.active.set(None);
                self.hire();
            }
        });
    }

    /// Looks at the machine anew.
    pub fn look_again(self) {
        self.life.set(Life::Starting);
        self.say(&ToWorker::Describe);
    }

    /// The lesson that is running, with its run's number.
    fn live(self) -> Option<(String, u32)> {
        let lesson = self.active.get_untracked()?;
        let run = self
            .runs
            .with_untracked(|runs| runs.get(&lesson).map(|r| r.id))?;
        Some((lesson, run))
    }

    fn with<T>(self, work: impl FnOnce(&mut Held) -> T) -> T {
        let inner = self.inner.get_value();
        let mut held = inner.0.borrow_mut();
        work(&mut held)
    }

    fn say(self, message: &ToWorker) {
        let Ok(text) = serde_json::to_string(message) else {
            return;
        };
        self.with(|held| {
            if let Some(hired) = &held.worker {
                // It fails for values that cannot be copied; text always can.
                let _ = hired.worker.post_message(&text.into());
            }
        });
    }

    fn hear(self, message: FromWorker) {
        match message {
            FromWorker::Ready {
                lessons,
                environment,
                diagnoses,
            } => {
                self.machine.set(Some(Machine {
                    lessons,
                    environment: *environment,
                    diagnoses,
                }));
                self.life.set(Life::Ready);
            }
            FromWorker::Event { run, event } => {
                let first = self.with(|held| {
                    held.events.push((run, event));
                    held.events.len() == 1
                });
                if first {
                    after(GATHER_MS, move || self.take_in());
                }
            }
            FromWorker::Finished { run, report } => {
                self.take_in();
                self.finish(run, *report);
            }
            FromWorker::Refused {
                run,
                param,
                error,
                help,
            } => self.over(run, Phase::Refused { param, error, help }),
            FromWorker::Crashed { what } => self.crash(&what),
            FromWorker::Log { text } => web_sys::console::log_1(&text.into()),
        }
    }

    fn take_in(self) {
        let events = self.with(|held| std::mem::take(&mut held.events));
        let Some((lesson, live)) = self.live() else {
            return;
        };
        if events.is_empty() {
            return;
        }
        let now = now();
        self.runs.update(|runs| {
            if let Some(run) = runs.get_mut(&lesson) {
                for (_, event) in events.iter().filter(|(of, _)| *of == live) {
                    run.hear(event, now);
                }
            }
        });
    }

    fn finish(self, run: u32, report: Report) {
        self.alter(run, |r| r.report = Some(report));
        self.over(run, Phase::Over);
    }

    fn over(self, run: u32, phase: Phase) {
        if self.live().is_some_and(|(_, live)| live == run) {
            self.alter(run, |r| r.phase = phase);
            self.active.set(None);
        }
    }

    fn alter(self, run: u32, change: impl FnOnce(&mut Run)) {
        self.runs.update(|runs| {
            if let Some(run) = runs.values_mut().find(|r| r.id == run) {
                change(run);
            }
        });
    }

    fn crash(self, what: &str) {
        self.take_in();
        // The panic comes first, as a message, and the error that it becomes comes after: the first says more.
        if matches!(self.life.get_untracked(), Life::Crashed(_)) {
            return;
        }
        if let Some((_, run)) = self.live() {
            let status = Status::Failed {
                error: format!("{} {what}", words::ENGINE_STOPPED),
                help: Some(words::START_ANEW_HELP.into()),
            };
            self.alter(run, |r| r.cut_off(status, None));
            self.active.set(None);
        }
        self.life.set(Life::Crashed(what.into()));
        // Its functions are in use right now, so it is let go a moment later.
        let number = self.with(|held| held.hired);
        after(0, move || {
            self.with(|held| {
                if held.hired == number {
                    held.worker = None;
                }
            });
        });
    }
}

/// An error of the browser in words.
fn in_words(error: &JsValue) -> String {
    let message = js_sys::Reflect::get(error, &"message".into())
        .ok()
        .and_then(|m| m.as_string());
    message.unwrap_or_else(|| format!("{error:?}"))
}
