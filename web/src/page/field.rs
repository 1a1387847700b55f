//! One field of a lesson's form, made from what the lesson says of the parameter.

use std::collections::BTreeMap;

use leptos::prelude::*;
use lessons::{ParamKind, ParamSpec, automatic};
use wasm_bindgen::prelude::*;
use web_sys::{File, HtmlInputElement};

use super::code::with_code;
use super::device::in_short;
use super::files::Chosen;
use super::worker::Engine;
use crate::words;

/// What stands in the forms, by lesson and field; what was never touched is not here.
#[derive(Clone, Copy, Default)]
pub struct Values(RwSignal<BTreeMap<(String, String), String>>);

impl Values {
    /// What stands in a field, when it is not its default.
    pub fn get(self, lesson: &str, field: &str) -> Option<String> {
        self.0
            .with(|all| all.get(&(lesson.to_string(), field.to_string())).cloned())
    }

    /// Writes a field.
    pub fn set(self, lesson: &str, field: &str, text: String) {
        self.0.update(|all| {
            all.insert((lesson.to_string(), field.to_string()), text);
        });
    }

    /// Takes back whatever was written for a lesson.
    pub fn clear(self, lesson: &str) {
        self.0.update(|all| all.retain(|(of, _), _| of != lesson));
    }
}

/// A field with its label, its help and, when it is refused, why.
#[component]
pub fn Field(
    /// Id of the lesson.
    lesson: String,
    /// What the lesson says of the parameter.
    spec: ParamSpec,
    /// What is wrong with it, if something is.
    #[prop(into)]
    error: Signal<Option<String>>,
) -> impl IntoView {
    let id = format!("field-{}", spec.name);
    let (help_id, error_id) = (format!("{id}-help"), format!("{id}-error"));
    let described = format!("{help_id} {error_id}");
    let unit = (!spec.unit.is_empty()).then(|| format!(" ({})", spec.unit));
    // What a number may be belongs beside it; a list shows its words by itself.
    let range = match &spec.kind {
        ParamKind::Int { .. } | ParamKind::Float { .. } | ParamKind::Sizes { .. } => {
            format!("; {}", spec.range())
        }
        _ => String::new(),
    };
    let help = format!("{}{range}", spec.help);
    let label = spec.name.replace(['_', '-'], " ");
    let is_group = matches!(spec.kind, ParamKind::Subset { .. });
    let input = input(lesson, &spec, &id, &described, error);
    view! {
        <div class="field" class:refused=move || error.with(Option::is_some)>
            {if is_group {
                view! { <span class="label" id=format!("{id}-label")>{label}{unit}</span> }.into_any()
            } else {
                view! { <label for=id.clone()>{label}{unit}</label> }.into_any()
            }}
            {input}
            <p class="help" id=help_id>{help}</p>
            <p class="error" id=error_id role="alert">
                {move || error.get().map(|text| with_code(&format!("\u{2715} {text}")))}
            </p>
        </div>
    }
}

fn input(
    lesson: String,
    spec: &ParamSpec,
    id: &str,
    described: &str,
    error: Signal<Option<String>>,
) -> AnyView {
    let values = expect_context::<Values>();
    let (id, described) = (id.to_string(), described.to_string());
    let name = spec.name.clone();
    let default = spec.default.to_string();
    let invalid = move || error.with(|e| e.is_some().then_some("true"));
    let value = {
        let (lesson, name) = (lesson.clone(), name.clone());
        move || {
            values
                .get(&lesson, &name)
                .unwrap_or_else(|| default.clone())
        }
    };
    let write = {
        let (lesson, name) = (lesson.clone(), name.clone());
        move |text: String| values.set(&lesson, &name, text)
    };
    match &spec.kind {
        ParamKind::Int { .. } | ParamKind::Float { .. } | ParamKind::Sizes { .. } => {
            let mode = if matches!(spec.kind, ParamKind::Int { .. }) {
                "numeric"
            } else {
                "decimal"
            };
            let mode = if matches!(spec.kind, ParamKind::Sizes { .. }) {
                "text"
            } else {
                mode
            };
            view! {
                <input id=id type="text" inputmode=mode autocomplete="off" spellcheck="false" name=name
                    prop:value=value aria-describedby=described aria-invalid=invalid
                    on:input=move |event| write(event_target_value(&event))/>
            }
            .into_any()
        }
        ParamKind::Bool => {
            let checked = move || value() == "true";
            view! {
                <span class="check">
                    <input id=id type="checkbox" name=name prop:checked=checked aria-describedby=described
                        on:change=move |event| write(event_target_checked(&event).to_string())/>
                    <span aria-hidden="true">{words::ON}</span>
                </span>
            }
            .into_any()
        }
        ParamKind::Choice { options } => {
            let options = options
                .iter()
                .map(|o| (o.clone(), o.clone()))
                .collect::<Vec<_>>();
            select(
                id,
                name,
                described,
                Signal::derive(move || options.clone()),
                Signal::derive(value),
                write,
            )
        }
        ParamKind::Device => {
            let engine = expect_context::<Engine>();
            select(
                id,
                name,
                described,
                Signal::derive(move || devices(engine)),
                Signal::derive(value),
                write,
            )
        }
        ParamKind::Subset { options } => subset(
            options.clone(),
            name,
            id,
            described,
            Signal::derive(value),
            write,
        ),
        ParamKind::Folder => folder(lesson, name, id, described),
    }
}

fn devices(engine: Engine) -> Vec<(String, String)> {
    engine.machine.with(|machine| {
        let Some(machine) = machine else {
            return vec![(words::DEVICE_AUTO.into(), words::DEVICE_AUTO.into())];
        };
        let devices = &machine.environment.devices;
        let auto = format!("{} ({})", words::DEVICE_AUTO, automatic(devices));
        let mut all = vec![(words::DEVICE_AUTO.to_string(), auto)];
        all.extend(devices.iter().map(|d| (d.name.clone(), in_short(d))));
        all
    })
}

fn select(
    id: String,
    name: String,
    described: String,
    options: Signal<Vec<(String, String)>>,
    value: Signal<String>,
    write: impl Fn(String) + 'static,
) -> AnyView {
    view! {
        <select id=id name=name aria-describedby=described on:change=move |event| write(event_target_value(&event))>
            {move || {
                let now = value.get();
                options.get().into_iter().map(|(word, label)| {
                    let selected = word == now;
                    view! { <option value=word selected=selected>{label}</option> }
                }).collect_view()
            }}
        </select>
    }
    .into_any()
}

fn subset(
    options: Vec<String>,
    name: String,
    id: String,
    described: String,
    value: Signal<String>,
    write: impl Fn(String) + Clone + 'static,
) -> AnyView {
    let chosen = move |word: &str| value.with(|all| all.split(',').any(|w| w == word));
    let order = options.clone();
    let boxes = options.into_iter().map(|word| {
        let (order, write) = (order.clone(), write.clone());
        let (shown, label) = (word.clone(), word.clone());
        let change = move |event| {
            let on = event_target_checked(&event);
            let kept = order.iter().filter(|w| if **w == word { on } else { chosen(w) });
            write(kept.cloned().collect::<Vec<_>>().join(","));
        };
        view! {
            <label class="check"><input type="checkbox" name=name.clone() prop:checked=move || chosen(&shown) on:change=change/>{label}</label>
        }
    });
    view! {
        <div class="checks" role="group" aria-labelledby=format!("{id}-label") aria-describedby=described>
            {boxes.collect_view()}
        </div>
    }
    .into_any()
}

fn folder(lesson: String, name: String, id: String, described: String) -> AnyView {
    let chosen = expect_context::<Chosen>();
    let key = (lesson.clone(), name.clone());
    let label = move || {
        chosen
            .labels
            .with(|labels| labels.get(&key).cloned())
            .unwrap_or_else(|| words::FILES_NONE.into())
    };
    let param = name.clone();
    let take = move |event: leptos::ev::Event| {
        let input: HtmlInputElement = event_target(&event);
        let files: Vec<File> = input
            .files()
            .map(|list| (0..list.length()).filter_map(|i| list.get(i)).collect())
            .unwrap_or_default();
        chosen.choose(&lesson, &param, files);
    };
    view! {
        <span class="files">
            <input id=id type="file" multiple name=name aria-describedby=described on:change=take/>
            <span class="aside">{label}</span>
        </span>
    }
    .into_any()
}

/// Puts the keyboard on a field.
pub fn focus(name: &str) {
    if let Some(field) = document().get_element_by_id(&format!("field-{name}")) {
        let _ = field.unchecked_into::<web_sys::HtmlElement>().focus();
    }
}
