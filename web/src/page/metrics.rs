//! Headline figures: value, unit, spread, and how many runs stand behind it.

use std::collections::BTreeMap;

use leptos::prelude::*;
use lessons::{Metric, Spread, quantity};

use crate::words;

/// A spread in words.
pub fn spread(spread: &Spread, unit: &str) -> String {
    let mut text = format!(
        "{} {} \u{2013} {}, {} {}",
        words::QUARTILES,
        quantity::format(spread.q1, unit),
        quantity::format(spread.q3, unit),
        spread.runs,
        words::RUNS
    );
    if spread.below_resolution {
        text = format!("{text}, {}", words::BELOW_RESOLUTION);
    }
    text
}

/// Those for the headline with their names, what matters most first.
fn ranked(metrics: BTreeMap<String, Metric>) -> Vec<(String, &'static str, Metric)> {
    let mut all: Vec<_> = metrics
        .into_iter()
        .filter_map(|(id, metric)| {
            let (place, name) = words::metric(&id)?;
            Some((place, id, name, metric))
        })
        .collect();
    all.sort_by_key(|(place, ..)| *place);
    all.into_iter()
        .map(|(_, id, name, metric)| (id, name, metric))
        .collect()
}

/// The headline figures of a run.
#[component]
pub fn Metrics(metrics: Memo<BTreeMap<String, Metric>>) -> impl IntoView {
    view! {
        <dl class="metrics">
            {move || ranked(metrics.get()).into_iter().map(|(id, name, metric)| {
                let how = metric.spread.as_ref().map_or_else(|| words::ONCE.to_string(), |s| spread(s, &metric.unit));
                let hollow = metric.spread.is_some_and(|s| s.below_resolution);
                view! {
                    <div data-metric=id data-value=metric.value.to_string()>
                        <dt>{name}</dt>
                        <dd class:hollow=hollow>{quantity::format(metric.value, &metric.unit)}</dd>
                        <dd class="spread">{how}</dd>
                    </div>
                }
            }).collect_view()}
        </dl>
    }
}
