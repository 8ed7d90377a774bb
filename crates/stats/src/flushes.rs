//! Flushes, which are neither reads nor writes.

use crate::headline::{P50_PPB, P99_PPB};
use crate::latency::Merged;
use crate::rate;
use model::figures::{CommitFigures, FlushFigures, LatencyDistribution};
use model::plan::TimeSpanPlan;
use model::record::{ThreadRecord, TimeSpanRecord, TimesRecord};

/// The figures of all threads' flushes; `None` if none were asked for.
pub(crate) fn figures(plan: &TimeSpanPlan, record: &TimeSpanRecord) -> Option<FlushFigures> {
    let after_writes = plan.flush_after_writes?;
    let distribution = merged(record, |thread| thread.flushes.as_ref());
    let count = distribution.as_ref().map_or(0, |distribution| distribution.count);
    let at = |rank| distribution.as_ref().and_then(|distribution: &LatencyDistribution| distribution.at(rank));
    Some(FlushFigures {
        call: plan.flush_call,
        after_writes,
        count,
        per_s: rate::per_second(count, record.elapsed_ns),
        latency: distribution.as_ref().map(|distribution| distribution.figures),
        p50_ns: at(P50_PPB),
        p99_ns: at(P99_PPB),
        commit: merged(record, |thread| thread.commits.as_ref())
            // The first flush of a thread may follow a write that was not counted.
            .filter(|commits| commits.count + record.threads.len() as u64 >= count)
            .and_then(|commits| commit(&commits)),
    })
}

fn merged(record: &TimeSpanRecord, of: fn(&ThreadRecord) -> Option<&TimesRecord>) -> Option<LatencyDistribution> {
    let mut merged = Merged::default();
    for times in record.threads.iter().filter_map(of) {
        merged.add(&times.tally, &times.buckets);
    }
    merged.distribution()
}

fn commit(commits: &LatencyDistribution) -> Option<CommitFigures> {
    Some(CommitFigures {
        mean_ns: commits.figures.mean_ns,
        p50_ns: commits.at(P50_PPB)?,
        p99_ns: commits.at(P99_PPB)?,
        max_ns: commits.figures.max_ns?,
    })
}
