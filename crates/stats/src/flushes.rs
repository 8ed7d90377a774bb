//! Flushes, which are neither reads nor writes.

use crate::headline::{P50_PPB, P99_PPB};
use crate::latency::Merged;
use crate::rate;
use model::figures::{FlushFigures, LatencyDistribution};
use model::plan::TimeSpanPlan;
use model::record::TimeSpanRecord;

/// The figures of all threads' flushes; `None` if none were asked for.
pub(crate) fn figures(plan: &TimeSpanPlan, record: &TimeSpanRecord) -> Option<FlushFigures> {
    let after_writes = plan.flush_after_writes?;
    let mut merged = Merged::default();
    for flushes in record.threads.iter().filter_map(|thread| thread.flushes.as_ref()) {
        merged.add(&flushes.tally, &flushes.buckets);
    }
    let distribution = merged.distribution();
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
    })
}
