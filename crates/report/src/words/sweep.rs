//! A sweep as lines and as a table.

mod advice;

pub use advice::{
    ACROSS_BLOCKS, NOT_FIRM, OF_PROBES, RULE, Range, across_blocks, compared, given_up, growth_of_blocks,
    growth_of_depths, interval_basis, most, none_beaten, nothing_better, range_of_load, rate_of_series, splits, unit,
};

use model::sweep::{DepthEstimate, DepthSeries, Purpose, Setting, Sweep, Visit};

/// True if some points of a sweep were probed and then confirmed, so that its table has figures of both.
pub fn has_confirmed(sweep: &Sweep) -> bool {
    let is_confirmed = |visit: &Visit| visit.purpose == Purpose::Confirm && visit.headline().is_some();
    sweep.limit.is_none() && sweep.visits.iter().any(is_confirmed)
}

/// The kind of run in a row of such a table.
pub fn kind_of_row(sweep: &Sweep, point: usize) -> &'static str {
    let run = stats::sweep::median_run(sweep, point);
    if run.is_some_and(|run| run.purpose == Purpose::Confirm) { "confirmed" } else { "probe" }
}

/// Names of the options that vary, in the order of the settings; every point has the same.
pub fn names(sweep: &Sweep) -> Vec<String> {
    let first = sweep.points.first();
    first.map(|point| point.settings.iter().map(|setting| setting.name.clone()).collect()).unwrap_or_default()
}

/// The purpose of a run, in tables.
pub const fn purpose(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Measure => "measure",
        Purpose::Probe => "probe",
        Purpose::Again => "again",
        Purpose::Confirm => "confirm",
        Purpose::Precondition => "precondition",
        Purpose::Capacity => "capacity",
    }
}

pub fn dashed(name: &str) -> String {
    Setting::dashed(name).trim_start_matches("--").to_owned()
}

pub fn edge(sweep: &Sweep, series: &DepthSeries, estimate: &DepthEstimate) -> &'static str {
    let first = series.points.first().and_then(|point| stats::sweep::figures(sweep, *point));
    match first {
        _ if !estimate.is_at_edge => "",
        // One for each thread cannot be undercut.
        Some(first) if first.depth == Some(estimate.depth) && first.threads >= estimate.depth => "",
        Some(first) if first.depth == Some(estimate.depth) => {
            "; this is the smallest depth tried; a smaller one may be better"
        }
        _ => "; this is the largest depth tried; a larger one may be better",
    }
}

#[cfg(test)]
mod tests;
