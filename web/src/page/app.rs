//! The frame around every page: header, what is wrong with the engine, and the page itself.

use leptos::prelude::*;

use super::device::{Crash, DeviceInHeader};
use super::field::Values;
use super::files::Chosen;
use super::home::Home;
use super::lesson::LessonPage;
use super::route::{self, Route};
use super::theme::ThemeButton;
use super::worker::Engine;
use crate::words;

/// The page.
#[component]
pub fn App() -> impl IntoView {
    let engine = Engine::start();
    provide_context(engine);
    provide_context(Values::default());
    provide_context(Chosen::default());
    let route = route::follow();
    Effect::new(move |before: Option<Route>| {
        let route = route.get();
        // A reader who cannot see the page hears where it went.
        if before.is_some_and(|before| before != route) {
            super::after(0, || {
                if let Ok(Some(main)) = document().query_selector("main h1") {
                    let _ =
                        wasm_bindgen::JsCast::unchecked_into::<web_sys::HtmlElement>(main).focus();
                }
            });
        }
        route
    });
    let title = move || {
        let name = match route.get() {
            Route::Home => None,
            Route::Bench => Some(words::BENCH.to_string()),
            Route::Unknown(_) => Some(words::NO_SUCH_PAGE.to_string()),
            Route::Lesson(id) => engine.machine.with(|machine| {
                machine
                    .as_ref()?
                    .lessons
                    .iter()
                    .find(|lesson| lesson.id == id)
                    .map(|lesson| lesson.title.clone())
            }),
        };
        match name {
            Some(name) => format!("{name} \u{b7} {}", words::APP),
            None => words::APP.to_string(),
        }
    };
    Effect::new(move |_| document().set_title(&title()));
    let here = move |is: fn(&Route) -> bool| move || route.with(is).then_some("page");
    view! {
        <a class="skip" href="#main" on:click=|event| {
            event.prevent_default();
            if let Some(main) = document().get_element_by_id("main") {
                let _ = wasm_bindgen::JsCast::unchecked_into::<web_sys::HtmlElement>(main).focus();
            }
        }>{words::SKIP}</a>
        <header class="bar">
            <a class="name" href="#/">{words::APP}</a>
            <nav aria-label=words::NAVIGATION>
                <a href="#/" aria-current=here(|r| matches!(r, Route::Home))>{words::LESSONS}</a>
                <a href="#/bench" aria-current=here(|r| matches!(r, Route::Bench))>{words::BENCH}</a>
            </nav>
            <DeviceInHeader/>
            <ThemeButton/>
        </header>
        <main id="main" tabindex="-1">
            <Crash/>
            {move || match route.get() {
                Route::Home => view! { <Home/> }.into_any(),
                Route::Unknown(path) => view! {
                    <h1 tabindex="-1">{words::NO_SUCH_PAGE}</h1>
                    <p><code>{path}</code></p>
                    <p><a href="#/">{words::TO_HOME}</a></p>
                }.into_any(),
                other => {
                    let id = other.lesson().unwrap_or_default().to_string();
                    view! { <LessonPage id/> }.into_any()
                }
            }}
        </main>
    }
}
