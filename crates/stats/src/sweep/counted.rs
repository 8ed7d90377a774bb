//! Which runs of a point count.

use model::finding::Severity;
use model::headline::Headline;
use model::sweep::{Purpose, Sweep, Visit};

/// The runs by which points are compared: those of one length only. A probe of a few seconds and a run of minutes measure
/// different states of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedRuns {
    /// Runs that every point has: of the full length, or probes (`--probe`).
    First,
    /// Runs of the length of `--confirm`, which follow probes.
    Confirmed,
}

/// Findings of a run that other users of the machine caused: a repeat may be without them.
const DISTURBANCES: [&str; 2] = ["other-io", "cpu-contention"];

/// True if the load did not decide the figures of a run: its result is INVALID, or others used the CPUs or the device.
pub(super) fn is_disturbed(figures: &Headline) -> bool {
    figures.severity >= Some(Severity::Invalid)
        || figures.warnings.iter().any(|name| DISTURBANCES.contains(&name.as_str()))
}

/// Confirmed runs if all points with figures have them, else those that every point has.
pub fn basis(sweep: &Sweep, points: &[usize]) -> CountedRuns {
    let mut measured = points.iter().filter(|point| !runs(sweep, **point).is_empty()).peekable();
    if measured.peek().is_some() && measured.all(|point| is_confirmed(sweep, *point)) {
        CountedRuns::Confirmed
    } else {
        CountedRuns::First
    }
}

/// The runs of a point with figures on one basis. Disturbed ones do not count if the point was measured again without
/// disturbance.
pub fn runs_on(sweep: &Sweep, point: usize, basis: CountedRuns) -> Vec<&Visit> {
    let is_of_basis = |visit: &&Visit| (visit.purpose == Purpose::Confirm) == (basis == CountedRuns::Confirmed);
    let of_point = sweep.visits.iter().filter(|visit| visit.point == point && visit.is_of_point());
    let all: Vec<&Visit> = of_point.filter(is_of_basis).filter(|visit| visit.headline().is_some()).collect();
    let is_sound = |visit: &&Visit| !visit.headline().is_some_and(is_disturbed);
    if all.iter().any(|visit| visit.purpose == Purpose::Again && is_sound(visit)) {
        return all.into_iter().filter(is_sound).collect();
    }
    all
}

/// True if a point was measured again at the length of `--confirm`.
pub(super) fn is_confirmed(sweep: &Sweep, point: usize) -> bool {
    !runs_on(sweep, point, CountedRuns::Confirmed).is_empty()
}

/// The runs that represent a point in tables: confirmed ones if it has any.
pub fn runs(sweep: &Sweep, point: usize) -> Vec<&Visit> {
    runs_on(sweep, point, if is_confirmed(sweep, point) { CountedRuns::Confirmed } else { CountedRuns::First })
}

/// The figures of a point on one basis: those of the median run by I/Os per second.
pub fn figures_on(sweep: &Sweep, point: usize, basis: CountedRuns) -> Option<&Headline> {
    median(runs_on(sweep, point, basis)).and_then(Visit::headline)
}

/// The figures of a point in tables: those of its [`median_run`].
pub fn figures(sweep: &Sweep, point: usize) -> Option<&Headline> {
    median_run(sweep, point).and_then(Visit::headline)
}

/// The run that represents a point in tables: the median one by I/Os per second, of the longest runs that it has.
pub fn median_run(sweep: &Sweep, point: usize) -> Option<&Visit> {
    median(runs(sweep, point))
}

fn median(mut runs: Vec<&Visit>) -> Option<&Visit> {
    let iops = |visit: &Visit| visit.headline().map_or(0.0, |figures| figures.iops);
    runs.sort_by(|a, b| iops(a).total_cmp(&iops(b)));
    runs.get(runs.len().saturating_sub(1) / 2).copied()
}
