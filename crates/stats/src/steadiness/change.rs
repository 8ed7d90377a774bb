//! A beginning that is not like the rest.

use super::{CUT_MIN, SHIFT_MIN, SIGNIFICANCE_EACH, trend};
use crate::confidence::batch_means::{BatchMean, two_sided_chance};
use crate::sample::mean;

/// The best of many cuts looks more significant than one that was fixed beforehand. Twenty batches have about
/// as many places for a cut (Bonferroni).
const PLACES: f64 = 20.0;

/// A beginning that should be cut off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cut {
    /// Of the run.
    pub(super) share: f64,
    /// Change of the mean if it is cut off, as a share of it.
    pub(super) shift: f64,
    /// How far its mean lies from that of the rest, as a share of the whole mean.
    pub(super) step: f64,
}

/// Where MSER would cut, if that is large and significant.
pub(super) fn at_the_beginning(values: &[f64]) -> Option<Cut> {
    let length = mser(values);
    let (beginning, rest) = values.split_at(length);
    let (count, whole) = (values.len() as f64, mean(values));
    let share = length as f64 / count;
    let step = mean(beginning) - mean(rest);
    let cut = Cut { share, shift: (mean(rest) - whole) / whole, step: step / whole };
    if share <= CUT_MIN || cut.shift.abs() < SHIFT_MIN {
        return None;
    }
    // The larger of two errors: the rest's own, and that of both parts around their means. The second knows
    // bursts of which the rest happens to have few. A line is taken off the beginning, or a warm-up that
    // fades would be its own noise.
    let mut around_means = trend::detrended(beginning);
    around_means.extend(rest.iter().map(|value| value - mean(rest)));
    let errors = [BatchMean::from_values(rest)?, BatchMean::from_values(&around_means)?];
    let degrees_of_freedom = errors.iter().map(|error| error.degrees_of_freedom).fold(f64::INFINITY, f64::min);
    let per_value = |error: &BatchMean, values: usize| error.std_error * error.std_error * values as f64;
    let variance = per_value(&errors[0], rest.len()).max(per_value(&errors[1], values.len()));
    let error = (variance * (1.0 / beginning.len() as f64 + 1.0 / rest.len() as f64)).sqrt();
    let standard_errors = step / error.max(f64::MIN_POSITIVE);
    (two_sided_chance(standard_errors, degrees_of_freedom) < SIGNIFICANCE_EACH / PLACES).then_some(cut)
}

/// Number of values to leave out at the beginning so that the mean of the rest is known best: the marginal standard
/// error rule on batches of five (White, An effective truncation heuristic for bias reduction in simulation output,
/// Simulation 69, 1997; White, Cobb & Spratt, WSC 2000). Never more than half: a minimum behind it means that the run
/// was too short.
fn mser(values: &[f64]) -> usize {
    // Around the mean, so that the difference of sums loses no digits.
    let offset = mean(values);
    let (mut sum, mut squares, mut count) = (0.0, 0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for (index, value) in values.iter().enumerate().rev() {
        let deviation = value - offset;
        sum += deviation;
        squares += deviation * deviation;
        count += 1.0;
        let marginal_error = (squares - sum * sum / count) / (count * count);
        if index <= values.len() / 2 && marginal_error <= best.0 {
            best = (marginal_error, index);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mser_cuts_where_the_beginning_ends() {
        let values: Vec<f64> = (0..100).map(|index| if index < 30 { 5.0 } else { f64::from(index % 2) }).collect();
        assert_eq!(mser(&values), 30);
        assert_eq!(mser(&[1.0; 100]), 0, "nothing is gained");
        let late: Vec<f64> = (0..100).map(|index| if index < 70 { 5.0 } else { f64::from(index % 2) }).collect();
        assert!(mser(&late) <= 50);
    }

    #[test]
    fn a_cut_tells_what_it_does() {
        let values: Vec<f64> =
            (0..100).map(|index| if index < 20 { 2.0 } else { 1.0 } + f64::from(index % 2) * 1e-6).collect();
        let cut = at_the_beginning(&values).expect("a fifth that is twice as large");
        assert!((cut.share - 0.2).abs() < 1e-9, "{cut:?}");
        assert!((cut.shift + 0.2 / 1.2).abs() < 1e-5 && (cut.step - 1.0 / 1.2).abs() < 1e-5, "{cut:?}");
    }
}
