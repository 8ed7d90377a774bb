//! A sweep as lines and as a table.

mod advice;

pub use advice::{
    ACROSS_BLOCKS, NOT_FIRM, OF_PROBES, RULE, Range, across_blocks, compared, given_up, growth_of_blocks,
    growth_of_depths, interval_basis, most, none_beaten, nothing_better, range_of_load, rate_of_series, splits, unit,
};

use crate::words::numbers::ms;
use model::headline::Headline;
use model::metric::Metric;
use model::profile::Profile;
use model::sweep::{DepthEstimate, DepthSeries, Point, Purpose, Setting, Sweep, Visit, VisitOutcome};
use model::units::mib;
use std::io::{self, Write};

/// One run, in the form that `DiskSpd`'s guides print:
/// `Param -o 8 -t 1, 35558.31 iops, 277.80 MB/sec, 0.225 ms, 22.36% CPU`.
pub fn line(visit: &Visit, profile: &Profile, point: &Point, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "Param")?;
    // A run for the capacity is of no rate.
    let none = Point::default();
    let point = if visit.purpose == Purpose::Capacity { &none } else { point };
    for setting in shown(profile, point) {
        let dashes = if setting.name.chars().count() == 1 { "-" } else { "--" };
        write!(out, " {dashes}{} {}", setting.name, setting.value)?;
    }
    figures_of_line(&visit.outcome, out)?;
    writeln!(out, "{}", why(visit.purpose))
}

/// `, 35558.31 iops, 277.80 MB/sec, 0.225 ms, 22.36% CPU`, or why there are none.
pub fn figures_of_line(outcome: &VisitOutcome, out: &mut dyn Write) -> io::Result<()> {
    match outcome {
        VisitOutcome::Measured { headline, .. } => {
            write!(out, ", {:.2} iops, {:.2} MB/sec", headline.iops, mib(headline.bytes_per_s))?;
            for (scope, metric) in Headline::shown_metrics(&[Metric::Mean], [headline]) {
                if let Some(mean_ns) = headline.scoped_value((scope, metric)) {
                    write!(out, ", {}", scope.label(&format!("{:.3} ms", ms(mean_ns))))?;
                }
            }
            for (scope, p99_ns) in headline.waited_for.iter().filter_map(|of| Some((of.scope, of.p99_ns?))) {
                write!(out, ", {} {:.3} ms", scope.label("p99"), ms(p99_ns))?;
            }
            write!(out, ", {:.2}% CPU", headline.cpu_percent)
        }
        VisitOutcome::Failed { reasons } => write!(out, ", failed: {}", reasons.join("; ")),
    }
}

fn why(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Measure => "",
        Purpose::Probe => " (probe)",
        Purpose::Again => " (repeated)",
        Purpose::Confirm => " (confirmed)",
        Purpose::Precondition => " (preconditioning)",
        Purpose::Capacity => " (without a rate: the target's capacity)",
    }
}

/// Depth and threads, which the guides always print, and what else varies.
fn shown(profile: &Profile, point: &Point) -> Vec<Setting> {
    let setting = |name: &str, value: u32| Setting { name: name.to_owned(), value: value.to_string() };
    let target = profile.time_spans.first().and_then(|span| Some((span, span.targets.first()?)));
    let mut settings = match target {
        Some((span, _)) if span.thread_count > 0 && span.request_count > 0 => {
            vec![setting("O", span.request_count), setting("F", span.thread_count)]
        }
        Some((span, target)) if span.thread_count > 0 => {
            vec![setting("o", target.outstanding), setting("F", span.thread_count)]
        }
        Some((_, target)) => vec![setting("o", target.outstanding), setting("t", target.threads)],
        None => Vec::new(),
    };
    let others = point.settings.iter().filter(|setting| !setting.is_depth());
    settings.extend(others.cloned());
    settings
}

/// True if some points of a sweep were probed and then confirmed, so that its table has figures of both.
pub fn has_confirmed(sweep: &Sweep) -> bool {
    let is_confirmed = |visit: &Visit| visit.purpose == Purpose::Confirm && visit.headline().is_some();
    sweep.limit.is_none() && sweep.visits.iter().any(is_confirmed)
}

/// Which run a row of such a table has.
pub fn kind_of_row(sweep: &Sweep, point: usize) -> &'static str {
    let run = stats::sweep::median_run(sweep, point);
    if run.is_some_and(|run| run.purpose == Purpose::Confirm) { "confirmed" } else { "probe" }
}

/// What varies, in the order of the settings; every point has the same.
pub fn names(sweep: &Sweep) -> Vec<String> {
    let first = sweep.points.first();
    first.map(|point| point.settings.iter().map(|setting| setting.name.clone()).collect()).unwrap_or_default()
}

pub fn dashed(name: &str) -> String {
    if name.chars().count() == 1 { format!("-{name}") } else { name.to_owned() }
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
