//! The size from which on one side wins.

/// Where a speed-up passes one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Crossover {
    /// It stays above one from this size on.
    At(f64),
    /// It is above one at every measured size; the smallest is given.
    Below(f64),
    /// It is below one at the largest measured size, which is given.
    Above(f64),
}

/// Where the speed-up, given by ascending size, passes one for good; read off between two sizes on log axes.
pub fn crossover(speedups: &[(f64, f64)]) -> Crossover {
    let Some(&(largest, last)) = speedups.last() else {
        return Crossover::Above(0.0);
    };
    if last < 1.0 {
        return Crossover::Above(largest);
    }
    match speedups.iter().rposition(|&(_, s)| s < 1.0) {
        None => Crossover::Below(speedups[0].0),
        Some(i) => {
            let ((n0, s0), (n1, s1)) = (speedups[i], speedups[i + 1]);
            let share = -s0.ln() / (s1.ln() - s0.ln());
            Crossover::At((n0.ln() + share * (n1.ln() - n0.ln())).exp())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_off_on_log_axes() {
        let Crossover::At(n) = crossover(&[(64.0, 0.25), (256.0, 0.5), (1024.0, 2.0)]) else {
            panic!()
        };
        assert!((n - 512.0).abs() < 1e-6, "{n}");
    }

    #[test]
    fn it_may_lie_outside_what_was_measured() {
        assert_eq!(
            crossover(&[(64.0, 0.1), (256.0, 0.9)]),
            Crossover::Above(256.0)
        );
        assert_eq!(
            crossover(&[(64.0, 1.1), (256.0, 9.0)]),
            Crossover::Below(64.0)
        );
        assert_eq!(crossover(&[]), Crossover::Above(0.0));
    }

    #[test]
    fn a_win_that_is_lost_again_does_not_count() {
        let Crossover::At(n) = crossover(&[(64.0, 2.0), (128.0, 0.5), (256.0, 2.0)]) else {
            panic!()
        };
        assert!(n > 128.0 && n < 256.0);
    }
}
