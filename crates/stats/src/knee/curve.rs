//! Throughput over depth as a curve with one peak.

use super::{TAIL_POINTS_MIN, TAIL_SHARE};
use crate::sample::mean;
use std::collections::BTreeMap;

/// Throughput over rising depth.
pub(super) struct Curve {
    pub(super) depths: Vec<u32>,
    /// Mean of the runs at each depth.
    pub(super) measured: Vec<f64>,
    /// The same, fitted: it rises to a peak and falls after it.
    pub(super) fitted: Vec<f64>,
}

impl Curve {
    /// The curve with one peak that is nearest to the runs, by least squares of their means.
    pub(super) fn through(runs: &BTreeMap<u32, Vec<f64>>) -> Self {
        let depths: Vec<u32> = runs.keys().copied().collect();
        let measured: Vec<f64> = runs.values().map(|runs| mean(runs)).collect();
        let weights: Vec<f64> = runs.values().map(|runs| runs.len() as f64).collect();
        let fitted = with_one_peak(&measured, &weights);
        Self { depths, measured, fitted }
    }

    pub(super) fn points(&self) -> impl Iterator<Item = (u32, f64)> {
        self.depths.iter().copied().zip(self.fitted.iter().copied())
    }

    /// Index of the first point of the upper third of the depths.
    pub(super) fn tail(&self) -> usize {
        let from = self.depths.last().map_or(0.0, |largest| f64::from(*largest) * TAIL_SHARE);
        let first = self.depths.partition_point(|depth| f64::from(*depth) < from);
        first.min(self.depths.len().saturating_sub(TAIL_POINTS_MIN))
    }
}

/// Tries every place of the peak.
fn with_one_peak(values: &[f64], weights: &[f64]) -> Vec<f64> {
    let distance = |fitted: &[f64]| -> f64 {
        fitted.iter().zip(values).zip(weights).map(|((fitted, value), weight)| weight * (fitted - value).powi(2)).sum()
    };
    let mut best: Option<(f64, Vec<f64>)> = None;
    for peak in 1..=values.len() {
        let mut fitted = rising(&values[..peak], &weights[..peak]);
        let backwards = |from: &[f64]| from.iter().rev().copied().collect::<Vec<f64>>();
        let falling = rising(&backwards(&values[peak..]), &backwards(&weights[peak..]));
        fitted.extend(falling.into_iter().rev());
        let distance = distance(&fitted);
        if best.as_ref().is_none_or(|(least, _)| distance < *least) {
            best = Some((distance, fitted));
        }
    }
    best.map(|(_, fitted)| fitted).unwrap_or_default()
}

/// The nearest sequence that never falls: neighbours that fall are pooled (pool adjacent violators;
/// Barlow, Bartholomew, Bremner, Brunk, "Statistical Inference under Order Restrictions", 1972).
fn rising(values: &[f64], weights: &[f64]) -> Vec<f64> {
    let mut pools: Vec<(f64, f64, usize)> = Vec::with_capacity(values.len());
    for (value, weight) in values.iter().zip(weights) {
        let mut pool = (*value, *weight, 1);
        while let Some(&(mean, weight, count)) = pools.last()
            && mean > pool.0
        {
            pools.pop();
            let both = weight + pool.1;
            pool = ((mean * weight + pool.0 * pool.1) / both, both, count + pool.2);
        }
        pools.push(pool);
    }
    pools.into_iter().flat_map(|(mean, _, count)| std::iter::repeat_n(mean, count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn falling_neighbours_are_pooled() {
        assert_eq!(rising(&[1.0, 3.0, 2.0, 4.0], &[1.0; 4]), [1.0, 2.5, 2.5, 4.0]);
        assert_eq!(rising(&[3.0, 2.0, 1.0], &[1.0, 1.0, 2.0]), [1.75; 3]);
        assert_eq!(with_one_peak(&[1.0, 5.0, 4.0, 2.0, 3.0], &[1.0; 5]), [1.0, 5.0, 4.0, 2.5, 2.5]);
    }

    proptest! {
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
