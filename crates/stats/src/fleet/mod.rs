//! One result of a load that several hosts carried out together.

mod axis;
mod measured;
mod over_time;
mod part;
#[cfg(test)]
mod tests;
mod window;

use crate::{headline, totals};
use axis::{HostAxis, HostClock};
use model::ending::Ending;
use model::fleet::{ClockOffset, Fleet, FleetHost, FleetTimeSpan, HostEnding, HostSeries, HostSystem, HostTimeSpan};
use model::host_timing::HostTiming;
use model::note::Note;
use model::profile::{OfferedRate, Profile, TimeSpan};
use model::result::{Measured, RunResult, TimeSpanResult, Totals};
use model::units::counted;
use model::verification::VerificationFigures;
use part::{HostPart, Numbers};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use window::Window;

/// Corrupt units in a result at most.
const CORRUPT_UNITS_MAX: usize = 100;

/// Most parts of a host's series.
const HOST_SERIES_MAX: usize = 300;

/// Outcome of the load on one host.
#[derive(Clone, Debug, PartialEq)]
pub struct HostResult {
    /// Its name in the fleet.
    pub name: String,
    /// Its number in the load, from 0.
    pub index: usize,
    /// Its result, or why it has none.
    pub outcome: HostOutcome,
    /// How its clock differs from the controller's.
    pub clock: ClockOffset,
}

/// Result of a host, or why it has none.
#[derive(Clone, Debug, PartialEq)]
pub enum HostOutcome {
    /// A result, judged, and the times of its first timespan.
    Finished {
        /// As a run on one machine makes it.
        result: Box<RunResult>,
        /// By the host's clock.
        timing: HostTiming,
    },
    /// Why it has none.
    Failed(Vec<String>),
    /// It no longer answered: the reason, as far as it is known.
    Lost(String),
}

/// A host that sent a result.
struct Sender<'a> {
    name: &'a str,
    result: &'a RunResult,
    timing: &'a HostTiming,
    clock: &'a ClockOffset,
}

impl Sender<'_> {
    fn clock(&self) -> HostClock {
        HostClock::new(*self.clock, self.timing)
    }
}

/// One result of the results of all hosts, which has not been judged yet.
///
/// Counts and histograms are exact sums of everything that any host measured; rates, and everything over time, are
/// those of the window in which all measured. Facts that are meaningful on one machine only (plan, environment, facts
/// of targets, CPUs, counters of the kernel) are left out.
///
/// Threads are numbered through all hosts; paths, devices and messages begin with the host's name. The command line,
/// labels and preset are those of the first host; the caller replaces them.
pub fn merge(mut hosts: Vec<HostResult>) -> RunResult {
    hosts.sort_by_key(|host| host.index);
    let senders: Vec<Sender<'_>> = hosts.iter().filter_map(sender).collect();
    let mut fleet = fleet(&hosts, &senders);
    let unfinished = unfinished(&hosts);
    let refusal = other_time_spans(&senders);
    let span_count = senders.first().map_or(0, |first| first.result.time_spans.len());
    let mut time_spans = Vec::new();
    if refusal.is_none() {
        for index in 0..span_count {
            let (span_result, told) = merge_time_span(&senders, index, &fleet, &unfinished);
            time_spans.push(span_result);
            fleet.time_spans.push(told);
        }
    }
    let first = senders.first().map(|first| first.result);
    let of_hosts = |lines: fn(&RunResult) -> &Vec<String>| -> Vec<String> {
        let host_lines = |sender: &Sender<'_>| {
            lines(sender.result).iter().map(|line| of_host(sender.name, line)).collect::<Vec<_>>()
        };
        senders.iter().flat_map(host_lines).collect()
    };
    let mut errors = of_hosts(|result| &result.errors);
    errors.extend(refusal);
    if time_spans.is_empty() {
        errors.extend(unfinished);
        errors.extend(hosts.iter().filter_map(lost));
    }
    RunResult {
        tool: first.map(|first| first.tool.clone()).unwrap_or_default(),
        command_line: first.map(|first| first.command_line.clone()).unwrap_or_default(),
        labels: first.map(|first| first.labels.clone()).unwrap_or_default(),
        preset: first.and_then(|first| first.preset.clone()),
        started_at: first.map(|first| first.started_at).unwrap_or_default(),
        profile: profile(&senders),
        system: measured::system(
            &senders.iter().map(|sender| (sender.name, &sender.result.system)).collect::<Vec<_>>(),
        ),
        totals: whole(&time_spans),
        time_spans,
        fleet: Some(fleet),
        warnings: of_hosts(|result| &result.warnings),
        errors,
        // Each host's own.
        environment: None,
        targets: model::targets_found::TargetsFound::default(),
        plan: None,
        notes: Vec::new(),
    }
}

/// One result of the timespans of a load, each of which the same hosts carried out as a load of its own. `all` are the
/// profiles of all its timespans; the last ones may have no result, because they were not run. Facts about hosts are
/// those of the first timespan, except how they ended.
pub fn join(results: Vec<RunResult>, all: &[&Profile]) -> RunResult {
    let mut parts = results.into_iter();
    let Some(mut whole) = parts.next() else { return RunResult::default() };
    let mut fleet = whole.fleet.take().unwrap_or_default();
    for part in parts {
        whole.profile.time_spans.extend(part.profile.time_spans);
        whole.time_spans.extend(part.time_spans);
        whole.warnings.extend(part.warnings);
        whole.errors.extend(part.errors);
        let of_part = part.fleet.unwrap_or_default();
        fleet.time_spans.extend(of_part.time_spans);
        for host in of_part.hosts.into_iter().filter(|host| host.ending != HostEnding::Finished) {
            if let Some(known) = fleet.hosts.iter_mut().find(|known| known.index == host.index) {
                known.ending = host.ending;
            }
        }
    }
    if !whole.time_spans.is_empty() {
        for profile in all.iter().skip(whole.time_spans.len()) {
            whole.profile.time_spans.extend(profile.time_spans.iter().cloned());
            let not_run = TimeSpanResult { outcome: Ending::NotRun, ..TimeSpanResult::default() };
            whole.time_spans.extend(profile.time_spans.iter().map(|_| not_run.clone()));
            fleet.time_spans.push(FleetTimeSpan::default());
        }
    }
    whole.totals = self::whole(&whole.time_spans);
    whole.fleet = Some(fleet);
    whole
}

/// The sums of several timespans; of one, its own figures, whose rates are those of the window.
fn whole(time_spans: &[TimeSpanResult]) -> Option<Totals> {
    match time_spans {
        [TimeSpanResult { measured: Some(measured), .. }] => {
            Some(Totals { elapsed_ns: measured.elapsed_ns, figures: measured.total })
        }
        _ => totals(time_spans),
    }
}

fn sender(host: &HostResult) -> Option<Sender<'_>> {
    let HostResult { name, outcome, clock, .. } = host;
    match outcome {
        HostOutcome::Finished { result, timing } => Some(Sender { name, result, timing, clock }),
        HostOutcome::Failed(_) | HostOutcome::Lost(_) => None,
    }
}

/// `h2: message`
fn of_host(name: &str, line: &str) -> String {
    format!("{name}: {line}")
}

/// `h1:/mnt/data/h1.dat`
fn host_path(name: &str, path: &Path) -> PathBuf {
    let mut text = OsString::from(name);
    text.push(":");
    text.push(path);
    text.into()
}

/// Why hosts have no result; those that were lost are reported by a rule.
fn unfinished(hosts: &[HostResult]) -> Vec<String> {
    let reasons = |host: &HostResult| match &host.outcome {
        HostOutcome::Failed(reasons) => reasons.iter().map(|reason| of_host(&host.name, reason)).collect(),
        HostOutcome::Finished { .. } | HostOutcome::Lost(_) => Vec::new(),
    };
    hosts.iter().flat_map(reasons).collect()
}

/// `h3: lost (no heartbeat for 10 s)`
fn lost(host: &HostResult) -> Option<String> {
    match &host.outcome {
        HostOutcome::Lost(reason) => Some(of_host(&host.name, &format!("lost ({reason})"))),
        HostOutcome::Finished { .. } | HostOutcome::Failed(_) => None,
    }
}

/// Why results of different timespans are not one result.
fn other_time_spans(senders: &[Sender<'_>]) -> Option<String> {
    let count = |sender: &Sender<'_>| sender.result.time_spans.len();
    let first = senders.first()?;
    let other = senders.iter().find(|sender| count(sender) != count(first))?;
    Some(format!(
        "the results cannot be merged: {} has {} and {} has {}",
        first.name,
        counted(count(first), "timespan"),
        other.name,
        count(other)
    ))
}

/// The hosts with their times; timespans are added later.
fn fleet(hosts: &[HostResult], senders: &[Sender<'_>]) -> Fleet {
    // The median, so that a clock that is wrong does not move the times of all.
    let known = senders.iter().filter(|host| host.timing.planned_start_ns > 0);
    let mut planned: Vec<i64> = known.map(|host| host.clock().on_axis(host.timing.planned_start_ns)).collect();
    planned.sort_unstable();
    let planned_start_ns = planned.get(planned.len() / 2).copied().unwrap_or_default();
    let mut told = Fleet { planned_start_ns, ..Fleet::default() };
    for HostResult { name, index, outcome, clock } in hosts {
        let mut host = FleetHost { name: name.clone(), index: *index, clock: *clock, ..FleetHost::default() };
        match outcome {
            HostOutcome::Finished { result, timing } => {
                let clock = HostClock::new(*clock, timing);
                let after_start = |host_ns| clock.on_axis(host_ns).saturating_sub(planned_start_ns);
                host.system = Some(HostSystem::from(&result.system));
                host.timing = Some(*timing);
                // A clock that shows 0 was not read: the threads did not start.
                host.start_late_ns = Some(timing.started_ns).filter(|ns| *ns > 0).map(after_start);
                host.done_ns = timing.measured_to_ns.map(after_start);
            }
            HostOutcome::Failed(reasons) => host.ending = HostEnding::Failed { reasons: reasons.clone() },
            HostOutcome::Lost(reason) => host.ending = HostEnding::Lost { reason: reason.clone() },
        }
        told.hosts.push(host);
    }
    let known = |of: fn(&FleetHost) -> Option<i64>| told.hosts.iter().filter_map(of);
    let (first_ns, last_ns) = (known(|host| host.start_late_ns).min(), known(|host| host.start_late_ns).max());
    told.first_done_ns = known(|host| host.done_ns).min();
    told.last_done_ns = known(|host| host.done_ns).max();
    let skew = |first_ns: i64, late_ns: i64| late_ns.abs_diff(first_ns);
    told.start_skew_ns = first_ns.zip(last_ns).filter(|_| senders.len() > 1).map(|(first, last)| skew(first, last));
    for host in &mut told.hosts {
        host.start_skew_ns = first_ns.zip(host.start_late_ns).map(|(first_ns, late_ns)| skew(first_ns, late_ns));
    }
    told
}

/// The requested load of all hosts: their targets one after the other.
fn profile(senders: &[Sender<'_>]) -> Profile {
    let Some(first) = senders.first() else { return Profile::default() };
    let mut profile = first.result.profile.clone();
    for (index, span) in profile.time_spans.iter_mut().enumerate() {
        let all: Vec<(&str, &TimeSpan)> = senders
            .iter()
            .filter_map(|sender| Some((sender.name, sender.result.profile.time_spans.get(index)?)))
            .collect();
        span.targets.clear();
        let mut thread_base = 0u32;
        for (name, other) in &all {
            for target in &other.targets {
                let mut target = target.clone();
                target.path = host_path(name, &target.path);
                for thread_target in &mut target.thread_targets {
                    thread_target.thread = thread_target.thread.saturating_add(thread_base);
                }
                span.targets.push(target);
            }
            thread_base = thread_base.saturating_add(other.thread_count);
        }
        span.thread_count = thread_base;
        span.rate_iops = all.iter().map(|(_, span)| span.rate_iops).reduce(|a, b| Some(sum_of_rates(a?, b?))).flatten();
    }
    profile
}

/// The offered rate of two hosts together.
fn sum_of_rates(a: OfferedRate, b: OfferedRate) -> OfferedRate {
    let ends = |rate| match rate {
        OfferedRate::Steady(iops) => (iops, iops),
        OfferedRate::Ramp { from_iops, to_iops } => (from_iops, to_iops),
    };
    let ((a_from, a_to), (b_from, b_to)) = (ends(a), ends(b));
    let (from_iops, to_iops) = (a_from.saturating_add(b_from), a_to.saturating_add(b_to));
    if a.is_ramp() || b.is_ramp() { OfferedRate::Ramp { from_iops, to_iops } } else { OfferedRate::Steady(from_iops) }
}

fn merge_time_span(
    senders: &[Sender<'_>],
    index: usize,
    fleet: &Fleet,
    unfinished: &[String],
) -> (TimeSpanResult, FleetTimeSpan) {
    // A result of an earlier version has times of the first timespan at most.
    let from_ns = |sender: &Sender<'_>| match sender.result.time_spans[index].timing {
        Some(timing) => timing.measured_from_ns,
        None if index == 0 => sender.timing.measured_from_ns,
        None => None,
    };
    let mut parts = Vec::new();
    let mut numbers = Numbers::default();
    for sender in senders {
        let span_result = &sender.result.time_spans[index];
        let span = sender.result.profile.time_spans.get(index);
        if let Some(measured) = &span_result.measured {
            let axis = HostAxis::new(from_ns(sender), &sender.clock(), measured.elapsed_ns);
            parts.push(HostPart {
                name: sender.name,
                cpu_count: sender.result.system.topology.cpus.len(),
                measured,
                axis,
                numbers,
            });
        }
        numbers = numbers.after(span, span_result);
    }
    let with_axis: Vec<(HostAxis, &Measured)> = parts.iter().map(|part| (part.axis, part.measured)).collect();
    let window = Window::from_hosts(&with_axis);
    let start_ns = window.map(|window| window.start_ns);
    let merged_span = senders.first().and_then(|first| first.result.profile.time_spans.get(index));
    let is_complete = unfinished.is_empty() && fleet.without_result().next().is_none();
    let measured = measured::merge(&parts, window.as_ref(), merged_span).map(|measured| Measured {
        is_partial: measured.is_partial || !is_complete || parts.len() < senders.len(),
        ..measured
    });
    let spans: Vec<(&str, &TimeSpanResult)> =
        senders.iter().map(|sender| (sender.name, &sender.result.time_spans[index])).collect();
    let mut errors: Vec<String> = if index == 0 { unfinished.to_vec() } else { Vec::new() };
    for (name, span_result) in &spans {
        errors.extend(span_result.errors.iter().map(|error| of_host(name, error)));
    }
    let mut span_result = TimeSpanResult {
        outcome: if unfinished.is_empty() { ending(&spans) } else { Ending::Failed },
        errors,
        engines: spans.iter().flat_map(|(_, span_result)| &span_result.engines).copied().collect(),
        buffer_separation_bytes: spans.first().map_or(0, |(_, span_result)| span_result.buffer_separation_bytes),
        measured,
        verification: verification(&spans, &parts),
        ..TimeSpanResult::default()
    };
    headline::summarise(merged_span, &mut span_result);
    let of_host = |sender: &Sender<'_>| {
        let part = parts.iter().find(|part| part.name == sender.name);
        host_time_span(sender, index, part, start_ns)
    };
    let told = FleetTimeSpan {
        window: window.map(|window| window.in_common_window(Some(fleet.planned_start_ns))),
        hosts: senders.iter().map(of_host).collect(),
    };
    (span_result, told)
}

/// The worst of the hosts'.
fn ending(spans: &[(&str, &TimeSpanResult)]) -> Ending {
    let is_any = |ending| spans.iter().any(|(_, span_result)| span_result.outcome == ending);
    let is_all = |ending| spans.iter().all(|(_, span_result)| span_result.outcome == ending);
    if is_any(Ending::Failed) {
        Ending::Failed
    } else if is_all(Ending::NotRun) {
        Ending::NotRun
    } else if is_all(Ending::Completed) {
        Ending::Completed
    } else {
        Ending::Stopped
    }
}

fn host_time_span(
    sender: &Sender<'_>,
    index: usize,
    part: Option<&HostPart<'_>>,
    start_ns: Option<i64>,
) -> HostTimeSpan {
    let span_result = &sender.result.time_spans[index];
    let total = part.map(|part| part.measured.total).unwrap_or_default();
    let known = part.map(|part| part.axis).filter(|axis| axis.uncertainty_ns.is_some());
    let notes = span_result.notes.iter().chain(&sender.result.notes);
    HostTimeSpan {
        host: sender.name.to_owned(),
        outcome: span_result.outcome,
        elapsed_ns: part.map_or(0, |part| part.measured.elapsed_ns),
        begins_ns: known.zip(start_ns).map(|(axis, start_ns)| axis.begins_ns.saturating_sub(start_ns)),
        read_ios: total.read.ios,
        write_ios: total.write.ios,
        bytes: total.total.bytes,
        headline: headline::headline(span_result),
        verdict: span_result.verdict.clone(),
        notes: notes.map(Note::to_string).collect(),
        series: part.map(|part| host_series(part.measured)).unwrap_or_default(),
    }
}

fn host_series(measured: &Measured) -> HostSeries {
    let series = &measured.series;
    let mut width_ns = series.width_ns;
    let mut ios: Vec<u64> =
        series.read.ios.iter().zip(&series.write.ios).map(|(read, write)| read.saturating_add(*write)).collect();
    while ios.len() > HOST_SERIES_MAX {
        ios = ios.chunks_exact(2).map(|pair| pair[0].saturating_add(pair[1])).collect();
        width_ns = width_ns.saturating_mul(2);
    }
    HostSeries { width_ns, ios }
}

/// The sums, and the first corrupt units of all; `None` if no host verified.
fn verification(spans: &[(&str, &TimeSpanResult)], parts: &[HostPart<'_>]) -> Option<VerificationFigures> {
    let mut merged: Option<VerificationFigures> = None;
    for (name, span_result) in spans {
        let Some(figures) = &span_result.verification else { continue };
        let thread = parts.iter().find(|part| part.name == *name).map_or(0, |part| part.numbers.thread);
        let mut figures = figures.clone();
        for unit in &mut figures.first {
            unit.path = host_path(name, &unit.path);
            unit.thread = unit.thread.saturating_add(thread);
        }
        merged = Some(match merged {
            None => figures,
            Some(sum) => sum_of_verifications(sum, figures),
        });
    }
    merged
}

fn sum_of_verifications(a: VerificationFigures, b: VerificationFigures) -> VerificationFigures {
    let VerificationFigures {
        unit_bytes,
        is_exact,
        checked_units,
        unchecked_units,
        unchecked_percent: _,
        waiting_ios,
        unreadable_ios,
        corrupt,
        first,
    } = b;
    let mut sum = a;
    sum.unit_bytes = sum.unit_bytes.max(unit_bytes);
    sum.is_exact &= is_exact;
    sum.checked_units = sum.checked_units.saturating_add(checked_units);
    sum.unchecked_units = sum.unchecked_units.saturating_add(unchecked_units);
    sum.unchecked_percent = crate::verification::unchecked_percent(sum.checked_units, sum.unchecked_units);
    sum.waiting_ios = sum.waiting_ios.saturating_add(waiting_ios);
    sum.unreadable_ios = sum.unreadable_ios.saturating_add(unreadable_ios);
    for class in corrupt {
        match sum.corrupt.iter_mut().find(|of| of.class == class.class) {
            Some(of) => of.units = of.units.saturating_add(class.units),
            None => sum.corrupt.push(class),
        }
    }
    sum.first.extend(first);
    sum.first.sort_by_key(|unit| unit.at_ns);
    sum.first.truncate(CORRUPT_UNITS_MAX);
    sum
}
