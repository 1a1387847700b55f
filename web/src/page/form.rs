//! What a learner sets before a run, and the buttons that start and stop it.

use std::collections::BTreeMap;

use leptos::prelude::*;
use lessons::{LessonInfo, ParamKind, ParamSpec};

use super::after;
use super::field::{Field, Values, focus};
use super::files::Chosen;
use super::route::to_lesson;
use super::run::Phase;
use super::worker::{Engine, Life};
use crate::words;

/// Name of the seed's field. Every lesson has a seed, and no lesson names a parameter so.
const SEED: &str = "seed";

/// How long a form stands still before the engine gets ready for what it says.
const SETTLED_MS: i32 = 300;

fn seed_spec() -> ParamSpec {
    ParamSpec::int(SEED, 0..=i64::from(u32::MAX), 0, words::SEED_HELP)
}

/// The form of a lesson.
#[component]
pub fn Form(info: LessonInfo) -> impl IntoView {
    let engine = expect_context::<Engine>();
    let values = expect_context::<Values>();
    let chosen = expect_context::<Chosen>();
    let lesson = info.id.clone();
    let empty = info.params.is_empty();
    let specs: Vec<ParamSpec> = info.params.iter().cloned().chain([seed_spec()]).collect();

    let refused = {
        let lesson = lesson.clone();
        Memo::new(move |_| {
            engine.runs.with(|runs| match &runs.get(&lesson)?.phase {
                Phase::Refused {
                    param: Some(param),
                    error,
                    ..
                } => Some((param.clone(), error.clone())),
                _ => None,
            })
        })
    };
    let error_of = {
        let lesson = lesson.clone();
        move |spec: &ParamSpec| {
            let (lesson, spec) = (lesson.clone(), spec.clone());
            Memo::new(move |_| {
                if matches!(spec.kind, ParamKind::Folder) {
                    return refused
                        .get()
                        .filter(|(param, _)| *param == spec.name)
                        .map(|(_, error)| error);
                }
                let text = values.get(&lesson, &spec.name)?;
                spec.parse(&text).err().map(|e| e.to_string())
            })
        }
    };
    let errors: Vec<(String, Memo<Option<String>>)> = specs
        .iter()
        .map(|s| (s.name.clone(), error_of(s)))
        .collect();
    let fields = specs
        .iter()
        .zip(&errors)
        .map(|(spec, (_, error))| {
            view! { <Field lesson=lesson.clone() spec=spec.clone() error=*error/> }
        })
        .collect_view();

    let wrong = {
        let errors = errors.clone();
        let folders: Vec<String> = specs
            .iter()
            .filter(|s| matches!(s.kind, ParamKind::Folder))
            .map(|s| s.name.clone())
            .collect();
        // A refused file is no reason not to try another.
        move || {
            errors
                .iter()
                .find(|(name, e)| !folders.contains(name) && e.with(Option::is_some))
                .map(|(name, _)| name.clone())
        }
    };
    let is_wrong = {
        let wrong = wrong.clone();
        move || wrong().is_some()
    };
    let filled = {
        let lesson = lesson.clone();
        Memo::new(move |_| -> (BTreeMap<String, String>, u64) {
            let given = info
                .params
                .iter()
                .filter_map(|spec| Some((spec.name.clone(), values.get(&lesson, &spec.name)?)))
                .collect();
            let seed = values.get(&lesson, SEED);
            let seed = seed.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
            (given, seed)
        })
    };
    // While the learner reads and sets things, the engine opens the device and builds what a run will need.
    let settings = StoredValue::new(0u32);
    Effect::new({
        let lesson = lesson.clone();
        move |_| {
            let (given, seed) = filled.get();
            if engine.life.get() != Life::Ready {
                return;
            }
            settings.update_value(|n| *n += 1);
            let number = settings.get_value();
            let lesson = lesson.clone();
            after(SETTLED_MS, move || {
                // The form may be gone by now.
                if settings.try_get_value() == Some(number) {
                    engine.prepare(lesson, given, seed);
                }
            });
        }
    });
    let go = {
        let lesson = lesson.clone();
        move |event: leptos::ev::SubmitEvent| {
            event.prevent_default();
            if let Some(name) = wrong() {
                focus(&name);
                return;
            }
            if engine.life.get_untracked() != Life::Ready || engine.active.get_untracked().is_some()
            {
                return;
            }
            let (given, seed) = filled.get_untracked();
            engine.run(lesson.clone(), given, seed, chosen.of(&lesson));
        }
    };
    let mine = {
        let lesson = lesson.clone();
        Memo::new(move |_| engine.active.get().as_deref() == Some(&lesson))
    };
    let other = move || engine.active.get().filter(|_| !mine.get());
    let stopping = {
        let lesson = lesson.clone();
        Memo::new(move |_| {
            engine.runs.with(|runs| {
                runs.get(&lesson)
                    .is_some_and(|run| run.phase == Phase::Stopping)
            })
        })
    };
    let ran = {
        let lesson = lesson.clone();
        Memo::new(move |_| engine.runs.with(|runs| runs.contains_key(&lesson)))
    };
    let blocked = move || engine.active.get().is_some() || engine.life.get() != Life::Ready;
    let reset = {
        let lesson = lesson.clone();
        move |_| values.clear(&lesson)
    };
    view! {
        <form class="card set-up" on:submit=go novalidate aria-labelledby="set-up-title">
            <div class="head">
                <h2 id="set-up-title">{words::SET_UP}</h2>
                <div class="buttons">
                    <button type="submit" class="main" id="run" disabled=blocked>
                        {move || if ran.get() { words::RUN_AGAIN } else { words::RUN }}
                    </button>
                    <button type="button" id="cancel" disabled=move || !mine.get() || stopping.get()
                        on:click=move |_| engine.cancel()>{words::CANCEL}</button>
                    <button type="button" class="quiet" on:click=reset disabled=move || mine.get()>{words::DEFAULTS}</button>
                </div>
            </div>
            {move || is_wrong().then(|| view! { <p class="error">{words::NOT_BEFORE_FIXED}</p> })}
            {move || other().map(|id| view! {
                <p class="aside">{words::ANOTHER_RUNS} " " <a href=to_lesson(&id)>{id.clone()}</a></p>
            })}
            {empty.then(|| view! { <p class="aside">{words::NO_PARAMETERS}</p> })}
            {(!empty).then(|| view! { <div class="fields">{fields}</div> })}
        </form>
    }
}
