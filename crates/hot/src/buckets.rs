//! Latency buckets: log-linear, at most 0.1 % wide, over the whole range of 64 bits.
//!
//! A value keeps its highest 11 bits: below 2048 ns every nanosecond has its own bucket, above,
//! each power of two is cut into 1024 equal buckets. So a bucket's width is at most 1/1024 of its
//! lower edge, and finding the bucket takes a count of leading zeros and a shift.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bits kept below the highest one.
const SUB_BITS: u32 = 10;

/// Number of buckets that cover every `u64`.
pub const BUCKET_COUNT: usize = ((64 - SUB_BITS as usize) + 1) << SUB_BITS;

/// Bytes of one table of counts.
pub const TABLE_BYTES: u64 = BUCKET_COUNT as u64 * 8;

const _: () = assert!(TABLE_BYTES == 440 * 1024);

/// The bucket of a latency.
#[inline]
pub const fn index(latency_ns: u64) -> usize {
    // The highest bit is treated as at least bit 10, so small values map to themselves.
    let magnitude = (latency_ns | (1 << SUB_BITS)).ilog2();
    let shift = magnitude - SUB_BITS;
    ((shift as usize) << SUB_BITS) + (latency_ns >> shift) as usize
}

/// The smallest latency of bucket `index`, in nanoseconds.
pub const fn lower_edge_ns(index: usize) -> u64 {
    let shift = (index >> SUB_BITS).saturating_sub(1);
    ((index - (shift << SUB_BITS)) as u64) << shift
}

/// The largest latency of bucket `index`, in nanoseconds.
pub const fn upper_edge_ns(index: usize) -> u64 {
    let shift = (index >> SUB_BITS).saturating_sub(1);
    lower_edge_ns(index) + ((1u64 << shift) - 1)
}

/// Coarse buckets are eight buckets each: at most 1/128 (0.8 %) of their lower edge wide, and 8 ns below 1 µs, where
/// reading the clock takes longer.
const COARSE_BITS: u32 = 3;

/// Number of coarse buckets that cover every `u64`.
pub const COARSE_COUNT: usize = BUCKET_COUNT >> COARSE_BITS;

/// The coarse bucket that holds bucket `index`.
#[inline]
pub const fn coarse(index: usize) -> usize {
    index >> COARSE_BITS
}

/// The smallest latency of coarse bucket `index`, in nanoseconds.
pub const fn coarse_lower_edge_ns(index: usize) -> u64 {
    lower_edge_ns(index << COARSE_BITS)
}

/// The largest latency of coarse bucket `index`, in nanoseconds.
pub const fn coarse_upper_edge_ns(index: usize) -> u64 {
    upper_edge_ns((index << COARSE_BITS) + ((1 << COARSE_BITS) - 1))
}

/// One table of counts: written by one thread, readable by any.
#[derive(Debug)]
pub struct Buckets {
    cells: Box<[AtomicU64; BUCKET_COUNT]>,
}

impl Buckets {
    /// A table over `cells`, which must be zero; untouched memory is sufficient, and stays untouched until a latency
    /// falls into it.
    pub fn new(cells: Box<[AtomicU64; BUCKET_COUNT]>) -> Self {
        Self { cells }
    }

    /// Touches the memory of the latencies from 1 µs to 1 s, so that counting them causes no page fault
    /// during the measurement and a long run takes no more memory than a short one: 160 KiB. Only the
    /// owning thread may call this, on the node where it will run.
    pub fn touch(&self) {
        const CELLS_PER_PAGE: usize = 4096 / size_of::<AtomicU64>();
        for cell in self.cells[index(1_000)..index(1_000_000_000)].iter().step_by(CELLS_PER_PAGE) {
            cell.store(cell.load(Relaxed), Relaxed);
        }
    }

    /// Counts one latency. Only the owning thread may call this: it is a load and a store, not an
    /// atomic addition (1.4 against 7.1 ns).
    #[inline]
    pub fn record(&self, latency_ns: u64) {
        self.record_at(index(latency_ns));
    }

    /// Counts one latency whose bucket is known.
    #[inline]
    pub fn record_at(&self, index: usize) {
        let cell = &self.cells[index];
        cell.store(cell.load(Relaxed) + 1, Relaxed);
    }

    /// The coarse buckets that are not empty, ascending, of latencies from `min_ns` to `max_ns`.
    pub fn coarse_non_empty(&self, min_ns: u64, max_ns: u64) -> Vec<(u32, u64)> {
        let (first, last) = (coarse(index(min_ns)), coarse(index(max_ns)));
        let cells = self.cells.get(first << COARSE_BITS..(last + 1) << COARSE_BITS).unwrap_or_default();
        let counts =
            cells.chunks_exact(1 << COARSE_BITS).map(|cells| cells.iter().map(|cell| cell.load(Relaxed)).sum());
        (first as u32..).zip(counts).filter(|&(_, count)| count > 0).collect()
    }

    /// The buckets that are not empty, ascending.
    pub fn non_empty(&self) -> Vec<(u32, u64)> {
        let count = |(index, cell): (usize, &AtomicU64)| (index as u32, cell.load(Relaxed));
        self.cells.iter().enumerate().map(count).filter(|&(_, count)| count > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn empty() -> Buckets {
        let cells: Box<[AtomicU64]> = (0..BUCKET_COUNT).map(|_| AtomicU64::new(0)).collect();
        Buckets::new(cells.try_into().expect("there are as many"))
    }

    #[test]
    fn the_ends_of_the_range_have_buckets() {
        assert_eq!(index(0), 0);
        assert_eq!(index(u64::MAX), BUCKET_COUNT - 1);
        assert_eq!(upper_edge_ns(BUCKET_COUNT - 1), u64::MAX);
    }

    #[test]
    fn buckets_tile_the_range_without_gaps() {
        for index in 1..BUCKET_COUNT {
            assert_eq!(lower_edge_ns(index), upper_edge_ns(index - 1) + 1, "at {index}");
        }
    }

    #[test]
    fn touching_counts_nothing() {
        let buckets = empty();
        buckets.record(5_000);
        buckets.touch();
        assert_eq!(buckets.non_empty(), [(index(5_000) as u32, 1)]);
    }

    #[test]
    fn counts_come_back() {
        let buckets = empty();
        buckets.record(5);
        buckets.record(5);
        buckets.record(1_000_000);
        assert_eq!(buckets.non_empty(), [(5, 2), (index(1_000_000) as u32, 1)]);
    }

    #[test]
    fn coarse_counts_come_back_within_bounds() {
        let buckets = empty();
        for latency_ns in [0, 7, 8, 5_000, 5_001, 1 << 40, u64::MAX] {
            buckets.record(latency_ns);
        }
        let at = |ns| coarse(index(ns)) as u32;
        let all = [(0, 2), (1, 1), (at(5_000), 2), (at(1 << 40), 1), (at(u64::MAX), 1)];
        assert_eq!(buckets.coarse_non_empty(0, u64::MAX), all);
        assert_eq!(buckets.coarse_non_empty(8, 1 << 40), all[1..4]);
        assert_eq!(buckets.coarse_non_empty(9_000, 8), []);
    }

    #[test]
    fn coarse_buckets_tile_the_range_without_gaps() {
        assert_eq!((coarse_lower_edge_ns(0), coarse_upper_edge_ns(COARSE_COUNT - 1)), (0, u64::MAX));
        for index in 1..COARSE_COUNT {
            assert_eq!(coarse_lower_edge_ns(index), coarse_upper_edge_ns(index - 1) + 1, "at {index}");
        }
    }

    proptest! {
        #[test]
        fn a_value_lies_inside_its_coarse_bucket(magnitude in 0u32..64, value: u64) {
            let value = value >> magnitude;
            let at = coarse(index(value));
            let (low, high) = (coarse_lower_edge_ns(at), coarse_upper_edge_ns(at));
            prop_assert!(low <= value && value <= high);
            prop_assert!(high - low <= 7.max(low / 128));
        }

        #[test]
        fn a_value_lies_inside_its_bucket_and_the_bucket_is_narrow(value: u64) {
            let at = index(value);
            let (low, high) = (lower_edge_ns(at), upper_edge_ns(at));
            prop_assert!(low <= value && value <= high);
            prop_assert!(high - low <= low / 1024);
        }

        #[test]
        fn larger_values_never_have_smaller_buckets(a: u64, b: u64) {
            prop_assert!(index(a.min(b)) <= index(a.max(b)));
        }

        #[test]
        fn percentiles_agree_with_hdrhistogram(values in prop::collection::vec(1u64..10_000_000_000, 1..200)) {
            let mut oracle = hdrhistogram::Histogram::<u64>::new(3).expect("three digits are allowed");
            let buckets = empty();
            for &value in &values {
                oracle.record(value).expect("the histogram resizes itself");
                buckets.record(value);
            }
            let median_rank = values.len().div_ceil(2) as u64;
            let mut seen = 0;
            let at = buckets.non_empty().into_iter().find(|&(_, count)| { seen += count; seen >= median_rank });
            let ours = upper_edge_ns(at.expect("there are values").0 as usize) as f64;
            let theirs = oracle.value_at_quantile(0.5) as f64;
            prop_assert!((ours - theirs).abs() <= theirs * 0.002 + 1.0, "{} against {}", ours, theirs);
        }
    }
}
