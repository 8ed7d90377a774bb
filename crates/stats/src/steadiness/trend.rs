//! Trends through the run: a line, or an exponential approach to a level.

use super::{CUT_MIN, DRIFT_MIN, SHIFT_MIN, SIGNIFICANCE_EACH};
use crate::confidence::batch_means::{Fitted, Inflation, batches, two_sided_chance};
use crate::sample::{Fit, mean, sum_of_squares};
use model::confidence::Steadiness;

/// Values that the error of a trend is taken from: 60 to 119 means of neighbours. More values give more degrees of
/// freedom than the 20 batches of a mean: a drift of 30 % is hardly missed with them, and in one run of five without.
const VALUES: usize = 60;
/// The 20 batches replace those values if they scatter by this much more than the values and the correlation of
/// neighbours lead to expect: chi-squared with 18 degrees of freedom exceeds 2.35 times 18 once in 1000 times.
const SCATTER_MAX: f64 = 2.35;
/// After this many time constants 5 % of the difference are left: there an approach ends.
const CONSTANTS: f64 = 3.0;
/// The last end of an approach, as a share of the run: one that takes longer was not measured to its end.
const END_MAX: f64 = 0.5;
/// Ends that are tried. The best of them looks more significant than one that was fixed beforehand (Bonferroni).
const ENDS: u32 = 20;

impl Fit {
    fn line(values: &[f64]) -> Self {
        Self::new(values, &(0..values.len()).map(|place| place as f64).collect::<Vec<_>>())
    }

    /// A difference that fades until `end`, a share of the values.
    fn approach(values: &[f64], end: f64) -> Self {
        let constant = end * values.len() as f64 / CONSTANTS;
        Self::new(values, &(0..values.len()).map(|place| (-(place as f64 + 0.5) / constant).exp()).collect::<Vec<_>>())
    }

    /// One step, after this number of values.
    fn step(values: &[f64], place: usize) -> Self {
        let shape: Vec<f64> = (0..values.len()).map(|index| f64::from(u8::from(index < place))).collect();
        Self::new(values, &shape)
    }

    /// Change of a line from the start of the first value to the end of the last.
    fn change(&self) -> f64 {
        self.coefficient * self.residuals.len() as f64
    }

    /// Probability that values without a trend have one as clear as this.
    fn chance(&self) -> f64 {
        let (variance, degrees_of_freedom) = long_run_variance(&self.residuals);
        let error = (variance / self.spread).sqrt();
        two_sided_chance(self.coefficient / error.max(f64::MIN_POSITIVE), degrees_of_freedom)
    }
}

/// The variance of the residuals as their sum over many neighbours has it, dependence included, and its degrees of
/// freedom.
fn long_run_variance(residuals: &[f64]) -> (f64, f64) {
    let variance = |values: &[f64]| sum_of_squares(values) / (values.len() as f64 - 2.0);
    let inflation = |values: &[f64]| Inflation::from_deviations(values, Fitted::Line);
    let (fine, batches) = (inflation(residuals), batches(residuals));
    let of_values = variance(residuals) * fine.of_variance;
    let of_batches = variance(&batches) * (residuals.len() / batches.len()) as f64;
    if of_batches <= SCATTER_MAX * of_values {
        return (of_values, fine.degrees_of_freedom);
    }
    let coarse = inflation(&batches);
    (of_batches * coarse.of_variance, coarse.degrees_of_freedom)
}

/// The trend of a run: an approach to a level if it describes the values better than a line and than a step,
/// for which there are tests of their own.
pub(super) fn judge(values: &[f64]) -> Option<Steadiness> {
    let merged: Vec<f64> = values.chunks_exact((values.len() / VALUES).max(1)).map(mean).collect();
    let line = Fit::line(&merged);
    let end = |number: u32| CUT_MIN + (END_MAX - CUT_MIN) * f64::from(number) / f64::from(ENDS);
    let approaches = (1..=ENDS).map(|number| (end(number), Fit::approach(&merged, end(number))));
    let best = approaches.min_by(|(_, one), (_, other)| one.squares().total_cmp(&other.squares()));
    let (cut, approach) = best?;
    let whole = mean(values);
    let shift = mean(&values[(cut * values.len() as f64) as usize..]) / whole - 1.0;
    let steps = (1..=merged.len() / 2).map(|place| Fit::step(&merged, place).squares());
    let others = steps.fold(line.squares(), f64::min);
    let is_approach = approach.squares() < others && shift.abs() >= SHIFT_MIN;
    if is_approach && approach.chance() < SIGNIFICANCE_EACH / f64::from(ENDS) {
        return Some(Steadiness::ShortWarmUp { cut, shift });
    }
    let change = line.change() / line.mean;
    (change.abs() > DRIFT_MIN && line.chance() < SIGNIFICANCE_EACH).then_some(Steadiness::Drift { change })
}

/// The change of the line through a series, from its start to its end.
pub(super) fn change(values: &[f64]) -> f64 {
    Fit::line(values).change()
}

/// The residuals of a series around its line.
pub(super) fn detrended(values: &[f64]) -> Vec<f64> {
    Fit::line(values).residuals
}

/// As if neighbours were independent.
#[cfg(test)]
pub(super) fn plain_standard_errors(values: &[f64]) -> f64 {
    let line = Fit::line(values);
    let variance = line.squares() / (values.len() as f64 - 2.0);
    (line.coefficient / (variance / line.spread).sqrt()).abs()
}
