//! One timespan: its rows, their sums, and everything beside them.

use crate::accuracy::Accuracy;
use crate::intervals::Series;
use crate::kernel_events::{self, EventSources};
use crate::latency::{self, MergedLatencies};
use crate::ledger::{self, LedgerSources};
use crate::rate::{self, Volume};
use crate::{
    affinity, course, cpu, distribution, durability, flushes, headline, kernel_messages, load_loop, operations,
    reduction, replay, rotations, sizes, skew, storage_course, verification,
};
use model::confidence::FigureSteadiness;
use model::ending::Ending;
use model::engine_kind::EngineKind;
use model::environment::TargetEnvironment;
use model::figures::{Directions, Figures, LatencyDistribution};
use model::kernel_events::KernelEvents;
use model::kernel_log::KernelMessage;
use model::plan::{Pace, TimeSpanPlan};
use model::profile::{StreamName, TimeSpan, Tracing};
use model::record::{DirectionRecord, Outcome, RowRecord, SlowIo, Tally, ThreadRecord, TimeSpanRecord};
use model::result::{
    Measured, Row, StreamFigures, Submissions, TargetLatencies, ThreadSubmissions, ThreadWaits, TimeSpanResult,
};
use model::topology::Topology;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The data that the figures of one timespan are computed from.
pub(crate) struct Sources<'a> {
    pub(crate) span: &'a TimeSpan,
    pub(crate) verbose_stats: bool,
    pub(crate) topology: &'a Topology,
    pub(crate) plan: &'a TimeSpanPlan,
    pub(crate) record: &'a TimeSpanRecord,
    /// Event classes that `-e` requested.
    pub(crate) tracing: Option<Tracing>,
    /// The storage below the targets.
    pub(crate) environments: &'a BTreeMap<PathBuf, TargetEnvironment>,
    /// Files of which nothing is compressed on the device.
    pub(crate) uncompressed: &'a BTreeSet<&'a Path>,
    /// Release of the kernel as in `uname -r`.
    pub(crate) kernel_release: &'a str,
    /// Kernel messages logged during the whole run.
    pub(crate) kernel_messages: &'a [KernelMessage],
}

pub(crate) fn summarise(sources: &Sources<'_>) -> TimeSpanResult {
    let record = sources.record;
    let was_measured = record.elapsed_ns > 0 && record.outcome != Outcome::NotRun;
    let mut notes = record.notes.clone();
    if was_measured {
        let used = cpu::used(sources.plan, sources.topology);
        notes.extend(cpu::note(&record.cpus, used.as_ref(), &record.notes));
        notes.extend(cpu::awaited(&record.threads));
        notes.extend(latency::in_flight(record, load_loop::outstanding_max(sources.plan)));
    }
    let measured = was_measured.then(|| measured(sources));
    notes.extend(measured.iter().filter_map(|measured| measured.load_loop.as_ref()).flat_map(load_loop::notes));
    let mut result = TimeSpanResult {
        outcome: match &record.outcome {
            Outcome::NotRun => Ending::NotRun,
            Outcome::Completed => Ending::Completed,
            Outcome::Stopped => Ending::Stopped,
            Outcome::Failed { .. } => Ending::Failed,
        },
        errors: match &record.outcome {
            Outcome::Failed { errors } => errors.clone(),
            Outcome::NotRun | Outcome::Completed | Outcome::Stopped => Vec::new(),
        },
        timing: record.timing,
        notes,
        engines: engines(sources.plan),
        buffer_separation_bytes: sources.plan.buffer_separation_bytes,
        summary: None,
        metrics: BTreeMap::new(),
        measured,
        kernel_events: kernel_events(sources),
        kernel_counters: record.kernel_counters.clone(),
        ledger: None,
        verification: verification::figures(record, sources.kernel_messages),
        verdict: None,
        expectation: None,
        requirements: Vec::new(),
    };
    let durability = durability::durability_notes(sources.span, &result, sources.environments);
    result.notes.extend(durability);
    let Sources { plan, environments, uncompressed, kernel_release, .. } = *sources;
    let in_ledger = LedgerSources { span_result: &result, plan, environments, uncompressed, kernel_release };
    result.ledger = ledger::ledger(&in_ledger);
    headline::summarise(Some(sources.span), &mut result);
    result
}

/// Kernel events, if they were requested (`-e`).
fn kernel_events(sources: &Sources<'_>) -> Option<KernelEvents> {
    let Sources { plan, record, environments, .. } = *sources;
    let (tracing, around) = sources.tracing.zip(record.kernel_counters.as_ref())?;
    Some(kernel_events::kernel_events(&EventSources { tracing, plan, record, around, environments }))
}

/// The engine of each target: that of the first thread that serves it.
fn engines(plan: &TimeSpanPlan) -> Vec<EngineKind> {
    let work = plan.target_work();
    let engine = |target| work.engine(target).unwrap_or(EngineKind::Synchronous);
    (0..plan.targets.len()).map(engine).collect()
}

fn measured(sources: &Sources<'_>) -> Measured {
    let Sources { span, plan, record, .. } = *sources;
    let cpus = cpu::usages(&record.cpus);
    let measures_latency = plan.measure_latency;
    let distributions = distribution::uses(plan);
    let series = merged_series(record.rows.iter(), plan, record.elapsed_ns);
    let accuracy = Accuracy::new(record, measures_latency || plan.intervals.is_some());
    let used = distribution::UsedLists::new(plan, &distributions);
    let slowest = course::slowest(&record.threads);
    let flush_latency = flushes::merged(record, |thread| thread.flushes.as_ref().map(|flushes| &flushes.times));
    let commit_latency = flushes::merged(record, |thread| thread.commits.as_ref());
    let summarise_row = |row| summarise_row(row, plan, &used, record.elapsed_ns);
    Measured {
        elapsed_ns: record.elapsed_ns,
        is_partial: record.outcome != Outcome::Completed && record.elapsed_ns < plan.duration_ns,
        thread_count: if span.thread_count > 0 { span.thread_count } else { plan.workers.len() as u32 },
        request_count: span.is_pool_with_requests().then_some(span.request_count),
        effective_affinity: plan.effective_affinity.clone(),
        mixed_cores: plan
            .effective_affinity
            .as_ref()
            .and_then(|effective| affinity::mixed_cores(effective, sources.topology)),
        cpu_average: cpu::average(&cpus),
        cpus,
        cpu_course: cpu::course(&record.readings, record.elapsed_ns),
        rows: record.rows.iter().map(summarise_row).collect(),
        distributions,
        total: figures(record.rows.iter(), measures_latency, series.as_ref(), record.elapsed_ns),
        intervals: series.map(|series| series.figures()).unwrap_or_default(),
        target_latencies: if measures_latency { target_latencies(sources) } else { Vec::new() },
        total_latency: measures_latency.then(|| latencies(record.rows.iter())),
        submissions: Some(submissions(record)),
        waits: if sources.verbose_stats { waits(record) } else { Vec::new() },
        is_latency_run: span.measure_latency || span.calculate_iops_std_dev,
        load_loop: Some(load_loop::load_loop(span, plan, record, &accuracy)),
        confidence: accuracy.confidence(),
        // A load that varies by itself shows nothing about the storage.
        steadiness: if sources.span.varies_rate() {
            FigureSteadiness::default()
        } else {
            accuracy.steadiness(&telling(plan, &record.threads))
        },
        series: course::series(&record.series, measures_latency || plan.intervals.is_some()),
        sections: course::sections(&record.sections),
        devices: storage_course::devices(&record.readings),
        shares: storage_course::shares(&record.readings),
        caches: storage_course::caches(record.kernel_counters.as_ref(), sources.environments),
        kernel_messages: kernel_messages::beside(&slowest, sources.kernel_messages, record.counted_from_ns),
        slowest,
        replay: replay::figures(record),
        flushes: flushes::figures(plan, record, flush_latency.as_ref(), commit_latency.as_ref()),
        flush_latency,
        commit_latency,
        rotations: rotations::figures(record),
        operations: operations::figures(record, measures_latency),
        sizes: sizes::figures(record, measures_latency),
        streams: streams(sources),
        skews: skew::figures(plan, record),
        reductions: reduction::figures(sources.span, plan, record),
    }
}

/// The slowest I/Os of all threads, if their times are the target's: not where a pace, flushes or rotations set them.
fn telling(plan: &TimeSpanPlan, threads: &[ThreadRecord]) -> Vec<SlowIo> {
    let mut targets = plan.workers.iter().flat_map(|worker| &worker.targets);
    let is_closed = targets.all(|target| matches!(target.pace, Pace::Unlimited));
    let rotates = threads.iter().any(|thread| thread.rotations.is_some());
    let is_plain = is_closed && plan.flush_after_writes.is_none() && !rotates;
    let slowest = threads.iter().flat_map(|thread| &thread.slowest).copied();
    if is_plain { slowest.collect() } else { Vec::new() }
}

fn summarise_row(row: &RowRecord, plan: &TimeSpanPlan, used: &distribution::UsedLists, elapsed_ns: u64) -> Row {
    let target = plan.targets.get(row.target);
    let series = merged_series(std::iter::once(row), plan, elapsed_ns);
    Row {
        thread: row.thread,
        target: row.target,
        path: target.map(|target| target.path.clone()).unwrap_or_default(),
        target_size_bytes: target.map_or(0, |target| target.size_bytes),
        figures: figures(std::iter::once(row), plan.measure_latency, series.as_ref(), elapsed_ns),
        intervals: series.map(|series| series.figures()).unwrap_or_default(),
        distribution: used.index(row.thread, row.target),
        read_buckets: row.read.buckets.clone(),
        write_buckets: row.write.buckets.clone(),
    }
}

/// The intervals of rows, added up; `None` without `-D`.
fn merged_series<'a>(
    rows: impl Iterator<Item = &'a RowRecord>,
    plan: &TimeSpanPlan,
    elapsed_ns: u64,
) -> Option<Series> {
    plan.intervals.map(|intervals| {
        let mut series = Series::new(intervals, elapsed_ns);
        rows.for_each(|row| series.add(&row.intervals));
        series
    })
}

/// The figures of some rows together. Latency and deviation come from the merged data, not from
/// the rows' figures.
fn figures<'a>(
    rows: impl Iterator<Item = &'a RowRecord>,
    measures_latency: bool,
    series: Option<&Series>,
    elapsed_ns: u64,
) -> Directions<Figures> {
    let mut volumes = Directions::<Volume>::default();
    let mut tallies = Directions::<Tally>::default();
    for row in rows {
        for (volume, tally, record) in
            [(&mut volumes.read, &mut tallies.read, &row.read), (&mut volumes.write, &mut tallies.write, &row.write)]
        {
            volume.add(volume_of(record));
            tally.merge(&record.tally);
        }
    }
    volumes.total.add(volumes.read);
    volumes.total.add(volumes.write);
    tallies.total.merge(&tallies.read);
    tallies.total.merge(&tallies.write);
    let deviations = series.map(Series::std_devs);
    let cells = |volume: Volume, tally: &Tally, deviation: Option<f64>| Figures {
        latency: if measures_latency { latency::figures(tally) } else { None },
        iops_std_dev: deviation,
        ..volume.figures(elapsed_ns)
    };
    Directions {
        read: cells(volumes.read, &tallies.read, deviations.map(|deviations| deviations.read)),
        write: cells(volumes.write, &tallies.write, deviations.map(|deviations| deviations.write)),
        total: cells(volumes.total, &tallies.total, deviations.map(|deviations| deviations.total)),
    }
}

fn volume_of(record: &DirectionRecord) -> Volume {
    Volume { bytes: record.bytes, ios: record.tally.count }
}

/// One distribution per distinct path in target order, if there is more than one path.
fn target_latencies(sources: &Sources<'_>) -> Vec<TargetLatencies> {
    let Sources { plan, record, .. } = *sources;
    let mut rows: BTreeMap<&Path, Vec<&RowRecord>> = BTreeMap::new();
    for row in &record.rows {
        let Some(target) = plan.targets.get(row.target) else { continue };
        rows.entry(&target.path).or_default().push(row);
    }
    let mut seen = BTreeSet::new();
    let paths: Vec<&Path> =
        plan.targets.iter().map(|target| target.path.as_path()).filter(|path| seen.insert(*path)).collect();
    if paths.len() < 2 {
        return Vec::new();
    }
    let latencies_of = |path: &Path| latencies(rows.get(path).into_iter().flatten().copied());
    paths.into_iter().map(|path| TargetLatencies { path: path.to_owned(), latency: latencies_of(path) }).collect()
}

/// The rows of each stream added up.
fn streams(sources: &Sources<'_>) -> Vec<StreamFigures> {
    let Sources { span, plan, record, .. } = *sources;
    let stream_figures = |(name, targets): (&StreamName, Vec<usize>)| {
        let rows = || record.rows.iter().filter(|row| targets.contains(&row.target));
        let series = merged_series(rows(), plan, record.elapsed_ns);
        StreamFigures {
            name: name.clone(),
            figures: figures(rows(), plan.measure_latency, series.as_ref(), record.elapsed_ns),
            latency: if plan.measure_latency { latencies(rows()) } else { Directions::default() },
            targets,
        }
    };
    span.streams().into_iter().map(stream_figures).collect()
}

fn latencies<'a>(rows: impl Iterator<Item = &'a RowRecord>) -> Directions<Option<LatencyDistribution>> {
    let (mut read, mut write) = (MergedLatencies::default(), MergedLatencies::default());
    for row in rows {
        read.add(&row.read.tally, &row.read.buckets);
        write.add(&row.write.tally, &row.write.buckets);
    }
    let mut total = read.clone();
    total.merge(&write);
    Directions { read: read.distribution(), write: write.distribution(), total: total.distribution() }
}

fn submissions(record: &TimeSpanRecord) -> Submissions {
    let submits = record.threads.iter().fold(0u64, |sum, thread| sum.saturating_add(thread.submits));
    let rate = |submits| rate::per_second(submits, record.elapsed_ns);
    let of_thread = |thread: &ThreadRecord| ThreadSubmissions {
        thread: thread.thread,
        count: thread.submits,
        per_s: rate(thread.submits),
    };
    Submissions { threads: record.threads.iter().map(of_thread).collect(), total_per_s: rate(submits) }
}

fn waits(record: &TimeSpanRecord) -> Vec<ThreadWaits> {
    let waits = record.threads.iter();
    waits.map(|t| ThreadWaits { thread: t.thread, throttled: t.throttled, counts: t.waits }).collect()
}
