//! The value of any metric in a result.

use crate::cpu::cpu_shares;
use crate::ranks::{P50_PPB, P99_PPB};
use model::figures::{CommitFigures, Figures, FlushFigures, LatencyDistribution, LatencyFigures};
use model::metric::{Metric, MetricName, Scope};
use model::operation::Operation;
use model::profile::TimeSpan;
use model::result::{LoadLoop, Measured, TimeSpanResult};
use model::units::mib;
use std::collections::BTreeMap;

/// The value of a metric in its unit; `None` if it was not measured.
pub fn value(name: &MetricName, span_result: &TimeSpanResult) -> Option<f64> {
    let measured = span_result.measured.as_ref()?;
    match name.metric {
        Metric::Cpu => measured.has_cpu_usage().then_some(measured.cpu_average.usage_percent),
        Metric::IoCpu => cpu_shares(span_result).map(|shares| 100.0 - shares.idle_percent - shares.others_percent),
        metric => Part::named(name, measured)?.value(metric),
    }
}

/// The number of latencies that a percentile is of; `None` if it is not known, or the metric is no percentile.
pub fn latencies(name: &MetricName, span_result: &TimeSpanResult) -> Option<u64> {
    name.metric.rank_ppb()?;
    Some(Part::named(name, span_result.measured.as_ref()?)?.distribution?.count)
}

/// The latencies of the I/Os of a scope; `None` if they were not measured.
pub(crate) fn distribution(scope: Scope, measured: &Measured) -> Option<&LatencyDistribution> {
    Part::in_scope(scope, measured)?.distribution
}

/// All metrics of a timespan by their full names, in their units. A latency of all reads and writes is left out if the
/// application waits for another one, which a bare name then means.
pub fn all(span: &TimeSpan, span_result: &TimeSpanResult) -> BTreeMap<String, f64> {
    let of_all = Scope::ALL.into_iter().filter(|scope| scope.is_in(span)).map(|scope| (None, scope));
    let of_streams = span.streams().into_iter().map(|(stream, _)| (Some(stream.clone()), Scope::All));
    let is_bare_ambiguous = Scope::waited_for(span) != [Scope::All];
    let mut all = BTreeMap::new();
    for (stream, scope) in of_all.chain(of_streams) {
        let is_bare = stream.is_none() && scope == Scope::All;
        let has = |metric: &Metric| {
            scope.has(*metric)
                && (stream.is_none() || !metric.is_of_machine())
                && !(is_bare && is_bare_ambiguous && metric.needs_latency())
        };
        for metric in Metric::ALL.into_iter().filter(has) {
            let name = MetricName { stream: stream.clone(), scope, metric };
            let is_whole = stream.is_none() || name.resolve(span).is_ok();
            let value = value(&name, span_result).filter(|value| is_whole && value.is_finite());
            all.extend(value.map(|value| (name.to_string(), value)));
        }
    }
    all
}

/// Figures of the I/Os of a scope.
#[derive(Default)]
struct Part<'a> {
    iops: Option<f64>,
    bytes_per_s: Option<f64>,
    latency: Option<LatencyFigures>,
    distribution: Option<&'a LatencyDistribution>,
    /// Percentiles of results that have no distribution.
    percentiles_ns: [(u64, Option<u64>); 2],
}

impl<'a> Part<'a> {
    fn named(name: &MetricName, measured: &'a Measured) -> Option<Self> {
        let Some(stream) = &name.stream else { return Self::in_scope(name.scope, measured) };
        let stream = measured.streams.iter().find(|of| of.name == *stream)?;
        Some(Self::transfers(&stream.figures.total, stream.latency.total.as_ref()))
    }

    fn in_scope(scope: Scope, measured: &'a Measured) -> Option<Self> {
        let total = &measured.total;
        let latencies = measured.total_latency.as_ref();
        let operation = |operation: Operation| {
            let of = measured.operations.iter().find(|of| of.operation == operation)?;
            Some(Self::transfers(&of.figures, of.latency.as_ref()))
        };
        let response = || match &measured.load_loop {
            Some(LoadLoop::Open(open)) => Some(&open.response_time),
            _ => None,
        };
        match scope {
            Scope::All => Some(Self::transfers(&total.total, latencies.and_then(|of| of.total.as_ref()))),
            Scope::Read => Some(Self::transfers(&total.read, latencies.and_then(|of| of.read.as_ref()))),
            Scope::Write => Some(Self::transfers(&total.write, latencies.and_then(|of| of.write.as_ref()))),
            Scope::Discard => operation(Operation::Discard),
            Scope::WriteZeroes => operation(Operation::WriteZeroes),
            Scope::Flush => measured.flushes.as_ref().map(|flushes| Self::flushes(flushes, measured)),
            Scope::Commit => match &measured.flushes {
                Some(flushes) => Self::commits(flushes, measured),
                None => Self::in_scope(Scope::Write, measured),
            },
            Scope::Response => Self::times(response()?.total.as_ref()),
            Scope::ReadResponse => Self::times(response()?.read.as_ref()),
            Scope::WriteResponse => Self::times(response()?.write.as_ref()),
        }
    }

    fn transfers(figures: &Figures, distribution: Option<&'a LatencyDistribution>) -> Self {
        let Figures { iops, bytes_per_s, latency, .. } = *figures;
        Self { iops: Some(iops), bytes_per_s: Some(bytes_per_s), latency, distribution, ..Self::default() }
    }

    fn times(distribution: Option<&'a LatencyDistribution>) -> Option<Self> {
        let latency = Some(distribution?.figures);
        Some(Self { latency, distribution, ..Self::default() })
    }

    fn flushes(flushes: &FlushFigures, measured: &'a Measured) -> Self {
        Self {
            iops: Some(flushes.per_s),
            latency: flushes.latency,
            distribution: measured.flush_latency.as_ref(),
            percentiles_ns: [(P50_PPB, flushes.p50_ns), (P99_PPB, flushes.p99_ns)],
            ..Self::default()
        }
    }

    fn commits(flushes: &FlushFigures, measured: &'a Measured) -> Option<Self> {
        let of_figures = |CommitFigures { mean_ns, p50_ns, p99_ns, max_ns }| Self {
            latency: Some(LatencyFigures { mean_ns, max_ns: Some(max_ns), ..LatencyFigures::default() }),
            percentiles_ns: [(P50_PPB, Some(p50_ns)), (P99_PPB, Some(p99_ns))],
            ..Self::default()
        };
        Self::times(measured.commit_latency.as_ref()).or_else(|| flushes.commit.map(of_figures))
    }

    fn value(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::Iops => self.iops,
            Metric::MibPerS => self.bytes_per_s.map(mib),
            Metric::Mean => self.latency.map(|latency| latency.mean_ns),
            Metric::Max => self.latency?.max_ns.map(|ns| ns as f64),
            metric => {
                let rank_ppb = metric.rank_ppb()?;
                let kept = self.percentiles_ns.iter().find(|(rank, _)| *rank == rank_ppb).and_then(|(_, ns)| *ns);
                self.distribution.and_then(|distribution| distribution.at(rank_ppb)).or(kept).map(|ns| ns as f64)
            }
        }
    }
}
