//! The tables that a comparison ends with.

use std::fmt::Write;

use super::record::{Case, Record};

/// The table of one place. A goal is met by the median, and missed only where the whole range of ratios lies below it.
pub fn of(title: &str, goals: &[(&str, &str, f64)], record: &Record) -> String {
    let mut text = format!("## {title}\n\n");
    if let Some(peer) = &record.peer {
        let _ = writeln!(text, "Beside it: {peer}.\n");
    }
    text += "| case | floor ms | ours ms | peer ms | ratio, median (range) | goal | |\n";
    text += "| --- | --- | --- | --- | --- | --- | --- |\n";
    for ((workload, name), case) in &record.cases {
        let goal = goals
            .iter()
            .find(|(w, n, _)| w == workload && n == name)
            .map(|(_, _, goal)| *goal);
        let ratios = ratios(case);
        let ratio = match (median(&ratios), ratios.as_slice()) {
            (Some(middle), [least, .., most]) => format!("{middle:.2} ({least:.2} to {most:.2})"),
            (Some(only), _) => format!("{only:.2}"),
            _ => String::new(),
        };
        let verdict = match (goal, median(&ratios), ratios.last()) {
            (Some(goal), Some(middle), _) if middle >= goal => "met",
            (Some(goal), _, Some(most)) if *most >= goal => "within the range",
            (Some(_), Some(_), _) => "missed",
            _ => "",
        };
        let shown = |values: &[f64]| median(values).map(milliseconds).unwrap_or_default();
        let goal = goal.map(|g| g.to_string()).unwrap_or_default();
        let _ = writeln!(
            text,
            "| {workload} {name} | {} | {} | {} | {ratio} | {goal} | {verdict} |",
            shown(&case.floor),
            shown(&case.ours),
            shown(&case.theirs),
        );
    }
    text + "\n"
}

/// The peer's time over ours, a round each, ascending.
fn ratios(case: &Case) -> Vec<f64> {
    let mut ratios: Vec<f64> = case
        .ours
        .iter()
        .zip(&case.theirs)
        .map(|(ours, theirs)| theirs / ours)
        .collect();
    ratios.sort_by(f64::total_cmp);
    ratios
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// Four digits, whatever the size.
fn milliseconds(ms: f64) -> String {
    let digits = (3 - ms.abs().log10().floor() as i32).clamp(0, 6) as usize;
    format!("{ms:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn record(ours: &[f64], theirs: &[f64]) -> Record {
        let mut record = Record::default();
        let line = |ms: f64| json!({"workload": "W4", "case": "784-128-10", "median_ms": ms, "floor_ms": 0.5});
        for (ours, theirs) in ours.iter().zip(theirs) {
            record.ours(&[json!({"version": "us"}), line(*ours)]);
            let other = json!({"workload": "W9", "case": "not ours", "median_ms": 1.0});
            record.theirs(&json!({"version": "them", "rows": [line(*theirs), other]}));
        }
        record
    }

    #[test]
    fn rounds_become_a_median_and_a_range() {
        let record = record(&[1.0, 2.0, 4.0], &[2.0, 3.0, 4.0]);
        let text = of("title", &[("W4", "784-128-10", 1.5)], &record);
        let row = "| W4 784-128-10 | 0.5000 | 2.000 | 3.000 | 1.50 (1.00 to 2.00) | 1.5 | met |";
        assert!(text.contains(row) && text.contains("them"), "{text}");
        assert!(!text.contains("W9"), "{text}");
    }

    #[test]
    fn a_goal_is_missed_where_no_round_reaches_it() {
        let goals = [("W4", "784-128-10", 3.0)];
        let reached = of("", &goals, &record(&[1.0, 1.0], &[2.0, 3.5]));
        assert!(reached.contains("| within the range |"), "{reached}");
        let never = of("", &goals, &record(&[1.0, 1.0], &[2.0, 2.9]));
        assert!(never.contains("| missed |"), "{never}");
        let alone = of("", &goals, &record(&[1.0], &[]));
        assert!(
            !alone.contains("met") && !alone.contains("missed"),
            "{alone}"
        );
    }

    #[test]
    fn times_have_four_digits() {
        let shown = [0.0061234, 0.5, 12.3456, 1234.56].map(milliseconds);
        assert_eq!(shown, ["0.006123", "0.5000", "12.35", "1235"]);
    }
}
