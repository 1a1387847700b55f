//! Figures, drawn as SVG from the report's curves and tables.

mod frame;
mod lines;
mod pick;
mod scale;
mod size;
mod split;
mod values;

pub use lines::Lines;
pub use split::Split;

use lessons::{Series, quantity};

/// A figure on an axis: `10 ms` rather than `10.0 ms`.
fn tidy(value: f64, unit: &str) -> String {
    let text = quantity::format(value, unit);
    let (number, rest) = match text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-')) {
        Some(end) => text.split_at(end),
        None => (text.as_str(), ""),
    };
    if number.contains('.') && !rest.starts_with('e') {
        format!(
            "{}{rest}",
            number.trim_end_matches('0').trim_end_matches('.')
        )
    } else {
        text
    }
}

/// The class that gives a curve its colour: that of the device it names, or else of the device that the run used.
fn colour(series: &Series, used: &'static str) -> &'static str {
    let name = format!("{} {}", series.id, series.label).to_lowercase();
    ["cpu", "wgpu", "cuda"]
        .into_iter()
        .find(|kind| name.contains(kind))
        .unwrap_or(used)
}
