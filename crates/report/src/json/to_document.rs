//! From the result to the document. Results are taken apart field by field, so that one which is
//! added to them is missed here.

use super::document::{
    Distribution, Document, Figured, Judged, Label, Latencies, Level, Loop, Opened, Remark, SectionOf, SectionSide,
    Submitted, SubmittedByThread, Target, TargetLatencies, ThreadAndTarget, TimeSpan, User,
};
use super::histogram::{Buckets, CoarseBuckets};
use super::{SCHEMA, SCHEMA_VERSION};
use model::course::{Section, SectionFigures};
use model::finding::Severity;
use model::note::Note;
use model::result::{
    Directions, DistributionUse, LatencyDistribution, LoadLoop, Measured, OpenLoop, Row, RowBuckets, RunResult,
    Submissions, TimeSpanResult,
};
use model::units::UnixTime;
use model::verdict::Verdict;
use std::borrow::Cow::Borrowed;
use std::collections::BTreeSet;

/// The document of a result.
pub(super) fn document(result: &RunResult) -> Document<'_> {
    let RunResult {
        tool,
        command_line,
        labels,
        preset,
        profile,
        system,
        environment,
        targets,
        target_environments,
        plan,
        started_at,
        time_spans,
        totals,
        notes,
        warnings,
        errors,
    } = result;
    let label = |(key, value): &(String, String)| Label { key: key.clone(), value: value.clone() };
    let paths: BTreeSet<_> = targets.keys().chain(target_environments.keys()).collect();
    let target = |path| Target {
        path: std::path::PathBuf::clone(path),
        facts: targets.get(path).map(Borrowed),
        environment: target_environments.get(path).map(Borrowed),
    };
    Document {
        schema: Borrowed(SCHEMA),
        schema_version: SCHEMA_VERSION,
        tool: Borrowed(tool),
        command_line: Borrowed(command_line),
        labels: labels.iter().map(label).collect(),
        preset: preset.clone(),
        started_at_unix_ns: Some(started_at.0).filter(|_| *started_at != UnixTime::UNKNOWN),
        profile: Borrowed(profile),
        system: Borrowed(system),
        environment: environment.as_ref().map(Borrowed),
        targets: paths.into_iter().map(target).collect(),
        plan: plan.as_ref().map(Borrowed),
        time_spans: time_spans.iter().map(time_span).collect(),
        totals: *totals,
        notes: remarks(notes),
        warnings: warnings.clone(),
        errors: errors.clone(),
    }
}

fn remarks(notes: &[Note]) -> Vec<Remark> {
    notes.iter().map(|note| Remark { message: note.to_string(), note: note.clone() }).collect()
}

fn time_span(span_result: &TimeSpanResult) -> TimeSpan<'_> {
    let TimeSpanResult {
        outcome,
        errors,
        notes,
        engines,
        buffer_separation_bytes,
        measured,
        kernel_counters,
        kernel_events,
        verdict,
        expectation,
        requirements,
    } = span_result;
    TimeSpan {
        outcome: *outcome,
        errors: errors.clone(),
        notes: remarks(notes),
        engines: engines.clone(),
        buffer_separation_bytes: *buffer_separation_bytes,
        measured: measured.as_ref().map(figured),
        kernel_counters: kernel_counters.as_ref().map(Borrowed),
        kernel_events: kernel_events.as_ref().map(Borrowed),
        summary: stats::summary(span_result),
        verdict: verdict.as_ref().map(judged),
        expectation: expectation.as_ref().map(Borrowed),
        requirements: Borrowed(requirements),
    }
}

fn judged(verdict: &Verdict) -> Judged<'_> {
    let level = match verdict.severity() {
        None | Some(Severity::Pass | Severity::Unknown) => Level::Ok,
        Some(Severity::Note) => Level::Note,
        Some(Severity::Warn) => Level::Warn,
        Some(Severity::Fail | Severity::Invalid) => Level::Invalid,
    };
    Judged { level, findings: Borrowed(&verdict.findings) }
}

fn figured(measured: &Measured) -> Figured<'_> {
    let Measured {
        elapsed_ns,
        is_partial,
        thread_count,
        request_count,
        effective_affinity,
        mixed_cores,
        cpus,
        cpu_average,
        distributions,
        rows,
        total,
        intervals,
        target_latencies,
        total_latency,
        submissions,
        waits,
        is_latency_run,
        load_loop,
        confidence,
        steadiness,
        series,
        sections,
        slowest,
        flushes,
        kernel_messages,
    } = measured;
    Figured {
        elapsed_ns: *elapsed_ns,
        is_partial: *is_partial,
        is_latency_run: *is_latency_run,
        thread_count: *thread_count,
        request_count: *request_count,
        effective_affinity: effective_affinity.clone(),
        mixed_cores: mixed_cores.as_ref().map(Borrowed),
        cpus: Borrowed(cpus),
        cpu_average: *cpu_average,
        distributions: distributions.iter().map(distribution).collect(),
        rows: rows.iter().map(row).collect(),
        total: *total,
        intervals: Borrowed(intervals),
        target_latencies: target_latencies
            .iter()
            .map(|(path, latency)| TargetLatencies { path: path.clone(), latency: latencies(latency) })
            .collect(),
        total_latency: total_latency.as_ref().map(latencies),
        submissions: submissions.as_ref().map(submitted),
        waits: Borrowed(waits),
        load_loop: load_loop.as_ref().map(loop_of),
        flushes: *flushes,
        confidence: confidence.as_ref().map(Borrowed),
        steadiness: *steadiness,
        series: Borrowed(series),
        sections: sections.iter().map(section).collect(),
        slowest: Borrowed(slowest),
        kernel_messages: Borrowed(kernel_messages),
    }
}

fn section(section: &Section) -> SectionOf {
    let Section { start_ns, end_ns, read, write } = section;
    let side = |figures: &SectionFigures| {
        let SectionFigures { ios, bytes, latency, histogram } = figures;
        SectionSide { ios: *ios, bytes: *bytes, latency: *latency, histogram: CoarseBuckets(histogram.clone()) }
    };
    SectionOf { start_ns: *start_ns, end_ns: *end_ns, read: read.as_ref().map(side), write: write.as_ref().map(side) }
}

fn loop_of(load_loop: &LoadLoop) -> Loop<'_> {
    let open = match load_loop {
        LoadLoop::Closed { depth } => return Loop::Closed { depth: *depth },
        LoadLoop::Open(open) => open,
    };
    let OpenLoop {
        depth,
        rate_iops,
        process,
        intended_starts,
        backlog,
        delayed_by_depth,
        lateness_mean_ns,
        lateness_max_ns,
        response_time,
    } = &**open;
    Loop::Open(Box::new(Opened {
        depth: *depth,
        rate_iops: *rate_iops,
        process: *process,
        intended_starts: *intended_starts,
        backlog: *backlog,
        delayed_by_depth: *delayed_by_depth,
        lateness_mean_ns: *lateness_mean_ns,
        lateness_max_ns: *lateness_max_ns,
        response_time: latencies(response_time),
    }))
}

fn distribution(used: &DistributionUse) -> Distribution<'_> {
    let DistributionUse { distribution, users } = used;
    Distribution {
        distribution: Borrowed(distribution),
        users: users.iter().map(|(path, threads)| User { path: path.clone(), threads: threads.clone() }).collect(),
    }
}

fn row(row: &Row) -> ThreadAndTarget<'_> {
    let Row { thread, target, path, target_size_bytes, figures, intervals, distribution, latency_buckets } = row;
    let RowBuckets { read, write } = latency_buckets;
    ThreadAndTarget {
        thread: *thread,
        target: *target,
        path: path.clone(),
        target_size_bytes: *target_size_bytes,
        figures: *figures,
        read_latency_histogram: Buckets(read.clone()),
        write_latency_histogram: Buckets(write.clone()),
        intervals: Borrowed(intervals),
        distribution: *distribution,
    }
}

fn latencies(latency: &Directions<Option<LatencyDistribution>>) -> Directions<Option<Latencies<'_>>> {
    let Directions { read, write, total } = latency;
    Directions {
        read: latency_distribution(read.as_ref()),
        write: latency_distribution(write.as_ref()),
        total: latency_distribution(total.as_ref()),
    }
}

fn latency_distribution(latency: Option<&LatencyDistribution>) -> Option<Latencies<'_>> {
    let LatencyDistribution { count, figures, percentiles, distinct_values, buckets } = latency?;
    Some(Latencies {
        count: *count,
        figures: *figures,
        percentiles: Borrowed(percentiles),
        distinct_values: *distinct_values,
        histogram: Buckets(buckets.clone()),
    })
}

fn submitted(submissions: &Submissions) -> Submitted {
    let Submissions { threads, total_per_s } = submissions;
    let by_thread = |&(thread, count, per_s): &(u32, u64, f64)| SubmittedByThread { thread, count, per_s };
    Submitted { threads: threads.iter().map(by_thread).collect(), total_per_s: *total_per_s }
}
