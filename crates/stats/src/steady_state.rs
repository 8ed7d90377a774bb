//! Steady state as SNIA's Solid State Storage Performance Test Specification defines it: in a window of five
//! rounds, the largest and the smallest value are at most 20 % of the mean apart, and the line through them
//! changes by at most 10 % of it.

use crate::sample::mean;

/// Rounds that are evaluated together.
pub const WINDOW: usize = 5;
const RANGE_PERCENT_MAX: f64 = 20.0;
const RISE_PERCENT_MAX: f64 = 10.0;

/// The last rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Mean of these rounds.
    pub mean: f64,
    /// Largest minus smallest, as a percentage of the mean.
    pub range_percent: f64,
    /// Change of the fitted line over the window, in percent of the mean.
    pub rise_percent: f64,
}

impl Window {
    /// The last rounds of all; `None` if there are not enough, or nothing was done in them.
    pub fn last_of(rounds: &[f64]) -> Option<Self> {
        let values = rounds.last_chunk::<WINDOW>()?;
        let mean = mean(values);
        if mean <= 0.0 {
            return None;
        }
        let (min, max) = values.iter().fold((f64::MAX, f64::MIN), |(min, max), &v| (min.min(v), max.max(v)));
        let middle = (WINDOW as f64 - 1.0) / 2.0;
        let placed = || values.iter().enumerate().map(|(place, value)| (place as f64 - middle, value));
        let slope = placed().map(|(place, value)| place * value).sum::<f64>()
            / placed().map(|(place, _)| place * place).sum::<f64>();
        let percent = |value: f64| value / mean * 100.0;
        Some(Self { mean, range_percent: percent(max - min), rise_percent: percent(slope * (WINDOW as f64 - 1.0)) })
    }

    /// True if both conditions hold.
    pub fn is_steady(&self) -> bool {
        self.range_percent <= RANGE_PERCENT_MAX && self.rise_percent.abs() <= RISE_PERCENT_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_and_rise_decide_together() {
        let steady = |rounds: &[f64]| Window::last_of(rounds).is_some_and(|window| window.is_steady());
        assert!(!steady(&[100.0; 4]), "four are not enough");
        assert!(steady(&[900.0, 100.0, 100.0, 100.0, 100.0, 100.0]), "what came before does not count");
        assert!(steady(&[100.0, 110.0, 92.0, 108.0, 95.0]));
        assert!(!steady(&[100.0, 121.0, 100.0, 100.0, 100.0]), "range above 20 %");
        assert!(!steady(&[94.0, 97.0, 100.0, 103.0, 106.0]), "range 12 %, but it rises by 12 %");
        let window = Window::last_of(&[98.0, 99.0, 100.0, 101.0, 102.0]).unwrap();
        assert!((window.range_percent - 4.0).abs() < 1e-9 && (window.rise_percent - 4.0).abs() < 1e-9);
        assert_eq!(Window::last_of(&[0.0; 5]), None);
    }
}
