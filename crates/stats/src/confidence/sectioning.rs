//! Percentiles and how far they may be off.
//!
//! Sectioning (Asmussen & Glynn, Stochastic Simulation, III.5a; Nakayama, Confidence intervals for
//! quantiles using sectioning, ACM TOMACS 24, 2014): each of some equal parts of a run has a percentile of
//! its own, and their spread around the percentile of the whole run tells how far that one may be off.
//! Around the whole run's, not around their own mean: percentiles of small parts are biased.

use super::batch_means::{BatchMean, Fitted, Inflation, VALUES_MIN};
use crate::latency::{IOS_BEYOND_MIN, is_weak};
use crate::sample::sum_of_squares;
use hot::buckets::{COARSE_COUNT, coarse_lower_edge_ns, coarse_upper_edge_ns};
use std::collections::BTreeMap;

/// Latencies by coarse bucket (`hot::buckets::coarse`).
pub(crate) type Histogram = BTreeMap<u32, u64>;

/// Sections of equal length, ten to nineteen, and all of them together.
///
/// Longer sections are better than more: neighbours depend on each other less, and each has more I/Os
/// beyond a high percentile.
pub(crate) struct Sections {
    parts: Vec<Histogram>,
    whole: Histogram,
    count: u64,
}

impl Sections {
    /// From parts of equal length in the order of time; `None` if they are fewer than ten.
    pub(crate) fn of(parts: &[Histogram]) -> Option<Self> {
        let group = parts.len() / VALUES_MIN;
        if group == 0 {
            return None;
        }
        let parts: Vec<Histogram> = parts.chunks_exact(group).map(merged).collect();
        let whole = merged(&parts);
        let count = whole.values().sum();
        Some(Self { parts, whole, count })
    }

    /// Half the width of the 95 % confidence interval of the percentile, in nanoseconds; `None` with fewer
    /// than ten I/Os beyond it or in any section.
    pub(crate) fn half_width_95_ns(&self, rank_ppb: u64) -> Option<f64> {
        let is_thin = |part: &Histogram| part.values().sum::<u64>() < IOS_BEYOND_MIN;
        if is_weak(self.count, rank_ppb) || self.parts.iter().any(is_thin) {
            return None;
        }
        let centre_ns = percentile_ns(&self.whole, rank_ppb);
        let deviations: Vec<f64> = self.parts.iter().map(|part| percentile_ns(part, rank_ppb) - centre_ns).collect();
        let count = deviations.len() as f64;
        let variance = sum_of_squares(&deviations) / (count - 1.0);
        let inflation = Inflation::of(&deviations, Fitted::Mean);
        let percentile = BatchMean {
            mean: centre_ns,
            std_error: (variance / count * inflation.of_variance).sqrt(),
            degrees_of_freedom: inflation.degrees_of_freedom,
        };
        Some(percentile.half_width_95())
    }
}

fn merged(parts: &[Histogram]) -> Histogram {
    let mut whole = Histogram::new();
    for (&index, &count) in parts.iter().flatten() {
        *whole.entry(index).or_default() += count;
    }
    whole
}

/// A percentile with the place inside its bucket: whole buckets would hide small differences between
/// sections. 0 without I/Os.
fn percentile_ns(histogram: &Histogram, rank_ppb: u64) -> f64 {
    let total: u64 = histogram.values().sum();
    let rank = total as f64 * (rank_ppb as f64 / 1e9);
    let mut below = 0.0;
    for (&index, &count) in histogram {
        let count = count as f64;
        if below + count >= rank {
            let index = (index as usize).min(COARSE_COUNT - 1);
            let (low, high) = (coarse_lower_edge_ns(index) as f64, coarse_upper_edge_ns(index) as f64);
            return low + (high - low) * ((rank - below) / count).clamp(0.0, 1.0);
        }
        below += count;
    }
    0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{coverage_percent, exponential, normal};
    use hot::rng::Rng;

    fn count(histogram: &mut Histogram, latency_ns: f64) {
        let index = hot::buckets::coarse(hot::buckets::index(latency_ns as u64));
        *histogram.entry(index as u32).or_default() += 1;
    }

    /// Exponential latencies of a millisecond; with `wobble` their scale changes from one 600th of the run to
    /// the next, neighbours alike (lag-1 correlation 0.9).
    fn sections(ios: usize, wobble: f64, rng: &mut Rng) -> Vec<Histogram> {
        const PARTS: usize = 20;
        const CELLS: usize = 600;
        let mut parts = vec![Histogram::new(); PARTS];
        let mut state = normal(rng);
        for cell in 0..CELLS {
            state = 0.9 * state + (1.0f64 - 0.81).sqrt() * normal(rng);
            let scale = (wobble * state).exp();
            let ios = (cell + 1) * ios / CELLS - cell * ios / CELLS;
            for _ in 0..ios {
                count(&mut parts[cell * PARTS / CELLS], 1e6 * scale * exponential(rng));
            }
        }
        parts
    }

    fn holds(parts: &[Histogram], rank_ppb: u64, truth_ns: f64) -> bool {
        let sections = Sections::of(parts).expect("twenty parts");
        let half_width_ns = sections.half_width_95_ns(rank_ppb).expect("enough I/Os");
        (percentile_ns(&sections.whole, rank_ppb) - truth_ns).abs() <= half_width_ns
    }

    #[test]
    fn intervals_of_independent_latencies_hold_the_truth() {
        for (rank_ppb, ios) in [(500_000_000, 2000), (990_000_000, 1000), (990_000_000, 10_000), (999_000_000, 20_000)]
        {
            let truth_ns = -1e6 * (1.0 - rank_ppb as f64 / 1e9).ln();
            let runs = if ios > 5000 { 300 } else { 800 };
            let percent = coverage_percent(runs, |rng| holds(&sections(ios, 0.0, rng), rank_ppb, truth_ns));
            assert!((91.0..=97.5).contains(&percent), "{rank_ppb} of {ios}: {percent} %");
        }
    }

    #[test]
    fn intervals_of_latencies_that_come_and_go_hold_the_truth() {
        const WOBBLE: f64 = 0.3;
        // The law has no closed form: a million independent draws of it, to 0.2 %.
        let mut all = Histogram::new();
        let mut rng = Rng::new(1);
        for _ in 0..1_000_000 {
            let scale = (WOBBLE * normal(&mut rng)).exp();
            count(&mut all, 1e6 * scale * exponential(&mut rng));
        }
        for rank_ppb in [500_000_000, 990_000_000] {
            let truth_ns = percentile_ns(&all, rank_ppb);
            let percent = coverage_percent(500, |rng| holds(&sections(5000, WOBBLE, rng), rank_ppb, truth_ns));
            assert!((91.0..=97.5).contains(&percent), "{rank_ppb}: {percent} %");
        }
    }

    #[test]
    fn what_few_ios_decide_has_no_interval() {
        let mut rng = Rng::new(3);
        let parts = sections(10_000, 0.0, &mut rng);
        let sections = Sections::of(&parts).expect("twenty parts");
        assert!(sections.half_width_95_ns(999_000_000).is_some(), "ten I/Os beyond");
        assert_eq!(sections.half_width_95_ns(999_100_000), None, "nine");
        assert_eq!(sections.half_width_95_ns(1_000_000_000), None);
        assert!(Sections::of(&parts[..9]).is_none());
        let mut with_a_gap = parts.clone();
        with_a_gap[4..8].fill(Histogram::new());
        let sections = Sections::of(&with_a_gap).expect("twenty parts");
        assert_eq!(sections.half_width_95_ns(500_000_000), None, "sections without I/Os");
    }

    #[test]
    fn latencies_that_are_all_alike_have_no_width() {
        let part: Histogram = [(2000, 100)].into();
        let sections = Sections::of(&vec![part; 20]).expect("twenty parts");
        assert_eq!(sections.half_width_95_ns(500_000_000), Some(0.0));
    }
}
