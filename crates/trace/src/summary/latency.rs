//! Latencies of requests.

use hot::buckets::{BUCKET_COUNT, Buckets, upper_edge_ns};
use serde::Serialize;
use std::sync::atomic::AtomicU64;

/// Latencies of an action. Percentiles are at most 0.1 % above the exact ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Latencies {
    /// Requests with a known completion.
    pub count: u64,
    /// Mean.
    pub mean_ns: f64,
    /// Median.
    pub p50_ns: u64,
    /// 90th percentile.
    pub p90_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p999_ns: u64,
    /// Longest.
    pub max_ns: u64,
}

#[derive(Debug)]
pub(super) struct LatencyCounter {
    buckets: Buckets,
    count: u64,
    sum_ns: u128,
    max_ns: u64,
}

impl Default for LatencyCounter {
    fn default() -> Self {
        let cells: Box<[AtomicU64]> = (0..BUCKET_COUNT).map(|_| AtomicU64::new(0)).collect();
        let Ok(cells) = cells.try_into() else { unreachable!("there are as many cells as buckets") };
        Self { buckets: Buckets::new(cells), count: 0, sum_ns: 0, max_ns: 0 }
    }
}

impl LatencyCounter {
    pub(super) fn add(&mut self, latency_ns: u64) {
        self.buckets.record(latency_ns);
        self.count += 1;
        self.sum_ns += u128::from(latency_ns);
        self.max_ns = self.max_ns.max(latency_ns);
    }

    pub(super) fn finish(&self) -> Latencies {
        let counts = self.buckets.non_empty();
        let percentile = |per_mille: u64| {
            let mut below = 0;
            let rank = (self.count * per_mille).div_ceil(1000);
            let bucket = counts.iter().find(|&&(_, count)| {
                below += count;
                below >= rank
            });
            bucket.map_or(0, |&(index, _)| upper_edge_ns(index as usize).min(self.max_ns))
        };
        Latencies {
            count: self.count,
            mean_ns: self.sum_ns as f64 / self.count.max(1) as f64,
            p50_ns: percentile(500),
            p90_ns: percentile(900),
            p99_ns: percentile(990),
            p999_ns: percentile(999),
            max_ns: self.max_ns,
        }
    }
}
