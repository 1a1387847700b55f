//! A table of the report.

use leptos::prelude::*;
use lessons::{Cell, Table, quantity};

use super::metrics::spread;
use crate::words;

/// A table of the report, with its rows as they come.
#[component]
pub fn TableView(table: Memo<Option<Table>>) -> impl IntoView {
    let head = Memo::new(move |_| {
        table.with(|t| t.as_ref().map(|t| (t.title.clone(), t.columns.clone())))
    });
    let id = table.with_untracked(|t| t.as_ref().map(|t| t.id.clone()).unwrap_or_default());
    let columns =
        move || {
            head.get().map(|(_, columns)| columns).unwrap_or_default().into_iter().map(|column| {
            view! { <th scope="col" class:number=!column.unit.is_empty()>{column.title}</th> }
        }).collect_view()
        };
    let rows = move || {
        table.with(|table| {
            let Some(table) = table else {
                return Vec::new();
            };
            table
                .rows
                .iter()
                .map(|row| {
                    let cells = row
                        .iter()
                        .zip(&table.columns)
                        .map(|(c, column)| cell(c, &column.unit))
                        .collect_view();
                    view! { <tr>{cells}</tr> }
                })
                .collect()
        })
    };
    view! {
        <div class="wide" tabindex="0" role="group" aria-label=move || head.get().map(|(title, _)| title)>
            <table data-table=id>
                <caption>{move || head.get().map(|(title, _)| title)}</caption>
                <thead><tr>{columns}</tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
}

fn cell(cell: &Cell, unit: &str) -> AnyView {
    match cell {
        Cell::Text(text) => view! { <td>{text.clone()}</td> }.into_any(),
        Cell::Missing => {
            view! { <td class="number" title=words::NOTHING_MEASURED>"\u{2013}"</td> }.into_any()
        }
        Cell::Number {
            value,
            spread: around,
        } => {
            let how = around.as_ref().map(|s| spread(s, unit));
            let hollow = around.is_some_and(|s| s.below_resolution);
            view! { <td class="number" class:hollow=hollow title=how>{quantity::format(*value, unit)}</td> }.into_any()
        }
    }
}
