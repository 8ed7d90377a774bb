//! Rate limits visible over the course of a run: a cap from the start, or a burst credit that ran out.

use super::{CeilingContext, ExpectationRule};
use crate::rule::Observation;
use model::course::Series;
use model::expectation::{Ceiling, CeilingUnit};
use model::finding::Severity;

pub(super) const RULES: &[ExpectationRule] = &[
    ExpectationRule {
        name: "flat-cap",
        severity: Severity::Note,
        unit: "percent",
        computed_from: "in every half second of the run, the rate stayed at 97 to 102 % of one limit (the one \
                        with the least headroom) and varied by at most 3 %, as it does under a rate limiter",
        advice: "a throttle, not the device, limits this rate: more queue depth only adds latency",
        evaluate: |context| {
            with_rates(
                context,
                |rates, binding| {
                    if cliff(rates, binding).is_some() { None } else { flat_cap(rates, binding) }
                },
            )
        },
    },
    ExpectationRule {
        name: "burst-cliff",
        severity: Severity::Warn,
        unit: "seconds",
        computed_from: "the rate held one level (within 15 %) for at least five seconds, then a second level, at least \
                        25 % lower, for at least another five. Either burst credit ran out (certain if the second \
                        level equals the limit with the least headroom) or a cache filled up",
        advice: "burst credit ran out, or a cache filled up: the second rate is the sustained one; confirm with a \
                 longer run",
        evaluate: |context| with_rates(context, cliff),
    },
];

/// Cells are merged up to this width: cloud schedulers count in parts of a second.
const PART_NS: u64 = 500_000_000;
/// Least number of parts in a level: five seconds.
const PARTS_MIN: usize = 10;
/// Relative deviation of the parts of a level around their mean. Devices scatter more, limiters less.
const FLAT: f64 = 0.03;
/// The same for the two levels of a cliff, of which the first is often the device's own.
const LEVEL: f64 = 0.15;
/// Least drop to the second level.
const FALL: f64 = 0.25;
/// A level between these shares of a ceiling counts as the ceiling.
const PINNED: std::ops::RangeInclusive<f64> = 0.97..=1.02;

fn with_rates(
    context: &CeilingContext<'_>,
    observe: impl Fn(&Rates, &Ceiling) -> Option<Observation>,
) -> Vec<Observation> {
    context.rates.iter().filter_map(|rates| observe(rates, context.binding)).collect()
}

/// Rates of the quantity that the ceiling limits, in parts of half a second.
pub(super) struct Rates {
    part_s: f64,
    per_s: Vec<f64>,
}

pub(super) fn rates(series: &Series, unit: CeilingUnit) -> Option<Rates> {
    let (read, write) = match unit {
        CeilingUnit::IosPerSecond => (&series.read.ios, &series.write.ios),
        CeilingUnit::BytesPerSecond => (&series.read.bytes, &series.write.bytes),
    };
    let cells_per_part = PART_NS.div_ceil(series.width_ns.max(1)) as usize;
    let part_s = (series.width_ns * cells_per_part as u64) as f64 / 1e9;
    let cells: Vec<u64> = read.iter().zip(write).map(|(read, write)| read + write).collect();
    let per_s: Vec<f64> =
        cells.chunks_exact(cells_per_part).map(|part| part.iter().sum::<u64>() as f64 / part_s).collect();
    (part_s > 0.0 && per_s.len() >= PARTS_MIN).then_some(Rates { part_s, per_s })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Deviation around the mean, as a share of it.
fn scatter(values: &[f64]) -> f64 {
    let centre = mean(values);
    let squares: f64 = values.iter().map(|value| (value - centre) * (value - centre)).sum();
    (squares / values.len() as f64).sqrt() / centre.max(f64::MIN_POSITIVE)
}

fn flat_cap(rates: &Rates, binding: &Ceiling) -> Option<Observation> {
    let share = mean(&rates.per_s) / binding.limit;
    if binding.is_estimate || !PINNED.contains(&share) || scatter(&rates.per_s) > FLAT {
        return None;
    }
    let figure = format!("at {:.1} % of {} for the whole run, with almost no variation", share * 100.0, binding.name);
    Some(Observation::new(figure, share * 100.0).with_subject(&binding.name))
}

/// The split into two levels that explains most of the variance, if the second is lower and both hold.
fn cliff(rates: &Rates, binding: &Ceiling) -> Option<Observation> {
    let values = &rates.per_s;
    let (count, whole) = (values.len(), values.iter().sum::<f64>());
    if count < 2 * PARTS_MIN {
        return None;
    }
    let mut sum = 0.0;
    let mut best = (0.0, 0);
    for (at, value) in values.iter().enumerate().take(count - PARTS_MIN) {
        sum += value;
        let (before, after) = (at + 1, count - at - 1);
        let step = sum / before as f64 - (whole - sum) / after as f64;
        // The sum of squares between the means of both levels.
        let explained = step * step * (before * after) as f64 / count as f64;
        if before >= PARTS_MIN && explained > best.0 {
            best = (explained, before);
        }
    }
    let (first, second) = values.split_at(best.1);
    if first.is_empty()
        || scatter(first) > LEVEL
        || scatter(second) > LEVEL
        || mean(second) > mean(first) * (1.0 - FALL)
    {
        return None;
    }
    let (from, to) = (mean(first) / binding.unit.scale(), mean(second) / binding.unit.scale());
    let at_s = best.1 as f64 * rates.part_s;
    let is_at_ceiling = PINNED.contains(&(mean(second) / binding.limit));
    let figure = format!("{from:.0} {unit} until {at_s:.1} s, {to:.0} {unit} from then on", unit = binding.unit);
    let observation = Observation::new(figure, at_s).with_subject(&binding.name);
    Some(if is_at_ceiling {
        observation.with_advice(
            "burst credit ran out: the second rate is the sustained one; to measure it, use a warm-up (-W) at \
             least as long as the burst",
        )
    } else {
        observation
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule;
    use model::course::SeriesCounts;
    use model::finding::Finding;

    /// Cells of 100 ms, given as I/Os per second.
    fn found(per_s: impl Iterator<Item = f64>, limit: f64) -> Option<Finding> {
        let ios: Vec<u64> = per_s.map(|per_s| (per_s / 10.0).round() as u64).collect();
        let bytes = ios.iter().map(|ios| ios * 4096).collect();
        let none = SeriesCounts { ios: vec![0; ios.len()], bytes: vec![0; ios.len()], latency_sum_ns: Vec::new() };
        let series = Series {
            width_ns: 100_000_000,
            read: SeriesCounts { ios, bytes, latency_sum_ns: Vec::new() },
            write: none,
        };
        let binding = Ceiling {
            name: "vm-iops".to_owned(),
            unit: CeilingUnit::IosPerSecond,
            limit,
            reached: 0.0,
            share_percent: 0.0,
            is_estimate: false,
            parts: 1,
        };
        let rates = rates(&series, binding.unit);
        let context = CeilingContext { ceilings: &[], binding: &binding, rates };
        let mut found = rule::evaluate(RULES, &context);
        assert!(found.len() <= 1, "{found:?}");
        found.pop()
    }

    /// Repeatable scatter.
    fn uneven(level: f64, cells: usize, share: f64) -> impl Iterator<Item = f64> {
        (0..cells).map(move |cell| level * (1.0 + share * ((cell * 7 % 11) as f64 / 5.0 - 1.0)))
    }

    #[test]
    fn a_rate_pinned_to_its_ceiling_is_a_flat_cap() {
        let finding = found(uneven(990.0, 110, 0.01), 1000.0).expect("a cap");
        assert_eq!(finding.name, "flat-cap");
        assert!(finding.figure.starts_with("at 99.0 % of vm-iops"), "{finding:?}");
    }

    #[test]
    fn a_rate_that_scatters_or_lies_elsewhere_is_none() {
        assert_eq!(found(uneven(1500.0, 100, 0.01), 1920.0), None);
        // Half seconds alternate between 10 % more and 10 % less.
        let alternating = (0..100).map(|cell| if cell / 5 % 2 == 0 { 2112.0 } else { 1728.0 });
        assert_eq!(found(alternating, 1920.0), None);
        assert_eq!(found(uneven(1920.0, 45, 0.0), 1920.0), None, "too short");
    }

    #[test]
    fn a_step_down_is_a_cliff_where_it_is() {
        let steps = uneven(3000.0, 300, 0.05).chain(uneven(500.0, 300, 0.02));
        let finding = found(steps, 500.0).expect("a cliff");
        assert_eq!((finding.name.as_str(), finding.value), ("burst-cliff", Some(30.0)));
        assert_eq!(finding.figure, "3000 I/O per s until 30.0 s, 500 I/O per s from then on");
        assert!(finding.advice.contains("burst credit ran out: "), "{finding:?}");
        let elsewhere = found(uneven(3000.0, 300, 0.05).chain(uneven(800.0, 300, 0.02)), 500.0).expect("a cliff");
        assert!(elsewhere.advice.contains("or a cache filled up"), "{elsewhere:?}");
    }

    #[test]
    fn a_slope_a_rise_and_a_dip_are_no_cliffs() {
        assert_eq!(found((0..600).map(|cell| 3000.0 - 5.0 * f64::from(cell)), 9000.0), None);
        assert_eq!(found(uneven(500.0, 300, 0.02).chain(uneven(3000.0, 300, 0.02)), 9000.0), None);
        let dip = uneven(3000.0, 290, 0.02).chain(uneven(500.0, 20, 0.02)).chain(uneven(3000.0, 290, 0.02));
        assert_eq!(found(dip, 9000.0), None);
    }
}
