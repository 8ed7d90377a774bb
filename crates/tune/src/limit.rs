//! The highest rate that meets limits.

use crate::schedule::Step;
use crate::sweep::{Ending, SweepProgress};
use model::limit::{Limit, LimitFound};
use model::profile::OfferedRate;
use model::sweep::{Purpose, Visit};
use stats::limit::{Observation, Search, SearchStep};

impl SweepProgress<'_> {
    /// Searches the points, which are the same load at ascending rates; stores the result in the sweep.
    pub(crate) fn search(&mut self, limits: &[Limit]) -> Result<(), Ending> {
        let rates: Vec<f64> = self.design.points.iter().map(rate_iops).collect();
        let Some(capacity_iops) = self.capacity_iops()? else { return Ok(()) };
        let longest_s = f64::from(self.design.longest_of_search_s());
        // Neither rates above the capacity, nor those at which the longest run has too few completions.
        let end = rates.partition_point(|rate| *rate <= capacity_iops);
        let first = rates.partition_point(|rate| stats::limit::seconds_min(limits, *rate) > longest_s);
        if first >= end {
            let needed_s = stats::limit::seconds_min(limits, capacity_iops);
            return Err(Ending::TooSlow { capacity_iops, needed_s });
        }
        let mut search = Search::new(&rates[first..end]);
        loop {
            let (point, purpose) = match search.due() {
                SearchStep::Probe(point) => (first + point, Purpose::Probe),
                SearchStep::Confirm(point) => (first + point, Purpose::Confirm),
                SearchStep::End(found) => {
                    self.sweep.limit = Some(LimitFound {
                        limits: limits.to_vec(),
                        holds: found.holds.map(|point| first + point),
                        fails: found.fails.map(|point| first + point),
                        noise: found.noise.map(|range| range.after(first)),
                        capacity_iops: Some(capacity_iops),
                        ..found
                    });
                    return Ok(());
                }
            };
            let Some(sample) = self.make_run(point, purpose)?.and_then(|visit| visit.limit) else { return Ok(()) };
            search.observe(Observation { point: point - first, is_confirming: purpose == Purpose::Confirm, sample });
        }
    }

    /// Capacity in I/Os per second: the rate without a limit, at the end of a run of the full length; `None` if that
    /// failed.
    fn capacity_iops(&mut self) -> Result<Option<f64>, Ending> {
        let visit = self.make_run(0, Purpose::Capacity)?;
        Ok(visit.and_then(|visit| {
            // No completions at the end of a short run are a pause of the machine, not the capacity of the target.
            let sustained = visit.sustained_iops.filter(|iops| *iops > 0.0);
            visit.headline().map(|headline| sustained.unwrap_or(headline.iops))
        }))
    }

    /// Makes the next run of a point, unless it was made before an interruption.
    fn make_run(&mut self, point: usize, purpose: Purpose) -> Result<Option<&Visit>, Ending> {
        let step = Step { point, run: self.tried_before(point, purpose), purpose };
        self.take(&[step])?;
        Ok(self.sweep.visits.iter().find(|visit| Step::from_visit(visit) == step))
    }
}

/// The rate that a point is run at.
fn rate_iops(point: &crate::PlannedPoint) -> f64 {
    let rate = point.profile.time_spans.first().and_then(|span| span.rate_iops);
    rate.map_or(0.0, OfferedRate::mean_iops)
}

#[cfg(test)]
mod tests;
