//! A line through the run.

use super::{DRIFT_MIN, SIGNIFICANCE_EACH};
use crate::confidence::batch_means::{Fitted, Inflation, batches, two_sided_chance};
use crate::sample::{mean, sum_of_squares};

/// A straight line, fitted by least squares.
struct Line {
    mean: f64,
    /// Change from one value to the next.
    slope: f64,
    deviations: Vec<f64>,
    /// Sum of the squared distances of the places from their mean.
    spread: f64,
}

impl Line {
    fn through(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = mean(values);
        let middle = (count - 1.0) / 2.0;
        let spread = count * (count * count - 1.0) / 12.0;
        let placed = || values.iter().enumerate().map(|(place, value)| (place as f64 - middle, value - mean));
        let slope = if spread > 0.0 { placed().map(|(place, value)| place * value).sum::<f64>() / spread } else { 0.0 };
        Self { mean, slope, deviations: placed().map(|(place, value)| value - slope * place).collect(), spread }
    }

    /// Change from the start of the first value to the end of the last.
    fn change(&self) -> f64 {
        self.slope * self.deviations.len() as f64
    }

    /// The slope in its own standard errors; `inflation` is that of its variance.
    fn standard_errors(&self, inflation: f64) -> f64 {
        let variance = sum_of_squares(&self.deviations) / (self.deviations.len() as f64 - 2.0);
        let error = (variance * inflation / self.spread).sqrt();
        self.slope / error.max(f64::MIN_POSITIVE)
    }
}

/// The change over the run as a share of the mean, if it is large and significant.
pub(super) fn drift(values: &[f64]) -> Option<f64> {
    let line = Line::through(&batches(values));
    let inflation = Inflation::of(&line.deviations, Fitted::Line);
    let by_chance = two_sided_chance(line.standard_errors(inflation.of_variance), inflation.degrees_of_freedom);
    let change = line.change() / line.mean;
    (by_chance < SIGNIFICANCE_EACH && change.abs() > DRIFT_MIN).then_some(change)
}

/// The change of the line through a series, from its start to its end.
pub(super) fn change(values: &[f64]) -> f64 {
    Line::through(values).change()
}

/// What is left of a series when its line is taken off.
pub(super) fn detrended(values: &[f64]) -> Vec<f64> {
    Line::through(values).deviations
}

/// As if neighbours were independent.
#[cfg(test)]
pub(super) fn plain_standard_errors(values: &[f64]) -> f64 {
    Line::through(values).standard_errors(1.0).abs()
}
