//! What a run measured: headline figures, curves, tables, remarks, and how it was measured.

use leptos::prelude::*;
use lessons::{Axis, Note, NoteLevel, Report, Series, Table, quantity};

use super::code::with_code;
use super::device::class_of;
use super::download::Download;
use super::metrics::Metrics;
use super::pulse::Pulse;
use super::run::Run;
use super::tables::TableView;
use super::worker::Engine;
use crate::chart::{Lines, Split};
use crate::words;

/// Id of the table that splits a whole into parts; it is drawn as bars too.
const SPLIT: &str = "split";

/// A figure: the curves that share their axes.
#[derive(Clone, Debug, PartialEq)]
struct Figure {
    id: String,
    x: Axis,
    y: Axis,
}

impl Figure {
    fn of(series: &Series) -> Self {
        Figure {
            id: format!("{}-{}", series.y.label, series.x.label),
            x: series.x.clone(),
            y: series.y.clone(),
        }
    }

    fn shows(&self, series: &Series) -> bool {
        series.x == self.x && series.y == self.y
    }
}

/// What a run measured.
#[component]
pub fn OutcomeSection(lesson: String) -> impl IntoView {
    let engine = expect_context::<Engine>();
    let run: Memo<Option<Run>> =
        Memo::new(move |_| engine.runs.with(|runs| runs.get(&lesson).cloned()));
    // Each part follows its own piece of the report, so that what did not change is not drawn anew.
    let report = move |pick: fn(&Report) -> bool| {
        run.with(|run| {
            run.as_ref()
                .and_then(|r| r.report.as_ref())
                .is_some_and(pick)
        })
    };
    let figures = Memo::new(move |_| {
        with_report(run, |report| {
            let mut figures: Vec<Figure> = Vec::new();
            for series in report.series.iter().filter(|s| !s.points.is_empty()) {
                if !figures.iter().any(|figure| figure.shows(series)) {
                    figures.push(Figure::of(series));
                }
            }
            figures
        })
    });
    let tables = Memo::new(move |_| {
        with_report(run, |report| {
            report
                .tables
                .iter()
                .filter(|t| !t.rows.is_empty())
                .map(|t| t.id.clone())
                .collect::<Vec<_>>()
        })
    });
    let notes = Memo::new(move |_| with_report(run, |report| report.notes.clone()));
    let metrics = Memo::new(move |_| with_report(run, |report| report.metrics.clone()));
    let begun = Memo::new(move |_| report(|_| true));
    let over = Memo::new(move |_| {
        run.with(|run| run.as_ref().is_some_and(|run| !run.is_live())) && begun.get()
    });
    view! {
        <section class="outcome" aria-labelledby="outcome-title">
            <h2 id="outcome-title">{words::WHAT_HAPPENED}</h2>
            <Pulse run/>
            <Notes notes/>
            <Metrics metrics/>
            <For each=move || figures.get() key=|figure| figure.id.clone() let:figure>
                {draw(run, figure)}
            </For>
            <For each=move || tables.get() key=|id| id.clone() let:id>
                {table(run, id)}
            </For>
            {move || begun.get().then(|| view! { <Method run/> })}
            {move || over.get().then(|| view! { <Download run/> })}
        </section>
    }
}

fn with_report<T: Default>(run: Memo<Option<Run>>, pick: impl FnOnce(&Report) -> T) -> T {
    run.with(|run| {
        run.as_ref()
            .and_then(|run| run.report.as_ref())
            .map(pick)
            .unwrap_or_default()
    })
}

fn draw(run: Memo<Option<Run>>, figure: Figure) -> impl IntoView {
    let Figure { x, y, .. } = figure.clone();
    let series = Memo::new(move |_| {
        with_report(run, |r| {
            r.series
                .iter()
                .filter(|s| figure.shows(s) && !s.points.is_empty())
                .cloned()
                .collect::<Vec<_>>()
        })
    });
    let resolution =
        Memo::new(move |_| with_report(run, |r| r.timing.as_ref().map(|t| t.clock_resolution)));
    // A curve has the colour of the device that it was measured on.
    let used = Memo::new(move |_| {
        with_report(run, |r| {
            r.environment
                .used()
                .map_or("", |device| class_of(device.kind))
        })
    });
    view! { <Lines series x y resolution used/> }
}

fn table(run: Memo<Option<Run>>, id: String) -> impl IntoView {
    let is_split = id == SPLIT;
    let table: Memo<Option<Table>> =
        Memo::new(move |_| with_report(run, |r| r.table(&id).cloned()));
    let used = Memo::new(move |_| {
        with_report(run, |r| {
            r.environment
                .used()
                .map_or("", |device| class_of(device.kind))
        })
    });
    view! {
        {if is_split {
            view! {
                <Split table used/>
                <details class="behind"><summary>{words::AS_TABLE}</summary><TableView table/></details>
            }.into_any()
        } else {
            view! { <TableView table/> }.into_any()
        }}
    }
}

#[component]
fn Notes(notes: Memo<Vec<Note>>) -> impl IntoView {
    view! {
        <ul class="notes">
            {move || notes.get().into_iter().map(|note| {
                let (class, sign) = match note.level {
                    NoteLevel::Info => ("note", "\u{2022} "),
                    NoteLevel::Warning => ("warning", "\u{25b3} "),
                };
                view! { <li class=class><span aria-hidden="true">{sign}</span>{with_code(&note.text)}</li> }
            }).collect_view()}
        </ul>
    }
}

/// On what and how it was measured.
#[component]
fn Method(run: Memo<Option<Run>>) -> impl IntoView {
    let lines = Memo::new(move |_| {
        with_report(run, |report| {
            let mut lines = Vec::new();
            if let Some(device) = report.environment.used() {
                let software = if device.software {
                    format!(" ({})", words::AND_SOFTWARE)
                } else {
                    String::new()
                };
                lines.push((
                    words::MEASURED_ON.to_string(),
                    format!("{}: {}{software}", device.name, device.model),
                ));
            }
            if let Some(timing) = &report.timing {
                lines.push((words::METHOD.into(), timing.method.clone()));
                lines.push((
                    words::CLOCK_RESOLUTION.into(),
                    quantity::format(timing.clock_resolution, "s"),
                ));
                for (device, cost) in &timing.empty_queue {
                    lines.push((
                        format!("{device}: {}", words::EMPTY_WAIT),
                        quantity::format(cost.value, &cost.unit),
                    ));
                }
            }
            for (device, memory) in &report.memory {
                let bytes = |n: u64| quantity::format(n as f64, "B");
                let text = format!(
                    "{} {}, {} {}",
                    bytes(memory.allocated_peak),
                    words::ALLOCATED_PEAK,
                    bytes(memory.reserved_peak),
                    words::RESERVED_PEAK
                );
                lines.push((format!("{} ({device})", words::MEMORY), text));
            }
            lines.push((words::SEED.into(), report.seed.to_string()));
            lines
        })
    });
    view! {
        <dl class="facts method">
            {move || lines.get().into_iter().map(|(name, text)| view! { <dt>{name}</dt><dd>{text}</dd> }).collect_view()}
        </dl>
    }
}
