//! From the document back to the result.

use super::document::{
    Distribution, Document, Figured, Latencies, Loop, Remark, SectionOf, SectionSide, Submitted, Target,
    TargetLatencies, ThreadAndTarget, TimeSpan,
};
use model::course::{Section, SectionFigures};
use model::note::Note;
use model::result::{
    Directions, DistributionUse, LatencyDistribution, LoadLoop, Measured, OpenLoop, Row, RowBuckets, RunResult,
    Submissions, TimeSpanResult,
};
use model::units::UnixTime;
use model::verdict::Verdict;
use std::borrow::Cow;
use std::collections::BTreeMap;

impl From<Document<'_>> for RunResult {
    fn from(document: Document<'_>) -> Self {
        let (mut targets, mut target_environments) = (BTreeMap::new(), BTreeMap::new());
        for Target { path, facts, environment } in document.targets {
            targets.extend(facts.map(|facts| (path.clone(), facts.into_owned())));
            target_environments.extend(environment.map(|environment| (path, environment.into_owned())));
        }
        Self {
            tool: document.tool.into_owned(),
            command_line: document.command_line.into_owned(),
            labels: document.labels.into_iter().map(|label| (label.key, label.value)).collect(),
            preset: document.preset,
            profile: document.profile.into_owned(),
            system: document.system.into_owned(),
            environment: document.environment.map(Cow::into_owned),
            targets,
            target_environments,
            plan: document.plan.map(Cow::into_owned),
            started_at: document.started_at_unix_ns.map_or(UnixTime::UNKNOWN, UnixTime),
            time_spans: document.time_spans.into_iter().map(TimeSpanResult::from).collect(),
            totals: document.totals,
            notes: notes(document.notes),
            warnings: document.warnings,
            errors: document.errors,
        }
    }
}

fn notes(remarks: Vec<Remark>) -> Vec<Note> {
    remarks.into_iter().map(|remark| remark.note).collect()
}

impl From<TimeSpan<'_>> for TimeSpanResult {
    fn from(time_span: TimeSpan<'_>) -> Self {
        Self {
            outcome: time_span.outcome,
            errors: time_span.errors,
            notes: notes(time_span.notes),
            engines: time_span.engines,
            buffer_separation_bytes: time_span.buffer_separation_bytes,
            measured: time_span.measured.map(Measured::from),
            kernel_counters: time_span.kernel_counters.map(Cow::into_owned),
            kernel_events: time_span.kernel_events.map(Cow::into_owned),
            verdict: time_span.verdict.map(|judged| Verdict { findings: judged.findings.into_owned() }),
            expectation: time_span.expectation.map(Cow::into_owned),
            requirements: time_span.requirements.into_owned(),
        }
    }
}

impl From<Figured<'_>> for Measured {
    fn from(figured: Figured<'_>) -> Self {
        let target_latencies = figured.target_latencies.into_iter();
        Self {
            elapsed_ns: figured.elapsed_ns,
            is_partial: figured.is_partial,
            thread_count: figured.thread_count,
            request_count: figured.request_count,
            effective_affinity: figured.effective_affinity,
            mixed_cores: figured.mixed_cores.map(Cow::into_owned),
            cpus: figured.cpus.into_owned(),
            cpu_average: figured.cpu_average,
            distributions: figured.distributions.into_iter().map(DistributionUse::from).collect(),
            rows: figured.rows.into_iter().map(Row::from).collect(),
            total: figured.total,
            intervals: figured.intervals.into_owned(),
            target_latencies: target_latencies
                .map(|TargetLatencies { path, latency }| (path, latencies(latency)))
                .collect(),
            total_latency: figured.total_latency.map(latencies),
            submissions: figured.submissions.map(Submissions::from),
            waits: figured.waits.into_owned(),
            is_latency_run: figured.is_latency_run,
            load_loop: figured.load_loop.map(LoadLoop::from),
            flushes: figured.flushes,
            confidence: figured.confidence.map(Cow::into_owned),
            steadiness: figured.steadiness,
            series: figured.series.into_owned(),
            sections: figured.sections.into_iter().map(Section::from).collect(),
            slowest: figured.slowest.into_owned(),
            kernel_messages: figured.kernel_messages.into_owned(),
        }
    }
}

impl From<SectionOf> for Section {
    fn from(section: SectionOf) -> Self {
        let side = |side: SectionSide| SectionFigures {
            ios: side.ios,
            bytes: side.bytes,
            latency: side.latency,
            histogram: side.histogram.0,
        };
        let SectionOf { start_ns, end_ns, read, write } = section;
        Self { start_ns, end_ns, read: read.map(side), write: write.map(side) }
    }
}

impl From<Loop<'_>> for LoadLoop {
    fn from(load_loop: Loop<'_>) -> Self {
        match load_loop {
            Loop::Closed { depth } => Self::Closed { depth },
            Loop::Open(open) => Self::Open(Box::new(OpenLoop {
                depth: open.depth,
                rate_iops: open.rate_iops,
                process: open.process,
                intended_starts: open.intended_starts,
                backlog: open.backlog,
                delayed_by_depth: open.delayed_by_depth,
                lateness_mean_ns: open.lateness_mean_ns,
                lateness_max_ns: open.lateness_max_ns,
                response_time: latencies(open.response_time),
            })),
        }
    }
}

impl From<Distribution<'_>> for DistributionUse {
    fn from(used: Distribution<'_>) -> Self {
        Self {
            distribution: used.distribution.into_owned(),
            users: used.users.into_iter().map(|user| (user.path, user.threads)).collect(),
        }
    }
}

impl From<ThreadAndTarget<'_>> for Row {
    fn from(row: ThreadAndTarget<'_>) -> Self {
        Self {
            thread: row.thread,
            target: row.target,
            path: row.path,
            target_size_bytes: row.target_size_bytes,
            figures: row.figures,
            intervals: row.intervals.into_owned(),
            distribution: row.distribution,
            latency_buckets: RowBuckets { read: row.read_latency_histogram.0, write: row.write_latency_histogram.0 },
        }
    }
}

fn latencies(latency: Directions<Option<Latencies<'_>>>) -> Directions<Option<LatencyDistribution>> {
    let of = |one: Option<Latencies<'_>>| one.map(LatencyDistribution::from);
    Directions { read: of(latency.read), write: of(latency.write), total: of(latency.total) }
}

impl From<Latencies<'_>> for LatencyDistribution {
    fn from(latencies: Latencies<'_>) -> Self {
        Self {
            count: latencies.count,
            figures: latencies.figures,
            percentiles: latencies.percentiles.into_owned(),
            distinct_values: latencies.distinct_values,
            buckets: latencies.histogram.0,
        }
    }
}

impl From<Submitted> for Submissions {
    fn from(submitted: Submitted) -> Self {
        let threads = submitted.threads.into_iter();
        Self {
            threads: threads.map(|thread| (thread.thread, thread.count, thread.per_s)).collect(),
            total_per_s: submitted.total_per_s,
        }
    }
}
