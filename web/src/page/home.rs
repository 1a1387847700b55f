//! The first page: this machine, and the lessons.

use leptos::prelude::*;
use lessons::LessonInfo;

use super::device::DeviceCard;
use super::route::to_lesson;
use super::worker::Engine;
use crate::words;

#[component]
pub fn Home() -> impl IntoView {
    let engine = expect_context::<Engine>();
    let catalogue = Memo::new(move |_| {
        engine
            .machine
            .with(|m| m.as_ref().map(|m| m.lessons.clone()).unwrap_or_default())
    });
    view! {
        <h1 tabindex="-1">{words::APP}</h1>
        <p class="lead">{words::TAGLINE}</p>
        <div class="home">
            <section aria-labelledby="lessons-title">
                <h2 id="lessons-title">{words::LESSONS}</h2>
                {move || {
                    let all = catalogue.get();
                    let lessons: Vec<_> = all.iter().filter(|l| !l.instrument).cloned().collect();
                    let instruments: Vec<_> = all.into_iter().filter(|l| l.instrument).collect();
                    let Some(first) = lessons.first().map(|l| to_lesson(&l.id)) else {
                        return view! { <p class="aside">{words::LESSON_LIST_WAITS}</p> }.into_any();
                    };
                    view! {
                        <p><a class="begin" href=first>{words::FIRST_LESSON}</a></p>
                        <ol class="lessons">{lessons.into_iter().map(entry).collect_view()}</ol>
                        {(!instruments.is_empty()).then(|| view! {
                            <h3>{words::INSTRUMENTS}</h3>
                            <ul class="lessons">{instruments.into_iter().map(entry).collect_view()}</ul>
                        })}
                    }.into_any()
                }}
            </section>
            <DeviceCard/>
        </div>
    }
}

fn entry(lesson: LessonInfo) -> impl IntoView {
    let engine = expect_context::<Engine>();
    let id = lesson.id.clone();
    let ran = move || {
        engine
            .runs
            .with(|runs| runs.get(&id).is_some_and(|run| run.report.is_some()))
    };
    view! {
        <li>
            <a href=to_lesson(&lesson.id)>{lesson.title}</a>
            <p>{lesson.question}</p>
            {move || ran().then(|| view! { <p class="aside">{words::RAN}</p> })}
        </li>
    }
}
