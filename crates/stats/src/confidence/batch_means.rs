//! Mean of values that depend on their neighbours, and its standard error.
//!
//! Batch means (Law & Kelton, Simulation Modeling and Analysis, 9.5.3): neighbours are averaged until
//! there are 20 to 39 equal batches, whose means depend on each other much less than the values do. What
//! dependence is left widens the interval: a lag-1 correlation r of the batch means multiplies the
//! variance of their mean by (1 + r) / (1 - r), as if they were an AR(1) process (Steiger and others,
//! ASAP3, ACM TOMACS 15, 2005; Tafazzoli & Wilson, Skart, IIE Transactions 43, 2011), and divides the
//! number of batches that count as independent by the same.

use crate::sample::{deviations, mean, standard_errors_95, student, sum_of_squares};
use statrs::distribution::ContinuousCDF;

/// Minimum number of values that show their spread.
pub(crate) const VALUES_MIN: usize = 10;

/// Batches that are aimed at: up to this many a value is a batch of its own.
const BATCHES: usize = 20;

/// A correlation closer to 1 cannot be distinguished from 1 by so few batches.
const CORRELATION_MAX: f64 = 0.95;

/// The mean of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BatchMean {
    pub(crate) mean: f64,
    /// Standard deviation of the mean, were the series measured again.
    pub(crate) std_error: f64,
    /// Of that standard deviation: at least 1.
    pub(crate) degrees_of_freedom: f64,
}

impl BatchMean {
    /// Of values in the order of time; `None` if they are fewer than [`VALUES_MIN`].
    pub(crate) fn from_values(values: &[f64]) -> Option<Self> {
        if values.len() < VALUES_MIN {
            return None;
        }
        let batches = batches(values);
        let count = batches.len() as f64;
        let deviations = deviations(&batches);
        let variance = sum_of_squares(&deviations) / (count - 1.0);
        let inflation = Inflation::from_deviations(&deviations, Fitted::Mean);
        Some(Self {
            mean: mean(values),
            std_error: (variance / count * inflation.of_variance).sqrt(),
            degrees_of_freedom: inflation.degrees_of_freedom,
        })
    }

    /// Half the width of the 95 % confidence interval.
    pub(crate) fn half_width_95(&self) -> f64 {
        self.std_error * standard_errors_95(self.degrees_of_freedom)
    }
}

/// The fit that was subtracted from a series before its deviations were computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fitted {
    Mean,
    Line,
}

/// Effect of dependence between neighbours on a variance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Inflation {
    pub(crate) of_variance: f64,
    pub(crate) degrees_of_freedom: f64,
    /// The correlation is the largest that the method distinguishes; the true one may be larger.
    pub(crate) is_clipped: bool,
}

impl Inflation {
    /// From deviations of batch means.
    ///
    /// Their lag-1 correlation comes out too low by (1 + 4r) / n, and by (2 + 4r) / n once a line is taken
    /// off (Marriott & Pope, Biometrika 41, 1954; Kendall, ibid.), which matters for 20 batches.
    pub(crate) fn from_deviations(deviations: &[f64], fitted: Fitted) -> Self {
        let count = deviations.len() as f64;
        let squares = sum_of_squares(deviations);
        let products: f64 = deviations.windows(2).map(|pair| pair[0] * pair[1]).sum();
        let seen = if squares > 0.0 { products / squares } else { 0.0 };
        let parameters = match fitted {
            Fitted::Mean => 1.0,
            Fitted::Line => 2.0,
        };
        // Batches that repel each other would narrow the interval: more likely chance than information.
        let correlation = (seen + (parameters + 4.0 * seen) / count).clamp(0.0, CORRELATION_MAX);
        let of_variance = (1.0 + correlation) / (1.0 - correlation);
        Self {
            of_variance,
            degrees_of_freedom: (count / of_variance - parameters).max(1.0),
            is_clipped: correlation >= CORRELATION_MAX,
        }
    }
}

/// Means of equal numbers of neighbours; the last few values may be in none.
pub(crate) fn batches(values: &[f64]) -> Vec<f64> {
    values.chunks_exact((values.len() / BATCHES).max(1)).map(mean).collect()
}

/// Probability of a deviation of this many standard errors or more by chance.
pub(crate) fn two_sided_chance(standard_errors: f64, degrees_of_freedom: f64) -> f64 {
    2.0 * student(degrees_of_freedom).sf(standard_errors.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{Source, coverage_percent};

    #[test]
    fn few_values_have_no_interval() {
        assert_eq!(BatchMean::from_values(&[1.0; 9]), None);
        assert_eq!(BatchMean::from_values(&[1.0; 10]).map(|mean| mean.half_width_95()), Some(0.0));
    }

    /// The example of every textbook: ten values, t with 9 degrees of freedom is 2.262.
    #[test]
    fn independent_values_have_the_textbook_interval() {
        // Alternating signs: the correlation is negative and counts as none.
        let values = [11.0, 9.0, 12.0, 8.0, 10.5, 9.5, 11.5, 8.5, 10.2, 9.8];
        let mean = BatchMean::from_values(&values).expect("ten values");
        let variance: f64 = values.iter().map(|value| (value - 10.0f64).powi(2)).sum::<f64>() / 9.0;
        assert!((mean.mean - 10.0).abs() < 1e-12);
        assert!((mean.half_width_95() - 2.262_157 * (variance / 10.0).sqrt()).abs() < 1e-5);
    }

    #[test]
    fn batches_are_equal_and_20_to_39() {
        for count in [20usize, 39, 40, 59, 60, 600, 601, 619, 262_144] {
            let values: Vec<f64> = (0..count).map(|index| index as f64).collect();
            assert!((20..40).contains(&batches(&values).len()), "{count}");
        }
        assert_eq!(batches(&[1.0, 3.0]), [1.0, 3.0]);
    }

    /// Requirement of an interval: it holds the true mean in 95 of 100 runs, whatever the series is like.
    #[test]
    fn intervals_of_a_minute_hold_the_truth_as_often_as_they_say() {
        for source in Source::STATIONARY {
            let percent = coverage_percent(4000, |rng| {
                let values = source.series(600, rng);
                let mean = BatchMean::from_values(&values).expect("600 values");
                (mean.mean - source.mean()).abs() <= mean.half_width_95()
            });
            assert!((91.0..=97.0).contains(&percent), "{source:?}: {percent} %");
        }
    }

    /// 10 s hold a handful of 4 s bursts at most; all else is found as well as in a minute.
    #[test]
    fn intervals_of_ten_seconds_hold_the_truth_but_for_long_bursts() {
        for source in [Source::INDEPENDENT, Source::AUTOREGRESSIVE_50, Source::AUTOREGRESSIVE_90] {
            let percent = coverage_percent(4000, |rng| {
                let values = source.series(100, rng);
                let mean = BatchMean::from_values(&values).expect("100 values");
                (mean.mean - source.mean()).abs() <= mean.half_width_95()
            });
            assert!((91.0..=97.5).contains(&percent), "{source:?}: {percent} %");
        }
    }

    /// Without batches the interval of a correlated series would be wrong.
    #[test]
    fn a_plain_interval_of_correlated_values_does_not_hold_the_truth() {
        let source = Source::AUTOREGRESSIVE_90;
        let percent = coverage_percent(500, |rng| {
            let values = source.series(600, rng);
            let mean = mean(&values);
            let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 599.0;
            (mean - source.mean()).abs() <= 1.96 * (variance / 600.0).sqrt()
        });
        assert!(percent < 50.0, "{percent} %");
    }
}
