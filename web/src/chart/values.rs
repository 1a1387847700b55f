//! A figure's values as a table.

use leptos::prelude::*;
use lessons::{Axis, Series};

use super::pick::stops;
use super::tidy;
use crate::words;

/// The figure's values as a table, which is made when it is opened.
#[component]
pub fn Values(series: Memo<Vec<Series>>, x: Axis, y_unit: String) -> impl IntoView {
    let open = RwSignal::new(false);
    let toggle = move |event: leptos::ev::Event| {
        open.set(listener(&event).is_some_and(|element| element.has_attribute("open")));
    };
    let rows = move || {
        series.with(|series| {
            stops(series).into_iter().map(|stop| {
                let values = series.iter().map(|s| {
                    let point = s.points.iter().find(|p| p.x == stop);
                    let text = point.map_or_else(|| "\u{2013}".to_string(), |p| lessons::quantity::format(p.y, &y_unit));
                    view! { <td class="number">{text}</td> }
                }).collect_view();
                view! { <tr><th scope="row" class="number">{tidy(stop, &x.unit)}</th>{values}</tr> }
            }).collect::<Vec<_>>()
        })
    };
    let head = move || {
        series.with(|series| {
            series
                .iter()
                .map(|s| view! { <th scope="col" class="number">{s.label.clone()}</th> })
                .collect::<Vec<_>>()
        })
    };
    let label = x.label.clone();
    view! {
        <details on:toggle=toggle>
            <summary>{words::AS_TABLE}</summary>
            {move || open.get().then(|| view! {
                <div class="wide tall" tabindex="0" role="group" aria-label=words::AS_TABLE>
                    <table>
                        <thead><tr><th scope="col" class="number">{label.clone()}</th>{head}</tr></thead>
                        <tbody>{rows.clone()}</tbody>
                    </table>
                </div>
            })}
        </details>
    }
}

/// The element that listens to an event.
pub fn listener(event: &web_sys::Event) -> Option<web_sys::Element> {
    wasm_bindgen::JsCast::dyn_into(event.current_target()?).ok()
}
