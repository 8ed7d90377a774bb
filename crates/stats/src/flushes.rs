//! Flushes, which are neither reads nor writes.

use crate::latency::MergedLatencies;
use crate::ranks::{P50_PPB, P99_PPB};
use crate::rate;
use model::figures::{CommitFigures, FlushFigures, LatencyDistribution};
use model::plan::TimeSpanPlan;
use model::record::{ThreadRecord, TimeSpanRecord, TimesRecord};

/// The figures of all threads' flushes and commits; `None` if none were requested.
pub(crate) fn figures(
    plan: &TimeSpanPlan,
    record: &TimeSpanRecord,
    flushes: Option<&LatencyDistribution>,
    commits: Option<&LatencyDistribution>,
) -> Option<FlushFigures> {
    let after_writes = plan.flush_after_writes?;
    let count = flushes.map_or(0, |flushes| flushes.count);
    let at = |rank| flushes.and_then(|flushes| flushes.at(rank));
    let threads = || record.threads.iter().filter_map(|thread| thread.flushes.as_ref());
    let covered: u64 = threads().map(|flushes| flushes.covered_writes).sum();
    Some(FlushFigures {
        call: plan.flush_call,
        after_writes,
        count,
        per_s: rate::per_second(count, record.elapsed_ns),
        writes_per_flush: (count > 0).then(|| covered as f64 / count as f64),
        unflushed_writes: Some(threads().map(|flushes| flushes.unflushed_writes).sum()),
        latency: flushes.map(|flushes| flushes.figures),
        p50_ns: at(P50_PPB),
        p99_ns: at(P99_PPB),
        commit: commits.and_then(commit),
    })
}

/// Times of all threads together; `None` if there are none.
pub(crate) fn merged(
    record: &TimeSpanRecord,
    of: fn(&ThreadRecord) -> Option<&TimesRecord>,
) -> Option<LatencyDistribution> {
    let mut merged = MergedLatencies::default();
    for times in record.threads.iter().filter_map(of) {
        merged.add(&times.tally, &times.buckets);
    }
    merged.distribution()
}

/// Commits in a few numbers.
pub(crate) fn commit(commits: &LatencyDistribution) -> Option<CommitFigures> {
    Some(CommitFigures {
        mean_ns: commits.figures.mean_ns,
        p50_ns: commits.at(P50_PPB)?,
        p99_ns: commits.at(P99_PPB)?,
        max_ns: commits.figures.max_ns?,
    })
}
