//! The highest rate that meets limits, from runs that each may mislead.
//!
//! This is probabilistic bisection (Horstein 1963; Waeber, Frazier and Henderson 2013): all that is known is a
//! probability for each place where the limits may begin to fail; a run at the median of them halves it as far
//! as the run can be trusted. One that missed a limit by far says more than one that was close.

use model::headline::Headline;
use model::limit::Limit;

/// Runs of one load scatter by about this share, as a standard deviation of the logarithm.
const SCATTER: f64 = 0.1;
/// No run is trusted less, or nothing would ever be known, ...
const TRUST_MIN: f64 = 0.6;
/// ... or more: any may have been disturbed.
const TRUST_MAX: f64 = 0.98;
/// A rate was not reached if so much of it is missing.
const SHORTFALL: f64 = 0.02;
/// How sure the place must be; runs on both sides of it confirm it afterwards.
const SURE: f64 = 0.8;

/// What one run says of its rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// True if the limits held.
    pub holds: bool,
    /// How far to trust that, from a half to 1.
    pub trust: f64,
    /// If the target did not reach the rate that was asked for: what it can surely not reach either.
    pub ceiling_iops: Option<f64>,
}

/// What a run at `rate_iops` says; `None` if it did not measure what is limited.
pub fn answer(headline: &Headline, rate_iops: f64, limits: &[Limit]) -> Option<Answer> {
    let mut excess = 0.0_f64;
    for limit in limits {
        excess = excess.max(headline.response_value(limit.figure)? / limit.at_most);
    }
    let is_short = headline.iops < rate_iops * (1.0 - SHORTFALL);
    let holds = excess <= 1.0 && !is_short;
    // How far it came from deciding the other way.
    let ratio = if is_short && excess <= 1.0 { rate_iops / headline.iops.max(1.0) } else { excess };
    let spreads = ratio.max(f64::MIN_POSITIVE).ln().abs() / SCATTER;
    let trust = normal(spreads).clamp(TRUST_MIN, TRUST_MAX);
    // Another run may reach this much more.
    let ceiling_iops = is_short.then_some(headline.iops * (2.0 * SCATTER).exp());
    Some(Answer { holds, trust, ceiling_iops })
}

/// The probability of a standard normal value below `z`.
fn normal(z: f64) -> f64 {
    use statrs::distribution::{ContinuousCDF, Normal};
    Normal::standard().cdf(z)
}

/// How many of the rates, which ascend, keep the limits: a probability for each number from none to all.
#[derive(Clone, Debug, PartialEq)]
pub struct Posterior(Vec<f64>);

impl Posterior {
    /// No knowledge yet of this number of rates.
    pub fn new(rates: usize) -> Self {
        Self(vec![1.0 / (rates as f64 + 1.0); rates + 1])
    }

    /// A run at the rate of this index.
    pub fn learn(&mut self, rate: usize, holds: bool, trust: f64) {
        for (keeping, probability) in self.0.iter_mut().enumerate() {
            *probability *= if (keeping > rate) == holds { trust } else { 1.0 - trust };
        }
        let sum: f64 = self.0.iter().sum();
        self.0.iter_mut().for_each(|probability| *probability /= sum);
    }

    /// The rate at which a run teaches most: it as likely keeps the limits as not. 0 without rates.
    pub fn question(&self) -> usize {
        let (mut below, mut best) = (0.0, (f64::INFINITY, 0));
        for (rate, probability) in self.0[..self.0.len() - 1].iter().enumerate() {
            below += probability;
            let distance = (below - 0.5_f64).abs();
            if distance < best.0 {
                best = (distance, rate);
            }
        }
        best.1
    }

    /// Where the place is likely to be: between these numbers of rates.
    pub fn interval(&self) -> (usize, usize) {
        (self.quantile((1.0 - SURE) / 2.0), self.quantile(f64::midpoint(1.0, SURE)))
    }

    fn quantile(&self, share: f64) -> usize {
        let mut sum = 0.0;
        let reached = self.0.iter().position(|probability| {
            sum += probability;
            sum >= share
        });
        reached.unwrap_or(self.0.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::metric::Metric;

    fn headline(iops: f64, p99_ms: f64, cpu_percent: f64) -> Headline {
        Headline { iops, response_p99_ns: Some((p99_ms * 1e6) as u64), cpu_percent, ..Headline::default() }
    }

    #[test]
    fn all_limits_must_hold_and_the_rate_be_reached() {
        let p99 = Limit { figure: Metric::P99, at_most: 1e6 };
        let cpu = Limit { figure: Metric::Cpu, at_most: 25.0 };
        let holds = |headline, limits: &[Limit]| answer(&headline, 1000.0, limits).unwrap().holds;
        assert!(holds(headline(1000.0, 1.0, 90.0), &[p99]));
        assert!(!holds(headline(1000.0, 1.01, 1.0), &[p99]));
        assert!(!holds(headline(1000.0, 0.5, 26.0), &[p99, cpu]));
        assert!(!holds(headline(970.0, 0.5, 1.0), &[p99]));
        let short = answer(&headline(500.0, 0.5, 1.0), 1000.0, &[p99]).unwrap();
        assert!((600.0..620.0).contains(&short.ceiling_iops.unwrap()) && short.trust > 0.97);
        assert!(answer(&headline(970.0, 0.5, 1.0), 1000.0, &[p99]).unwrap().trust < 0.7);
        assert_eq!(answer(&Headline::default(), 1000.0, &[p99]), None);
        let trust = |p99_ms| answer(&headline(1000.0, p99_ms, 0.0), 1000.0, &[p99]).unwrap().trust;
        assert!(trust(1.01) < trust(1.2) && trust(1.2) < trust(3.0) && trust(0.3) > 0.95);
    }

    #[test]
    fn a_run_that_misled_is_outvoted() {
        let (mut posterior, truth) = (Posterior::new(100), 37);
        posterior.learn(20, false, 0.9);
        let mut runs = 1;
        while posterior.interval().1 - posterior.interval().0 > 2 {
            let rate = posterior.question();
            posterior.learn(rate, rate < truth, 0.9);
            runs += 1;
            assert!(runs < 60, "{:?}", posterior.interval());
        }
        let (low, high) = posterior.interval();
        assert!((low..=high).contains(&truth), "{low} to {high} after {runs} runs");
    }

    #[test]
    fn none_and_all_can_be_the_answer() {
        for truth in [0, 10] {
            let mut posterior = Posterior::new(10);
            for _ in 0..20 {
                let rate = posterior.question();
                posterior.learn(rate, rate < truth, 0.95);
            }
            assert_eq!(posterior.interval(), (truth, truth));
        }
    }
}
