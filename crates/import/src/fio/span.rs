//! A timespan from jobs that ran at the same time.

use super::document::Job;
use super::job::{self, JobFigures};
use super::load::{self, JobOptions, Load};
use super::notes;
use crate::finish;
use model::figures::{Directions, Figures, FlushFigures, LatencyDistribution, OperationFigures};
use model::limits::THREADS_MAX;
use model::note::Note;
use model::operation::Operation;
use model::printable::{clipped, printable};
use model::profile::{Affinity, BufferSeparation, FlushCall, StreamName, TimeSpan};
use model::result::{LoadLoop, Measured, Row, StreamFigures, TimeSpanResult};
use stats::fio_form::pooled_distribution;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// A job and its options.
pub(super) type Entry<'a> = (&'a Job, JobOptions<'a>);

/// Unique names of streams.
#[derive(Default)]
pub(super) struct Names {
    taken: BTreeSet<String>,
    next: BTreeMap<String, u32>,
}

impl Names {
    /// A name that no other job has, as close to that of the job as a stream name can be.
    fn unique(&mut self, job: &Job) -> Result<StreamName, String> {
        const LENGTH_MAX: usize = 32;
        let host = job.hostname.as_deref().map(|host| format!("{host}-")).unwrap_or_default();
        let full = format!("{host}{}", job.jobname);
        let allowed = |character: char| character.is_ascii_alphanumeric() || "._-".contains(character);
        let mut name: String =
            full.chars().take(LENGTH_MAX).map(|character| if allowed(character) { character } else { '_' }).collect();
        if name.is_empty() {
            "job".clone_into(&mut name);
        }
        let mut free = name.clone();
        while !self.taken.insert(free.clone()) {
            let number = self.next.entry(name.clone()).or_insert(1);
            *number += 1;
            let suffix = format!("-{number}");
            free = format!("{}{suffix}", &name[..name.len().min(LENGTH_MAX - suffix.len())]);
        }
        StreamName::parse(&free)
    }
}

/// Reads jobs that ran at the same time.
pub(super) fn read(
    entries: &[Entry<'_>],
    source: &str,
    names: &mut Names,
) -> Result<(TimeSpan, TimeSpanResult), String> {
    let of_job = |job: &Job, reason: String| format!("job '{}': {reason}", clipped(&job.jobname, 40));
    let mut loads: Vec<Load> = Vec::new();
    let (mut figures, mut rows, mut streams) = (Vec::new(), Vec::new(), Vec::new());
    // Without group_reporting, each clone of a job (numjobs) has an entry.
    let is_clone = |(a, of_a): &Entry<'_>, (b, of_b): &Entry<'_>| {
        a.jobname == b.jobname && a.groupid.whole == b.groupid.whole && a.hostname == b.hostname && of_a.own == of_b.own
    };
    for clones in entries.chunk_by(is_clone) {
        let (first, given) = clones[0];
        let mut load = load::read(&first.jobname, given, clones.len() as u32);
        let target = loads.len();
        for (job, _) in clones {
            let found = job::read(job).map_err(|reason| of_job(job, reason))?;
            let name = names.unique(job)?;
            load.target.stream.get_or_insert_with(|| name.clone());
            rows.push(row(&found, rows.len() as u32, target, &load));
            streams.push(StreamFigures {
                name,
                targets: vec![target],
                figures: found.figures,
                latency: found.latency.clone(),
            });
            figures.push(found);
        }
        loads.push(load);
    }
    let jobs: Vec<&Job> = entries.iter().map(|(job, _)| *job).collect();
    let elapsed_ns = figures.iter().map(|job| job.runtime_ns).max().unwrap_or(0);
    let errors: Vec<String> = jobs.iter().filter_map(|job| error(job)).collect();
    let threads = loads.iter().fold(0u32, |sum, load| sum.saturating_add(load.target.threads)).min(THREADS_MAX);
    let mut measured = Measured {
        elapsed_ns,
        is_partial: !errors.is_empty(),
        thread_count: threads,
        total: total(&figures.iter().map(|job| job.figures).collect::<Vec<_>>(), elapsed_ns),
        total_latency: total_latency(&figures),
        load_loop: loads.iter().all(|load| load.keeps_depth).then(|| LoadLoop::Closed { depth: depth(&loads) }),
        operations: trims(&figures, elapsed_ns).into_iter().collect(),
        rows,
        streams,
        ..Measured::default()
    };
    measured.is_latency_run = measured.total_latency.is_some();
    let flush = flush(&loads);
    (measured.flushes, measured.flush_latency) = flushes(&figures, flush, elapsed_ns);
    let mut span_result = TimeSpanResult {
        errors,
        engines: loads.iter().map(|load| load.engine).collect::<Option<_>>().unwrap_or_default(),
        notes: all_notes(source, &jobs, &figures, &loads, &measured),
        measured: Some(measured),
        ..TimeSpanResult::default()
    };
    span_result.outcome = finish::ending(&span_result, None);
    Ok((span(loads, flush, elapsed_ns, span_result.measured.as_ref()), span_result))
}

fn all_notes(source: &str, jobs: &[&Job], figures: &[JobFigures], loads: &[Load], measured: &Measured) -> Vec<Note> {
    let mut known: BTreeSet<&'static str> = loads.first().map(|load| load.known.clone()).unwrap_or_default();
    known.retain(|option| loads.iter().all(|load| load.known.contains(option)));
    let left = loads.iter().flat_map(|load| &load.left).cloned().collect();
    let mut all = notes::of_load(source, &known, &left);
    all.extend(figures.iter().filter_map(|job| job.kind).max().map(notes::of_latencies));
    let total = measured.total_latency.as_ref().and_then(|latency| latency.total.as_ref());
    let are_known = figures.iter().any(|job| {
        [&job.latency.read, &job.latency.write].into_iter().flatten().any(|latency| !latency.percentiles.is_empty())
    });
    all.extend(total.filter(|total| are_known && total.percentiles.is_empty()).map(|_| notes::without_percentiles()));
    let syncs: u64 = figures.iter().fold(0, |sum, job| sum.saturating_add(job.syncs.figures.ios));
    if syncs > 0 && measured.flushes.is_none() {
        all.push(notes::verbatim(format!("flushes (sync) of all jobs: {syncs}; no option tells what they follow")));
    }
    all.extend(notes::of_cpu(jobs));
    all.extend(notes::of_figures(jobs, figures));
    all
}

/// The error that a job ended with.
fn error(job: &Job) -> Option<String> {
    let number = job.error.whole.filter(|number| *number > 0)?;
    let reason = i32::try_from(number).map(|number| format!(": {}", io::Error::from_raw_os_error(number)));
    let name = printable(&clipped(&job.jobname, 40)).into_owned();
    Some(format!("job '{name}' ended with error {number}{}", reason.unwrap_or_default()))
}

fn row(job: &JobFigures, thread: u32, target: usize, load: &Load) -> Row {
    let buckets = |of: &Option<LatencyDistribution>| of.as_ref().map(|of| of.buckets.clone()).unwrap_or_default();
    Row {
        thread,
        target,
        path: load.target.path.clone(),
        figures: job.figures,
        read_buckets: buckets(&job.latency.read),
        write_buckets: buckets(&job.latency.write),
        ..Row::default()
    }
}

/// The figures of a single job, or the sums of several.
fn total(jobs: &[Directions<Figures>], elapsed_ns: u64) -> Directions<Figures> {
    if let [only] = jobs {
        return *only;
    }
    let mut total = stats::directions(jobs, elapsed_ns);
    total.read.latency = stats::pooled_latency(jobs.iter().map(|job| job.read));
    total.write.latency = stats::pooled_latency(jobs.iter().map(|job| job.write));
    total.total.latency = stats::pooled_latency(jobs.iter().map(|job| job.total));
    total
}

/// `None` if there are no latencies at all.
fn total_latency(jobs: &[JobFigures]) -> Option<Directions<Option<LatencyDistribution>>> {
    let pooled = |of: fn(&JobFigures) -> Option<&LatencyDistribution>| {
        pooled_distribution(&jobs.iter().filter_map(of).collect::<Vec<_>>())
    };
    let all = Directions {
        read: pooled(|job| job.latency.read.as_ref()),
        write: pooled(|job| job.latency.write.as_ref()),
        total: pooled(|job| job.latency.total.as_ref()),
    };
    all.total.is_some().then_some(all)
}

/// Trims of all jobs are discards.
fn trims(jobs: &[JobFigures], elapsed_ns: u64) -> Option<OperationFigures> {
    let parts = jobs.iter().map(|job| job.trims.figures).filter(|figures| figures.ios > 0);
    let parts: Vec<_> = parts.map(|read| Directions { read, ..Directions::default() }).collect();
    let latencies: Vec<&LatencyDistribution> = jobs.iter().filter_map(|job| job.trims.latency.as_ref()).collect();
    let discards =
        |figures| OperationFigures { operation: Operation::Discard, figures, latency: pooled_distribution(&latencies) };
    (!parts.is_empty()).then(|| discards(total(&parts, elapsed_ns).read))
}

/// The flushes that all jobs make; `None` if they differ.
fn flush(loads: &[Load]) -> Option<(u32, FlushCall)> {
    let first = loads.first()?.flush?;
    loads.iter().all(|load| load.flush == Some(first)).then_some(first)
}

fn flushes(
    jobs: &[JobFigures],
    flush: Option<(u32, FlushCall)>,
    elapsed_ns: u64,
) -> (Option<FlushFigures>, Option<LatencyDistribution>) {
    let count: u64 = jobs.iter().fold(0, |sum, job| sum.saturating_add(job.syncs.figures.ios));
    let Some((after_writes, call)) = flush.filter(|_| count > 0) else { return (None, None) };
    let latency = pooled_distribution(&jobs.iter().filter_map(|job| job.syncs.latency.as_ref()).collect::<Vec<_>>());
    let at = |rank_ppb| latency.as_ref().and_then(|latency| latency.at(rank_ppb));
    let figures = FlushFigures {
        call,
        after_writes,
        count,
        per_s: stats::per_second(count, elapsed_ns),
        latency: latency.as_ref().map(|latency| latency.figures),
        p50_ns: at(500_000_000),
        p99_ns: at(990_000_000),
        ..FlushFigures::default()
    };
    (Some(figures), latency)
}

fn depth(loads: &[Load]) -> u32 {
    let ios_of_load = |load: &Load| load.target.threads.saturating_mul(load.target.outstanding);
    loads.iter().fold(0u32, |sum, load| sum.saturating_add(ios_of_load(load)))
}

/// The requested timespan; fio leaves threads to the scheduler, and has no warm-up by default.
fn span(loads: Vec<Load>, flush: Option<(u32, FlushCall)>, elapsed_ns: u64, measured: Option<&Measured>) -> TimeSpan {
    let told_s = loads.iter().filter_map(|load| load.runtime_s).max();
    let writes_of = |of: FlushCall| flush.filter(|(_, call)| *call == of).map(|(writes, _)| writes);
    TimeSpan {
        duration_s: told_s.unwrap_or_else(|| u32::try_from(elapsed_ns.div_ceil(1_000_000_000)).unwrap_or(u32::MAX)),
        warm_up_s: loads.iter().filter_map(|load| load.ramp_s).max().unwrap_or(0),
        affinity: Affinity { disabled: true, ..Affinity::default() },
        buffer_separation: BufferSeparation::SystemDefault,
        measure_latency: measured.is_some_and(|measured| measured.is_latency_run),
        flush_after_writes: writes_of(FlushCall::Fdatasync),
        fsync_after_writes: writes_of(FlushCall::Fsync),
        targets: loads.into_iter().map(|load| load.target).collect(),
        ..TimeSpan::default()
    }
}
