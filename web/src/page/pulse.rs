//! How a run stands: what it does now and what is left, or how it ended.

use leptos::prelude::*;
use lessons::{Progress, Status};

use super::code::with_code;
use super::run::{Phase, Run};
use super::{after, now};
use crate::words;

/// Silence of this many seconds is worth a word.
const SILENCE: f64 = 5.0;

/// A clock for the reader, which ticks while the page part that shows it is there.
fn ticking() -> ReadSignal<f64> {
    let (time, set_time) = signal(now());
    fn tick(set_time: WriteSignal<f64>) {
        // Nothing is left to set once that part is gone, and then nothing ticks on.
        if set_time.try_set(now()).is_none() {
            after(500, move || tick(set_time));
        }
    }
    after(500, move || tick(set_time));
    time
}

/// How a run stands.
#[component]
pub fn Pulse(#[prop(into)] run: Signal<Option<Run>>) -> impl IntoView {
    let live = Memo::new(move |_| run.with(|run| run.as_ref().is_some_and(Run::is_live)));
    let ended = Memo::new(move |_| {
        run.with(|run| {
            let run = run.as_ref().filter(|run| !run.is_live())?;
            let status = run.report.as_ref().map(|report| report.status.clone());
            Some((run.phase.clone(), status, run.heard - run.began))
        })
    });
    view! {
        <div class="pulse" aria-live="polite">
            {move || match ended.get() {
                _ if live.get() => ().into_any(),
                None => view! { <p class="aside" id="state" data-state="before">{words::BEFORE}</p> }.into_any(),
                Some((Phase::Refused { error, help, .. }, _, _)) => view! {
                    <div class="trouble" id="state" data-state="refused">
                        <p><strong>{words::REFUSED}</strong> " " {with_code(&error)} "."</p>
                        {help.map(|help| view! { <p>{words::WHAT_TO_DO} " " {with_code(&help)} "."</p> })}
                    </div>
                }.into_any(),
                Some((_, Some(Status::Failed { error, help }), _)) => view! {
                    <div class="trouble" id="state" data-state="failed">
                        <p><strong>"\u{2715} " {words::FAILED}</strong> " " {with_code(&error)}</p>
                        {help.map(|help| view! { <p>{words::WHAT_TO_DO} " " {with_code(&help)}</p> })}
                        <p>{words::FAILED_KEPT}</p>
                    </div>
                }.into_any(),
                Some((_, Some(Status::Cancelled), _)) => view! {
                    <p class="warning" id="state" data-state="cancelled">"\u{25b3} " {words::CANCELLED}</p>
                }.into_any(),
                Some((_, _, seconds)) => view! {
                    <p id="state" data-state="done"><strong>"\u{2713} " {words::DONE}</strong> ", " {words::took(seconds)}</p>
                }.into_any(),
            }}
        </div>
        {move || live.get().then(|| going(run))}
    }
}

fn going(run: Signal<Option<Run>>) -> impl IntoView {
    let time = ticking();
    let began = run.with_untracked(|run| run.as_ref().map_or(0.0, |run| run.began));
    let progress =
        Memo::new(move |_| run.with(|run| run.as_ref().and_then(|run| run.progress.clone())));
    let stopping = Memo::new(move |_| {
        run.with(|run| run.as_ref().is_some_and(|run| run.phase == Phase::Stopping))
    });
    let stage = move || {
        if stopping.get() {
            return words::STOPPING.to_string();
        }
        progress.with(|p| {
            p.as_ref()
                .map_or_else(|| words::BEGINNING.to_string(), |p| p.stage.clone())
        })
    };
    let message =
        move || progress.with(|p| p.as_ref().map(|p| p.message.clone()).unwrap_or_default());
    let counted = move || {
        progress.with(|p| {
            p.as_ref()
                .filter(|p| p.total > 0)
                .map(|p| words::of(p.done, p.total))
                .unwrap_or_default()
        })
    };
    let left = move || {
        progress.with(|p| {
            p.as_ref()
                .and_then(|p| remaining(p, time.get() - began))
                .map(words::left)
        })
    };
    let share = move || {
        progress.with(|p| {
            p.as_ref()
                .filter(|p| p.total > 0)
                .map(|p| (p.done as f64 / p.total as f64).to_string())
        })
    };
    let silent = move || {
        let heard = run.with(|run| run.as_ref().map_or(0.0, |run| run.heard));
        let silence = time.get() - heard;
        (silence > SILENCE).then(|| {
            format!(
                "{} {}. {}",
                words::SILENT,
                words::span(silence),
                words::SILENT_HELP
            )
        })
    };
    view! {
        <div class="going" id="state" data-state="running">
            <p aria-live="polite"><strong>{stage}</strong></p>
            <progress max="1" value=share aria-label=words::WHAT_HAPPENED></progress>
            <p class="figures">
                <span>{counted}</span> <span>{message}</span>
                <span>{move || words::span((time.get() - began).max(0.0))}</span> <span>{left}</span>
            </p>
            {move || silent().map(|text| view! { <p class="aside">{text}</p> })}
        </div>
    }
}

/// Time left: what the lesson says, or else by the pace so far once there is one.
fn remaining(progress: &Progress, gone: f64) -> Option<f64> {
    progress.remaining.or_else(|| {
        let (done, total) = (progress.done as f64, progress.total as f64);
        (gone > 2.0 && done > 0.0 && total > done).then(|| gone / done * (total - done))
    })
}
