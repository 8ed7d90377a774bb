//! Intended starts of an open loop over time, if its rate changes (`--rate=1000..50000`, bursts).
//!
//! The n-th start is where the sum of the rate over time reaches n. Both directions have formulas, so each start follows
//! from its number and errors do not add up.

use model::plan::RateCurve;

const NS_PER_S: f64 = 1e9;

/// A rate over time, of all threads together. Times are in nanoseconds since the start of the measurement, negative in
/// the warm-up.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    law: Law,
    /// Length of the warm-up.
    before_ns: f64,
}

/// Rates in starts per nanosecond.
#[derive(Clone, Debug, PartialEq)]
enum Law {
    Ramp { from: f64, to: f64, over_ns: f64 },
    Bursts { on_ns: f64, cycle_ns: f64, on_rate: f64, off_rate: f64 },
}

impl Curve {
    /// The curve of a plan.
    pub fn new(curve: RateCurve) -> Self {
        let per_ns = |iops: u32| f64::from(iops) / NS_PER_S;
        match curve {
            RateCurve::Ramp { from_iops, to_iops, before_ns, over_ns } => Self {
                law: Law::Ramp { from: per_ns(from_iops), to: per_ns(to_iops), over_ns: over_ns as f64 },
                before_ns: before_ns as f64,
            },
            RateCurve::Bursts { iops, bursts, before_ns } => {
                let (on, off) = bursts.factors();
                let law = Law::Bursts {
                    on_ns: bursts.on_ns as f64,
                    cycle_ns: (bursts.on_ns + bursts.off_ns) as f64,
                    on_rate: on * per_ns(iops),
                    off_rate: off * per_ns(iops),
                };
                Self { law, before_ns: before_ns as f64 }
            }
        }
    }

    /// Starts intended from the start of the measurement to a time; negative before.
    pub fn starts(&self, at_ns: f64) -> f64 {
        match self.law {
            Law::Ramp { from, .. } if at_ns < 0.0 => from * at_ns,
            Law::Ramp { from, to, over_ns } => {
                let inside_ns = at_ns.min(over_ns);
                let inside = from * inside_ns + (to - from) * inside_ns * inside_ns / (2.0 * over_ns);
                inside + to * (at_ns - inside_ns)
            }
            Law::Bursts { on_ns, cycle_ns, on_rate, off_rate } => {
                let cycles = (at_ns / cycle_ns).floor();
                let inside_ns = at_ns - cycles * cycle_ns;
                let of_cycle = on_rate * on_ns + off_rate * (cycle_ns - on_ns);
                cycles * of_cycle + on_rate * inside_ns.min(on_ns) + off_rate * (inside_ns - on_ns).max(0.0)
            }
        }
    }

    /// Time at which [`starts`](Self::starts) reaches a number.
    fn time_of(&self, starts: f64) -> f64 {
        match self.law {
            Law::Ramp { from, .. } if starts < 0.0 => starts / from,
            Law::Ramp { from, to, over_ns } => {
                let of_ramp = f64::midpoint(from, to) * over_ns;
                if starts > of_ramp {
                    return over_ns + (starts - of_ramp) / to;
                }
                // The solution of the quadratic equation without cancellation.
                let rate = (from * from + 2.0 * (to - from) * starts / over_ns).max(0.0).sqrt();
                2.0 * starts / (from + rate)
            }
            Law::Bursts { on_ns, cycle_ns, on_rate, off_rate } => {
                let (in_burst, between) = (on_rate * on_ns, off_rate * (cycle_ns - on_ns));
                let cycles = (starts / (in_burst + between)).floor();
                let inside = starts - cycles * (in_burst + between);
                let inside_ns = if inside < in_burst || between <= 0.0 {
                    inside / on_rate
                } else {
                    on_ns + (inside - in_burst) / off_rate
                };
                cycles * cycle_ns + inside_ns
            }
        }
    }

    /// Starts intended before the measurement.
    pub fn starts_before(&self) -> f64 {
        -self.starts(-self.before_ns)
    }

    /// Intended time of the start with a number (from 1 at the start of load, fractions in between), in whole
    /// nanoseconds since the start of load; `before` is [`starts_before`](Self::starts_before).
    #[inline]
    pub fn due_ns(&self, number: f64, before: f64) -> u64 {
        (self.before_ns + self.time_of(number - before)).max(0.0) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::profile::RateProcess;

    const S: u64 = 1_000_000_000;
    const MS: u64 = 1_000_000;

    fn ramp(from_iops: u32, to_iops: u32) -> Curve {
        Curve::new(RateCurve::Ramp { from_iops, to_iops, before_ns: 2 * S, over_ns: 10 * S })
    }

    fn bursts(text: &str, iops: u32) -> Curve {
        let Ok(RateProcess::Bursts(bursts)) = RateProcess::parse(text) else { panic!("{text}") };
        Curve::new(RateCurve::Bursts { iops, bursts, before_ns: 2 * S + 50 * MS })
    }

    /// Starts in each interval of `width_ns`, from the start of load.
    fn counts(curve: &Curve, width_ns: u64, intervals: usize) -> Vec<u64> {
        let (before, mut counts) = (curve.starts_before(), vec![0; intervals]);
        for number in 1.. {
            let interval = (curve.due_ns(f64::from(number), before) / width_ns) as usize;
            let Some(count) = counts.get_mut(interval) else { break };
            *count += 1;
        }
        counts
    }

    #[test]
    fn a_ramp_rises_and_falls_linearly_between_steady_rates() {
        for (from, to) in [(1000_u32, 50_000_u32), (50_000, 1000), (3, 3), (1, 100_000)] {
            let counts = counts(&ramp(from, to), S, 15);
            let (from, to) = (f64::from(from), f64::from(to));
            for (second, count) in counts.iter().enumerate() {
                let middle = (second as f64 - 1.5).clamp(0.0, 10.0);
                let rate = match second {
                    0 | 1 => from,
                    12.. => to,
                    _ => from + (to - from) * middle / 10.0,
                };
                assert!((*count as f64 - rate).abs() <= 1.0, "{from}..{to} second {second}: {count} for {rate}");
            }
            // Errors do not add up.
            let measured: u64 = counts[2..12].iter().sum();
            assert!((measured as f64 - (from + to) * 5.0).abs() <= 1.0, "{measured}");
        }
    }

    #[test]
    fn bursts_begin_with_the_measurement_and_keep_the_mean() {
        // 2,000 per second: 5 x 2,000 x 0.1 in a burst, the other half in the 900 ms that follow.
        let counts = counts(&bursts("bursts:100ms,900ms,5", 2000), 50 * MS, 41 + 400);
        for (index, count) in counts.iter().enumerate().skip(1) {
            // The measurement begins in interval 41.
            let expected = if (index + 20 - 41 % 20) % 20 < 2 { 500.0 } else { 1000.0 / 18.0 };
            assert!((*count as f64 - expected).abs() <= 1.0, "interval {index}: {count} for {expected}");
        }
        let measured: u64 = counts[41..].iter().sum();
        assert!(measured.abs_diff(40_000) <= 1, "{measured}");
    }

    #[test]
    fn nothing_starts_between_bursts_that_have_all() {
        let counts = counts(&bursts("bursts:100ms,900ms,10", 1000), 50 * MS, 41 + 200);
        for (index, count) in counts.iter().enumerate().skip(1) {
            let in_burst = (index + 20 - 41 % 20) % 20 < 2;
            assert!(if in_burst { count.abs_diff(500) <= 1 } else { *count <= 1 }, "interval {index}: {count}");
        }
    }

    #[test]
    fn times_and_numbers_of_starts_are_inverse() {
        for curve in
            [ramp(1000, 50_000), ramp(70, 3), bursts("bursts:1ms,5ms,2", 777), bursts("bursts:3s,7s,3.333333", 9)]
        {
            for step in 0..20_000 {
                let number = f64::from(step) * 0.37 - 100.0;
                let found = curve.starts(curve.time_of(number));
                assert!((found - number).abs() < 1e-6, "{curve:?}: {number} {found}");
            }
        }
    }
}
