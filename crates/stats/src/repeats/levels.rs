//! Runs on two levels.

use super::SHARE_MIN;
use crate::sample::{deviations, mean, sum_of_squares};
use hot::rng::Rng;

/// Minimum number of runs to distinguish two levels from scatter.
const LEVEL_RUNS_MIN: usize = 6;
/// Minimum number of runs in a level.
const LEVEL_SIZE_MIN: usize = 2;
/// Significance of two levels: how often scatter around one level looks like them, at most.
const LEVELS_SIGNIFICANCE: f64 = 0.02;
/// Runs drawn from one level to find out how seldom that is.
const LEVEL_TRIALS: u32 = 2000;

/// Runs that sit on two levels instead of one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoLevels {
    /// Runs on the lower one, and their geometric mean.
    pub low: (usize, f64),
    /// The same of the upper one.
    pub high: (usize, f64),
    /// Scatter within the levels as a share of the scatter of all runs.
    pub(super) scatter_share: f64,
}

/// The best split into two levels, if runs on one level would hardly ever look like it.
///
/// Logarithms are split: runs scatter by a share of their level, so the upper one would hide the lower one's.
pub(super) fn two_levels(values: &[f64]) -> Option<TwoLevels> {
    if values.len() < LEVEL_RUNS_MIN || values.iter().any(|value| *value <= 0.0) {
        return None;
    }
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let levels = best_split(&logarithms)?;
    if levels.high.1 - levels.low.1 < SHARE_MIN {
        return None;
    }
    // The same draws for the same number of runs; the sum of twelve is nearly normal.
    let mut rng = Rng::new(values.len() as u64);
    let mut normal = || (0..12).map(|_| rng.below(1 << 32) as f64 / (1u64 << 32) as f64).sum::<f64>() - 6.0;
    let mut is_like_it = || {
        let drawn: Vec<f64> = values.iter().map(|_| normal()).collect();
        best_split(&drawn).is_some_and(|drawn| drawn.scatter_share <= levels.scatter_share)
    };
    let alike = (0..LEVEL_TRIALS).filter(|_| is_like_it()).count();
    let rate = |(count, logarithm): (usize, f64)| (count, logarithm.exp());
    let is_seldom = alike as f64 <= LEVELS_SIGNIFICANCE * f64::from(LEVEL_TRIALS);
    is_seldom.then(|| TwoLevels { low: rate(levels.low), high: rate(levels.high), ..levels })
}

/// The split with the least scatter within its two parts.
fn best_split(values: &[f64]) -> Option<TwoLevels> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let squares = |part: &[f64]| (mean(part), sum_of_squares(&deviations(part)));
    let (_, whole) = squares(&sorted);
    let splits = LEVEL_SIZE_MIN..=sorted.len().checked_sub(LEVEL_SIZE_MIN)?;
    let judged = splits.map(|at| {
        let ((low, low_squares), (high, high_squares)) = (squares(&sorted[..at]), squares(&sorted[at..]));
        let scatter_share = (low_squares + high_squares) / whole;
        TwoLevels { low: (at, low), high: (sorted.len() - at, high), scatter_share }
    });
    judged.min_by(|a, b| a.scatter_share.total_cmp(&b.scatter_share)).filter(|found| found.scatter_share.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::normal;

    fn normals(seed: u64, count: usize, mean: f64, deviation: f64) -> Vec<f64> {
        let mut rng = Rng::new(seed);
        (0..count).map(|_| mean + deviation * normal(&mut rng)).collect()
    }

    #[test]
    fn one_level_is_seldom_taken_for_two() {
        let alarms = (0..200).filter(|seed| two_levels(&normals(*seed, 10, 1000.0, 50.0)).is_some()).count();
        assert!(alarms <= 10, "{alarms} of 200, expected 4");
        assert_eq!(two_levels(&[1000.0; 10]), None);
        let close: Vec<f64> = (0..10).map(|run| if run % 2 == 0 { 1000.0 } else { 1010.0 }).collect();
        assert_eq!(two_levels(&close), None, "1 % is not worth a word");
    }

    #[test]
    fn levels_far_apart_are_split_by_shares() {
        // Each run is within 20 % of its level; on a linear scale the upper level would be split.
        let runs = [100.0, 120.0, 110.0, 90.0, 105.0, 10_000.0, 12_000.0, 9_000.0, 11_000.0, 8_500.0];
        let levels = two_levels(&runs).expect("two levels");
        assert_eq!((levels.low.0, levels.high.0), (5, 5));
        assert!((levels.low.1 - 104.5).abs() < 1.0, "a geometric mean: {levels:?}");
    }
}
