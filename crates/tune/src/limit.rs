//! The highest rate that meets limits.

use crate::schedule::Step;
use crate::sweep::{Course, Ending};
use model::limit::{Limit, LimitFound};
use model::sweep::{Purpose, Visit};
use stats::limit::{Answer, Posterior};

/// Rates between which the search ends and confirmation begins.
const CLOSE: usize = 5;
/// Runs after which it gives up: the target answers differently each time.
const RUNS_MAX: u32 = 60;

impl Course<'_> {
    /// Looks for it among the points, which are the same load at rising rates; keeps what it finds in the sweep.
    pub(crate) fn search(&mut self, limits: &[Limit]) -> Result<(), Ending> {
        let rates: Vec<f64> = self.design.points.iter().map(rate_iops).collect();
        let mut posterior = Posterior::new(rates.len());
        let mut runs = 0;
        loop {
            let (low, high) = posterior.interval();
            if high - low <= CLOSE || runs >= RUNS_MAX {
                let found = self.confirm(limits, &rates, &mut posterior, &mut runs)?;
                if found.is_confirmed || runs >= RUNS_MAX {
                    self.sweep.limit = Some(found);
                    return Ok(());
                }
                continue;
            }
            let next = posterior.question();
            let purpose = self.design.first_purpose();
            runs += 1;
            if self.ask(next, purpose, limits, &rates, &mut posterior)?.is_none() {
                return Ok(());
            }
        }
    }

    /// A run of the full length below and above the place.
    fn confirm(
        &mut self,
        limits: &[Limit],
        rates: &[f64],
        posterior: &mut Posterior,
        runs: &mut u32,
    ) -> Result<LimitFound, Ending> {
        let (low, high) = posterior.interval();
        let (holds, fails) = (low.checked_sub(1), (high < rates.len()).then_some(high));
        let mut is_confirmed = true;
        for (point, expected) in [(holds, true), (fails, false)] {
            let Some(point) = point else { continue };
            *runs += 1;
            let answer = self.ask(point, Purpose::Confirm, limits, rates, posterior)?;
            is_confirmed &= answer.is_some_and(|answer| answer.holds == expected);
        }
        Ok(LimitFound { limits: limits.to_vec(), holds, fails, is_confirmed })
    }

    /// Runs a point and learns from it; `None` if it has no figures.
    fn ask(
        &mut self,
        point: usize,
        purpose: Purpose,
        limits: &[Limit],
        rates: &[f64],
        posterior: &mut Posterior,
    ) -> Result<Option<Answer>, Ending> {
        let run = self.tried_before(point, purpose);
        let step = Step { point, run, purpose };
        self.take(&[step])?;
        let visit = self.sweep.visits.iter().find(|visit| Step::of(visit) == step);
        let headline = visit.and_then(Visit::headline);
        let answer = headline.and_then(|headline| stats::limit::answer(headline, rates[point], limits));
        if let Some(Answer { holds, trust, ceiling_iops }) = answer {
            let above = |ceiling_iops| rates.partition_point(|&rate| rate <= ceiling_iops);
            // The lower of the two rates that cannot be kept says more.
            let fails_from = ceiling_iops.map_or(point, above).min(point);
            posterior.learn(if holds { point } else { fails_from }, holds, trust);
        }
        Ok(answer)
    }
}

/// The rate that a point is run at.
fn rate_iops(point: &crate::PlannedPoint) -> f64 {
    let rate = point.profile.time_spans.first().and_then(|span| span.rate_iops);
    f64::from(rate.unwrap_or(0))
}

#[cfg(test)]
mod tests;
