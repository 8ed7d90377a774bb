//! The highest rate that meets limits, in words.

use crate::numbers::ms;
use model::doubt::Doubt;
use model::finding::Severity;
use model::headline::Headline;
use model::limit::{LimitFound, NoiseRange};
use model::metric::{Metric, MetricUnit};
use model::sweep::{Sweep, Visit};
use std::io::{self, Write};

/// What was found, at which runs, and their verdicts.
pub fn answer(sweep: &Sweep, found: &LimitFound, out: &mut dyn Write) -> io::Result<()> {
    decision(sweep, found, out)?;
    match (found.noise, found.holds) {
        (None, Some(_)) => verdicts(sweep, found, out),
        _ => Ok(()),
    }
}

/// What was found and at which runs.
pub fn decision(sweep: &Sweep, found: &LimitFound, out: &mut dyn Write) -> io::Result<()> {
    let limits = limits(found);
    if let Some(NoiseRange { first, last }) = found.noise {
        let of_range = |visit: &&Visit| visit.is_of_point() && (first..=last).contains(&visit.point);
        let runs: Vec<&Headline> = sweep.visits.iter().filter(of_range).filter_map(Visit::headline).collect();
        let (low, high) = (rate(sweep, first), rate(sweep, last));
        writeln!(out, "noise decides whether a rate meets {limits}: {}", ranges(found, &runs))?;
        writeln!(out, "  at every rate from {low} to {high} I/Os per s; lowering the rate does not help")?;
        return next_step(sweep, found).map_or(Ok(()), |step| writeln!(out, "  {step}"));
    }
    let Some(holds) = found.holds else {
        let lowest = found.fails.map(|fails| format!("; the lowest rate tried is {} I/Os per s", rate(sweep, fails)));
        writeln!(out, "no rate meets {limits}{}", lowest.unwrap_or_default())?;
        found.fails.map_or(Ok(()), |fails| at(sweep, found, fails, out))?;
        not_confirmed(found, out)?;
        return next_step(sweep, found).map_or(Ok(()), |step| writeln!(out, "  {step}"));
    };
    writeln!(out, "highest rate that meets {limits}: {} I/Os per s", rate(sweep, holds))?;
    at(sweep, found, holds, out)?;
    match (found.fails, found.capacity_iops) {
        (Some(fails), _) => at(sweep, found, fails, out)?,
        (None, Some(capacity)) => {
            writeln!(out, "  without --rate, the target reaches {capacity:.0} I/Os per s; no higher rate was tried")?;
        }
        (None, None) => writeln!(out, "  the search ended at this rate; higher rates may also meet the limits")?,
    }
    not_confirmed(found, out)?;
    next_step(sweep, found).map_or(Ok(()), |step| writeln!(out, "  {step}"))
}

/// The limits: `99th percentile of the response time <= 5.000 ms`.
pub fn limits(found: &LimitFound) -> String {
    let each = found.limits.iter();
    let each = each.map(|limit| format!("{} <= {}", words(limit.figure), value(limit.figure, limit.at_most)));
    each.collect::<Vec<_>>().join(" and ")
}

/// Which runs are counted where not all of a search are.
pub const DECIDING: &str = "that decide";

/// What to do after the search; `None` if its answer needs nothing.
fn next_step(sweep: &Sweep, found: &LimitFound) -> Option<String> {
    let causes = Doubt::of(decisive(sweep, found)).map(|doubt| doubt.causes).filter(|causes| !causes.is_empty());
    if let Some(causes) = causes {
        let names: Vec<&str> = causes.iter().map(|(name, _)| name.as_str()).collect();
        return Some(format!(
            "next: remove the causes of the warnings of these runs ({}) and search again: they delay I/Os whatever the \
             target does",
            names.join(", ")
        ));
    }
    let step = match (found.noise, found.holds) {
        (Some(_), _) => "next: find out what disturbs the runs, measure longer (--confirm), or set another limit",
        (None, Some(_)) => return None,
        (None, None) => "next: find out what delays I/Os at this rate, or allow a larger limit, and search again",
    };
    Some(step.to_owned())
}

fn not_confirmed(found: &LimitFound, out: &mut dyn Write) -> io::Result<()> {
    if found.is_confirmed {
        return Ok(());
    }
    writeln!(
        out,
        "  not confirmed: the runs at these rates vary too much to show on which side of the limit they lie; treat \
         this rate as an estimate"
    )
}

/// The worst verdict among the runs that decided.
fn verdicts(sweep: &Sweep, found: &LimitFound, out: &mut dyn Write) -> io::Result<()> {
    let runs = decisive(sweep, found);
    let severities = runs.iter().filter_map(|run| run.severity);
    let Some((worst, count)) = Severity::worst_above_note(severities) else { return Ok(()) };
    writeln!(out, "  verdict: {} in {count} of the {} runs at these rates", worst.word(), runs.len())
}

/// The runs that decided: those at the two rates around the limit, or those of the range in which noise decides.
pub fn decisive<'a>(sweep: &'a Sweep, found: &LimitFound) -> Vec<&'a Headline> {
    let points: Vec<usize> = match found.noise {
        Some(NoiseRange { first, last }) => (first..=last).collect(),
        None => [found.holds, found.fails].into_iter().flatten().collect(),
    };
    points.into_iter().flat_map(|point| deciding(sweep, point)).collect()
}

/// The runs of a point that decided.
fn deciding(sweep: &Sweep, point: usize) -> Vec<&Headline> {
    stats::sweep::runs(sweep, point).into_iter().filter_map(Visit::headline).collect()
}

/// The limited figures of the deciding runs at a rate.
fn at(sweep: &Sweep, found: &LimitFound, point: usize, out: &mut dyn Write) -> io::Result<()> {
    let runs = deciding(sweep, point);
    if runs.is_empty() {
        return Ok(());
    }
    let iops = runs.iter().map(|run| run.iops).sum::<f64>() / runs.len() as f64;
    let plural = if runs.len() == 1 { "run" } else { "runs" };
    let rate = rate(sweep, point);
    writeln!(out, "  at {rate}: {iops:.2} I/Os per s, {} ({} {plural})", ranges(found, &runs), runs.len())
}

/// The smallest and the largest of each limited figure.
fn ranges(found: &LimitFound, runs: &[&Headline]) -> String {
    let of = |figure: Metric| {
        let values = || runs.iter().filter_map(|run| run.response_value(figure));
        let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
        match (value(figure, low), value(figure, high)) {
            _ if low > high => format!("{} unknown", words(figure)),
            (low, high) if low == high => format!("{} {low}", words(figure)),
            (low, high) => format!("{} {low} to {high}", words(figure)),
        }
    };
    found.limits.iter().map(|limit| of(limit.figure)).collect::<Vec<_>>().join(", ")
}

fn rate(sweep: &Sweep, point: usize) -> &str {
    let settings = sweep.points.get(point).map_or(&[][..], |point| &point.settings[..]);
    settings.first().map_or("?", |setting| &setting.value)
}

fn words(metric: Metric) -> &'static str {
    match metric {
        Metric::Iops => "throughput in I/O per s",
        Metric::MibPerS => "throughput in MiB/s",
        Metric::Mean => "mean response time",
        Metric::P50 => "median response time",
        Metric::P90 => "90th percentile of the response time",
        Metric::P99 => "99th percentile of the response time",
        Metric::P999 => "99.9th percentile of the response time",
        Metric::Max => "highest response time",
        Metric::Cpu => "CPU usage",
    }
}

/// With its unit.
fn value(metric: Metric, value: f64) -> String {
    match metric.unit() {
        MetricUnit::Nanoseconds => format!("{:.3} ms", ms(value)),
        MetricUnit::Percent => format!("{value:.2} %"),
        MetricUnit::IosPerSecond | MetricUnit::MibPerSecond => format!("{value:.2}"),
    }
}
