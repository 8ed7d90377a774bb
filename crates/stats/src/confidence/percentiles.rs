//! Percentiles and their confidence intervals.
//!
//! The interval of a percentile is the interval of the number of I/Os beyond it, turned back into latencies
//! (Woodruff, Confidence intervals for medians and other position measures, JASA 47, 1952; Francisco & Fuller,
//! Quantile estimation with a complex survey design, Annals of Statistics 19, 1991). The run is divided into equal
//! sections; how many I/Os of each section lie beyond the percentile of the whole run, minus its share, is a
//! series of errors with mean 0, whose variance follows from batch means. Unlike the spread of the sections' own
//! percentiles (sectioning), this needs no ten I/Os beyond in each section, has no bias for small sections,
//! and is as wide as it should be where latencies have two modes. With independent I/Os it is the
//! interval of order statistics (David & Nagaraja, Order Statistics, 7.1), which is also its smallest width.

use super::batch_means::{Fitted, Inflation};
use super::interval::{Estimate, dependence};
use crate::latency::is_weak;
use crate::sample::{standard_errors_95, sum_of_squares};
use hot::buckets::{COARSE_COUNT, coarse_lower_edge_ns, coarse_upper_edge_ns};
use model::confidence::{Interval, Withheld};

/// Latencies by coarse bucket (`hot::buckets::coarse`): the buckets that are not empty, ascending.
pub(crate) type Histogram = Vec<(u32, u64)>;

/// Minimum number of sections that show if they depend on each other.
pub(crate) const SECTIONS_MIN: usize = 16;
/// Sections that are aimed at.
pub(crate) const SECTIONS: usize = 20;
/// Degrees of freedom that an interval needs.
const DEGREES_OF_FREEDOM_MIN: f64 = 4.0;

/// Errors below this many I/Os are those of the arithmetic: all sections are alike.
const ROUNDING: f64 = 1e-6;

/// Sections of equal length and all of them together.
pub(crate) struct Sections {
    parts: Vec<Histogram>,
    whole: Histogram,
    count: u64,
    /// Smallest and largest latency: buckets reach beyond them.
    range_ns: Interval,
    section_s: f64,
}

impl Sections {
    /// From parts of equal length in the order of time, with the smallest and largest latency; `None` if they are too few.
    pub(crate) fn from_parts(parts: &[Histogram], range_ns: Interval, length_s: f64) -> Option<Self> {
        if parts.len() < SECTIONS_MIN {
            return None;
        }
        let group = (parts.len() / SECTIONS).max(1);
        let parts: Vec<Histogram> = parts.chunks_exact(group).map(merged).collect();
        let whole = merged(&parts);
        let count = ios(&whole);
        Some(Self { parts, whole, count, range_ns, section_s: length_s * group as f64 })
    }

    /// The interval of a percentile in nanoseconds; `None` if fewer than ten I/Os lie beyond it.
    pub(crate) fn interval_ns(&self, rank_ppb: u64) -> Option<Estimate> {
        if is_weak(self.count, rank_ppb) {
            return None;
        }
        let share = 1.0 - rank_ppb as f64 / 1e9;
        let centre_ns = percentile_ns(&self.whole, share * self.count as f64);
        // Minus the share of each section's own I/Os: a percentile is a ratio, too.
        let beyond = |part: &Histogram| beyond(part, centre_ns) - share * ios(part) as f64;
        let errors: Vec<f64> = self.parts.iter().map(beyond).collect();
        let sum = match SumOfErrors::from_errors(&errors, self.section_s) {
            Ok(sum) => sum,
            Err(withheld) => return Some(Estimate::Withheld(withheld)),
        };
        let independent = self.count as f64 * share * (1.0 - share);
        let expected = self.count as f64 * share;
        let half = standard_errors_95(sum.degrees_of_freedom) * sum.variance.max(independent).sqrt();
        // On the log odds, so that no end lies beyond all I/Os.
        let within = self.count as f64 - expected;
        let factor = (half / expected + half / within).exp();
        let number = |odds: f64| self.count as f64 * odds / (1.0 + odds);
        let odds = expected / within;
        let clip = |ns: f64| ns.clamp(self.range_ns.low, self.range_ns.high);
        let low_ns = percentile_ns(&self.whole, number(odds * factor)).min(centre_ns);
        let high_ns = percentile_ns(&self.whole, number(odds / factor)).max(centre_ns);
        Some(Estimate::Known(Interval { low: clip(low_ns), high: clip(high_ns) }))
    }
}

/// How far the sum of the sections' errors, which is 0, might have been off.
pub(crate) struct SumOfErrors {
    pub(crate) variance: f64,
    pub(crate) degrees_of_freedom: f64,
}

impl SumOfErrors {
    /// From one error of each section, in the order of time; each section has the same length.
    pub(crate) fn from_errors(errors: &[f64], length_s: f64) -> Result<Self, Withheld> {
        let sections = errors.len() as f64;
        let mut inflation = Inflation::from_deviations(errors, Fitted::Mean);
        if errors.iter().all(|error| error.abs() < ROUNDING) {
            inflation = Inflation { of_variance: 1.0, degrees_of_freedom: sections - 1.0, is_clipped: false };
        }
        if inflation.is_clipped || inflation.degrees_of_freedom < DEGREES_OF_FREEDOM_MIN {
            return Err(dependence(sections * length_s, sections / inflation.of_variance));
        }
        let variance = sum_of_squares(errors) * sections / (sections - 1.0) * inflation.of_variance;
        Ok(Self { variance, degrees_of_freedom: inflation.degrees_of_freedom })
    }
}

/// The histogram of counts by coarse bucket, in any order.
pub(crate) fn histogram(counts: impl IntoIterator<Item = (u32, u64)>) -> Histogram {
    let mut by_index: Vec<u64> = Vec::new();
    for (index, count) in counts {
        let index = index as usize;
        if index >= by_index.len() {
            by_index.resize(index + 1, 0);
        }
        by_index[index] += count;
    }
    (0..).zip(by_index).filter(|&(_, count)| count > 0).collect()
}

fn merged(parts: &[Histogram]) -> Histogram {
    match parts {
        [part] => part.clone(),
        parts => histogram(parts.iter().flatten().copied()),
    }
}

fn ios(histogram: &Histogram) -> u64 {
    histogram.iter().map(|(_, count)| count).sum()
}

fn edges_ns(index: u32) -> (f64, f64) {
    let index = (index as usize).min(COARSE_COUNT - 1);
    (coarse_lower_edge_ns(index) as f64, coarse_upper_edge_ns(index) as f64)
}

/// The latency beyond which this number of I/Os lies, with the place inside its bucket: whole buckets would
/// hide small differences. 0 without I/Os.
fn percentile_ns(histogram: &Histogram, beyond: f64) -> f64 {
    let mut above = 0.0;
    for &(index, count) in histogram.iter().rev() {
        let count = count as f64;
        if above + count >= beyond {
            let (low, high) = edges_ns(index);
            return high - (high - low) * ((beyond - above) / count).clamp(0.0, 1.0);
        }
        above += count;
    }
    histogram.first().map_or(0.0, |&(index, _)| edges_ns(index).0)
}

/// How many I/Os took longer, with the same interpolation.
fn beyond(histogram: &Histogram, latency_ns: f64) -> f64 {
    let one = |&(index, count): &(u32, u64)| {
        let (low, high) = edges_ns(index);
        let share =
            if high > low { ((high - latency_ns) / (high - low)).clamp(0.0, 1.0) } else { f64::from(low > latency_ns) };
        count as f64 * share
    };
    histogram.iter().map(one).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{coverage_percent, exponential, normal};
    use hot::rng::Rng;

    const EVERYTHING: Interval = Interval { low: 0.0, high: f64::INFINITY };

    /// The bucket of an I/O.
    fn one(latency_ns: f64) -> (u32, u64) {
        (hot::buckets::coarse(hot::buckets::index(latency_ns as u64)) as u32, 1)
    }

    /// Exponential latencies of a millisecond; with `wobble` their scale changes from one 600th of the run to
    /// the next, neighbours alike (lag-1 correlation 0.9).
    fn sections(ios: usize, wobble: f64, rng: &mut Rng) -> Vec<Histogram> {
        const PARTS: usize = 20;
        const CELLS: usize = 600;
        let mut state = normal(rng);
        let part = |part: usize| {
            let mut counts = Vec::new();
            for cell in part * CELLS / PARTS..(part + 1) * CELLS / PARTS {
                state = 0.9 * state + (1.0f64 - 0.81).sqrt() * normal(rng);
                let scale = (wobble * state).exp();
                let ios = (cell + 1) * ios / CELLS - cell * ios / CELLS;
                counts.extend((0..ios).map(|_| one(1e6 * scale * exponential(rng))));
            }
            histogram(counts)
        };
        (0..PARTS).map(part).collect()
    }

    /// None if it is withheld.
    fn holds(parts: &[Histogram], rank_ppb: u64, truth_ns: f64) -> Option<bool> {
        let sections = Sections::from_parts(parts, EVERYTHING, 3.0).expect("twenty parts");
        let found = sections.interval_ns(rank_ppb).expect("enough I/Os").interval()?;
        Some(found.low <= truth_ns && truth_ns <= found.high)
    }

    /// Of the runs that have an interval, with at most 5 % that have none.
    fn coverage(runs: u32, mut run: impl FnMut(&mut Rng) -> Option<bool>) -> f64 {
        let mut withheld = 0;
        let percent = coverage_percent(runs, |rng| {
            let found = run(rng);
            withheld += u32::from(found.is_none());
            found.unwrap_or(true)
        });
        assert!(withheld <= runs / 20, "{withheld} of {runs} withheld");
        percent
    }

    #[test]
    fn intervals_of_independent_latencies_hold_the_truth() {
        for (rank_ppb, ios) in [
            (500_000_000, 2000),
            (990_000_000, 1000),
            (990_000_000, 4000),
            (990_000_000, 20_000),
            (999_000_000, 20_000),
        ] {
            let truth_ns = -1e6 * (1.0 - rank_ppb as f64 / 1e9).ln();
            let runs = if ios > 5000 { 300 } else { 1000 };
            let percent = coverage(runs, |rng| holds(&sections(ios, 0.0, rng), rank_ppb, truth_ns));
            assert!((92.5..=98.5).contains(&percent), "{rank_ppb} of {ios}: {percent} %");
        }
    }

    #[test]
    fn intervals_of_latencies_that_come_and_go_hold_the_truth() {
        const WOBBLE: f64 = 0.3;
        // The law has no closed form: a million independent draws of it, to 0.2 %.
        let mut rng = Rng::new(1);
        let all = histogram((0..1_000_000).map(|_| {
            let scale = (WOBBLE * normal(&mut rng)).exp();
            one(1e6 * scale * exponential(&mut rng))
        }));
        for (rank_ppb, beyond) in [(500_000_000, 5e5), (990_000_000, 1e4)] {
            let truth_ns = percentile_ns(&all, beyond);
            let percent = coverage(500, |rng| holds(&sections(5000, WOBBLE, rng), rank_ppb, truth_ns));
            assert!((92.0..=98.0).contains(&percent), "{rank_ppb}: {percent} %");
        }
    }

    /// The median lies between two modes: the interval reaches both, and no end lies outside of what was measured.
    #[test]
    fn a_percentile_in_a_gap_has_an_interval_as_wide_as_the_gap() {
        let part = vec![(1000, 50), (2000, 50)];
        let sections = Sections::from_parts(&vec![part; 20], EVERYTHING, 3.0).expect("twenty parts");
        let found = sections.interval_ns(500_000_000).and_then(Estimate::interval).expect("it is known");
        assert!(found.low <= edges_ns(1000).1 && found.high >= edges_ns(2000).0, "{found:?}");
        assert!(found.low >= edges_ns(1000).0 && found.high <= edges_ns(2000).1, "{found:?}");
    }

    #[test]
    fn no_end_lies_outside_of_what_was_measured() {
        let (low, high) = edges_ns(1000);
        let range = Interval { low: low + 1.0, high: low + 2.0 };
        assert!(range.high < high);
        let sections = Sections::from_parts(&vec![vec![(1000, 100)]; 20], range, 3.0).expect("twenty parts");
        for rank_ppb in [10_000_000, 500_000_000, 990_000_000] {
            let found = sections.interval_ns(rank_ppb).and_then(Estimate::interval).expect("it is known");
            assert!(range.low <= found.low && found.low <= found.high && found.high <= range.high, "{found:?}");
        }
    }

    #[test]
    fn what_few_ios_decide_has_no_interval() {
        let mut rng = Rng::new(3);
        let parts = sections(10_000, 0.0, &mut rng);
        let sections = Sections::from_parts(&parts, EVERYTHING, 3.0).expect("twenty parts");
        assert!(sections.interval_ns(999_000_000).is_some(), "ten I/Os beyond");
        assert_eq!(sections.interval_ns(999_100_000), None, "nine");
        assert_eq!(sections.interval_ns(1_000_000_000), None);
        assert!(Sections::from_parts(&parts[..15], EVERYTHING, 3.0).is_none());
        // A stall of a section is no reason to know nothing of the rest.
        let mut with_a_gap = parts.clone();
        with_a_gap[4..5].fill(Histogram::new());
        let sections = Sections::from_parts(&with_a_gap, EVERYTHING, 3.0).expect("twenty parts");
        assert!(sections.interval_ns(500_000_000).is_some());
    }

    #[test]
    fn latencies_that_grow_all_the_time_have_no_interval() {
        let part = |number: u32| vec![(1000 + 20 * number, 1000)];
        let parts: Vec<Histogram> = (0..20).map(part).collect();
        let sections = Sections::from_parts(&parts, EVERYTHING, 3.0).expect("twenty parts");
        let withheld = sections.interval_ns(500_000_000).and_then(Estimate::withheld).expect("it is withheld");
        assert_eq!((withheld.dependence_s, withheld.measure_s), (None, None), "it cannot be told within the run");
    }
}
