//! The report as a file, the same as the terminal's `--json`.

use js_sys::Array;
use leptos::prelude::*;
use lessons::Report;
use wasm_bindgen::prelude::*;
use web_sys::{Blob, BlobPropertyBag, HtmlAnchorElement, Url};

use super::run::Run;
use crate::words;

/// The button that hands out the report.
#[component]
pub fn Download(run: Memo<Option<Run>>) -> impl IntoView {
    let save = move |_| {
        run.with_untracked(|run| {
            if let Some(report) = run.as_ref().and_then(|run| run.report.as_ref())
                && let Err(error) = hand_out(report)
            {
                web_sys::console::error_1(&error);
            }
        });
    };
    view! { <p><button type="button" id="download" on:click=save>{words::DOWNLOAD}</button></p> }
}

fn hand_out(report: &Report) -> Result<(), JsValue> {
    let text = report
        .to_json()
        .map_err(|e| JsValue::from_str(&e.to_string()))?;
    let kind = BlobPropertyBag::new();
    kind.set_type("application/json");
    let blob = Blob::new_with_str_sequence_and_options(&Array::of1(&text.into()), &kind)?;
    let address = Url::create_object_url_with_blob(&blob)?;
    let link: HtmlAnchorElement = document().create_element("a")?.unchecked_into();
    link.set_href(&address);
    link.set_download(&format!("tensorscope-{}.json", report.lesson));
    link.click();
    // The browser has taken hold of it by the time that the click returns.
    Url::revoke_object_url(&address)
}
