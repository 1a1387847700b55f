//! Figures for people: three digits and a unit that keeps them near one. Reports keep base units; both faces print by this.

/// A value with its unit: `12.3 ms`, `1.50 MiB`, `284 GFLOP/s`, `0.912`.
pub fn format(value: f64, unit: &str) -> String {
    if !value.is_finite() {
        return if value.is_nan() {
            "not a number".into()
        } else {
            "infinite".into()
        };
    }
    match unit {
        "" | "1" => plain(value),
        "B" => scaled(value, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB"]),
        "s" => {
            let (scale, name) = match value.abs() {
                v if v == 0.0 || v >= 1.0 => (1.0, "s"),
                v if v >= 1e-3 => (1e3, "ms"),
                v if v >= 1e-6 => (1e6, "us"),
                _ => (1e9, "ns"),
            };
            format!("{} {name}", digits(value * scale))
        }
        "FLOP/s" | "B/s" => format!(
            "{}{unit}",
            scaled(value, 1000.0, &["", "k", "M", "G", "T", "P"])
        ),
        "x" => format!("{}x", digits(value)),
        "%" => format!("{} %", digits(value)),
        "1/s" => format!("{} /s", plain(value)),
        other => format!("{} {other}", plain(value)),
    }
}

fn scaled(value: f64, step: f64, names: &[&str]) -> String {
    let mut value = value;
    let mut i = 0;
    while value.abs() >= step * 0.9995 && i + 1 < names.len() {
        value /= step;
        i += 1;
    }
    let number = if i == 0 && value.fract() == 0.0 {
        format!("{value}")
    } else {
        digits(value)
    };
    format!("{number} {}", names[i])
}

/// A count as it is, anything else to four digits.
fn plain(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        format!("{value}")
    } else if value != 0.0 && value.abs() < 1e-3 {
        format!("{value:.2e}")
    } else if value.abs() < 10.0 {
        format!("{value:.4}")
    } else {
        digits(value)
    }
}

/// Three significant digits.
fn digits(value: f64) -> String {
    match value.abs() {
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        v if v >= 0.01 || v == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.2e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        let cases = [
            (0.0123, "s", "12.3 ms"),
            (2.5e-6, "s", "2.50 us"),
            (61.0, "s", "61.0 s"),
            (0.0, "s", "0.00 s"),
            (512.0, "B", "512 B"),
            (1572864.0, "B", "1.50 MiB"),
            (2.84e11, "FLOP/s", "284 GFLOP/s"),
            (999.9e6, "B/s", "1.00 GB/s"),
            (12.0, "B/s", "12 B/s"),
            (0.9123, "1", "0.9123"),
            (1.5e-4, "1", "1.50e-4"),
            (4096.0, "1", "4096"),
            (0.6, "x", "0.60x"),
            (7800.25, "1/s", "7800 /s"),
            (83.2, "%", "83.2 %"),
            (f64::NAN, "s", "not a number"),
        ];
        for (value, unit, text) in cases {
            assert_eq!(format(value, unit), text);
        }
    }
}
