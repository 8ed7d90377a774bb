//! Throughput over depth as a curve with one peak.

use super::{TAIL_POINTS_MIN, TAIL_SHARE};
use crate::sample::mean;

/// Throughput over rising depth.
pub(super) struct Curve<'a> {
    pub(super) depths: &'a [u32],
    /// The runs at each depth.
    pub(super) runs: Vec<Vec<f64>>,
    /// Their mean.
    pub(super) measured: Vec<f64>,
    /// The same, fitted: it rises to a peak and falls after it.
    pub(super) fitted: Vec<f64>,
}

impl<'a> Curve<'a> {
    /// The curve with one peak that is nearest to the runs, by least squares of their means.
    pub(super) fn through(depths: &'a [u32], runs: Vec<Vec<f64>>) -> Self {
        let weights: Vec<f64> = runs.iter().map(|runs| runs.len() as f64).collect();
        let measured: Vec<f64> = runs.iter().map(|runs| mean(runs)).collect();
        let fitted = with_one_peak(&measured, &weights);
        Self { depths, runs, measured, fitted }
    }

    pub(super) fn points(&self) -> impl Iterator<Item = (u32, f64)> {
        self.depths.iter().copied().zip(self.fitted.iter().copied())
    }

    /// True if a larger depth has no less throughput at no more latency, which is depth / throughput in a closed loop.
    pub(super) fn is_beaten(&self, place: usize) -> bool {
        let latency = |place: usize| f64::from(self.depths[place]) / self.measured[place];
        let beats = |other: usize| self.measured[other] >= self.measured[place] && latency(other) <= latency(place);
        (place + 1..self.depths.len()).any(beats)
    }

    /// Index of the first point of the upper third of the depths.
    pub(super) fn tail(&self) -> usize {
        let from = self.depths.last().map_or(0.0, |largest| f64::from(*largest) * TAIL_SHARE);
        let first = self.depths.partition_point(|depth| f64::from(*depth) < from);
        first.min(self.depths.len().saturating_sub(TAIL_POINTS_MIN))
    }
}

/// The best of all places of the peak: pooling computes how far each beginning lies from its fit on the way to the next
/// (Stout, "Unimodal regression via prefix isotonic regression", Computational Statistics & Data Analysis 53, 2008).
fn with_one_peak(values: &[f64], weights: &[f64]) -> Vec<f64> {
    let points = || values.iter().copied().zip(weights.iter().copied());
    let (before, after) = (rising(points()).1, rising(points().rev()).1);
    let distance = |peak: &usize| before[*peak] + after[values.len() - peak];
    let peaks = 1..=values.len();
    let Some(peak) = peaks.min_by(|a, b| distance(a).total_cmp(&distance(b))) else { return Vec::new() };
    let mut fitted = rising(points().take(peak)).0;
    let falling = rising(points().skip(peak).rev()).0;
    fitted.extend(falling.into_iter().rev());
    fitted
}

/// Neighbours that have the same fit.
struct Pool {
    mean: f64,
    weight: f64,
    count: usize,
    /// Weighted squares of the distances from the fit, of all values up to the last of these.
    distance: f64,
}

/// The nearest sequence that never falls, and how far the first 0, 1, 2 ... values lie from theirs, in weighted squares:
/// neighbours that fall are pooled (pool adjacent violators;
/// Barlow, Bartholomew, Bremner, Brunk, "Statistical Inference under Order Restrictions", 1972).
fn rising(points: impl ExactSizeIterator<Item = (f64, f64)>) -> (Vec<f64>, Vec<f64>) {
    let mut pools: Vec<Pool> = Vec::with_capacity(points.len());
    let mut distances = Vec::with_capacity(points.len() + 1);
    distances.push(0.0);
    for (value, weight) in points {
        let mut pool = Pool { mean: value, weight, count: 1, distance: 0.0 };
        // Of the values of this pool alone.
        let mut within = 0.0;
        while let Some(last) = pools.pop_if(|last| last.mean > pool.mean) {
            let both = last.weight + pool.weight;
            let apart = last.mean - pool.mean;
            within += last.distance - pools.last().map_or(0.0, |before| before.distance);
            within += last.weight * pool.weight / both * apart * apart;
            let mean = (last.mean * last.weight + pool.mean * pool.weight) / both;
            pool = Pool { mean, weight: both, count: last.count + pool.count, distance: 0.0 };
        }
        pool.distance = pools.last().map_or(0.0, |before| before.distance) + within;
        distances.push(pool.distance);
        pools.push(pool);
    }
    let fitted = pools.into_iter().flat_map(|pool| std::iter::repeat_n(pool.mean, pool.count)).collect();
    (fitted, distances)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn falling_neighbours_are_pooled() {
        let rising = |values: &[f64], weights: &[f64]| rising(values.iter().copied().zip(weights.iter().copied()));
        assert_eq!(rising(&[1.0, 3.0, 2.0, 4.0], &[1.0; 4]), (vec![1.0, 2.5, 2.5, 4.0], vec![0.0, 0.0, 0.0, 0.5, 0.5]));
        assert_eq!(rising(&[3.0, 2.0, 1.0], &[1.0, 1.0, 2.0]), (vec![1.75; 3], vec![0.0, 0.0, 0.5, 2.75]));
        assert_eq!(with_one_peak(&[1.0, 5.0, 4.0, 2.0, 3.0], &[1.0; 5]), [1.0, 5.0, 4.0, 2.5, 2.5]);
    }

    /// The least distance of all places of the peak, each fitted for itself.
    fn least(values: &[f64], weights: &[f64]) -> f64 {
        let misfit = |peak: usize| {
            let points = || values.iter().copied().zip(weights.iter().copied());
            let (mut fitted, falling) = (rising(points().take(peak)).0, rising(points().skip(peak).rev()).0);
            fitted.extend(falling.into_iter().rev());
            distance(&fitted, values, weights)
        };
        (1..=values.len()).map(misfit).fold(f64::INFINITY, f64::min)
    }

    fn distance(fitted: &[f64], values: &[f64], weights: &[f64]) -> f64 {
        fitted.iter().zip(values).zip(weights).map(|((fitted, value), weight)| weight * (fitted - value).powi(2)).sum()
    }

    proptest! {
        #[test]
        fn no_place_of_the_peak_is_better(runs in prop::collection::vec((1.0f64..1e3, 1..4_u32), 1..40)) {
            let (values, weights): (Vec<f64>, Vec<f64>) = runs.into_iter().map(|(value, runs)| (value, f64::from(runs))).unzip();
            let (found, least) = (distance(&with_one_peak(&values, &weights), &values, &weights), least(&values, &weights));
            prop_assert!((found - least).abs() <= 1e-9 * least.max(1.0), "{} instead of {}", found, least);
        }

        #[test]
        fn the_fit_has_one_peak_and_keeps_the_sum(values in prop::collection::vec(1.0f64..1e6, 1..40)) {
            let fitted = with_one_peak(&values, &vec![1.0; values.len()]);
            let peak = fitted.iter().copied().fold(0.0, f64::max);
            let at = fitted.iter().position(|value| *value >= peak).unwrap();
            prop_assert!(fitted[..=at].is_sorted());
            prop_assert!(fitted[at..].iter().rev().is_sorted());
            let (fitted, measured) = (fitted.iter().sum::<f64>(), values.iter().sum::<f64>());
            prop_assert!((fitted - measured).abs() < 1e-6 * measured);
        }
    }
}
