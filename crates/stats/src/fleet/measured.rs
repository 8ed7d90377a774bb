//! The figures of all hosts together, field by field.

use super::over_time;
use super::part::HostPart;
use super::window::Window;
use super::{host_path, of_host};
use crate::accuracy::Accuracy;
use crate::combine::{pooled, pooled_latency};
use crate::cpu;
use crate::latency::{PERCENTILE_RANKS_PPB, percentiles_of, upper_edge_ns};
use crate::ranks::{P50_PPB, P99_PPB};
use model::confidence::FigureSteadiness;
use model::course::{CpuCourse, SectionFigures, Series};
use model::facts::SystemFacts;
use model::figures::{
    Directions, Figures, FlushFigures, LatencyDistribution, OperationFigures, RotationFigures, SizeFigures,
};
use model::fleet::few_names;
use model::kernel_log::KernelMessage;
use model::limits::{KERNEL_MESSAGES, SLOWEST_IOS};
use model::operation::Operation;
use model::profile::TimeSpan;
use model::record::{
    CellCounts, SectionCounts, SectionRecord, SeriesCell, SeriesRecord, SlowIo, Tally, TimeSpanRecord,
};
use model::result::{
    CpuUsage, DistributionUse, DistributionUser, LoadLoop, Measured, OpenLoop, RampInterval, ReductionFigures, Row,
    SkewFigures, StreamFigures, Submissions, TargetLatencies, ThreadSubmissions, ThreadWaits,
};
use model::storage_course::{CacheFigures, DeviceCourse, DeviceStep, ShareCourse, ShareStep};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The machine of a fleet: the facts that are the same on all hosts.
pub(super) fn system(hosts: &[(&str, &SystemFacts)]) -> SystemFacts {
    let Some((_, first)) = hosts.first() else { return SystemFacts::default() };
    let is_same = |of: fn(&SystemFacts) -> &str| hosts.iter().all(|(_, other)| of(other) == of(first));
    let processor = |system: &SystemFacts| system.processor_name.clone();
    let power = |system: &SystemFacts| system.power_scheme.clone();
    let names: Vec<&str> = hosts.iter().map(|(name, _)| *name).collect();
    SystemFacts {
        computer_name: few_names(&names),
        kernel_release: if is_same(|system| &system.kernel_release) {
            first.kernel_release.clone()
        } else {
            String::new()
        },
        processor_name: hosts
            .iter()
            .all(|(_, other)| processor(other) == processor(first))
            .then(|| processor(first))
            .flatten(),
        power_scheme: hosts.iter().all(|(_, other)| power(other) == power(first)).then(|| power(first)).flatten(),
        page_size_bytes: if hosts.iter().all(|(_, other)| other.page_size_bytes == first.page_size_bytes) {
            first.page_size_bytes
        } else {
            0
        },
        ..SystemFacts::default()
    }
}

/// `None` if no host measured.
///
/// Counts, histograms and everything that is computed from them are of all I/Os that any host measured. The rates of
/// `total`, and everything over time, are of the window, from whose start times count; other rates are sums of the
/// hosts' own rates. Without a window nothing is reported over time.
pub(super) fn merge(parts: &[HostPart<'_>], window: Option<&Window>, span: Option<&TimeSpan>) -> Option<Measured> {
    let first = parts.first()?.measured;
    let all = || parts.iter().map(|part| part.measured);
    let interval_ns = span.map_or(0, |span| u64::from(span.interval_ms) * 1_000_000);
    let layout = window.and_then(|window| over_time::intervals(parts, window.start_ns, interval_ns));
    let intervals = layout.as_ref().map(|layout| layout.sum(parts, interval_ns)).unwrap_or_default();
    let (series, sections) = match window {
        Some(window) => (over_time::series(parts, window.start_ns), over_time::sections(parts, window.start_ns)),
        None => (Series::default(), Vec::new()),
    };
    let elapsed_ns =
        window.map_or_else(|| all().map(|measured| measured.elapsed_ns).max(), |window| Some(window.length_ns));
    let record = record(&series, &sections);
    let measures_latency = !series.read.latency_sum_ns.is_empty() || !series.write.latency_sum_ns.is_empty();
    let accuracy = Accuracy::new(&record, measures_latency);
    let varies = span.is_some_and(TimeSpan::varies_rate);
    let (distributions, rows) = rows(parts, layout.as_ref());
    let slowest = slowest(parts, window);
    let flush_latency = if_all(parts, |measured| measured.flush_latency.as_ref());
    let commit_latency = if_all(parts, |measured| measured.commit_latency.as_ref());
    // No field is left to a default: the merge of a new one must be decided here.
    let merged = Measured {
        elapsed_ns: elapsed_ns.unwrap_or(0),
        is_partial: all().any(|measured| measured.is_partial),
        is_latency_run: all().any(|measured| measured.is_latency_run),
        thread_count: all().map(|measured| measured.thread_count).fold(0, u32::saturating_add),
        request_count: first
            .request_count
            .filter(|_| all().all(|measured| measured.request_count == first.request_count)),
        effective_affinity: None,
        mixed_cores: None,
        cpus: Vec::new(),
        cpu_average: cpu_average(parts),
        cpu_course: CpuCourse::default(),
        distributions,
        rows,
        total: total(parts, window, &intervals),
        intervals,
        target_latencies: target_latencies(parts),
        total_latency: total_latency(parts),
        submissions: submissions(parts),
        waits: waits(parts),
        load_loop: load_loop(parts),
        flushes: all().map(|measured| measured.flushes).reduce(|a, b| Some(flushes(a?, b?))).flatten().map(|of| {
            let at = |rank_ppb| flush_latency.as_ref()?.at(rank_ppb);
            let commit = commit_latency.as_ref().and_then(crate::flushes::commit);
            FlushFigures { p50_ns: at(P50_PPB), p99_ns: at(P99_PPB), commit, ..of }
        }),
        // A trace is replayed on one host.
        replay: None,
        flush_latency,
        commit_latency,
        rotations: rotations(parts),
        operations: operations(parts),
        sizes: sizes(parts),
        skews: skews(parts),
        streams: streams(parts),
        reductions: reductions(parts),
        confidence: accuracy.confidence(),
        // A load that varies by itself shows nothing about the storage. The slowest I/Os show stalls of one host, whose
        // own result has them.
        steadiness: if varies || series.width_ns == 0 { FigureSteadiness::default() } else { accuracy.steadiness(&[]) },
        devices: devices(parts, window),
        shares: shares(parts, window),
        caches: caches(parts),
        kernel_messages: kernel_messages(parts, window),
        slowest,
        series,
        sections,
    };
    Some(merged)
}

/// Lists by target or device one after the other; `name` adapts the entries of each host.
fn of_targets<T: Clone>(
    parts: &[HostPart<'_>],
    of: fn(&Measured) -> &Vec<T>,
    name: impl Fn(&mut T, &HostPart<'_>),
) -> Vec<T> {
    let mut all = Vec::new();
    for part in parts {
        for entry in of(part.measured) {
            let mut entry = entry.clone();
            name(&mut entry, part);
            all.push(entry);
        }
    }
    all
}

/// A time since the start of the host's measurement, since the start of the window and within it.
fn moved_ns(part: &HostPart<'_>, window: Option<&Window>, since_start_ns: u64) -> u64 {
    let Some(window) = window else { return since_start_ns };
    let moved = since_start_ns.saturating_add_signed(part.axis.shift_ns(window.start_ns));
    moved.min(window.length_ns)
}

/// The series and sections as if one machine had recorded them: their confidence and steadiness are computed in the
/// same way. Moments of sections are left out, as nothing is computed from them.
fn record(series: &Series, sections: &[model::course::Section]) -> TimeSpanRecord {
    let at = |amounts: &[u64], index: usize| amounts.get(index).copied().unwrap_or(0);
    let counts = |side: &model::course::SeriesCounts, index| CellCounts {
        ios: at(&side.ios, index),
        bytes: at(&side.bytes, index),
        latency_sum_ns: at(&side.latency_sum_ns, index),
    };
    let cell = |index| SeriesCell { read: counts(&series.read, index), write: counts(&series.write, index) };
    let side = |figures: &Option<SectionFigures>| match figures {
        None => SectionCounts::default(),
        Some(figures) => SectionCounts {
            // Intervals of percentiles reach no further than the latencies.
            tally: Tally {
                count: figures.ios,
                min_ns: figures.latency.min_ns.unwrap_or(0),
                max_ns: figures.latency.max_ns.unwrap_or(u64::MAX),
                ..Tally::default()
            },
            bytes: figures.bytes,
            histogram: figures.histogram.clone(),
        },
    };
    let section = |section: &model::course::Section| SectionRecord {
        start_ns: section.start_ns,
        end_ns: section.end_ns,
        read: side(&section.read),
        write: side(&section.write),
        response: SectionCounts::default(),
    };
    TimeSpanRecord {
        series: SeriesRecord { width_ns: series.width_ns, cells: (0..series.read.ios.len()).map(cell).collect() },
        sections: sections.iter().map(section).collect(),
        ..TimeSpanRecord::default()
    }
}

fn skews(parts: &[HostPart<'_>]) -> Vec<SkewFigures> {
    let name = |skew: &mut SkewFigures, part: &HostPart<'_>| {
        skew.target = skew.target.saturating_add(part.numbers.target);
        skew.path = host_path(part.name, &skew.path);
    };
    of_targets(parts, |measured| &measured.skews, name)
}

fn reductions(parts: &[HostPart<'_>]) -> Vec<ReductionFigures> {
    let name = |reduction: &mut ReductionFigures, part: &HostPart<'_>| {
        reduction.target = reduction.target.saturating_add(part.numbers.target);
        reduction.path = host_path(part.name, &reduction.path);
    };
    of_targets(parts, |measured| &measured.reductions, name)
}

/// `h1:nvme0n1`
fn devices(parts: &[HostPart<'_>], window: Option<&Window>) -> Vec<DeviceCourse> {
    let name = |course: &mut DeviceCourse, part: &HostPart<'_>| {
        course.device = format!("{}:{}", part.name, course.device);
        for DeviceStep { start_ns, end_ns, .. } in &mut course.steps {
            (*start_ns, *end_ns) = (moved_ns(part, window, *start_ns), moved_ns(part, window, *end_ns));
        }
        course.steps.retain(|step| step.end_ns > step.start_ns);
    };
    of_targets(parts, |measured| &measured.devices, name)
}

/// Each host has counters of its own.
fn caches(parts: &[HostPart<'_>]) -> Vec<CacheFigures> {
    let name = |of: &mut CacheFigures, part: &HostPart<'_>| of.cache = format!("{}:{}", part.name, of.cache);
    of_targets(parts, |measured| &measured.caches, name)
}

/// A share that several hosts have mounted has the requests of each in a course of its own.
fn shares(parts: &[HostPart<'_>], window: Option<&Window>) -> Vec<ShareCourse> {
    let name = |course: &mut ShareCourse, part: &HostPart<'_>| {
        course.mount_point = host_path(part.name, &course.mount_point);
        for ShareStep { start_ns, end_ns, .. } in &mut course.steps {
            (*start_ns, *end_ns) = (moved_ns(part, window, *start_ns), moved_ns(part, window, *end_ns));
        }
        course.steps.retain(|step| step.end_ns > step.start_ns);
    };
    of_targets(parts, |measured| &measured.shares, name)
}

/// Volumes and rates added up; the latency is pooled. Rates of parts that were measured by different clocks add up,
/// too: each is per second of its host.
fn added(parts: impl Iterator<Item = Figures> + Clone) -> Figures {
    let mut sum = Figures { latency: pooled_latency(parts.clone()), ..Figures::default() };
    for Figures { bytes, ios, bytes_per_s, iops, latency: _, iops_std_dev: _ } in parts {
        sum.bytes = sum.bytes.saturating_add(bytes);
        sum.ios = sum.ios.saturating_add(ios);
        sum.bytes_per_s += bytes_per_s;
        sum.iops += iops;
    }
    sum
}

fn added_directions(parts: impl Iterator<Item = Directions<Figures>> + Clone) -> Directions<Figures> {
    Directions {
        read: added(parts.clone().map(|of| of.read)),
        write: added(parts.clone().map(|of| of.write)),
        total: added(parts.map(|of| of.total)),
    }
}

/// Exact sums with the rates of the window.
fn total(
    parts: &[HostPart<'_>],
    window: Option<&Window>,
    intervals: &[Directions<model::figures::IntervalFigures>],
) -> Directions<Figures> {
    let mut total = added_directions(parts.iter().map(|part| part.measured.total));
    if let Some(window) = window {
        let seconds = window.length_ns as f64 / 1e9;
        for (figures, amounts) in [(&mut total.read, window.read), (&mut total.write, window.write)] {
            figures.iops = amounts.ios / seconds;
            figures.bytes_per_s = amounts.bytes / seconds;
        }
        total.total.iops = total.read.iops + total.write.iops;
        total.total.bytes_per_s = total.read.bytes_per_s + total.write.bytes_per_s;
    }
    if let Some(deviations) = over_time::std_devs(intervals) {
        total.read.iops_std_dev = Some(deviations.read);
        total.write.iops_std_dev = Some(deviations.write);
        total.total.iops_std_dev = Some(deviations.total);
    }
    total
}

/// The mean over the CPUs of all machines.
fn cpu_average(parts: &[HostPart<'_>]) -> CpuUsage {
    let weight = |part: &HostPart<'_>| part.cpu_count.max(1) as f64;
    cpu::weighted_average(&parts.iter().map(|part| (&part.measured.cpu_average, weight(part))).collect::<Vec<_>>())
}

/// The rows of all hosts, and the distributions that they used, each listed once.
fn rows(parts: &[HostPart<'_>], layout: Option<&over_time::Layout>) -> (Vec<DistributionUse>, Vec<Row>) {
    let mut distributions: Vec<DistributionUse> = Vec::new();
    let mut rows = Vec::new();
    for (host, part) in parts.iter().enumerate() {
        let thread = |thread: u32| thread.saturating_add(part.numbers.thread);
        let user = |user: &DistributionUser| DistributionUser {
            path: host_path(part.name, &user.path),
            threads: user.threads.iter().copied().map(thread).collect(),
        };
        let mut places = Vec::new();
        for DistributionUse { distribution, users } in &part.measured.distributions {
            let users = users.iter().map(user);
            let known = distributions.iter().position(|known| known.distribution == *distribution);
            places.push(known.unwrap_or(distributions.len()));
            match known {
                Some(index) => distributions[index].users.extend(users),
                None => {
                    distributions.push(DistributionUse { distribution: distribution.clone(), users: users.collect() });
                }
            }
        }
        for row in &part.measured.rows {
            rows.push(Row {
                thread: thread(row.thread),
                target: row.target.saturating_add(part.numbers.target),
                path: host_path(part.name, &row.path),
                intervals: layout.map(|layout| layout.select(host, &row.intervals)).unwrap_or_default(),
                distribution: row.distribution.and_then(|index| places.get(index).copied()),
                ..row.clone()
            });
        }
    }
    for of in &mut distributions {
        of.users.sort_by(|a, b| a.path.cmp(&b.path));
    }
    (distributions, rows)
}

/// One distribution of all I/Os: counts by bucket add up, and percentiles are those of the sums. `None` if there are
/// none.
pub(super) fn distribution<'a>(of: impl Iterator<Item = &'a LatencyDistribution>) -> Option<LatencyDistribution> {
    let all: Vec<&LatencyDistribution> = of.collect();
    let figures = pooled(all.iter().map(|of| (of.count, of.figures)))?;
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    for (index, count) in all.iter().flat_map(|of| &of.buckets) {
        let sum = counts.entry(*index).or_default();
        *sum = sum.saturating_add(*count);
    }
    let buckets: Vec<(u32, u64)> = counts.into_iter().collect();
    let extremes = (figures.min_ns.unwrap_or(0), figures.max_ns.unwrap_or(u64::MAX));
    Some(LatencyDistribution {
        count: all.iter().fold(0, |sum, of| sum.saturating_add(of.count)),
        figures,
        percentiles: if buckets.is_empty() {
            Vec::new()
        } else {
            percentiles_of(&buckets, upper_edge_ns, extremes, PERCENTILE_RANKS_PPB)
        },
        distinct_values: buckets.len() as u64,
        buckets,
    })
}

/// `None` if a host has none.
fn if_all(parts: &[HostPart<'_>], of: fn(&Measured) -> Option<&LatencyDistribution>) -> Option<LatencyDistribution> {
    let all: Option<Vec<_>> = parts.iter().map(|part| of(part.measured)).collect();
    distribution(all?.into_iter())
}

fn distribution_directions<'a>(
    of: impl Iterator<Item = &'a Directions<Option<LatencyDistribution>>> + Clone,
) -> Directions<Option<LatencyDistribution>> {
    Directions {
        read: distribution(of.clone().filter_map(|of| of.read.as_ref())),
        write: distribution(of.clone().filter_map(|of| of.write.as_ref())),
        total: distribution(of.filter_map(|of| of.total.as_ref())),
    }
}

/// `None` if a host has none.
fn total_latency(parts: &[HostPart<'_>]) -> Option<Directions<Option<LatencyDistribution>>> {
    let all: Option<Vec<_>> = parts.iter().map(|part| part.measured.total_latency.as_ref()).collect();
    all.map(|all| distribution_directions(all.into_iter()))
}

/// Of each host's targets; a host that has one target has its latencies only in its total.
fn target_latencies(parts: &[HostPart<'_>]) -> Vec<TargetLatencies> {
    let mut all = Vec::new();
    for HostPart { name, measured, .. } in parts {
        let own = measured.target_latencies.iter();
        all.extend(own.map(|of| TargetLatencies { path: host_path(name, &of.path), latency: of.latency.clone() }));
        if let ([], Some(latency), Some(row)) =
            (&measured.target_latencies[..], &measured.total_latency, measured.rows.first())
        {
            all.push(TargetLatencies { path: host_path(name, &row.path), latency: latency.clone() });
        }
    }
    if all.len() > 1 { all } else { Vec::new() }
}

/// `None` if a host's are unknown.
fn submissions(parts: &[HostPart<'_>]) -> Option<Submissions> {
    let mut all = Submissions::default();
    for part in parts {
        let Submissions { threads, total_per_s } = part.measured.submissions.as_ref()?;
        let thread =
            |of: &ThreadSubmissions| ThreadSubmissions { thread: of.thread.saturating_add(part.numbers.thread), ..*of };
        all.threads.extend(threads.iter().map(thread));
        all.total_per_s += total_per_s;
    }
    Some(all)
}

fn waits(parts: &[HostPart<'_>]) -> Vec<ThreadWaits> {
    of_targets(
        parts,
        |measured| &measured.waits,
        |waits: &mut ThreadWaits, part| {
            waits.thread = waits.thread.saturating_add(part.numbers.thread);
        },
    )
}

/// `None` if a host's is unknown, or of the other kind.
fn load_loop(parts: &[HostPart<'_>]) -> Option<LoadLoop> {
    let all: Option<Vec<&LoadLoop>> = parts.iter().map(|part| part.measured.load_loop.as_ref()).collect();
    let all = all?;
    let depths: Option<Vec<u32>> = all
        .iter()
        .map(|of| match of {
            LoadLoop::Closed { depth } => Some(*depth),
            LoadLoop::Open(_) => None,
        })
        .collect();
    if let Some(depths) = depths {
        return Some(LoadLoop::Closed { depth: depths.into_iter().fold(0, u32::saturating_add) });
    }
    let open: Option<Vec<&OpenLoop>> = all
        .iter()
        .map(|of| match of {
            LoadLoop::Open(open) => Some(&**open),
            LoadLoop::Closed { .. } => None,
        })
        .collect();
    open.and_then(|open| open_loop(&open)).map(|open| LoadLoop::Open(Box::new(open)))
}

fn open_loop(all: &[&OpenLoop]) -> Option<OpenLoop> {
    let first = *all.first()?;
    let sum = |of: fn(&OpenLoop) -> u64| all.iter().map(|open| of(open)).fold(0, u64::saturating_add);
    let started = |open: &OpenLoop| open.intended_starts.saturating_sub(open.backlog) as f64;
    let lateness_ns: f64 = all.iter().map(|open| started(open) * open.lateness_mean_ns).sum();
    let starts: f64 = all.iter().map(|open| started(open)).sum();
    Some(OpenLoop {
        depth: all.iter().map(|open| open.depth).fold(0, u32::saturating_add),
        rate_iops: all.iter().map(|open| open.rate_iops).reduce(super::sum_of_rates).unwrap_or_default(),
        process: first.process,
        intended_starts: sum(|open| open.intended_starts),
        backlog: sum(|open| open.backlog),
        delayed_by_depth: sum(|open| open.delayed_by_depth),
        lateness_mean_ns: if starts > 0.0 { lateness_ns / starts } else { 0.0 },
        lateness_max_ns: all.iter().map(|open| open.lateness_max_ns).max().unwrap_or(0),
        ramp: ramp(all),
        response_time: distribution_directions(all.iter().map(|open| &open.response_time)),
        // Sections in results lack response times.
        response_time_confidence: None,
    })
}

/// The parts of a ramp, which begin with each host's measurement: part by part, if all have as many. Their percentiles
/// cannot be merged.
fn ramp(all: &[&OpenLoop]) -> Vec<RampInterval> {
    let Some(first) = all.first() else { return Vec::new() };
    if all.iter().any(|open| open.ramp.len() != first.ramp.len()) {
        return Vec::new();
    }
    let at = |index: usize, of: &RampInterval| {
        let parts = || all.iter().filter_map(move |open| open.ramp.get(index));
        let iops: f64 = parts().map(|part| part.iops).sum();
        let weighted: f64 = parts().filter_map(|part| Some(part.iops * part.response_mean_ns?)).sum();
        RampInterval {
            start_ns: of.start_ns,
            end_ns: of.end_ns,
            offered_iops: parts().map(|part| part.offered_iops).sum(),
            iops,
            response_mean_ns: (iops > 0.0).then(|| weighted / iops),
            response_p99_ns: None,
        }
    };
    first.ramp.iter().enumerate().map(|(index, of)| at(index, of)).collect()
}

/// Without percentiles.
fn flushes(a: FlushFigures, b: FlushFigures) -> FlushFigures {
    let groups = [a, b].map(|of| of.latency.map(|latency| (of.count, latency)));
    let covered = |of: FlushFigures| of.writes_per_flush.map_or(0.0, |writes| writes * of.count as f64);
    let count = a.count.saturating_add(b.count);
    FlushFigures {
        call: a.call,
        after_writes: a.after_writes,
        count,
        per_s: a.per_s + b.per_s,
        writes_per_flush: a.writes_per_flush.or(b.writes_per_flush).map(|_| (covered(a) + covered(b)) / count as f64),
        unflushed_writes: a.unflushed_writes.zip(b.unflushed_writes).map(|(a, b)| a.saturating_add(b)),
        latency: pooled(groups.into_iter().flatten()),
        p50_ns: None,
        p99_ns: None,
        commit: None,
    }
}

/// The share of the time is the mean over the threads of all hosts.
fn rotations(parts: &[HostPart<'_>]) -> Option<RotationFigures> {
    let all: Option<Vec<(f64, RotationFigures)>> = parts
        .iter()
        .map(|part| Some((f64::from(part.measured.thread_count.max(1)), part.measured.rotations?)))
        .collect();
    let all = all?;
    let weights: f64 = all.iter().map(|(threads, _)| threads).sum();
    Some(RotationFigures {
        count: all.iter().fold(0, |sum, (_, of)| sum.saturating_add(of.count)),
        total_ns: all.iter().fold(0, |sum, (_, of)| sum.saturating_add(of.total_ns)),
        max_ns: all.iter().filter_map(|(_, of)| of.max_ns).max(),
        time_percent: all.iter().map(|(threads, of)| threads * of.time_percent).sum::<f64>() / weights,
    })
}

fn operations(parts: &[HostPart<'_>]) -> Vec<OperationFigures> {
    let operation_figures = |operation: Operation| {
        let all: Vec<&OperationFigures> = parts
            .iter()
            .flat_map(|part| &part.measured.operations)
            .filter(|figures| figures.operation == operation)
            .collect();
        (!all.is_empty()).then(|| OperationFigures {
            operation,
            figures: added(all.iter().map(|of| of.figures)),
            latency: distribution(all.iter().filter_map(|of| of.latency.as_ref())),
        })
    };
    Operation::ALL.into_iter().filter_map(operation_figures).collect()
}

/// By kind, then ascending by size. They have no histograms in results, so that several hosts' percentiles stay unknown.
fn sizes(parts: &[HostPart<'_>]) -> Vec<SizeFigures> {
    let mut all: BTreeMap<(Operation, u64), Vec<SizeFigures>> = BTreeMap::new();
    for figures in parts.iter().flat_map(|part| &part.measured.sizes) {
        all.entry((figures.operation, figures.size_bytes)).or_default().push(*figures);
    }
    let ios = |kind: Operation| {
        let of_kind = all.iter().filter(|((operation, _), _)| *operation == kind).flat_map(|(_, of)| of);
        of_kind.fold(0u64, |sum, of| sum.saturating_add(of.figures.ios))
    };
    let size_figures = |(&(operation, size_bytes), of): (&(Operation, u64), &Vec<SizeFigures>)| {
        let (figures, of_kind) = (added(of.iter().map(|of| of.figures)), ios(operation));
        let only = match &of[..] {
            [one] => Some(*one),
            _ => None,
        };
        SizeFigures {
            operation,
            size_bytes,
            drawn_percent: if of_kind > 0 { 100.0 * figures.ios as f64 / of_kind as f64 } else { 0.0 },
            figures,
            p50_ns: only.and_then(|one| one.p50_ns),
            p99_ns: only.and_then(|one| one.p99_ns),
            p999_ns: only.and_then(|one| one.p999_ns),
        }
    };
    all.iter().map(size_figures).collect()
}

/// Streams of one name are one.
fn streams(parts: &[HostPart<'_>]) -> Vec<StreamFigures> {
    let mut all: Vec<(Vec<usize>, Vec<&StreamFigures>)> = Vec::new();
    for part in parts {
        for stream in &part.measured.streams {
            let targets = stream.targets.iter().map(|target| target.saturating_add(part.numbers.target));
            match all.iter_mut().find(|(_, of)| of.iter().any(|of| of.name == stream.name)) {
                Some((known, of)) => {
                    known.extend(targets);
                    of.push(stream);
                }
                None => all.push((targets.collect(), vec![stream])),
            }
        }
    }
    let merged = |(targets, of): (Vec<usize>, Vec<&StreamFigures>)| {
        Some(StreamFigures {
            name: of.first()?.name.clone(),
            targets,
            figures: added_directions(of.iter().map(|of| of.figures)),
            latency: distribution_directions(of.iter().map(|of| &of.latency)),
        })
    };
    all.into_iter().filter_map(merged).collect()
}

/// The slowest I/Os of all hosts, the slowest first.
fn slowest(parts: &[HostPart<'_>], window: Option<&Window>) -> Vec<SlowIo> {
    let mut all = of_targets(
        parts,
        |measured| &measured.slowest,
        |io: &mut SlowIo, part| {
            io.thread = io.thread.saturating_add(part.numbers.thread);
            io.target = io.target.saturating_add(part.numbers.target);
            io.ended_at_ns = moved_ns(part, window, io.ended_at_ns);
        },
    );
    all.sort_by_key(|io| (Reverse(io.latency_ns), io.ended_at_ns, io.thread, io.offset_bytes));
    all.truncate(SLOWEST_IOS);
    all
}

fn kernel_messages(parts: &[HostPart<'_>], window: Option<&Window>) -> Vec<KernelMessage> {
    let mut all = of_targets(
        parts,
        |measured| &measured.kernel_messages,
        |message: &mut KernelMessage, part| {
            message.text = of_host(part.name, &message.text);
            if let Some(window) = window {
                message.at_ns = message.at_ns.saturating_add(part.axis.shift_ns(window.start_ns));
            }
        },
    );
    all.sort_by_key(|message| message.at_ns);
    all.truncate(KERNEL_MESSAGES);
    all
}
