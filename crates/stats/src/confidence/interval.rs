//! 95 % confidence intervals of positive figures, and when a run cannot have one.
//!
//! Rates and latencies are positive and often skewed: the interval is computed on the logarithm (the delta
//! method; Efron & Tibshirani, An Introduction to the Bootstrap, 12.6: intervals should respect the range of a
//! parameter and its transformations). Its ends lie at unequal distances, and between the smallest and the largest value that was measured.
//!
//! The variance of a mean is estimated from batch means ([`super::batch_means`]). That estimate fails without
//! notice if values depend on each other for a large part of the run. No interval is reported then: if the
//! correlation of the batches is as large as the method can see, if its degrees of freedom or the number of
//! independent values that carry as much information (Kass and others, 1998: effective sample size) are few,
//! or if the spectrum keeps growing towards frequency 0 ([`super::spectrum`]).

use super::batch_means::{BatchMean, Fitted, Inflation, batches};
use super::spectrum;
use crate::sample::{deviations, mean, sum_of_squares};
use model::confidence::{Interval, Withheld};

/// Minimum number of values that show if they depend on each other.
pub(crate) const VALUES_MIN: usize = 30;
/// Degrees of freedom that an interval needs: with fewer its width is chance.
const DEGREES_OF_FREEDOM_MIN: f64 = 4.0;
/// Independent values that must carry the same information.
const EFFECTIVE_MIN: f64 = 20.0;
/// Effective values that a longer run is meant to have.
const EFFECTIVE_AIM: f64 = 60.0;
/// Parts of a run whose correlation shows how long values depend on each other, and how many independent ones they must
/// be worth: an AR(1) process of a minute with a memory of 2 s has 10, one of 0.5 s has 40.
const GROUPS: usize = 120;
const EFFECTIVE_GROUPS_MIN: f64 = 30.0;
/// Minimum number of effective values for an estimate of how long values depend on each other.
const EFFECTIVE_TO_TELL: f64 = 5.0;
/// No longer run is advised, in seconds.
const MEASURE_MAX_S: f64 = 3600.0;

/// A smaller relative deviation is that of the arithmetic.
const ROUNDING: f64 = 1e-9;

/// Interval of the figure that a series belongs to, or the reason to withhold it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Estimate {
    Known(Interval),
    Withheld(Withheld),
}

impl Estimate {
    pub(crate) fn interval(self) -> Option<Interval> {
        match self {
            Self::Known(interval) => Some(interval),
            Self::Withheld(_) => None,
        }
    }

    pub(crate) fn withheld(self) -> Option<Withheld> {
        match self {
            Self::Known(_) => None,
            Self::Withheld(withheld) => Some(withheld),
        }
    }
}

/// The interval of a figure whose error is the mean of `errors`: a series in the order of time, in the unit of the
/// figure, whose mean is irrelevant. It lies within `range`, the smallest and largest value measured.
pub(crate) fn of_mean(figure: f64, errors: &[f64], range: Interval, value_s: f64) -> Estimate {
    let run_s = errors.len() as f64 * value_s;
    if errors.len() < VALUES_MIN {
        return Estimate::Withheld(Withheld { dependence_s: None, measure_s: None });
    }
    let batches = batches(errors);
    let deviations_of_batches = deviations(&batches);
    let inflation = Inflation::from_deviations(&deviations_of_batches, Fitted::Mean);
    let count = batches.len() as f64;
    let variance = sum_of_squares(&deviations_of_batches) / (count - 1.0) / count * inflation.of_variance;
    let variance_of_values = sum_of_squares(&deviations(errors)) / (errors.len() as f64 - 1.0);
    if variance_of_values.sqrt() <= ROUNDING * figure.abs() || variance <= 0.0 {
        return Estimate::Known(Interval { low: figure, high: figure });
    }
    // Values that repel each other are worth no more than independent ones here: that is a matter of display.
    let effective = (variance_of_values / variance).min(errors.len() as f64);
    let excess = spectrum::excess_at_zero(errors, variance);
    let is_known = !inflation.is_clipped
        && inflation.degrees_of_freedom >= DEGREES_OF_FREEDOM_MIN
        && effective >= EFFECTIVE_MIN
        && excess.is_none();
    if !is_known {
        return Estimate::Withheld(dependence(run_s, effective / excess.unwrap_or(1.0)));
    }
    let found =
        BatchMean { mean: figure, std_error: variance.sqrt(), degrees_of_freedom: inflation.degrees_of_freedom };
    Estimate::Known(around(figure, found.half_width_95(), range))
}

/// The reason to withhold intervals if values depend on each other for so long that those of 20 sections would be too
/// narrow; `None` otherwise.
///
/// Sections of a run are too few to show that by themselves: of those whose values remember the last 2 s of a minute,
/// the ones that look independent by chance would get an interval. The correlation of [`GROUPS`] neighbours is known
/// five times as exactly.
pub(crate) fn long_dependence(errors: &[f64], value_s: f64) -> Option<Withheld> {
    let groups: Vec<f64> = errors.chunks_exact((errors.len() / GROUPS).max(1)).map(mean).collect();
    let deviations = deviations(&groups);
    if groups.len() < VALUES_MIN || sum_of_squares(&deviations) <= 0.0 {
        return None;
    }
    let effective = groups.len() as f64 / Inflation::from_deviations(&deviations, Fitted::Mean).of_variance;
    (effective < EFFECTIVE_GROUPS_MIN).then(|| dependence(errors.len() as f64 * value_s, effective))
}

/// The interval of a figure on its logarithm.
pub(crate) fn around(figure: f64, half_width: f64, range: Interval) -> Interval {
    let factor = if figure > 0.0 { (half_width / figure).exp() } else { 1.0 };
    let clip = |end: f64| end.clamp(range.low.min(figure), range.high.max(figure));
    Interval { low: clip(figure / factor), high: clip(figure * factor) }
}

/// Dependence of the values in a run of this length with this number of effective values, and the length to measure.
pub(crate) fn dependence(run_s: f64, effective: f64) -> Withheld {
    if effective < EFFECTIVE_TO_TELL {
        return Withheld { dependence_s: None, measure_s: None };
    }
    let dependence_s = run_s / effective;
    // As exact as it is known, so that it is the same in every form of a result.
    let about_s = if dependence_s < 1.0 { (dependence_s * 10.0).round() / 10.0 } else { dependence_s.round() };
    let measure_s = longer_s((EFFECTIVE_AIM * dependence_s).max(1.5 * run_s)).min(MEASURE_MAX_S);
    Withheld { dependence_s: Some(about_s), measure_s: (measure_s > run_s).then_some(measure_s) }
}

/// A round number of seconds that a user would type, not shorter.
fn longer_s(seconds: f64) -> f64 {
    const STEPS: [f64; 8] = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0];
    let power = 10f64.powf(seconds.max(1.0).log10().floor());
    let step = STEPS.into_iter().find(|step| step * power >= seconds.max(1.0) * (1.0 - 1e-9));
    (step.unwrap_or(10.0) * power).ceil()
}
