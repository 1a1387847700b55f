//! A whole and its parts, one bar a row: where the time of a size goes.

use leptos::prelude::*;
use lessons::{Cell, Table, quantity};

use super::tidy;
use crate::words;

/// Unit of the columns that are parts.
const PART: &str = "s";
/// Wide enough, in percent, to carry its figure.
const ROOM_FOR_TEXT: f64 = 14.0;

struct Row {
    name: String,
    parts: Vec<(String, f64)>,
}

impl Row {
    fn total(&self) -> f64 {
        self.parts.iter().map(|(_, value)| value).sum()
    }
}

fn rows(table: &Table) -> Vec<Row> {
    table
        .rows
        .iter()
        .map(|row| {
            let mut cells = row.iter().zip(&table.columns);
            let name = cells
                .next()
                .map_or_else(String::new, |(cell, column)| match cell {
                    Cell::Text(text) => text.clone(),
                    Cell::Number { value, .. } => {
                        format!("{} {}", column.title, tidy(*value, &column.unit))
                    }
                    Cell::Missing => String::new(),
                });
            let parts = cells
                .filter(|(_, column)| column.unit == PART)
                .filter_map(|(cell, column)| match cell {
                    Cell::Number { value, .. } if value.is_finite() && *value >= 0.0 => {
                        Some((column.title.clone(), *value))
                    }
                    _ => None,
                })
                .collect();
            Row { name, parts }
        })
        .collect()
}

/// Bars of equal length, split by share; the whole stands beside each. The table that it is drawn from follows it.
#[component]
pub fn Split(
    /// The table: its first column names the bars, its columns of time are the parts.
    table: Memo<Option<Table>>,
    /// The class of the device that the run used.
    used: Memo<&'static str>,
) -> impl IntoView {
    let at = RwSignal::new(None::<String>);
    let title = move || table.with(|t| t.as_ref().map(|t| t.title.clone()));
    let bars = move || table.with(|table| table.as_ref().map(rows).unwrap_or_default());
    view! {
        <figure class="chart split" data-figure="split">
            <figcaption>{title}</figcaption>
            <svg width="0" height="0" aria-hidden="true" class="patterns">
                <defs>{(0..4).map(|i| hatch(i, used)).collect_view()}</defs>
            </svg>
            {move || {
                let bars = bars();
                let names: Vec<String> = bars.first().map(|row| row.parts.iter().map(|(name, _)| name.clone()).collect()).unwrap_or_default();
                view! {
                    <ul class="legend">
                        {names.into_iter().enumerate().map(|(i, name)| view! {
                            <li>
                                <svg width="28" height="14" aria-hidden="true"><rect width="28" height="14" class="part" fill=fill(i)/></svg>
                                {name}
                            </li>
                        }).collect_view()}
                    </ul>
                    <div class="bars">{bars.into_iter().map(|row| bar(row, at)).collect_view()}</div>
                }
            }}
            <p class="readout" aria-live="polite">{move || at.get().unwrap_or_else(|| words::SHARES.into())}</p>
        </figure>
    }
}

fn fill(part: usize) -> String {
    format!("url(#hatch-{})", part % 4)
}

/// Four lightnesses and four hatchings of the device's colour, so that print and colour-blind readers can tell them apart.
fn hatch(part: usize, used: Memo<&'static str>) -> impl IntoView {
    let lines = match part {
        0 => "",
        1 => "M0 8L8 0",
        2 => "M0 4H8",
        _ => "M2 2h1M6 6h1",
    };
    view! {
        <pattern id=format!("hatch-{part}") width="8" height="8" patternUnits="userSpaceOnUse">
            <rect width="8" height="8" class=move || format!("shade {} part-{part}", used.get())/>
            <path class="hatch" d=lines/>
        </pattern>
    }
}

fn bar(row: Row, at: RwSignal<Option<String>>) -> impl IntoView {
    let total = row.total();
    let share = |value: f64| {
        if total > 0.0 {
            100.0 * value / total
        } else {
            0.0
        }
    };
    let said = row
        .parts
        .iter()
        .map(|(name, value)| format!("{name} {}", quantity::format(*value, PART)));
    let said = format!(
        "{}: {}",
        row.name,
        said.collect::<Vec<_>>().join(" \u{b7} ")
    );
    let mut from = 0.0;
    let parts = row.parts.iter().enumerate().map(|(i, (_, value))| {
        let (start, width) = (from, share(*value));
        from += width;
        let text = (width >= ROOM_FOR_TEXT).then(|| view! {
            <text class="inside" x=format!("{:.2}%", start + width / 2.0) y="20" text-anchor="middle">{format!("{width:.0} %")}</text>
        });
        view! { <rect class="part" x=format!("{start:.2}%") width=format!("{width:.2}%") height="28" fill=fill(i)/>{text} }
    }).collect::<Vec<_>>();
    let (shown, label) = (said.clone(), said.clone());
    let show = move || at.set(Some(shown.clone()));
    let focus = show.clone();
    view! {
        <span class="number">{row.name}</span>
        <svg class="bar" height="28" tabindex="0" role="img" aria-label=label on:pointerenter=move |_| show()
            on:focus=move |_| focus() on:pointerleave=move |_| at.set(None) on:blur=move |_| at.set(None)>{parts}</svg>
        <span class="number">{quantity::format(total, PART)}</span>
    }
}
