//! A report for people: what was asked, on what, the tables, the headline figures, and how they were taken.

use std::io;

use lessons::quantity;
use lessons::{Cell, LessonInfo, Metric, NoteLevel, Report, Series, Spread, Status, Table};

use crate::output::{self, Ink, WIDTH};
use crate::table::{TextTable, wrap};

/// Prints a report.
pub fn report(ink: &mut Ink, report: &Report, info: &LessonInfo) -> io::Result<()> {
    ink.heading(&report.lesson, &info.title)?;
    if let Some(device) = report.environment.used() {
        let software = if device.software {
            " (software adapter)"
        } else {
            ""
        };
        let text = format!(
            "on {}: {}{software}, seed {}",
            device.name, device.model, report.seed
        );
        ink.styled(output::device(&device.name), &text)?;
        let chosen: Vec<String> = device
            .choices
            .iter()
            .map(|(what, choice)| format!("{what} {choice}"))
            .collect();
        if !chosen.is_empty() {
            paragraph(ink, "chosen for it: ", &chosen.join(", "), false)?;
        }
    }
    if !report.environment.optimized {
        paragraph(
            ink,
            "! ",
            "this is an unoptimised build: its times mean little (build with --release)",
            true,
        )?;
    }
    ink.line("")?;
    for t in &report.tables {
        table(ink, t)?;
    }
    for s in &report.series {
        curve(ink, s)?;
    }
    // An instrument's times are figures for programs: they stand in its table already.
    metrics(ink, report, |m| !(info.instrument && m.unit == "s"))?;
    for note in &report.notes {
        let warning = note.level == NoteLevel::Warning;
        paragraph(ink, if warning { "! " } else { "· " }, &note.text, warning)?;
    }
    if let Some(timing) = &report.timing {
        let mut text = format!(
            "Times: {}; clock step {}",
            timing.method,
            quantity::format(timing.clock_resolution, "s")
        );
        for (device, metric) in &timing.empty_queue {
            text.push_str(&format!(
                "; an empty wait on {device} takes {}",
                figure(metric)
            ));
        }
        paragraph(ink, "", &text, false)?;
    }
    end(ink, &report.status)
}

fn end(ink: &mut Ink, status: &Status) -> io::Result<()> {
    match status {
        Status::Done => Ok(()),
        Status::Running => ink.styled(
            output::warning(),
            "Cut off; what was measured before is above.",
        ),
        Status::Cancelled => ink.styled(
            output::warning(),
            "Stopped; what was measured before is above.",
        ),
        Status::Failed { error, help } => {
            paragraph(ink, "Failed: ", error, true)?;
            help.as_ref()
                .map_or(Ok(()), |help| paragraph(ink, "  help: ", help, false))
        }
    }
}

fn paragraph(ink: &mut Ink, mark: &str, text: &str, warning: bool) -> io::Result<()> {
    let style = if warning {
        output::warning()
    } else {
        output::faint()
    };
    for (i, line) in wrap(text, WIDTH - mark.len()).iter().enumerate() {
        let mark = if i == 0 {
            mark.to_string()
        } else {
            " ".repeat(mark.chars().count())
        };
        ink.styled(style, &format!("{mark}{line}"))?;
    }
    Ok(())
}

fn table(ink: &mut Ink, table: &Table) -> io::Result<()> {
    ink.styled(output::bold(), &table.title)?;
    let text = TextTable {
        head: table.columns.iter().map(|c| c.title.clone()).collect(),
        numeric: table.columns.iter().map(|c| !c.unit.is_empty()).collect(),
        rows: table
            .rows
            .iter()
            .map(|row| {
                row.iter()
                    .zip(&table.columns)
                    .map(|(cell, column)| self::cell(cell, &column.unit))
                    .collect()
            })
            .collect(),
    };
    for line in text.lines(WIDTH) {
        ink.line(&line)?;
    }
    let hollow =
        |cell: &Cell| matches!(cell, Cell::Number { spread: Some(s), .. } if s.below_resolution);
    if table.rows.iter().flatten().any(hollow) {
        ink.line("(in brackets: shorter than the clock can tell)")?;
    }
    ink.line("")
}

/// A cell in words.
pub fn cell(cell: &Cell, unit: &str) -> String {
    match cell {
        Cell::Text(text) => text.clone(),
        Cell::Number { value, spread } => with_spread(*value, unit, spread.as_ref()),
        Cell::Missing => "–".into(),
    }
}

fn figure(metric: &Metric) -> String {
    with_spread(metric.value, &metric.unit, metric.spread.as_ref())
}

/// A value with the half distance of its quartiles, in percent of it.
fn with_spread(value: f64, unit: &str, spread: Option<&Spread>) -> String {
    let text = quantity::format(value, unit);
    match spread {
        Some(s) if s.below_resolution => format!("({text})"),
        Some(s) if value != 0.0 => format!("{text} ±{:.0}%", 50.0 * (s.q3 - s.q1) / value.abs()),
        _ => text,
    }
}

fn metrics(ink: &mut Ink, report: &Report, shown: impl Fn(&Metric) -> bool) -> io::Result<()> {
    let metrics: Vec<_> = report.metrics.iter().filter(|(_, m)| shown(m)).collect();
    if metrics.is_empty() {
        return Ok(());
    }
    ink.styled(output::bold(), "Figures")?;
    let widest = metrics
        .iter()
        .map(|(name, _)| name.len())
        .max()
        .unwrap_or(0);
    for (name, metric) in metrics {
        ink.line(&format!("  {name:<widest$}  {}", figure(metric)))?;
    }
    ink.line("")
}

/// A curve in one line of text: its shape, its ends, and how many points it has.
fn curve(ink: &mut Ink, series: &Series) -> io::Result<()> {
    let finite: Vec<f64> = series
        .points
        .iter()
        .map(|p| p.y)
        .filter(|y| y.is_finite())
        .collect();
    // A few points are in a table already, and make no shape.
    let (Some(first), Some(last), true) = (finite.first(), finite.last(), finite.len() >= 12)
    else {
        return Ok(());
    };
    let text = |y: f64| quantity::format(y, &series.y.unit);
    let low = finite.iter().copied().fold(f64::INFINITY, f64::min);
    let high = finite.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if low > 0.0 && high < 1.05 * low {
        ink.line(&format!(
            "{} over {}: level at {}",
            series.label,
            series.x.label,
            text(*last)
        ))?;
        return ink.line("");
    }
    ink.styled(
        output::bold(),
        &format!("{} over {}", series.label, series.x.label),
    )?;
    ink.line(&format!(
        "  {}  {} to {} ({} points)",
        sparkline(&finite, 40),
        text(*first),
        text(*last),
        finite.len()
    ))?;
    ink.line("")
}

/// Eight heights of blocks, each the mean of an equal share of the values.
fn sparkline(values: &[f64], width: usize) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let width = width.min(values.len());
    let share = |i: usize| &values[i * values.len() / width..(i + 1) * values.len() / width];
    let means: Vec<f64> = (0..width)
        .map(|i| share(i).iter().sum::<f64>() / share(i).len() as f64)
        .collect();
    let low = means.iter().copied().fold(f64::INFINITY, f64::min);
    let high = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let range = if high > low { high - low } else { 1.0 };
    means
        .iter()
        .map(|m| BLOCKS[(((m - low) / range) * 7.0).round().clamp(0.0, 7.0) as usize])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_carry_their_spread() {
        let spread = |below| Spread {
            q1: 0.9e-3,
            q3: 1.1e-3,
            runs: 20,
            below_resolution: below,
        };
        assert_eq!(with_spread(1e-3, "s", Some(&spread(false))), "1.00 ms ±10%");
        assert_eq!(with_spread(1e-3, "s", Some(&spread(true))), "(1.00 ms)");
        assert_eq!(with_spread(1e-3, "s", None), "1.00 ms");
        assert_eq!(cell(&Cell::Missing, "s"), "–");
    }

    #[test]
    fn a_curve_has_its_shape() {
        assert_eq!(
            sparkline(&[8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0], 40),
            "█▇▆▅▄▃▂▁"
        );
        assert_eq!(sparkline(&[1.0; 80], 40).chars().count(), 40);
    }
}
