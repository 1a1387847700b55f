//! Curves over two axes: a loss by step, a time by size.

use std::fmt::Write;

use leptos::ev::{KeyboardEvent, PointerEvent};
use leptos::html::Div;
use leptos::prelude::*;
use lessons::{Axis, Point, Series};

use super::pick::{by_key, closest, say, stops};
use super::scale::Scale;
use super::size::width_of;
use super::{colour, tidy};
use crate::words;

const TOP: f64 = 12.0;
const BOTTOM: f64 = 44.0;
const LEFT: f64 = 64.0;
/// Narrower figures name their curves above instead of beside them.
const ROOM_FOR_LABELS: f64 = 520.0;
/// Curves of few points show each of them, with its quartiles.
const FEW: usize = 60;
/// Width of a letter, roughly.
const LETTER: f64 = 7.4;

/// Where everything lies.
#[derive(Clone, Debug, PartialEq)]
struct Frame {
    width: f64,
    height: f64,
    right: f64,
    x: Scale,
    y: Scale,
}

impl Frame {
    fn new(series: &[Series], width: f64, x: &Axis, log: bool) -> Self {
        let height = (width * 0.5).clamp(220.0, 440.0);
        let beside = series.len() > 1 && width >= ROOM_FOR_LABELS;
        let longest = series
            .iter()
            .map(|s| s.label.chars().count())
            .max()
            .unwrap_or(0) as f64;
        let right = if beside {
            (longest * LETTER + 16.0).min(width * 0.4)
        } else {
            16.0
        };
        let points = || series.iter().flat_map(|s| s.points.iter());
        let spreads = points().flat_map(|p| p.spread.iter().flat_map(|s| [s.q1, s.q3]));
        Frame {
            width,
            height,
            right,
            x: Scale::spanning(points().map(|p| p.x), x.log, false, (LEFT, width - right)),
            y: Scale::spanning(
                points().map(|p| p.y).chain(spreads),
                log,
                true,
                (height - BOTTOM, TOP),
            ),
        }
    }

    fn place(&self, point: &Point) -> Option<(f64, f64)> {
        Some((self.x.place(point.x)?, self.y.place(point.y)?))
    }
}

/// A figure of curves that share their axes.
#[component]
pub fn Lines(
    /// The curves.
    series: Memo<Vec<Series>>,
    /// Horizontal axis.
    x: Axis,
    /// Vertical axis.
    y: Axis,
    /// Smallest step of the clock, in seconds, for figures of time.
    resolution: Memo<Option<f64>>,
    /// The class of the device that the run used.
    used: Memo<&'static str>,
) -> impl IntoView {
    let holder = NodeRef::<Div>::new();
    let width = width_of(holder);
    let log = RwSignal::new(y.log);
    let at = RwSignal::new(None::<f64>);
    let frame = {
        let x = x.clone();
        Memo::new(move |_| series.with(|series| Frame::new(series, width.get(), &x, log.get())))
    };
    let all_stops = Memo::new(move |_| series.with(|series| stops(series)));

    let point_at = move |event: PointerEvent| {
        let Some(element) = listener(&event) else {
            return;
        };
        let area = element.get_bounding_client_rect();
        let share = (f64::from(event.client_x()) - area.left()) / area.width().max(1.0);
        let (value, is_log) = frame.with_untracked(|f| (f.x.value(share * f.width), f.x.is_log()));
        // On a logarithmic axis, close means close in ratio.
        let found = all_stops.with_untracked(|stops| {
            if is_log {
                let logs: Vec<f64> = stops.iter().map(|s| s.ln()).collect();
                let near = closest(&logs, value.ln())?;
                logs.iter()
                    .position(|l| *l == near)
                    .and_then(|i| stops.get(i).copied())
            } else {
                closest(stops, value)
            }
        });
        at.set(found);
    };
    let key = move |event: KeyboardEvent| {
        if let Some(stop) =
            all_stops.with_untracked(|stops| by_key(stops, at.get_untracked(), &event.key()))
        {
            event.prevent_default();
            at.set(Some(stop));
        }
    };
    let title = words::figure(&y.label, &x.label);
    let readout = {
        let (x, y) = (x.clone(), y.clone());
        move || {
            at.get().map_or_else(
                || words::POINT_AT_IT.to_string(),
                |stop| series.with(|s| say(s, &x, &y, stop)),
            )
        }
    };
    let legend = move || frame.with(|f| f.width < ROOM_FOR_LABELS) && series.with(|s| s.len() > 1);
    let (drawn_x, drawn_y, label) = (x.clone(), y.clone(), title.clone());
    let is_time = y.unit == "s";
    let scale_label = format!("{} {}", words::SCALE_OF, y.label);
    let choose = move |to: bool| move |_| log.set(to);
    let pressed = move |is: bool| move || (log.get() == is).to_string();
    view! {
        <figure class="chart" data-figure=y.label.clone()>
            <figcaption>
                <span>{title}</span>
                <span class="scale" role="group" aria-label=scale_label>
                    <button type="button" class="quiet" aria-pressed=pressed(false) on:click=choose(false)>{words::LINEAR}</button>
                    <button type="button" class="quiet" aria-pressed=pressed(true) on:click=choose(true)>{words::LOG}</button>
                </span>
            </figcaption>
            {move || legend().then(|| view! { <ul class="legend">{series.with(|s| key_entries(s, used.get()))}</ul> })}
            <div node_ref=holder class="canvas">
                <svg tabindex="0" role="img" aria-label=label
                    viewBox=move || frame.with(|f| format!("0 0 {} {}", f.width, f.height))
                    on:pointermove=point_at on:pointerdown=point_at on:pointerleave=move |_| at.set(None)
                    on:keydown=key on:blur=move |_| at.set(None)>
                    {move || frame.with(|f| axes(f, &series.read(), &drawn_x, &drawn_y))}
                    {move || resolution.get().filter(|_| is_time).and_then(|step| frame.with(|f| band(f, step)))}
                    {move || frame.with(|f| series.with(|series| curves(f, series, used.get())))}
                    {move || at.get().and_then(|stop| frame.with(|f| series.with(|s| mark(f, s, stop, used.get()))))}
                </svg>
            </div>
            <p class="readout" aria-live="polite">{readout}</p>
            <FigureTable series x=x.clone() y_unit=y.unit.clone()/>
        </figure>
    }
}

/// The order of a curve among those of its colour decides its dashes.
fn styles(series: &[Series], used: &'static str) -> Vec<String> {
    let colours: Vec<&str> = series.iter().map(|s| colour(s, used)).collect();
    colours
        .iter()
        .enumerate()
        .map(|(i, colour)| {
            format!(
                "{colour} dash-{}",
                colours[..i].iter().filter(|c| *c == colour).count() % 4
            )
        })
        .collect()
}

fn key_entries(series: &[Series], used: &'static str) -> Vec<impl IntoView + use<>> {
    let styles = styles(series, used);
    series.iter().zip(styles).map(|(s, style)| {
        view! {
            <li>
                <svg width="28" height="10" aria-hidden="true"><path class=format!("curve {style}") d="M0 5H28"/></svg>
                {s.label.clone()}
            </li>
        }
    }).collect()
}

fn axes(f: &Frame, series: &[Series], x: &Axis, y: &Axis) -> impl IntoView + use<> {
    let (left, right, bottom) = (LEFT, f.width - f.right, f.height - BOTTOM);
    let scaled = |axis: &Axis, log: bool| {
        let unit = if matches!(axis.unit.as_str(), "" | "1" | "s" | "B" | "FLOP/s" | "B/s") {
            ""
        } else {
            axis.unit.as_str()
        };
        let parts = [unit, if log { words::LOG_SCALE } else { "" }];
        let parts: Vec<&str> = parts.into_iter().filter(|p| !p.is_empty()).collect();
        if parts.is_empty() {
            axis.label.clone()
        } else {
            format!("{} ({})", axis.label, parts.join(", "))
        }
    };
    let rows =
        f.y.ticks(5)
            .into_iter()
            .filter_map(|v| Some((f.y.place(v)?, tidy(v, &y.unit))))
            .map(|(at, text)| {
                view! {
                    <line class="grid" x1=left x2=right y1=at y2=at/>
                    <text class="tick" x=left - 8.0 y=at + 4.5 text-anchor="end">{text}</text>
                }
            })
            .collect::<Vec<_>>();
    let columns = spaced(f, series, &x.unit)
        .into_iter()
        .map(|(at, text)| {
            view! {
                <line class="axis" x1=at x2=at y1=bottom y2=bottom + 5.0/>
                <text class="tick" x=at y=bottom + 19.0 text-anchor="middle">{text}</text>
            }
        })
        .collect::<Vec<_>>();
    view! {
        {rows}
        <line class="axis" x1=left x2=right y1=bottom y2=bottom/>
        {columns}
        <text class="name" x=right y=f.height - 6.0 text-anchor="end">{scaled(x, f.x.is_log())}</text>
        <text class="name" x=0 y=f.height - 6.0>{f.y.is_log().then(|| scaled(y, true))}</text>
    }
}

/// Marks along the horizontal axis that leave room for each other's text; of few measured values, each has its own.
fn spaced(f: &Frame, series: &[Series], unit: &str) -> Vec<(f64, String)> {
    let measured = stops(series);
    let values = if measured.len() <= 8 {
        measured
    } else {
        f.x.ticks(((f.width / 90.0) as usize).clamp(3, 10))
    };
    let mut free = f64::NEG_INFINITY;
    let mut kept = Vec::new();
    for value in values {
        let Some(at) = f.x.place(value) else { continue };
        let text = tidy(value, unit);
        let half = text.chars().count() as f64 * LETTER / 2.0;
        if at - half > free {
            free = at + half + 8.0;
            kept.push((at, text));
        }
    }
    kept
}

/// The times that the clock cannot tell from nothing.
fn band(f: &Frame, resolution: f64) -> Option<impl IntoView + use<>> {
    let bottom = f.height - BOTTOM;
    let top = f.y.place(resolution)?.max(TOP);
    (top < bottom - 1.0).then(|| {
        view! {
            <rect class="band" x=LEFT y=top width=f.width - f.right - LEFT height=bottom - top>
                <title>{words::CLOCK_BAND}</title>
            </rect>
        }
    })
}

fn curves(f: &Frame, series: &[Series], used: &'static str) -> impl IntoView + use<> {
    let styles = styles(series, used);
    let lines = series
        .iter()
        .zip(&styles)
        .map(|(s, style)| view! { <path class=format!("curve {style}") d=path(f, &s.points)/> })
        .collect::<Vec<_>>();
    let dots = series
        .iter()
        .zip(&styles)
        .filter(|(s, _)| s.points.len() <= FEW)
        .flat_map(|(s, style)| {
            s.points
                .iter()
                .filter_map(|p| Some(dot(f, p, f.place(p)?, style)))
                .collect::<Vec<_>>()
        })
        .collect::<Vec<_>>();
    let labels =
        (series.len() > 1 && f.width >= ROOM_FOR_LABELS).then(|| labels(f, series, &styles));
    view! { {lines}{dots}{labels} }
}

fn dot(f: &Frame, point: &Point, (x, y): (f64, f64), style: &str) -> impl IntoView + use<> {
    let hollow = point.spread.is_some_and(|s| s.below_resolution);
    let bar = point.spread.and_then(|s| {
        let (low, high) = (f.y.place(s.q1)?, f.y.place(s.q3)?);
        let d = format!(
            "M{x:.1} {low:.1}V{high:.1}M{:.1} {low:.1}h8M{:.1} {high:.1}h8",
            x - 4.0,
            x - 4.0
        );
        Some(view! { <path class=format!("quartiles {style}") d=d/> })
    });
    view! { {bar}<circle class=format!("dot {style}") class:hollow=hollow cx=x cy=y r="4"/> }
}

/// Names at the right ends of the curves, pushed apart where they would touch.
fn labels(f: &Frame, series: &[Series], styles: &[String]) -> Vec<impl IntoView + use<>> {
    let mut ends: Vec<(f64, f64, String, String)> = series
        .iter()
        .zip(styles)
        .filter_map(|(s, style)| {
            let (x, y) = s.points.iter().rev().find_map(|p| f.place(p))?;
            Some((y, x, s.label.clone(), style.clone()))
        })
        .collect();
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut free = f64::NEG_INFINITY;
    for end in &mut ends {
        end.0 = end.0.max(free);
        free = end.0 + 18.0;
    }
    // What was pushed below the axis goes back up together.
    let over = (free - 18.0 - (f.height - BOTTOM)).max(0.0);
    ends.into_iter().map(|(y, x, label, style)| {
        view! { <text class=format!("label {style}") x=x + 10.0 y=y - over + 5.0>{label}</text> }
    }).collect()
}

/// A curve as a path. Where points lie closer than pixels, each pixel shows its lowest and its highest.
fn path(f: &Frame, points: &[Point]) -> String {
    let room = (f.width.max(1.0) as usize).max(1);
    let thinned: Vec<Point> = if points.len() <= 2 * room {
        points.to_vec()
    } else {
        points
            .chunks(points.len().div_ceil(room))
            .flat_map(extremes)
            .collect()
    };
    let mut d = String::new();
    let mut drawing = false;
    for point in &thinned {
        match f.place(point) {
            Some((x, y)) => {
                let _ = write!(d, "{}{x:.1} {y:.1}", if drawing { 'L' } else { 'M' });
                drawing = true;
            }
            None => drawing = false,
        }
    }
    d
}

fn extremes(points: &[Point]) -> Vec<Point> {
    let by = |a: &&Point, b: &&Point| a.y.total_cmp(&b.y);
    let ends = [points.iter().min_by(by), points.iter().max_by(by)];
    let mut ends: Vec<Point> = ends.into_iter().flatten().copied().collect();
    ends.sort_by(|a, b| a.x.total_cmp(&b.x));
    ends
}

fn mark(
    f: &Frame,
    series: &[Series],
    stop: f64,
    used: &'static str,
) -> Option<impl IntoView + use<>> {
    let x = f.x.place(stop)?;
    let dots = series
        .iter()
        .zip(styles(series, used))
        .filter_map(|(s, style)| {
            let (x, y) = f.place(s.points.iter().find(|p| p.x == stop)?)?;
            Some(view! { <circle class=format!("picked {style}") cx=x cy=y r="5.5"/> })
        })
        .collect::<Vec<_>>();
    Some(view! { <line class="guide" x1=x x2=x y1=TOP y2=f.height - BOTTOM/>{dots} })
}

/// The figure's values as a table, made when it is opened.
#[component]
fn FigureTable(series: Memo<Vec<Series>>, x: Axis, y_unit: String) -> impl IntoView {
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
fn listener(event: &web_sys::Event) -> Option<web_sys::Element> {
    wasm_bindgen::JsCast::dyn_into(event.current_target()?).ok()
}
