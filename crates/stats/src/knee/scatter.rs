//! Deviation of measured points from a smooth curve, and points drawn with that scatter.

use super::curve::Curve;
use crate::sample::{deviations, mean};
use hot::rng::Rng;
use std::collections::BTreeMap;

/// Relative deviations (differences of logarithms) of single runs, centred.
///
/// Runs of one depth show it best. With one run each, a point is compared with the straight line, in logarithms,
/// through its two neighbours; the variance of that difference is 1 + w² + (1 - w)² times that of a run, which is
/// divided out.
pub(super) fn scatter(runs: &BTreeMap<u32, Vec<f64>>) -> Vec<f64> {
    let repeated: Vec<&Vec<f64>> = runs.values().filter(|runs| runs.len() > 1).collect();
    let mut deviations: Vec<f64> = if repeated.len() * 2 >= runs.len() {
        repeated.into_iter().flat_map(|runs| around_their_mean(runs)).collect()
    } else {
        around_their_neighbours(runs)
    };
    deviations.sort_by(f64::total_cmp);
    let median = deviations.get(deviations.len() / 2).copied().unwrap_or_default();
    for deviation in &mut deviations {
        *deviation -= median;
    }
    deviations
}

fn around_their_mean(runs: &[f64]) -> impl Iterator<Item = f64> {
    let count = runs.len() as f64;
    let logarithms: Vec<f64> = runs.iter().map(|iops| iops.ln()).collect();
    // The mean is made of the same runs.
    let scale = (count / (count - 1.0)).sqrt();
    deviations(&logarithms).into_iter().map(move |deviation| deviation * scale)
}

fn around_their_neighbours(runs: &BTreeMap<u32, Vec<f64>>) -> Vec<f64> {
    let points: Vec<(f64, f64)> = runs.iter().map(|(depth, runs)| (f64::from(*depth).ln(), mean(runs).ln())).collect();
    let deviation = |three: &[(f64, f64)]| {
        let [before, here, after] = [three[0], three[1], three[2]];
        let share = (here.0 - before.0) / (after.0 - before.0);
        let line = before.1 + share * (after.1 - before.1);
        (here.1 - line) / (1.0 + share.powi(2) + (1.0 - share).powi(2)).sqrt()
    };
    points.windows(3).map(deviation).collect()
}

/// As many runs of each depth as there were, each off the curve by one of the factors.
pub(super) fn redraw(curve: &Curve<'_>, factors: &[f64], rng: &mut Rng) -> Vec<Vec<f64>> {
    let mut draw = |fitted: f64| match factors.len() as u64 {
        0 => fitted,
        count => fitted * factors[rng.below(count) as usize],
    };
    let runs = curve.fitted.iter().zip(&curve.runs);
    runs.map(|(fitted, runs)| runs.iter().map(|_| draw(*fitted)).collect()).collect()
}
