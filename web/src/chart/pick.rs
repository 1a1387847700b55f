//! Which value of a figure the reader points at, by hand or by keyboard, and what it says there.

use lessons::{Axis, Series};

use super::tidy;
use crate::words;

/// All horizontal values of the curves, ascending, each once.
pub fn stops(series: &[Series]) -> Vec<f64> {
    let mut all: Vec<f64> = series
        .iter()
        .flat_map(|s| s.points.iter().map(|p| p.x))
        .filter(|x| x.is_finite())
        .collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    all
}

/// The stop closest to a value.
pub fn closest(stops: &[f64], value: f64) -> Option<f64> {
    stops
        .iter()
        .copied()
        .min_by(|a, b| (a - value).abs().total_cmp(&(b - value).abs()))
}

/// The stop that a key leads to.
pub fn by_key(stops: &[f64], now: Option<f64>, key: &str) -> Option<f64> {
    let last = stops.len().checked_sub(1)?;
    let at = now.and_then(|now| stops.iter().position(|s| *s == now));
    let leap = (stops.len() / 10).max(1);
    let to = match (key, at) {
        ("Home", _) => 0,
        ("End", _) | ("ArrowLeft" | "PageDown", None) => last,
        ("ArrowRight" | "PageUp", None) => 0,
        ("ArrowRight", Some(at)) => (at + 1).min(last),
        ("ArrowLeft", Some(at)) => at.saturating_sub(1),
        ("PageUp", Some(at)) => (at + leap).min(last),
        ("PageDown", Some(at)) => at.saturating_sub(leap),
        _ => return None,
    };
    stops.get(to).copied()
}

/// What the curves say at a stop.
pub fn say(series: &[Series], x: &Axis, y: &Axis, stop: f64) -> String {
    let values: Vec<String> = series
        .iter()
        .filter_map(|s| {
            let point = s.points.iter().find(|p| p.x == stop)?;
            let value = lessons::quantity::format(point.y, &y.unit);
            let below = point.spread.is_some_and(|s| s.below_resolution);
            let below = if below {
                format!(" ({})", words::BELOW_RESOLUTION)
            } else {
                String::new()
            };
            Some(format!("{} {value}{below}", s.label))
        })
        .collect();
    format!(
        "{} {}: {}",
        x.label,
        tidy(stop, &x.unit),
        values.join(" \u{b7} ")
    )
}
