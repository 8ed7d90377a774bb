//! Mean and scatter of a few values, and Student's t for their errors.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// 0 of nothing.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

pub(crate) fn sum_of_squares(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum()
}

/// How far each value is from their mean.
pub(crate) fn deviations(values: &[f64]) -> Vec<f64> {
    let mean = mean(values);
    values.iter().map(|value| value - mean).collect()
}

/// Mean and standard deviation of a sample; the latter is 0 for one value.
pub(crate) fn moments(values: &[f64]) -> (f64, f64) {
    let squares = sum_of_squares(&deviations(values));
    (mean(values), (squares / (values.len() as f64 - 1.0).max(1.0)).sqrt())
}

/// A multiple of a shape, around the mean, fitted to values by least squares.
pub(crate) struct Fit {
    /// Of the values.
    pub(crate) mean: f64,
    pub(crate) coefficient: f64,
    pub(crate) residuals: Vec<f64>,
    /// Sum of the squared distances of the shape from its mean.
    pub(crate) spread: f64,
}

impl Fit {
    pub(crate) fn new(values: &[f64], shape: &[f64]) -> Self {
        let (mean, middle) = (mean(values), mean(shape));
        let placed = || values.iter().zip(shape).map(|(value, place)| (place - middle, value - mean));
        let spread: f64 = placed().map(|(place, _)| place * place).sum();
        let products: f64 = placed().map(|(place, value)| place * value).sum();
        let coefficient = if spread > 0.0 { products / spread } else { 0.0 };
        let residuals = placed().map(|(place, value)| value - coefficient * place).collect();
        Self { mean, coefficient, residuals, spread }
    }

    /// Sum of the squared residuals.
    pub(crate) fn squares(&self) -> f64 {
        sum_of_squares(&self.residuals)
    }
}

/// Student's t distribution; degrees of freedom below 1 count as 1.
pub(crate) fn student(degrees_of_freedom: f64) -> StudentsT {
    StudentsT::new(0.0, 1.0, degrees_of_freedom.max(1.0)).expect("at least 1 degree of freedom")
}

/// Standard errors in half of a 95 % interval.
pub(crate) fn standard_errors_95(degrees_of_freedom: f64) -> f64 {
    student(degrees_of_freedom).inverse_cdf(0.975)
}
