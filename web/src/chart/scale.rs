//! From values to places along an axis, and the values worth marking on it.

/// An axis of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    low: f64,
    high: f64,
    log: bool,
    from: f64,
    to: f64,
}

impl Scale {
    /// An axis that spans the values, from one place to another. A logarithmic one shows what is above zero; where nothing
    /// is, it is linear. `zero` makes a linear one begin at zero when no value is below.
    pub fn spanning(
        values: impl Iterator<Item = f64> + Clone,
        log: bool,
        zero: bool,
        (from, to): (f64, f64),
    ) -> Self {
        let finite = values.filter(|v| v.is_finite());
        let ends = |values: &mut dyn Iterator<Item = f64>| {
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
                (low.min(v), high.max(v))
            })
        };
        let (low, high) = ends(&mut finite.clone().filter(|v| *v > 0.0));
        if log && low.is_finite() {
            let room = if high > low * 1.001 {
                (high / low).powf(0.04)
            } else {
                2.0
            };
            return Scale {
                low: low / room,
                high: high * room,
                log: true,
                from,
                to,
            };
        }
        let (mut low, mut high) = ends(&mut finite.clone());
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        if zero && low >= 0.0 {
            low = 0.0;
        }
        if low == high {
            high = low + if low == 0.0 { 1.0 } else { low.abs() };
        }
        if zero {
            high += (high - low) * 0.04;
        }
        Scale {
            low,
            high,
            log: false,
            from,
            to,
        }
    }

    /// Whether it is logarithmic.
    pub fn is_log(&self) -> bool {
        self.log
    }

    /// Where a value lies; none for what the axis cannot show.
    pub fn place(&self, value: f64) -> Option<f64> {
        let share = if self.log {
            if value <= 0.0 {
                return None;
            }
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        let place = self.from + share * (self.to - self.from);
        place.is_finite().then_some(place)
    }

    /// The value at a place.
    pub fn value(&self, place: f64) -> f64 {
        let share = (place - self.from) / (self.to - self.from);
        if self.log {
            self.low * (self.high / self.low).powf(share)
        } else {
            self.low + share * (self.high - self.low)
        }
    }

    /// Round values along the axis, about as many as asked for; bytes are round in powers of two.
    pub fn ticks(&self, about: usize, unit: &str) -> Vec<f64> {
        let about = about.max(2);
        let binary = unit == "B";
        if !self.log {
            let grain = match (self.high.max(1.0).log2() / 10.0).floor() {
                prefix if binary => 1024f64.powf(prefix),
                _ => 1.0,
            };
            return self.round_steps(about, grain);
        }
        let base: f64 = if binary { 2.0 } else { 10.0 };
        let first = (self.low.ln() / base.ln()).ceil() as i32;
        let last = (self.high.ln() / base.ln()).floor() as i32;
        let powers: Vec<f64> = (first..=last).map(|e| base.powi(e)).collect();
        if powers.len() >= 3 {
            let step = powers.len().div_ceil(about);
            return powers.into_iter().step_by(step).collect();
        }
        let finer: Vec<f64> = (first - 1..=last + 1)
            .flat_map(|e| [1.0, 2.0, 5.0].map(|m| m * 10f64.powi(e)))
            .filter(|v| !binary && (self.low..=self.high).contains(v))
            .collect();
        if finer.len() >= 2 {
            finer
        } else {
            self.round_steps(about, 1.0)
        }
    }

    fn round_steps(&self, about: usize, grain: f64) -> Vec<f64> {
        let rough = (self.high - self.low) / grain / about as f64;
        let magnitude = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0]
            .map(|m| m * magnitude)
            .into_iter()
            .find(|s| *s >= rough)
            .unwrap_or(rough)
            * grain;
        let (first, last) = (
            (self.low / step).ceil() as i64,
            (self.high / step).floor() as i64,
        );
        (first..=last).map(|i| i as f64 * step).collect()
    }
}
