//! The buckets of latency histograms for Prometheus: few, and the same in every run.

use hot::buckets::{COARSE_COUNT, coarse_upper_edge_ns, upper_edge_ns};

/// Upper edges in microseconds: 1, 2 and 5 of each decade from 1 µs to 10 s.
pub const EDGES_US: [u64; 22] = [
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000,
    1_000_000, 2_000_000, 5_000_000, 10_000_000,
];

/// Counts of latencies: one for each of [`EDGES_US`], and one for what is above; not cumulative.
///
/// A latency counts as the upper edge of its bucket in the run, which is at most 0.8 % above it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MetricBuckets {
    counts: [u64; EDGES_US.len() + 1],
}

impl MetricBuckets {
    /// Adds a bucket of `hot::buckets::coarse`.
    pub fn add_coarse(&mut self, index: u32, count: u64) {
        self.add(coarse_upper_edge_ns((index as usize).min(COARSE_COUNT - 1)), count);
    }

    /// Adds a bucket of `hot::buckets`.
    pub fn add_fine(&mut self, index: u32, count: u64) {
        self.add(upper_edge_ns((index as usize).min(hot::buckets::BUCKET_COUNT - 1)), count);
    }

    fn add(&mut self, upper_ns: u64, count: u64) {
        let at = EDGES_US.partition_point(|&edge_us| edge_us * 1000 < upper_ns);
        self.counts[at] = self.counts[at].saturating_add(count);
    }

    /// Number of latencies.
    pub fn count(&self) -> u64 {
        self.counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Upper edges in seconds, the last one infinite, each with its count.
    pub fn in_seconds(&self) -> Vec<(f64, u64)> {
        let edges = EDGES_US.iter().map(|&edge_us| edge_us as f64 / 1e6).chain([f64::INFINITY]);
        edges.zip(self.counts).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hot::buckets::{coarse, index};

    #[test]
    fn latencies_count_below_the_edge_that_they_do_not_exceed() {
        let (mut fine, mut rough) = (MetricBuckets::default(), MetricBuckets::default());
        for (ns, count) in [(900, 1), (150_000, 3), (60_000_000_000, 5)] {
            fine.add_fine(index(ns) as u32, count);
            rough.add_coarse(coarse(index(ns)) as u32, count);
        }
        assert_eq!((fine, fine.count()), (rough, 9));
        let counted: Vec<(f64, u64)> = fine.in_seconds().into_iter().filter(|(_, count)| *count > 0).collect();
        assert_eq!(counted, [(1e-6, 1), (2e-4, 3), (f64::INFINITY, 5)]);
    }
}
