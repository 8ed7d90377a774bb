//! Whether the limited figure depends on the rate at all.

use super::{Observation, log_used};
use crate::sample::{mean, student};
use model::limit::NoiseRange;
use statrs::distribution::ContinuousCDF;

/// Runs that a trend needs.
const RUNS_MIN: usize = 6;
/// The rates must span this factor.
const SPAN_MIN: f64 = 1.5;
/// One-sided significance of a rising line.
const RISES: f64 = 0.05;

/// The widest range of rates, from the lowest that was tried, over which runs are on both sides of the limit without
/// a rising trend (least-squares line of the logarithms); `None` if the figure depends on the rate.
pub(super) fn range(observations: &[Observation], rates: &[f64]) -> Option<NoiseRange> {
    let mut runs: Vec<&Observation> = observations.iter().filter(|run| !run.sample.is_short).collect();
    runs.sort_by_key(|run| run.point);
    while runs.len() >= RUNS_MIN {
        let (first, last) = (runs[0].point, runs[runs.len() - 1].point);
        if rates[last] < SPAN_MIN * rates[first] {
            return None;
        }
        let middle = runs.len() / 2;
        let is_mixed = |part: &[&Observation]| {
            let over = part.iter().filter(|run| run.sample.used > 1.0).count();
            (1..part.len()).contains(&over)
        };
        if is_mixed(&runs[..middle]) && is_mixed(&runs[middle..]) && !rises(&runs, rates) {
            return Some(NoiseRange { first, last });
        }
        // The highest rates may be beyond a knee.
        runs.retain(|run| run.point != last);
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
