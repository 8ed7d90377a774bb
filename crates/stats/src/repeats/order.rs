//! Effects of the order of runs: trend and dependence of neighbours.

use super::SHARE_MIN;
use crate::sample::{deviations, sum_of_squares};
use statrs::distribution::{ContinuousCDF, Normal};

/// Minimum number of runs for a trend.
const TREND_RUNS_MIN: usize = 6;
/// Chance that runs in a random order seem to have a trend.
const TREND_SIGNIFICANCE: f64 = 0.01;
/// Runs up to which the exact law of the number of pairs in order is used.
const EXACT_RUNS_MAX: usize = 40;
/// Minimum number of runs for dependence of neighbours.
const DEPENDENCE_RUNS_MIN: usize = 10;
/// Chance that independent runs seem alike.
const DEPENDENCE_SIGNIFICANCE: f64 = 0.01;
/// A correlation closer to 1 cannot be distinguished from 1.
const CORRELATION_MAX: f64 = 0.95;

/// Runs that get faster or slower, one after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Median change from one run to the next, in percent of the median (Sen, JASA 63, 1968).
    pub percent_per_run: f64,
    /// The same from the first run to the last.
    pub percent: f64,
    /// Scatter around the line as a share of the scatter of all runs.
    pub(super) scatter_share: f64,
}

/// Runs of which neighbours are alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dependence {
    /// The von Neumann ratio of the runs' ranks: 2 where the order has no effect, less where neighbours are alike.
    pub ratio: f64,
    /// As many independent runs would know the mean as well.
    pub independent_runs: f64,
}

/// The trend test of Mann (Econometrica 13, 1945) and Kendall: the number of pairs of runs of which the later one is
/// larger, less the number of those of which it is smaller.
pub(super) fn trend(values: &[f64]) -> Option<Trend> {
    if values.len() < TREND_RUNS_MIN {
        return None;
    }
    let pairs = || (0..values.len()).flat_map(|later| (0..later).map(move |earlier| (earlier, later)));
    let score: i64 = pairs().map(|(a, b)| sign(values[b] - values[a])).sum();
    let mut slopes: Vec<f64> = pairs().map(|(a, b)| (values[b] - values[a]) / (b - a) as f64).collect();
    let (slope, centre) = (median(&mut slopes)?, median(&mut values.to_vec())?);
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let around: Vec<f64> =
        values.iter().enumerate().map(|(run, value)| value - slope * (run as f64 - middle)).collect();
    let scatter_share = sum_of_squares(&deviations(&around)) / sum_of_squares(&deviations(values));
    let percent = slope * (values.len() as f64 - 1.0) / centre * 100.0;
    let is_large = percent.abs() >= SHARE_MIN * 100.0;
    let found = Trend { percent_per_run: slope / centre * 100.0, percent, scatter_share };
    (is_large && chance_of_score(values, score) < TREND_SIGNIFICANCE).then_some(found)
}

fn sign(value: f64) -> i64 {
    if value > 0.0 { 1 } else { -i64::from(value < 0.0) }
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    Some(if values.len() % 2 == 1 { upper } else { f64::midpoint(values[middle - 1], upper) })
}

/// Probability of a score so far from 0, or farther, if all orders are equally likely.
fn chance_of_score(values: &[f64], score: i64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let ties: Vec<f64> = sorted.chunk_by(|a, b| a.total_cmp(b).is_eq()).map(|equal| equal.len() as f64).collect();
    let count = values.len();
    if ties.len() == count && count <= EXACT_RUNS_MAX {
        return exact_chance(count, score.unsigned_abs() as usize);
    }
    let term = |count: f64| count * (count - 1.0) * (2.0 * count + 5.0);
    let variance = (term(count as f64) - ties.into_iter().map(term).sum::<f64>()) / 18.0;
    // One less: a score is a whole number, the normal law is not.
    let deviations = (score.abs() as f64 - 1.0).max(0.0) / variance.sqrt().max(f64::MIN_POSITIVE);
    2.0 * Normal::standard().sf(deviations)
}

/// The same from the numbers of orders with each number of inversions, which grow by a run at a time.
fn exact_chance(count: usize, score: usize) -> f64 {
    let mut shares = vec![1.0];
    for run in 1..count {
        let mut next = vec![0.0; shares.len() + run];
        for (inversions, share) in shares.iter().enumerate() {
            next[inversions..=inversions + run].iter_mut().for_each(|sum| *sum += share / (run + 1) as f64);
        }
        shares = next;
    }
    let pairs = count * (count - 1) / 2;
    let at_most = pairs.saturating_sub(score) / 2;
    (2.0 * shares[..=at_most].iter().sum::<f64>()).min(1.0)
}

/// The rank version (Bartels, JASA 77, 1982) of the ratio of von Neumann (Annals of Mathematical Statistics 12, 1941):
/// squared differences of neighbours over squared deviations from the mean.
pub(super) fn dependence(values: &[f64]) -> Option<Dependence> {
    let count = values.len() as f64;
    if values.len() < DEPENDENCE_RUNS_MIN {
        return None;
    }
    let ranks = ranks(values);
    let deviations = deviations(&ranks);
    let squares = sum_of_squares(&deviations);
    let differences: f64 = ranks.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
    let ratio = differences / squares;
    let variance = 4.0 * (count - 2.0) * (5.0 * count * count - 2.0 * count - 9.0)
        / (5.0 * count * (count + 1.0) * (count - 1.0) * (count - 1.0));
    let chance = Normal::standard().cdf((ratio - 2.0) / variance.sqrt());
    // The lag-1 correlation comes out too low by (1 + 4r) / n (Marriott and Pope, Biometrika 41, 1954).
    let seen = deviations.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / squares;
    let correlation = (seen + (1.0 + 4.0 * seen) / count).clamp(0.0, CORRELATION_MAX);
    let independent_runs = count * (1.0 - correlation) / (1.0 + correlation);
    (squares > 0.0 && chance < DEPENDENCE_SIGNIFICANCE).then_some(Dependence { ratio, independent_runs })
}

/// From 1; equal values share the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| other.total_cmp(value).is_lt()).count() as f64;
        let equal = values.iter().filter(|other| other.total_cmp(value).is_eq()).count() as f64;
        below + f64::midpoint(1.0, equal)
    };
    values.iter().map(rank).collect()
}

/// Order statistics between which the median of dependent runs lies with 95 %: as many deviations from the middle as for
/// independent ones, but the number of runs below the median scatters more (Gastwirth and Rubin, JASA 66, 1971).
pub(super) fn median_ranks_of_dependent(count: usize, independent: f64) -> Option<(usize, usize)> {
    const DEVIATIONS_95: f64 = 1.959_964;
    let runs = count as f64;
    let half_width = DEVIATIONS_95 * runs / 2.0 / independent.sqrt();
    let rank = (runs / 2.0 - half_width + 0.5).floor();
    (rank >= 1.0).then(|| (rank as usize - 1, count - rank as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{coverage_percent, normal};
    use hot::rng::Rng;

    /// Runs of which each keeps some of the one before.
    fn series(count: usize, correlation: f64, rng: &mut Rng) -> Vec<f64> {
        let mut state = normal(rng);
        let mut next = || {
            state = correlation * state + (1.0 - correlation * correlation).sqrt() * normal(rng);
            1000.0 + 50.0 * state
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn chances_are_those_of_the_tables() {
        // Kendall, Rank Correlation Methods, appendix table 1: P(S >= 9) for 6 runs is 0.068, P(S >= 23) for 10 is 0.023.
        assert!((exact_chance(6, 9) / 2.0 - 0.068).abs() < 0.0005, "{}", exact_chance(6, 9));
        assert!((exact_chance(10, 23) / 2.0 - 0.023).abs() < 0.0005, "{}", exact_chance(10, 23));
        assert!((exact_chance(4, 6) - 2.0 / 24.0).abs() < 1e-12);
        assert!((exact_chance(5, 0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_fall_of_one_percent_per_run_is_told() {
        let percent = coverage_percent(500, |rng| {
            let mut runs = series(10, 0.0, rng);
            // 1 % of 1000 from run to run, with scatter of 1 %.
            for (run, value) in runs.iter_mut().enumerate() {
                *value = 1000.0 - 10.0 * run as f64 + (*value - 1000.0) / 5.0;
            }
            trend(&runs).is_some_and(|trend| trend.percent_per_run < -0.5)
        });
        assert!(percent > 90.0, "{percent} %");
        let exact: Vec<f64> = (0..6).map(|run| 1000.0 - 10.0 * f64::from(run)).collect();
        let found = trend(&exact).expect("each is slower");
        assert!((found.percent_per_run + 10.0 / 9.75).abs() < 1e-9, "{found:?}");
        let small: Vec<f64> = (0..10).map(|run| 1000.0 - f64::from(run)).collect();
        assert_eq!(trend(&small), None, "0.9 % in all");
        assert_eq!(trend(&[5.0; 12]), None);
    }

    #[test]
    fn independent_runs_seldom_have_a_trend_or_depend_on_each_other() {
        for count in [6, 10, 30] {
            let trends = coverage_percent(2000, |rng| trend(&series(count, 0.0, rng)).is_some());
            let dependences = coverage_percent(2000, |rng| dependence(&series(count, 0.0, rng)).is_some());
            assert!(trends <= 1.6 && dependences <= 1.6, "{count}: {trends} % and {dependences} %");
        }
    }

    #[test]
    fn neighbours_that_are_alike_are_found() {
        let found = coverage_percent(500, |rng| dependence(&series(30, 0.8, rng)).is_some());
        assert!(found > 80.0, "{found} %");
        let alternating: Vec<f64> = (0..20).map(|run| f64::from(run % 2)).collect();
        assert_eq!(dependence(&alternating), None, "neighbours that differ are no less independent");
        assert_eq!(dependence(&[3.0; 20]), None);
    }

    /// A plain interval holds the median in 70 of 100 series, the corrected one more often.
    #[test]
    fn the_interval_of_dependent_runs_is_wider_and_holds_more_often() {
        let holds = |rng: &mut Rng, is_corrected: bool| {
            let mut runs = series(40, 0.7, rng);
            let found = dependence(&runs).filter(|_| is_corrected);
            runs.sort_by(f64::total_cmp);
            let ranks = match found {
                Some(found) => median_ranks_of_dependent(runs.len(), found.independent_runs),
                None => super::super::median_ranks(runs.len()),
            };
            // No interval claims nothing.
            ranks.is_none_or(|(low, high)| runs[low] <= 1000.0 && 1000.0 <= runs[high])
        };
        let plain = coverage_percent(1000, |rng| holds(rng, false));
        let corrected = coverage_percent(1000, |rng| holds(rng, true));
        assert!(plain < 75.0 && corrected > 85.0, "{plain} % and {corrected} %");
        assert_eq!(median_ranks_of_dependent(40, 3.0), None);
    }

    #[test]
    fn ranks_are_those_of_independent_runs_where_nothing_depends() {
        assert_eq!(median_ranks_of_dependent(100, 100.0), Some((39, 60)));
        let twice: Vec<i64> = ranks(&[3.0, 1.0, 3.0]).iter().map(|rank| (2.0 * rank) as i64).collect();
        assert_eq!(twice, [5, 2, 5]);
    }
}
