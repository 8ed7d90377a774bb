//! A check of the variance of a mean against the spectrum of its series.
//!
//! The variance of the mean of n values is p(0) / n, where p is the spectral density. Heidelberger & Welch (A
//! spectral method for confidence interval generation and run length control in simulations, CACM 24, 1981) fit
//! a line to the logarithm of the periodogram at its lowest frequencies and read p(0) from it. Here its
//! only use is to find series whose density keeps growing towards frequency 0 (long memory): batch means
//! underestimate their variance.

use crate::sample::{Fit, mean};
use std::f64::consts::TAU;

/// Pairs of periodogram ordinates that are averaged, the K of the paper.
const POINTS: usize = 25;
/// Variance of the logarithm of the average of two exponential variates, and minus its mean (Heidelberger &
/// Welch, section 3).
const LOG_VARIANCE: f64 = 0.645;
const LOG_BIAS: f64 = 0.270;
/// Standard errors above the estimate by batch means that are no chance.
const SIGNIFICANCE: f64 = 2.6;
/// A smaller excess does not matter.
const EXCESS_MIN: f64 = 2.0;
/// Ordinates that are computed at a time: each step of one waits for the step before, not for those of the others.
const AT_A_TIME: usize = 10;
const _: () = assert!((2 * POINTS).is_multiple_of(AT_A_TIME));
/// Longer series are averaged first; the lowest frequencies stay as they are.
const VALUES_MAX: usize = 4096;

/// Factor by which the variance of the mean exceeds an estimate, if it significantly does; `None` for series that are
/// too short.
pub(crate) fn excess_at_zero(values: &[f64], variance_of_mean: f64) -> Option<f64> {
    let values: Vec<f64> = values.chunks_exact(values.len().div_ceil(VALUES_MAX).max(1)).map(mean).collect();
    let count = values.len();
    if count < 4 * POINTS + 2 || variance_of_mean <= 0.0 {
        return None;
    }
    let ordinates: Vec<f64> =
        (1..=2 * POINTS).step_by(AT_A_TIME).flat_map(|frequency| ordinates(&values, frequency)).collect();
    let logs: Vec<f64> =
        ordinates.chunks_exact(2).map(|pair| (f64::midpoint(pair[0], pair[1])).ln() + LOG_BIAS).collect();
    let frequencies: Vec<f64> = (0..POINTS).map(|point| (2.0 * point as f64 + 1.5) / count as f64).collect();
    let (intercept, variance) = line_at_zero(&frequencies, &logs);
    // The mean's variance is that of whole values, however many are averaged first.
    let excess = intercept - (variance_of_mean * count as f64).ln();
    (excess > EXCESS_MIN.ln() && excess > SIGNIFICANCE * variance.sqrt()).then(|| excess.exp())
}

/// |sum of x e^(-i 2 pi j t / n)|^2 / n by Goertzel's recurrence, for the frequencies j from `first` on.
fn ordinates(values: &[f64], first: usize) -> [f64; AT_A_TIME] {
    let angle = |index: usize| TAU * (first + index) as f64 / values.len() as f64;
    let turns: [(f64, f64); AT_A_TIME] = std::array::from_fn(|index| angle(index).sin_cos());
    let factors = turns.map(|(_, cos)| 2.0 * cos);
    let (mut before, mut last) = ([0.0; AT_A_TIME], [0.0; AT_A_TIME]);
    for value in values {
        for index in 0..AT_A_TIME {
            (before[index], last[index]) = (last[index], value + factors[index] * last[index] - before[index]);
        }
    }
    std::array::from_fn(|index| {
        let (sin, cos) = turns[index];
        let (real, imaginary) = (last[index] - before[index] * cos, before[index] * sin);
        (real * real + imaginary * imaginary) / values.len() as f64
    })
}

/// The least-squares line at 0, and the variance of that.
fn line_at_zero(xs: &[f64], ys: &[f64]) -> (f64, f64) {
    let (fit, middle) = (Fit::new(ys, xs), mean(xs));
    (fit.mean - fit.coefficient * middle, LOG_VARIANCE * (1.0 / xs.len() as f64 + middle * middle / fit.spread))
}
