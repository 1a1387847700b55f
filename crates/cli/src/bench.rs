//! `tensorscope bench`: the fixed workloads, as tables, as a report, or as lines for a comparison with other libraries.

use std::io::Write;

use clap::ArgMatches;
use lessons::{Cell, Report};
use serde_json::{Value, json};

use crate::args;
use crate::failure::Failure;
use crate::run::{self, Ask};

/// Runs the workloads.
pub fn bench(matches: &ArgMatches) -> Result<(), Failure> {
    let (lesson, info) = lessons::find("bench")?;
    let report = run::run(
        lesson,
        &info,
        &args::given(&info, matches),
        &Ask::of(matches),
    )?;
    if matches.get_flag("peer-lines") {
        let mut out = std::io::stdout().lock();
        for line in peer_lines(&report) {
            writeln!(out, "{line}")?;
        }
        return run::ended(&report, true);
    }
    run::finish(&info, &report, matches.get_flag("json"))
}

/// A line that says what was measured, then a line a case: times in milliseconds, rates in 1e9 a second.
fn peer_lines(report: &Report) -> Vec<Value> {
    let e = &report.environment;
    let model = e.used().map_or("", |d| d.model.as_str());
    let version = format!(
        "tensorscope {} on {} ({model}), {} threads",
        e.version, e.device, e.threads
    );
    let mut lines = vec![json!({ "version": version })];
    let Some(table) = report.table("cases") else {
        return lines;
    };
    for row in &table.rows {
        let cell = |id: &str| {
            table
                .columns
                .iter()
                .position(|c| c.id == id)
                .and_then(|i| row.get(i))
        };
        let text = |id| match cell(id) {
            Some(Cell::Text(text)) => text.clone(),
            _ => String::new(),
        };
        let scaled = |id, scale: f64| match cell(id) {
            Some(Cell::Number { value, .. }) => json!(value * scale),
            _ => Value::Null,
        };
        // Training steps are compared by time alone.
        let flops = if text("workload").starts_with("W1") {
            scaled("flops", 1e-9)
        } else {
            Value::Null
        };
        let median = scaled("median", 1e3);
        let share = share(report, &text("workload"), &text("case"));
        lines.push(json!({
            "workload": text("workload"),
            "case": text("case"),
            "median_ms": median,
            "floor_ms": share.zip(median.as_f64()).map(|(share, ms)| ms * share / 100.0),
            "p10_ms": scaled("p10", 1e3),
            "p90_ms": scaled("p90", 1e3),
            "runs": scaled("runs", 1.0),
            "gflops": flops,
            "gbps": scaled("bandwidth", 1e-9),
        }));
    }
    lines
}

/// Percent of the machine's own peak that a case reaches, as the run found it.
fn share(report: &Report, workload: &str, case: &str) -> Option<f64> {
    let table = report.table("shares")?;
    let at = |id: &str| table.columns.iter().position(|c| c.id == id);
    let (of, name, share) = (at("workload")?, at("case")?, at("share")?);
    let is = |cell: &Cell, wanted: &str| matches!(cell, Cell::Text(text) if text == wanted);
    let row = table
        .rows
        .iter()
        .find(|row| is(&row[of], workload) && is(&row[name], case))?;
    match row[share] {
        Cell::Number { value, .. } => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lessons::{Column, Environment, Params, Table};

    #[test]
    fn lines_have_the_agreed_keys() {
        let mut report = Report::new("bench", Params::default(), 0, Environment::default());
        let ids = [
            "workload",
            "case",
            "median",
            "p10",
            "p90",
            "runs",
            "flops",
            "bandwidth",
        ];
        let mut table = Table::new("cases", "", ids.map(|id| Column::new(id, id, "")).to_vec());
        let numbers = [0.002, 0.001, 0.003, 20.0, 1e9].map(Cell::number);
        table.rows.push(
            [
                vec![Cell::text("W1"), Cell::text("n=64 compute")],
                numbers.to_vec(),
                vec![Cell::Missing],
            ]
            .concat(),
        );
        report.tables.push(table);
        let ids = ["workload", "case", "share"];
        let mut shares = Table::new("shares", "", ids.map(|id| Column::new(id, id, "")).to_vec());
        let row = [
            Cell::text("W1"),
            Cell::text("n=64 compute"),
            Cell::number(25.0),
        ];
        shares.rows.push(row.to_vec());
        report.tables.push(shares);
        let lines = peer_lines(&report);
        assert!(
            lines[0]["version"]
                .as_str()
                .unwrap()
                .starts_with("tensorscope ")
        );
        let expected = json!({
            "workload": "W1", "case": "n=64 compute", "median_ms": 2.0, "p10_ms": 1.0, "p90_ms": 3.0, "runs": 20.0,
            "gflops": 1.0, "gbps": null, "floor_ms": 0.5,
        });
        assert_eq!(lines[1], expected);
    }
}
