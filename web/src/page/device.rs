//! What this machine is, why a device is missing, and what to do when the engine is gone.

use leptos::prelude::*;
use lessons::{Check, DeviceFacts, DeviceKind, Outcome, automatic, quantity};
use wasm_bindgen::prelude::*;

use super::worker::{Engine, Life, Machine};
use crate::words;

/// The class that gives a kind of device its colour.
pub fn class_of(kind: DeviceKind) -> &'static str {
    match kind {
        DeviceKind::Cpu => "cpu",
        DeviceKind::Wgpu => "wgpu",
        DeviceKind::Cuda => "cuda",
    }
}

/// A device in a few words.
pub fn in_short(device: &DeviceFacts) -> String {
    let model = if device.model.is_empty() {
        words::kind(device.kind)
    } else {
        &device.model
    };
    let software = if device.software {
        format!(" ({})", words::SOFTWARE)
    } else {
        String::new()
    };
    format!("{}: {model}{software}", device.name)
}

/// The device that lessons use, in the header.
#[component]
pub fn DeviceInHeader() -> impl IntoView {
    let engine = expect_context::<Engine>();
    let used = move || {
        engine.machine.with(|machine| {
            let devices = &machine.as_ref()?.environment.devices;
            let gpu = devices
                .iter()
                .find(|d| d.kind != DeviceKind::Cpu)
                .or_else(|| devices.first())?;
            Some((in_short(gpu), class_of(gpu.kind)))
        })
    };
    view! {
        <a class="device-now" href="#/">
            {move || match used() {
                Some((text, class)) => view! { <span class=format!("dot {class}") aria-hidden="true"></span>{text} }.into_any(),
                None => view! { <span class="dot" aria-hidden="true"></span>{words::LOOKING} }.into_any(),
            }}
        </a>
    }
}

/// What happened to the engine, and the button that starts a new one.
#[component]
pub fn Crash() -> impl IntoView {
    let engine = expect_context::<Engine>();
    view! {
        <div role="alert">
            {move || match engine.life.get() {
                Life::Crashed(what) => view! {
                    <section class="trouble" id="crash">
                        <h2>{words::ENGINE_DOWN}</h2>
                        <p>{words::ENGINE_SAID} " " <code>{what}</code></p>
                        <p>{words::ENGINE_KEPT}</p>
                        <button type="button" class="main" on:click=move |_| engine.hire()>{words::START_ANEW}</button>
                    </section>
                }.into_any(),
                _ => ().into_any(),
            }}
        </div>
    }
}

/// This machine: its devices, and why one is missing.
#[component]
pub fn DeviceCard() -> impl IntoView {
    let engine = expect_context::<Engine>();
    view! {
        <section class="card" aria-labelledby="machine-title">
            <h2 id="machine-title">{words::THIS_MACHINE}</h2>
            <div aria-live="polite">
                {move || match engine.machine.get() {
                    Some(machine) => facts(machine).into_any(),
                    None => view! { <p class="aside">{words::LOOKING}</p> }.into_any(),
                }}
            </div>
            <button type="button" class="quiet" on:click=move |_| engine.look_again()
                disabled=move || engine.life.get() != Life::Ready || engine.active.get().is_some()>
                {words::LOOK_AGAIN}
            </button>
        </section>
    }
}

fn facts(machine: Machine) -> impl IntoView {
    let environment = machine.environment;
    let chosen = automatic(&environment.devices).to_string();
    let has_gpu = environment
        .devices
        .iter()
        .any(|d| d.kind != DeviceKind::Cpu);
    let missing = (!has_gpu).then(|| {
        let checks = machine
            .diagnoses
            .iter()
            .filter(|d| d.kind == DeviceKind::Wgpu)
            .flat_map(|d| d.checks.clone());
        no_webgpu(checks.filter(|c| c.outcome != Outcome::Ok).collect())
    });
    let clock = quantity::format(environment.clock_resolution, "s");
    view! {
        <ul class="devices">
            {environment.devices.iter().map(|d| device(d, d.name == chosen)).collect_view()}
        </ul>
        {missing}
        <p class="aside">
            {words::CLOCK} ": " {words::CLOCK_STEPS} " " {clock}
            {(!environment.optimized).then_some(format!(" \u{b7} {}", words::NOT_OPTIMIZED))}
        </p>
    }
}

fn device(device: &DeviceFacts, chosen: bool) -> impl IntoView + use<> {
    let about: Vec<String> = [
        words::kind(device.kind).to_string(),
        device.api.clone(),
        device.driver.clone(),
        device
            .memory
            .map(|bytes| quantity::format(bytes as f64, "B"))
            .unwrap_or_default(),
    ]
    .into_iter()
    .filter(|text| !text.is_empty())
    .collect();
    let limits: Vec<_> = device
        .limits
        .iter()
        .map(|(name, value)| (name.replace('_', " "), limit(name, *value)))
        .collect();
    let features = device.features.join(", ");
    let more = (!limits.is_empty()).then(|| view! {
        <details>
            <summary>{words::MORE_FACTS}</summary>
            <dl class="facts">
                {limits.into_iter().map(|(name, value)| view! { <dt>{name}</dt><dd>{value}</dd> }).collect_view()}
                {(!features.is_empty()).then(|| view! { <dt>{words::FEATURES}</dt><dd>{features}</dd> })}
            </dl>
        </details>
    });
    view! {
        <li class=class_of(device.kind)>
            <strong>{in_short(device)}</strong>
            <span>{about.join(" \u{b7} ")}{chosen.then(|| format!(" \u{b7} {}", words::WOULD_USE))}</span>
            {device.software.then(|| view! { <span class="warning">{words::SOFTWARE_MEANS}</span> })}
            {more}
        </li>
    }
}

/// A limit that counts bytes is told in bytes.
fn limit(name: &str, value: u64) -> String {
    let bytes = name.contains("size") && !name.contains("workgroup_size");
    quantity::format(value as f64, if bytes { "B" } else { "1" })
}

fn no_webgpu(mut checks: Vec<Check>) -> impl IntoView {
    // The worker's own check cannot know what the page can see.
    if page_sees_gpu() && worker_has_no_api(&checks) {
        for check in &mut checks {
            check.seen = words::PAGE_HAS_GPU.into();
            check.remedy = Some(words::PAGE_HAS_GPU_HELP.into());
        }
    }
    view! {
        <div class="warning" id="no-webgpu">
            <h3>{words::NO_WEBGPU}</h3>
            {checks.into_iter().map(|check| view! {
                <p>{words::outcome(check.outcome)} " (" {words::step(check.step)} "): " {check.seen} "."</p>
                {check.remedy.map(|remedy| view! { <p>{words::WHAT_TO_DO} " " {remedy} "."</p> })}
            }).collect_view()}
            <p>{words::RUNS_ON_CPU}</p>
        </div>
    }
}

fn worker_has_no_api(checks: &[Check]) -> bool {
    checks.iter().any(|c| c.step == lessons::CheckStep::Build)
}

fn page_sees_gpu() -> bool {
    let gpu = js_sys::Reflect::get(&window().navigator(), &JsValue::from_str("gpu"));
    gpu.is_ok_and(|gpu| !gpu.is_undefined() && !gpu.is_null())
}
