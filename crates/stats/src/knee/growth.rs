//! Growth of throughput where depths are large.

use super::FALSE_ALARMS;
use super::curve::Curve;
use crate::sample::{Fit, student};
use statrs::distribution::ContinuousCDF;

/// Growth of ln(throughput) over ln(depth) above which there is no plateau, unless noise alone may have
/// made it: twice the depth would still bring 7 % more.
const ELASTICITY_MAX: f64 = 0.1;

/// A fitted slope of ln(throughput) over ln(depth).
pub(super) struct Growth {
    pub(super) slope: f64,
    /// Standard deviation of the logarithm of a run around the fitted line.
    pub(super) noise: f64,
    standard_error: f64,
    degrees_of_freedom: f64,
}

impl Growth {
    /// Of the runs in the upper third of the depths, by least squares.
    pub(super) fn of_tail(curve: &Curve<'_>) -> Self {
        let tail = curve.tail();
        let of_depth = |(depth, runs): (&u32, &Vec<f64>)| {
            let depth = f64::from(*depth).ln();
            runs.iter().map(|iops| (depth, iops.ln())).collect::<Vec<_>>()
        };
        let points = curve.depths[tail..].iter().zip(&curve.runs[tail..]).flat_map(of_depth);
        let (depths, rates): (Vec<f64>, Vec<f64>) = points.unzip();
        let fit = Fit::new(&rates, &depths);
        let degrees_of_freedom = rates.len() as f64 - 2.0;
        let noise = (fit.squares() / degrees_of_freedom).sqrt();
        Self { slope: fit.coefficient, noise, standard_error: noise / fit.spread.sqrt(), degrees_of_freedom }
    }

    /// True if throughput grows by more than noise (Student's t, one-sided) and by more than a plateau may.
    pub(super) fn is_rising(&self) -> bool {
        self.slope > ELASTICITY_MAX && self.slope > self.least_significant()
    }

    /// The same of a throughput that falls.
    pub(super) fn is_falling(&self) -> bool {
        self.slope < -ELASTICITY_MAX && -self.slope > self.least_significant()
    }

    /// The smallest slope that is more than noise. Three points leave one degree of freedom, whose quantile is 7.9 standard
    /// errors, not 2.
    fn least_significant(&self) -> f64 {
        self.standard_error * student(self.degrees_of_freedom).inverse_cdf(1.0 - FALSE_ALARMS)
    }
}
