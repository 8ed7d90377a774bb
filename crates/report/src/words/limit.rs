//! The highest rate that meets limits, in words.

use crate::numbers::{grouped, latency, ms, trimmed};
use model::doubt::RunWarnings;
use model::headline::Headline;
use model::limit::{Limit, LimitFound, NoiseRange};
use model::metric::{Metric, MetricUnit, Scope};
use model::sweep::{Sweep, Visit};
use model::units::{counted, pluralized};
use stats::limit::{LimitsMet, NOISE_SPAN_MIN, highest_always_met, met};

/// The answer of a search that was stopped.
pub const UNFINISHED: &str = "no answer: the search for the highest rate had not ended";

/// True for a search without an answer, because it was stopped or still runs.
pub fn is_unfinished(sweep: &Sweep) -> bool {
    sweep.limit.is_none() && typed(sweep).next().is_some()
}

/// The limits of a search as typed: `p99=5ms`.
pub fn typed(sweep: &Sweep) -> impl Iterator<Item = &str> {
    sweep.own_words().filter_map(|word| word.strip_prefix("--limit="))
}

/// The answer: a rate that was not confirmed is an estimate.
pub fn headline(sweep: &Sweep, found: &LimitFound) -> String {
    let limits = limits(&found.limits);
    if let Some(NoiseRange { first, last }) = found.noise {
        let (low, high) = (rate(sweep, first), rate(sweep, last));
        return format!("no answer from {low} to {high} I/Os per second: noise decides whether a run meets {limits}");
    }
    if !found.is_confirmed {
        return unconfirmed(sweep, found);
    }
    let answer = match found.holds {
        Some(holds) => format!("highest rate that meets {limits}: {} I/Os per second", rate(sweep, holds)),
        None => format!("no rate meets {limits}"),
    };
    // A disturbance of all runs may be why a limit is met by no rate, or only by low ones.
    match RunWarnings::from_runs(&decisive(sweep, found)).and_then(|doubt| doubt.of_all()) {
        Some(_) => format!("no firm answer: {answer}"),
        None => answer,
    }
}

/// The confirmed bounds, then the estimate; the first line of the details names the limits.
fn unconfirmed(sweep: &Sweep, found: &LimitFound) -> String {
    let always = highest_always_met(sweep, found);
    let limit = pluralized(found.limits.len(), "limit");
    let estimate = |holds: usize| match met(sweep, found, holds) {
        LimitsMet { runs: 0, .. } => "is an estimate, without a run at this rate".to_owned(),
        LimitsMet { met, runs } => format!("is an estimate, met in {met} of {}", counted(runs, "run")),
    };
    let above = always.map(|point| format!(" above {} I/Os per second", rate(sweep, point))).unwrap_or_default();
    let certain = format!("no rate{above} met the {limit} in all of its runs");
    match found.holds {
        Some(holds) if always >= Some(holds) => format!(
            "the highest rate that meets the {limit} is not confirmed: {} I/Os per second {}",
            rate(sweep, holds),
            estimate(holds)
        ),
        Some(holds) => format!("{certain}; {} {}", rate(sweep, holds), estimate(holds)),
        None => certain,
    }
}

/// The runs at the rates that decided, and the reasons why they are no proof: a line each.
pub fn details(sweep: &Sweep, found: &LimitFound) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(NoiseRange { first, last }) = found.noise {
        let visits_at = |points: std::ops::Range<usize>| {
            let visits = sweep.visits.iter().filter(|visit| visit.is_of_point() && points.contains(&visit.point));
            visits.filter_map(|visit| Some((visit.point, visit.headline()?))).collect::<Vec<_>>()
        };
        let runs: Vec<&Headline> = visits_at(first..last + 1).into_iter().map(|(_, run)| run).collect();
        lines.push(format!("there: {} in {}", ranges(found, &runs), counted(runs.len(), "run")));
        lines.push(format!(
            "some of these runs met the limit and others did not, and over a factor of {NOISE_SPAN_MIN} or more in rate, lower \
             rates did not meet it more often than chance explains"
        ));
        let below = visits_at(0..first);
        lines.push(match below.iter().map(|(point, _)| *point).max() {
            Some(highest) => format!(
                "at lower rates, up to {} I/Os per second, every run met the limit ({})",
                rate(sweep, highest),
                counted(below.len(), "run")
            ),
            None => "no lower rate was tried".to_owned(),
        });
        let above = visits_at(last + 1..sweep.points.len()).len();
        lines.extend((above > 0).then(|| format!("at higher rates no run met the limit ({})", counted(above, "run"))));
        return lines;
    }
    if !found.is_confirmed {
        lines.push(format!("limit: {}", limits(&found.limits)));
    }
    let always = highest_always_met(sweep, found).filter(|point| !found.is_confirmed && Some(*point) < found.holds);
    lines.extend(always.into_iter().chain(found.holds).filter_map(|point| at(sweep, found, point)));
    match (found.holds, found.fails, found.capacity_iops) {
        (None, Some(fails), _) => {
            lines.push(format!("the lowest rate tried is {} I/Os per second", rate(sweep, fails)));
            lines.extend(at(sweep, found, fails));
        }
        (Some(_), Some(fails), _) => lines.extend(at(sweep, found, fails)),
        (Some(_), None, Some(capacity)) => lines.push(format!(
            "without --rate, the target reaches {} I/Os per second; no higher rate was tried",
            grouped(capacity)
        )),
        (Some(_), None, None) => {
            lines.push("the search ended at this rate; higher rates may also meet the limits".to_owned());
        }
        (None, None, _) => {}
    }
    if !found.is_confirmed {
        let estimate =
            found.holds.map(|_| "; the estimate is about 5 % below where a curve fitted to all runs crosses the limit");
        lines.push(format!(
            "not confirmed: runs near the limit vary too much to show from which rate on it is missed{}",
            estimate.unwrap_or_default()
        ));
    }
    lines
}

/// The limits: `99th percentile of the response time <= 5 ms`.
pub fn limits(limits: &[Limit]) -> String {
    let shown = |limit: &Limit| match limit.figure.unit() {
        // Not rounded to three digits, as measured times are.
        MetricUnit::Nanoseconds => format!("{} ms", trimmed(ms(limit.at_most), 6)),
        _ => value(limit.figure, limit.at_most),
    };
    let each = limits.iter().map(|limit| format!("{} <= {}", words(limit), shown(limit)));
    each.collect::<Vec<_>>().join(" and ")
}

/// The runs that decided: `at 54,789 and 61,701 I/Os per second`.
pub fn which_runs(sweep: &Sweep, found: &LimitFound) -> String {
    let with_runs = |point: &usize| !deciding(sweep, *point).is_empty();
    let rates = match (found.noise, found.holds.filter(with_runs), found.fails.filter(with_runs)) {
        (Some(NoiseRange { first, last }), ..) => format!("from {} to {}", rate(sweep, first), rate(sweep, last)),
        (None, Some(holds), Some(fails)) => format!("at {} and {}", rate(sweep, holds), rate(sweep, fails)),
        (None, holds, fails) => format!("at {}", holds.or(fails).map_or_else(|| "?".to_owned(), |at| rate(sweep, at))),
    };
    format!("{rates} I/Os per second")
}

/// Warnings that a rate above the sustainable one causes: at a rate that does not meet the limits, they confirm the
/// answer.
const OF_OVERLOAD: [&str; 2] = ["depth-limited", "starts-not-made"];

/// The figures of a run at a rate of a search, without these warnings if the rate is above the answer.
pub fn without_overload(found: &LimitFound, point: usize, run: &Headline) -> Headline {
    // If noise decides, the runs of its whole range are the answer.
    let answer = found.noise.map(|noise| noise.last).or(found.holds);
    let is_above = answer.is_some_and(|answer| point > answer);
    if is_above { run.without_warnings(&OF_OVERLOAD) } else { run.clone() }
}

/// The advice on a finding in a search; `None` if it is the same as in a run.
pub fn advice(name: &str) -> Option<&'static str> {
    match name {
        "short-run" => Some(
            "let the runs of the search be longer (--probe for first looks, --confirm for runs that decide): cache \
             exhaustion, garbage collection and the end of a CPU boost only show up in longer runs",
        ),
        "starts-not-made" => {
            Some("nothing; the search also tries rates that are too high, and such a rate shows like this")
        }
        _ => None,
    }
}

/// The runs that decided: those at the two rates around the limit, or those of the range in which noise decides.
pub fn decisive(sweep: &Sweep, found: &LimitFound) -> Vec<Headline> {
    if let Some(NoiseRange { first, last }) = found.noise {
        return (first..=last).flat_map(|point| deciding(sweep, point)).cloned().collect();
    }
    let [holds, fails] = [found.holds, found.fails].map(|point| point.into_iter().flat_map(|at| deciding(sweep, at)));
    match found.holds {
        Some(_) => holds.cloned().chain(fails.map(|run| run.without_warnings(&OF_OVERLOAD))).collect(),
        None => fails.cloned().collect(),
    }
}

/// The runs of a point that decided.
fn deciding(sweep: &Sweep, point: usize) -> Vec<&Headline> {
    stats::sweep::runs(sweep, point).into_iter().filter_map(Visit::headline).collect()
}

/// The throughput and the limited figures of the deciding runs at a rate.
fn at(sweep: &Sweep, found: &LimitFound, point: usize) -> Option<String> {
    let runs = deciding(sweep, point);
    let iops = grouped(stats::sweep::figures(sweep, point)?.iops);
    let median = if runs.len() > 1 { " in the median run" } else { "" };
    let LimitsMet { met, runs: all } = met(sweep, found, point);
    Some(format!(
        "at {}: {iops} I/Os per second{median}, {}, limit met in {met} of {}",
        rate(sweep, point),
        ranges(found, &runs),
        counted(all, "run")
    ))
}

/// The smallest and the largest of each limited figure.
fn ranges(found: &LimitFound, runs: &[&Headline]) -> String {
    let limit_with_range = |limit: &Limit| format!("{} {}", words(limit), range(limit, runs).unwrap_or_else(unknown));
    found.limits.iter().map(limit_with_range).collect::<Vec<_>>().join(", ")
}

fn unknown() -> String {
    "unknown".to_owned()
}

/// `6.44 ms to 39.4 ms`; `None` if no run has the figure.
pub fn range(limit: &Limit, runs: &[&Headline]) -> Option<String> {
    let figure = limit.figure;
    let values = || runs.iter().filter_map(|run| limit.value(run));
    let (low, high) = (values().min_by(f64::total_cmp)?, values().max_by(f64::total_cmp)?);
    Some(match (value(figure, low), value(figure, high)) {
        (low, high) if low == high => low,
        (low, high) => format!("{low} to {high}"),
    })
}

/// The rate of a point, with commas between thousands.
pub fn rate(sweep: &Sweep, point: usize) -> String {
    let settings = sweep.points.get(point).map_or(&[][..], |point| &point.settings[..]);
    let typed = settings.first().map_or("?", |setting| &setting.value);
    typed.parse().map_or_else(|_| typed.to_owned(), grouped)
}

fn words(limit: &Limit) -> String {
    match limit.metric() {
        (_, Metric::Cpu) => "CPU usage".to_owned(),
        (_, Metric::IoCpu) => "CPU usage without other programs".to_owned(),
        (Scope::Response, metric) => metric.meaning().replace("latency", "response time"),
        (scope, metric) => scope.label(metric.meaning()),
    }
}

/// With its unit.
fn value(metric: Metric, value: f64) -> String {
    match metric.unit() {
        MetricUnit::Nanoseconds => latency(value),
        MetricUnit::Percent => format!("{value:.2} %"),
        MetricUnit::IosPerSecond | MetricUnit::MibPerSecond => grouped(value),
    }
}
