//! A lesson's page: the question, what to set, and what happened.

use leptos::prelude::*;
use lessons::LessonInfo;

use super::form::Form;
use super::outcome::OutcomeSection;
use super::worker::Engine;
use crate::words;

#[component]
pub fn LessonPage(id: String) -> impl IntoView {
    let engine = expect_context::<Engine>();
    // The lesson does not change when a new worker tells of it again, so neither does the page.
    let found = {
        let id = id.clone();
        Memo::new(move |_| {
            engine.machine.with(|machine| {
                let lessons = &machine.as_ref()?.lessons;
                let number = lessons
                    .iter()
                    .filter(|l| !l.instrument)
                    .position(|l| l.id == id)
                    .map(|i| i + 1);
                Some(
                    lessons
                        .iter()
                        .find(|l| l.id == id)
                        .map(|l| (number, l.clone())),
                )
            })
        })
    };
    move || {
        match found.get() {
        None => view! { <h1 tabindex="-1">{words::LESSONS}</h1><p class="aside" aria-live="polite">{words::LOOKING}</p> }.into_any(),
        Some(None) => view! {
            <h1 tabindex="-1">{words::NO_SUCH_LESSON}</h1>
            <p><code>{id.clone()}</code></p>
            <p><a href="#/">{words::TO_HOME}</a></p>
        }
        .into_any(),
        Some(Some((number, info))) => lesson(number, info).into_any(),
    }
    }
}

fn lesson(number: Option<usize>, info: LessonInfo) -> impl IntoView {
    let title = match number {
        Some(number) => words::numbered(number, &info.title),
        None => info.title.clone(),
    };
    let prose = words::prose(&info.id);
    view! {
        <article class="lesson">
            <h1 tabindex="-1">{title}</h1>
            <p class="lead">{info.question.clone()}</p>
            <div class="prose">{prose.iter().map(|text| view! { <p>{*text}</p> }).collect_view()}</div>
            <Form info=info.clone()/>
            <OutcomeSection lesson=info.id.clone()/>
        </article>
    }
}
