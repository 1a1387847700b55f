//! Curves over two axes: a loss by step, a time by size.

use std::fmt::Write;

use leptos::ev::{KeyboardEvent, PointerEvent};
use leptos::html::Div;
use leptos::prelude::*;
use lessons::{Axis, Point, Series};

use super::colour;
use super::frame::{Frame, TOP, axes, band};
use super::pick::{by_key, closest, say, stops};
use super::size::width_of;
use super::values::{Values, listener};
use crate::words;

/// Curves of few points show each of them, with its quartiles.
const FEW: usize = 60;

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
        let (x, y) = (x.clone(), y.clone());
        Memo::new(move |_| {
            series.with(|series| Frame::new(series, width.get(), (&x, &y), log.get()))
        })
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
    let legend = move || frame.with(|f| !f.labels_beside()) && series.with(|s| s.len() > 1);
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
            <Values series x=x.clone() y_unit=y.unit.clone()/>
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
    let labels = (series.len() > 1 && f.labels_beside()).then(|| labels(f, series, &styles));
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
    view! { {bar}<circle class=format!("point {style}") class:hollow=hollow cx=x cy=y r="4"/> }
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
    let over = (free - 18.0 - (f.bottom())).max(0.0);
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
    Some(view! { <line class="guide" x1=x x2=x y1=TOP y2=f.bottom()/>{dots} })
}
