//! Where everything in a figure lies, and its axes.

use leptos::prelude::*;
use lessons::{Axis, Point, Series};

use super::pick::stops;
use super::scale::Scale;
use super::tidy;
use crate::words;

pub const TOP: f64 = 12.0;
const BOTTOM: f64 = 44.0;
/// Narrower figures name their curves above instead of beside them.
const ROOM_FOR_LABELS: f64 = 520.0;
/// Marks along the vertical axis, about.
const ROWS: usize = 5;
/// Width of a letter, roughly.
const LETTER: f64 = 7.4;
/// Of a curve's name, which is bold: the widest fonts that a system may put in need this.
const BOLD_LETTER: f64 = 9.2;

/// Where everything lies.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Width of the whole.
    pub width: f64,
    /// Height of the whole.
    pub height: f64,
    left: f64,
    right: f64,
    /// Horizontal axis.
    pub x: Scale,
    /// Vertical axis.
    pub y: Scale,
}

impl Frame {
    /// Room for the curves in a figure of this width.
    pub fn new(series: &[Series], width: f64, (x, y): (&Axis, &Axis), log: bool) -> Self {
        let height = (width * 0.5).clamp(220.0, 440.0);
        let beside = series.len() > 1 && width >= ROOM_FOR_LABELS;
        let longest = series
            .iter()
            .map(|s| s.label.chars().count())
            .max()
            .unwrap_or(0) as f64;
        let right = if beside {
            (longest * BOLD_LETTER + 16.0).min(width * 0.4)
        } else {
            16.0
        };
        let points = || series.iter().flat_map(|s| s.points.iter());
        let spreads = points().flat_map(|p| p.spread.iter().flat_map(|s| [s.q1, s.q3]));
        let values = points().map(|p| p.y).chain(spreads);
        let vertical = Scale::spanning(values, log, true, (height - BOTTOM, TOP));
        let ticks = vertical.ticks(ROWS, &y.unit).into_iter();
        let text = ticks.map(|v| tidy(v, &y.unit).chars().count()).max();
        let left = text.unwrap_or(0) as f64 * LETTER + 16.0;
        Frame {
            width,
            height,
            left,
            right,
            x: Scale::spanning(points().map(|p| p.x), x.log, false, (left, width - right)),
            y: vertical,
        }
    }

    /// Where a point lies.
    pub fn place(&self, point: &Point) -> Option<(f64, f64)> {
        Some((self.x.place(point.x)?, self.y.place(point.y)?))
    }

    /// The lower end of the vertical axis.
    pub fn bottom(&self) -> f64 {
        self.height - BOTTOM
    }

    /// Whether curves are named at their ends rather than above the figure.
    pub fn labels_beside(&self) -> bool {
        self.width >= ROOM_FOR_LABELS
    }
}

/// Both axes, with their marks and names.
pub fn axes(f: &Frame, series: &[Series], x: &Axis, y: &Axis) -> impl IntoView + use<> {
    let (left, right, bottom) = (f.left, f.width - f.right, f.bottom());
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
        f.y.ticks(ROWS, &y.unit)
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
        f.x.ticks(((f.width / 90.0) as usize).clamp(3, 10), unit)
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
pub fn band(f: &Frame, resolution: f64) -> Option<impl IntoView + use<>> {
    let bottom = f.bottom();
    let top = f.y.place(resolution)?.max(TOP);
    (top < bottom - 1.0).then(|| {
        view! {
            <rect class="band" x=f.left y=top width=f.width - f.right - f.left height=bottom - top>
                <title>{words::CLOCK_BAND}</title>
            </rect>
        }
    })
}
