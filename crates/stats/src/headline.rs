//! The few figures of a timespan by which runs are compared.

use model::headline::Headline;
use model::result::{Figures, LatencyDistribution, LoadLoop, TimeSpanResult};
use model::verdict::Verdict;

/// Ranks of the percentiles in a headline, in parts per billion.
pub(crate) const P50_PPB: u64 = 500_000_000;
pub(crate) const P99_PPB: u64 = 990_000_000;
pub(crate) const P999_PPB: u64 = 999_000_000;

/// The headline of a timespan; `None` if it has no figures.
pub fn headline(happened: &TimeSpanResult) -> Option<Headline> {
    let measured = happened.measured.as_ref()?;
    let Figures { iops, mib_per_s, latency, .. } = measured.total.total;
    let latencies = measured.total_latency.as_ref().and_then(|latencies| latencies.total.as_ref());
    let (depth, response) = match &measured.load_loop {
        Some(LoadLoop::Closed { depth }) => (Some(*depth), None),
        Some(LoadLoop::Open(open)) => (Some(open.depth), open.response_time.total.as_ref()),
        None => (None, None),
    };
    let rank = |latencies: Option<&LatencyDistribution>, rank_ppb| latencies?.at(rank_ppb);
    let (writes, ios) = (measured.total.write.ios, measured.total.total.ios);
    Some(Headline {
        iops,
        write_share: if ios == 0 { 0.0 } else { writes as f64 / ios as f64 },
        mib_per_s,
        mean_ns: latency.map(|latency| latency.mean_ns),
        p50_ns: rank(latencies, P50_PPB),
        p99_ns: rank(latencies, P99_PPB),
        p999_ns: rank(latencies, P999_PPB),
        response_mean_ns: response.map(|response| response.figures.mean_ns),
        response_p50_ns: rank(response, P50_PPB),
        response_p99_ns: rank(response, P99_PPB),
        response_p999_ns: rank(response, P999_PPB),
        cpu_percent: measured.cpu_average.usage_percent,
        threads: measured.thread_count,
        depth,
        severity: happened.verdict.as_ref().and_then(Verdict::severity),
    })
}
