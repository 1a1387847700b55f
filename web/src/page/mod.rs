//! The page: what is on it and what it does. Everything that computes is in the worker.

mod app;
mod code;
mod device;
mod download;
mod field;
mod files;
mod form;
mod home;
mod lesson;
mod metrics;
mod outcome;
mod pulse;
mod route;
mod run;
mod tables;
mod theme;
mod worker;

use leptos::prelude::*;
use wasm_bindgen::prelude::*;
use web_sys::ErrorEvent;

use crate::words;

/// Id of the text that stands in the page until the app takes its place.
const START: &str = "start";
/// Id of what is said when the page's program has ended.
const END: &str = "page-end";

/// Shows the page.
pub fn start() {
    // A panic ends the page's program; what it showed stays, and this is put above it.
    std::panic::set_hook(Box::new(|panic| {
        web_sys::console::error_1(&panic.to_string().into());
        show_end(&panic.to_string());
    }));
    // What ends it without a panic, such as an overflown stack, is an error of the browser's. Other errors that reach the
    // window (a resize that came too late, an extension's) end nothing.
    let failed = Closure::<dyn FnMut(ErrorEvent)>::new(|event: ErrorEvent| {
        let error = event.error();
        if error.is_instance_of::<js_sys::WebAssembly::RuntimeError>()
            || error.is_instance_of::<js_sys::RangeError>()
        {
            show_end(&event.message());
        }
    });
    let _ = window().add_event_listener_with_callback("error", failed.as_ref().unchecked_ref());
    failed.forget();
    if let Some(start) = document().get_element_by_id(START) {
        start.remove();
    }
    mount_to_body(app::App);
}

fn show_end(what: &str) {
    let document = document();
    // The first reason says most; those that follow are its consequences.
    if document.get_element_by_id(END).is_some() {
        return;
    }
    let (Some(body), Ok(bar)) = (document.body(), document.create_element("div")) else {
        return;
    };
    bar.set_class_name("trouble page-end");
    bar.set_id(END);
    let _ = bar.set_attribute("role", "alert");
    bar.set_text_content(Some(&format!("{} {what} ", words::PAGE_ENDED)));
    if let Ok(link) = document.create_element("a") {
        let _ = link.set_attribute("href", ".");
        link.set_text_content(Some(words::RELOAD));
        let _ = bar.append_child(&link);
    }
    let _ = body.prepend_with_node_1(&bar);
}

/// Seconds since the page began.
fn now() -> f64 {
    window().performance().map_or(0.0, |p| p.now() / 1e3)
}

/// Calls something once, after a while.
fn after(milliseconds: i32, work: impl FnOnce() + 'static) {
    let work = Closure::once_into_js(work);
    let _ = window()
        .set_timeout_with_callback_and_timeout_and_arguments_0(work.unchecked_ref(), milliseconds);
}
