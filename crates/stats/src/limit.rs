//! The highest rate that meets limits, from runs that each may mislead.
//!
//! The result of a run is not its percentile but the share of its I/Os beyond the limit: shares can be pooled over runs
//! without loss, and exceed what the limit allows exactly when the pooled percentile exceeds the limit.

mod monotone;
mod noise;
mod search;

pub use noise::SPAN_MIN as NOISE_SPAN_MIN;
pub use search::{RUNS_MAX, Search, SearchStep};

use crate::metrics;
use hot::buckets::{lower_edge_ns, upper_edge_ns};
use model::figures::LatencyDistribution;
use model::limit::{Limit, LimitFound, LimitSample};
use model::metric::{Metric, MetricName, Scope};
use model::result::{LoadLoop, OpenLoop, TimeSpanResult};
use model::sweep::{Sweep, Visit};

/// A rate is not kept if this share of the intended starts was not made by the end.
const SHORTFALL: f64 = 0.02;
/// Percentiles that can be limited, and the share that may lie beyond.
const fn allowed_share(figure: Metric) -> Option<f64> {
    match figure {
        Metric::P50 => Some(0.5),
        Metric::P99 => Some(0.01),
        Metric::P999 => Some(0.001),
        _ => None,
    }
}

/// Less than this of a limit is as good as this: no I/O lay beyond it.
const USED_MIN: f64 = 0.02;
/// Use of the limit by a run that cannot keep its rate.
const USED_SHORT: f64 = 10.0;
/// No run is further off.
const USED_MAX: f64 = 50.0;

/// A run of a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// Index of its rate.
    pub point: usize,
    /// A confirming run: of the full length.
    pub is_confirming: bool,
    /// Its result.
    pub sample: LimitSample,
}

/// Result of one run of an open loop; `None` if it did not measure a limited metric.
pub fn sample(result: &TimeSpanResult, limits: &[Limit]) -> Option<LimitSample> {
    let measured = result.measured.as_ref()?;
    let Some(LoadLoop::Open(open)) = &measured.load_loop else { return None };
    if limits.is_empty() {
        return None;
    }
    let mut used = 0.0_f64;
    for limit in limits {
        used = used.max(used_of(result, open, limit)?);
    }
    let is_short = open.backlog as f64 > SHORTFALL * open.intended_starts as f64;
    Some(LimitSample { used, intended_starts: open.intended_starts, is_short })
}

fn used_of(result: &TimeSpanResult, open: &OpenLoop, limit: &Limit) -> Option<f64> {
    let Limit { figure, scope, at_most } = *limit;
    let Some(allowed) = allowed_share(figure) else {
        return Some(metrics::value(&MetricName { stream: None, scope, metric: figure }, result)? / at_most);
    };
    let times = metrics::distribution(scope, result.measured.as_ref()?)?;
    let all = open.response_time.total.as_ref()?.count as f64;
    // An I/O that has not started at the end waits already, and would be beyond the limit before long.
    let backlog = match scope {
        Scope::Response | Scope::ReadResponse | Scope::WriteResponse => {
            open.backlog as f64 * if all > 0.0 { times.count as f64 / all } else { 1.0 }
        }
        _ => 0.0,
    };
    let count = times.count as f64 + backlog;
    (count > 0.0).then(|| (beyond(times, at_most) + backlog) / count / allowed)
}

/// How many I/Os took longer, with the place inside the bucket of the limit.
fn beyond(response: &LatencyDistribution, at_most_ns: f64) -> f64 {
    let one = |&(index, count): &(u32, u64)| {
        let (low, high) = (lower_edge_ns(index as usize) as f64, upper_edge_ns(index as usize) as f64);
        let share =
            if high > low { ((high - at_most_ns) / (high - low)).clamp(0.0, 1.0) } else { f64::from(low > at_most_ns) };
        share * count as f64
    };
    response.buckets.iter().map(one).sum()
}

/// Use of the limit by a run, within bounds.
fn used(sample: &LimitSample) -> f64 {
    let used = if sample.is_short { sample.used.max(USED_SHORT) } else { sample.used };
    used.min(USED_MAX)
}

/// Its logarithm.
fn log_used(sample: &LimitSample) -> f64 {
    used(sample).max(USED_MIN).ln()
}

/// How many of the runs that count at a rate meet the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitsMet {
    /// Runs that meet all limits, with nearly all of their intended starts.
    pub met: usize,
    /// All of them.
    pub runs: usize,
}

impl LimitsMet {
    /// True if there are runs and all of them meet the limits.
    pub const fn is_always(self) -> bool {
        self.runs > 0 && self.met == self.runs
    }
}

/// How many of the [runs](crate::sweep::runs) of a point meet the limits.
pub fn met(sweep: &Sweep, found: &LimitFound, point: usize) -> LimitsMet {
    let runs = crate::sweep::runs(sweep, point);
    // Older documents lack the sample.
    let meets = |visit: &Visit| match (&visit.limit, visit.headline()) {
        (Some(sample), _) => used(sample) <= 1.0,
        (None, Some(run)) => {
            found.limits.iter().all(|limit| limit.value(run).is_some_and(|value| value <= limit.at_most))
        }
        (None, None) => false,
    };
    LimitsMet { met: runs.iter().filter(|visit| meets(visit)).count(), runs: runs.len() }
}

/// The highest rate whose runs all meet the limits.
pub fn highest_always_met(sweep: &Sweep, found: &LimitFound) -> Option<usize> {
    (0..sweep.points.len()).rev().find(|point| met(sweep, found, *point).is_always())
}

/// The shortest run in seconds that can judge a rate: with ten I/Os beyond the highest percentile.
pub fn seconds_min(limits: &[Limit], rate_iops: f64) -> f64 {
    let completions = limits.iter().map(Limit::completions_min).max().unwrap_or(0);
    completions as f64 / rate_iops.max(f64::MIN_POSITIVE)
}

/// Sustained rate of the target at the end of a run without a rate: the I/Os per second of its last third. Burst
/// credits and caches last for its beginning only.
pub fn sustained_iops(result: &TimeSpanResult) -> Option<f64> {
    let measured = result.measured.as_ref()?;
    let series = &measured.series;
    let cells = series.read.ios.len().max(series.write.ios.len());
    let third = cells / 3;
    if third == 0 || series.width_ns == 0 {
        return Some(measured.total.total.iops);
    }
    let of_last = |ios: &[u64]| ios.iter().skip(cells - third).sum::<u64>() as f64;
    let ios = of_last(&series.read.ios) + of_last(&series.write.ios);
    Some(ios / (third as f64 * series.width_ns as f64 / 1e9))
}

#[cfg(test)]
mod tests;
