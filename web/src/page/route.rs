//! Addresses. They live behind the `#`, so that any server of plain files will do.

use leptos::prelude::*;
use wasm_bindgen::prelude::*;

/// What the page shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// This machine and the list of lessons.
    Home,
    /// A lesson, by id.
    Lesson(String),
    /// The bench: the same figures for every machine.
    Bench,
    /// An address that means nothing.
    Unknown(String),
}

impl Route {
    fn read(hash: &str) -> Self {
        let path = hash
            .trim_start_matches('#')
            .split('?')
            .next()
            .unwrap_or_default()
            .trim_matches('/');
        match path.split_once('/') {
            None if path.is_empty() => Route::Home,
            None if path == "bench" => Route::Bench,
            Some(("lesson", id)) if !id.is_empty() => Route::Lesson(id.into()),
            _ => Route::Unknown(path.into()),
        }
    }

    /// The id of the lesson that the page shows.
    pub fn lesson(&self) -> Option<&str> {
        match self {
            Route::Lesson(id) => Some(id),
            Route::Bench => Some("bench"),
            Route::Home | Route::Unknown(_) => None,
        }
    }
}

/// The address of a lesson.
pub fn to_lesson(id: &str) -> String {
    if id == "bench" {
        "#/bench".into()
    } else {
        format!("#/lesson/{id}")
    }
}

fn current() -> Route {
    Route::read(&window().location().hash().unwrap_or_default())
}

/// The route, followed as the address changes.
pub fn follow() -> ReadSignal<Route> {
    let (route, set_route) = signal(current());
    let changed = Closure::<dyn FnMut()>::new(move || {
        set_route.set(current());
        window().scroll_to_with_x_and_y(0.0, 0.0);
    });
    let _ =
        window().add_event_listener_with_callback("hashchange", changed.as_ref().unchecked_ref());
    // The app lives as long as the page.
    changed.forget();
    route
}
