//! Values that follow from the read ones, the same for every form.

use model::affinity::AffinityEntry;
use model::ending::Ending;
use model::figures::{Directions, Figures, LatencyDistribution, LatencyFigures, Percentile};
use model::profile::{Profile, Target, TimeSpan};
use model::result::{MixedCores, Row, RunResult, TimeSpanResult};
use model::topology::Topology;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Assigns each row its target of the profile: by the thread number, if targets have threads of their own; with a pool
/// of threads for all targets, the second row of a thread on a path is the second target with it.
pub(super) fn number_targets(rows: &mut [Row], span: &TimeSpan) {
    let mut targets: BTreeMap<&PathBuf, Vec<usize>> = BTreeMap::new();
    for (index, target) in span.targets.iter().enumerate() {
        targets.entry(&target.path).or_default().push(index);
    }
    let owner = |thread: u32| {
        let mut end = 0u32;
        let is_before = |target: &&Target| {
            end = end.saturating_add(target.threads);
            end <= thread
        };
        span.targets.iter().take_while(is_before).count()
    };
    let mut seen: BTreeMap<(u32, PathBuf), usize> = BTreeMap::new();
    for row in rows {
        let owner = owner(row.thread);
        let is_owned = span.thread_count == 0 && span.targets.get(owner).is_some_and(|target| target.path == row.path);
        if is_owned {
            row.target = owner;
            continue;
        }
        let nth = seen.entry((row.thread, row.path.clone())).or_default();
        let known = targets.get(&row.path);
        row.target = known.and_then(|indices| indices.get(*nth).or(indices.last())).copied().unwrap_or(0);
        *nth += 1;
    }
}

/// The ending of a timespan, as far as it shows; `said` is the text in place of figures.
pub(super) fn ending(span_result: &TimeSpanResult, said: Option<&str>) -> Ending {
    match &span_result.measured {
        None if said.is_some_and(|said| said.starts_with("The test was not run.")) => Ending::NotRun,
        _ if !span_result.errors.is_empty() => Ending::Failed,
        Some(measured) if measured.is_partial => Ending::Stopped,
        Some(_) => Ending::Completed,
        None => Ending::Stopped,
    }
}

/// The core types that were used, if the result reports mixed ones.
pub(super) fn mixed_cores(affinity: Option<&[AffinityEntry]>, topology: &Topology) -> Option<MixedCores> {
    stats::mixed_cores(affinity?, topology)
}

/// Gives a profile and its results the same number of timespans.
pub(super) fn align(profile: &mut Profile, time_spans: &mut Vec<TimeSpanResult>) {
    let count = profile.time_spans.len().max(time_spans.len());
    profile.time_spans.resize_with(count, TimeSpan::default);
    time_spans.resize_with(count, TimeSpanResult::default);
}

/// Computes the summary and the metrics of each timespan.
pub(super) fn summaries(result: &mut RunResult) {
    for (index, span_result) in result.time_spans.iter_mut().enumerate() {
        stats::summarise_metrics(result.profile.time_spans.get(index), span_result);
    }
}

/// Summaries, and sums over the timespans, if none were read.
pub(super) fn totals(result: &mut RunResult) {
    summaries(result);
    result.totals = result.totals.or_else(|| stats::totals(&result.time_spans));
}

/// Computes the latency of reads and writes together, if only each is known.
pub(super) fn pool_total(figures: &mut Directions<Figures>) {
    if figures.total.latency.is_none() {
        figures.total.latency = stats::pooled_latency([figures.read, figures.write]);
    }
}

/// A distribution, if any part of it is known. Its extremes are the first and the last percentile.
pub(super) fn distribution(
    count: u64,
    figures: Option<LatencyFigures>,
    mut percentiles: Vec<Percentile>,
    distinct_values: u64,
) -> Option<LatencyDistribution> {
    if figures.is_none() && percentiles.is_empty() {
        return None;
    }
    percentiles.sort_by_key(|percentile| percentile.rank_ppb);
    percentiles.dedup_by_key(|percentile| percentile.rank_ppb);
    let at = |rank_ppb| percentiles.iter().find(|percentile| percentile.rank_ppb == rank_ppb).map(|p| p.value_ns);
    let figures = LatencyFigures { min_ns: at(0), max_ns: at(1_000_000_000), ..figures.unwrap_or_default() };
    Some(LatencyDistribution { count, figures, percentiles, distinct_values, buckets: Vec::new() })
}
