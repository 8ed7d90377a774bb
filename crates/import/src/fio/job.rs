//! Figures of a job.

use super::document::{Direction, Job, Latency};
use model::figures::{Directions, Figures, LatencyDistribution, LatencyFigures, Percentile};
use stats::fio_form;

/// The kind of latencies that a document has percentiles of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// From the submission.
    Completion,
    /// From the start of the I/O, submission included.
    Total,
}

/// The figures of a job.
pub(super) struct JobFigures {
    pub(super) figures: Directions<Figures>,
    pub(super) latency: Directions<Option<LatencyDistribution>>,
    pub(super) trims: Part,
    pub(super) syncs: Part,
    /// The longest time of a direction.
    pub(super) runtime_ns: u64,
    /// The kind of latencies; `None` = there are none.
    pub(super) kind: Option<Kind>,
    /// True if reads and writes are one figure.
    pub(super) is_mixed: bool,
}

/// Figures of I/Os of one kind.
#[derive(Default)]
pub(super) struct Part {
    pub(super) figures: Figures,
    pub(super) latency: Option<LatencyDistribution>,
    kind: Option<Kind>,
}

/// Reads the figures of a job; the error names the missing part.
pub(super) fn read(job: &Job) -> Result<JobFigures, String> {
    let part = |name: &str, direction| part(direction).map_err(|reason| format!("{name} {reason}"));
    let (read, write, trims) = (part("read", &job.read)?, part("write", &job.write)?, part("trim", &job.trim)?);
    let mixed = job.mixed.as_ref().map(|mixed| part("mixed", mixed)).transpose()?;
    let is_mixed =
        mixed.as_ref().is_some_and(|mixed| mixed.figures.ios > 0) && read.figures.ios + write.figures.ios == 0;
    let total = match mixed {
        // Both are printed with unified_rw_reporting=both, and mixed figures include trims.
        Some(mixed) if trims.figures.ios == 0 => mixed,
        _ => both(&read, &write),
    };
    let directions = [&job.read, &job.write, &job.trim].into_iter().chain(&job.mixed);
    let runtime_ms = directions.filter_map(|direction| direction.runtime.whole).max().unwrap_or(0);
    Ok(JobFigures {
        figures: Directions { read: read.figures, write: write.figures, total: total.figures },
        kind: [&read, &write, &total, &trims].into_iter().filter_map(|part| part.kind).max(),
        latency: Directions { read: read.latency, write: write.latency, total: total.latency },
        syncs: syncs(job),
        trims,
        runtime_ns: runtime_ms.saturating_mul(1_000_000),
        is_mixed,
    })
}

/// Syncs: before 3.4, only their latencies have a count.
fn syncs(job: &Job) -> Part {
    let latency = job.sync.lat_ns.as_ref();
    let samples = latency.and_then(|latency| latency.samples.whole);
    let ios = job.sync.total_ios.whole.or(samples).unwrap_or(0);
    let latency = latency.and_then(|latency| distribution(latency, ios, 1));
    let figures = Figures { ios, latency: latency.as_ref().map(|latency| latency.figures), ..Figures::default() };
    Part { figures, latency, kind: None }
}

/// Reads and writes together, each at its own rate.
fn both(read: &Part, write: &Part) -> Part {
    let (a, b) = (read.figures, write.figures);
    let latencies: Vec<&LatencyDistribution> = [&read.latency, &write.latency].into_iter().flatten().collect();
    Part {
        figures: Figures {
            bytes: a.bytes + b.bytes,
            ios: a.ios + b.ios,
            bytes_per_s: a.bytes_per_s + b.bytes_per_s,
            iops: a.iops + b.iops,
            latency: stats::pooled_latency([a, b]),
            iops_std_dev: None,
        },
        latency: fio_form::pooled_distribution(&latencies),
        kind: read.kind.max(write.kind),
    }
}

fn part(direction: &Direction) -> Result<Part, String> {
    let missing = |name: &str| format!("has no {name}");
    let bytes = match (direction.io_kbytes.whole, direction.io_bytes.whole) {
        (Some(_), bytes) => bytes,
        // Before 2.21 they were KiB under this name.
        (None, kib) => kib.map(|kib| kib.saturating_mul(1024)),
    };
    let Some(ios) = direction.total_ios.whole else {
        // Missing before 2.1.14, and in documents whose job had no such I/O.
        return if bytes.unwrap_or(0) == 0 { Ok(Part::default()) } else { Err(missing("total_ios")) };
    };
    let latencies = [
        (Kind::Total, &direction.lat_ns, 1),
        (Kind::Completion, &direction.clat_ns, 1),
        (Kind::Total, &direction.lat, 1000),
        (Kind::Completion, &direction.clat, 1000),
    ];
    let found = |has_percentiles: bool| {
        latencies.iter().find_map(|(kind, latency, unit_ns)| {
            let latency = latency.as_ref().filter(|latency| !has_percentiles || !latency.percentile.0.is_empty())?;
            Some((*kind, distribution(latency, ios, *unit_ns)?))
        })
    };
    // Percentiles and moments of the same kind.
    let (kind, latency) = found(true).or_else(|| found(false)).unzip();
    let figures = Figures {
        bytes: bytes.unwrap_or(0).min(1 << 60),
        ios,
        bytes_per_s: direction.bw_bytes.real.or(direction.bw.real.map(|kib| kib * 1024.0)).unwrap_or(0.0),
        iops: direction.iops.real.unwrap_or(0.0),
        latency: latency.as_ref().map(|latency: &LatencyDistribution| latency.figures),
        iops_std_dev: None,
    };
    Ok(Part { figures, latency, kind })
}

/// Latencies in a unit; `None` without any.
fn distribution(latency: &Latency, ios: u64, unit_ns: u64) -> Option<LatencyDistribution> {
    let count = latency.samples.whole.unwrap_or(ios);
    if count == 0 {
        return None;
    }
    let unit = unit_ns as f64;
    // For a single I/O, old versions print nan.
    let deviation = latency.stddev.real.or((count == 1).then_some(0.0))?;
    let extreme = |value: Option<u64>| value.map(|value| value.saturating_mul(unit_ns));
    let figures = LatencyFigures {
        mean_ns: latency.mean.real? * unit,
        std_dev_ns: deviation * unit,
        min_ns: extreme(latency.min.whole),
        max_ns: extreme(latency.max.whole),
    };
    // Old versions print a percentile of rank 0 instead of an end of the list.
    let told = latency.percentile.0.iter().filter(|(rank_ppb, _)| *rank_ppb > 0);
    let mut percentiles: Vec<Percentile> =
        told.map(|&(rank_ppb, value)| Percentile { rank_ppb, value_ns: value.saturating_mul(unit_ns) }).collect();
    percentiles.sort_by_key(|percentile| percentile.rank_ppb);
    percentiles.dedup_by_key(|percentile| percentile.rank_ppb);
    // Before version 3, keys are numbers of bins.
    let bins = if unit_ns == 1 { &latency.bins.0[..] } else { &[] };
    let buckets = fio_form::buckets(bins.iter().copied());
    let in_bins = buckets.iter().fold(0u64, |sum, (_, count)| sum.saturating_add(*count));
    let is_whole = in_bins == count;
    let buckets = if is_whole { buckets } else { Vec::new() };
    let mut found = LatencyDistribution { count, figures, percentiles, distinct_values: buckets.len() as u64, buckets };
    fio_form::complete_percentiles(&mut found);
    Some(found)
}
