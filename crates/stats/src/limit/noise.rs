//! Check for a limited figure that does not depend on the rate.

use super::{Observation, log_used, used};
use crate::sample::{mean, student};
use model::limit::NoiseRange;
use statrs::distribution::ContinuousCDF;

/// Runs that a trend needs.
const RUNS_MIN: usize = 6;
/// The rates of a part without a trend must span this factor.
pub const SPAN_MIN: f64 = 1.5;
/// One-sided significance of a rising line.
const RISES: f64 = 0.05;

/// The range of rates at which some runs met the limit and others did not, from the lowest rate with a run that did not to
/// the highest with one that did; `None` unless a wide part of it, from its lowest rate on, has both without a rising trend
/// (least-squares line of the logarithms).
pub(super) fn range(observations: &[Observation], rates: &[f64]) -> Option<NoiseRange> {
    let is_over = |run: &&Observation| used(&run.sample) > 1.0;
    let first = observations.iter().filter(is_over).map(|run| run.point).min()?;
    let last = observations.iter().filter(|run| !is_over(run)).map(|run| run.point).max()?;
    let mut runs: Vec<&Observation> = observations.iter().filter(|run| (first..=last).contains(&run.point)).collect();
    runs.sort_by_key(|run| run.point);
    while runs.len() >= RUNS_MIN {
        let highest = runs[runs.len() - 1].point;
        if rates[highest] < SPAN_MIN * rates[first] {
            return None;
        }
        let is_mixed =
            |part: &[&Observation]| (1..part.len()).contains(&part.iter().filter(|run| is_over(run)).count());
        let (lower, upper) = runs.split_at(runs.len() / 2);
        if is_mixed(lower) && is_mixed(upper) && !rises(&runs, rates) {
            return Some(NoiseRange { first, last });
        }
        // The highest rates may be beyond a knee.
        runs.retain(|run| run.point != highest);
    }
    None
}

fn rises(runs: &[&Observation], rates: &[f64]) -> bool {
    let xs: Vec<f64> = runs.iter().map(|run| rates[run.point].ln()).collect();
    let ys: Vec<f64> = runs.iter().map(|run| log_used(&run.sample)).collect();
    let (mean_x, mean_y) = (mean(&xs), mean(&ys));
    let spread: f64 = xs.iter().map(|x| (x - mean_x).powi(2)).sum();
    let slope = xs.iter().zip(&ys).map(|(x, y)| (x - mean_x) * (y - mean_y)).sum::<f64>() / spread;
    let squares: f64 = xs.iter().zip(&ys).map(|(x, y)| (y - mean_y - slope * (x - mean_x)).powi(2)).sum();
    let freedom = runs.len() as f64 - 2.0;
    let error = (squares / freedom / spread).sqrt();
    slope > error * student(freedom).inverse_cdf(1.0 - RISES)
}
