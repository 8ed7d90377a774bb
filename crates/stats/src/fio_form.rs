//! The histogram of fio, whose bins are in its `json+`: 64 to each power of two, and those of this program.
//!
//! Below 128 ns each nanosecond has a bin of its own. Above, a bin is at most 1/64 of its values wide, and stands for
//! the middle of it, so that a value is off by at most 1/128 (0.8 %). Each bucket of `hot::buckets` lies in one bin.

use crate::latency::{PERCENTILE_RANKS_PPB, percentiles_of, upper_edge_ns};
use hot::buckets;
use model::figures::LatencyDistribution;
use std::collections::BTreeMap;

/// Bits kept below the highest one.
const SUB_BITS: u32 = 6;
/// Values below this have a bin each.
const EXACT_NS: u64 = 2 << SUB_BITS;
/// From this value on, everything is in the last bins.
const OVER_NS: u64 = 1 << 34;

/// Upper edges of the shares that fio prints, in nanoseconds: of `latency_ns`, `latency_us` and `latency_ms`.
const SHARE_EDGES: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
/// The last two of `latency_ms`; above, there is no edge.
const LONGEST_MS: u64 = 2000;

/// The value that fio prints for the bin of a latency, in nanoseconds.
pub fn bin_value_ns(latency_ns: u64) -> u64 {
    if latency_ns < EXACT_NS {
        return latency_ns;
    }
    let latency_ns = latency_ns.min(OVER_NS - 1);
    let shift = latency_ns.ilog2() - SUB_BITS;
    ((latency_ns >> shift) << shift) + (1 << (shift - 1))
}

/// Bins by their values, with their counts, of the buckets of a distribution.
pub fn bins(buckets: &[(u32, u64)]) -> BTreeMap<u64, u64> {
    let mut bins = BTreeMap::new();
    for &(index, count) in buckets {
        let index = (index as usize).min(buckets::BUCKET_COUNT - 1);
        let sum: &mut u64 = bins.entry(bin_value_ns(buckets::lower_edge_ns(index))).or_default();
        *sum = sum.saturating_add(count);
    }
    bins
}

/// Buckets of this program, ascending, of the values of bins and their counts.
pub fn buckets(bins: impl IntoIterator<Item = (u64, u64)>) -> Vec<(u32, u64)> {
    let mut found: BTreeMap<u32, u64> = BTreeMap::new();
    for (value_ns, count) in bins.into_iter().filter(|(_, count)| *count > 0) {
        let sum = found.entry(buckets::index(value_ns) as u32).or_default();
        *sum = sum.saturating_add(count);
    }
    found.into_iter().collect()
}

/// A percentile of a distribution, in nanoseconds: the one that it names, else that of its buckets.
pub fn percentile_ns(of: &LatencyDistribution, rank_ppb: u64) -> Option<u64> {
    let max_ns = of.figures.max_ns.unwrap_or(u64::MAX);
    let extremes = (of.figures.min_ns.unwrap_or(0).min(max_ns), max_ns);
    let of_buckets = || {
        let found = percentiles_of(&of.buckets, upper_edge_ns, extremes, [rank_ppb]);
        found.first().map(|percentile| percentile.value_ns).filter(|_| !of.buckets.is_empty())
    };
    of.at(rank_ppb).or_else(of_buckets)
}

/// Adds the percentiles that a distribution of fio does not name, from its bins: their values, which fio does not limit
/// to the extremes.
pub fn complete_percentiles(of: &mut LatencyDistribution) {
    if of.buckets.is_empty() {
        return;
    }
    let value_ns = |index: u32| bin_value_ns(buckets::lower_edge_ns((index as usize).min(buckets::BUCKET_COUNT - 1)));
    let ranks = PERCENTILE_RANKS_PPB.into_iter().filter(|rank_ppb| of.at(*rank_ppb).is_none());
    let ranks = ranks.filter(|rank_ppb| *rank_ppb > 0);
    let missing = percentiles_of(&of.buckets, value_ns, (0, u64::MAX), ranks);
    of.percentiles.extend(missing);
    of.percentiles.sort_by_key(|percentile| percentile.rank_ppb);
}

/// Several distributions together; `None` without any. Of those without buckets, only count and moments are known.
pub fn pooled_distribution(parts: &[&LatencyDistribution]) -> Option<LatencyDistribution> {
    if let [only] = parts {
        return Some((*only).clone());
    }
    let figures = crate::pooled(parts.iter().map(|part| (part.count, part.figures)))?;
    let count = parts.iter().fold(0u64, |sum, part| sum.saturating_add(part.count));
    let mut together = LatencyDistribution { count, figures, ..LatencyDistribution::default() };
    if parts.iter().all(|part| part.count == 0 || !part.buckets.is_empty()) {
        let mut buckets: BTreeMap<u32, u64> = BTreeMap::new();
        for &(index, count) in parts.iter().flat_map(|part| &part.buckets) {
            let sum = buckets.entry(index).or_default();
            *sum = sum.saturating_add(count);
        }
        together.distinct_values = buckets.len() as u64;
        together.buckets = buckets.into_iter().collect();
        complete_percentiles(&mut together);
    }
    Some(together)
}

/// Percent of latencies in each range that fio prints, of all distributions together: the upper edge of the range in
/// the unit of its table, `None` = no edge, and the share. Tables are those of ns, µs and ms.
pub fn range_shares(parts: &[&LatencyDistribution]) -> [Vec<(Option<u64>, f64)>; 3] {
    let counted: Vec<(u64, u64)> = parts.iter().flat_map(|part| bins(&part.buckets)).collect();
    let all: u64 = counted.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count));
    let share = |from_ns: u64, to_ns: u64| {
        let inside = counted.iter().filter(|(value_ns, _)| (from_ns..to_ns).contains(value_ns));
        let count = inside.fold(0u64, |sum, (_, count)| sum.saturating_add(*count));
        if all == 0 { 0.0 } else { 100.0 * count as f64 / all as f64 }
    };
    [1, 1000, 1_000_000].map(|unit_ns: u64| {
        let mut from_ns = if unit_ns == 1 { 0 } else { unit_ns };
        let edges = SHARE_EDGES.into_iter().chain((unit_ns == 1_000_000).then_some(LONGEST_MS));
        let mut shares: Vec<(Option<u64>, f64)> = edges
            .map(|edge| {
                let from = std::mem::replace(&mut from_ns, edge * unit_ns);
                (Some(edge), share(from, from_ns))
            })
            .collect();
        if unit_ns == 1_000_000 {
            shares.push((None, share(from_ns, u64::MAX)));
        }
        shares
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::figures::LatencyFigures;
    use proptest::prelude::*;

    /// As fio computes them: `plat_val_to_idx` and `plat_idx_to_val`.
    #[test]
    fn values_are_those_that_fio_prints() {
        for (latency_ns, value_ns) in [
            (0, 0),
            (127, 127),
            (128, 129),
            (129, 129),
            (255, 255),
            (256, 258),
            (4000, 4016),
            (17_179_869_183, 17_112_760_320),
        ] {
            assert_eq!(bin_value_ns(latency_ns), value_ns, "{latency_ns}");
        }
        assert_eq!(bin_value_ns(u64::MAX), 17_112_760_320, "the last bin has no upper edge");
    }

    #[test]
    fn shares_are_of_the_ranges_between_edges() {
        let bucket = |ns| (buckets::index(ns) as u32, 1);
        let of = LatencyDistribution {
            count: 4,
            buckets: [900, 1500, 3_000_000, 5_000_000_000].map(bucket).to_vec(),
            ..LatencyDistribution::default()
        };
        let [ns, us, ms] = range_shares(&[&of]);
        assert_eq!((ns.len(), us.len(), ms.len()), (10, 10, 12));
        let found = |shares: Vec<(Option<u64>, f64)>| shares.into_iter().find(|(_, share)| *share > 0.0);
        assert_eq!((found(ns), found(us)), (Some((Some(1000), 25.0)), Some((Some(2), 25.0))));
        assert_eq!((ms[1], ms[11]), ((Some(4), 25.0), (None, 25.0)));
        assert!(range_shares(&[])[0].iter().all(|(_, share)| share.abs() < f64::EPSILON));
    }

    proptest! {
        #[test]
        fn a_bin_is_off_by_less_than_one_percent(latency_ns in 0..OVER_NS) {
            let value_ns = bin_value_ns(latency_ns);
            prop_assert!(value_ns.abs_diff(latency_ns) * 128 <= latency_ns, "{value_ns}");
            prop_assert_eq!(bin_value_ns(value_ns), value_ns);
        }

        #[test]
        fn bins_come_back_as_the_bins_they_were(latencies in prop::collection::vec(0..OVER_NS, 1..50)) {
            let ours = buckets(latencies.iter().map(|ns| (*ns, 1)));
            let theirs = bins(&ours);
            prop_assert_eq!(bins(&buckets(theirs.clone())), theirs);
        }

        #[test]
        fn percentiles_of_pooled_bins_ascend_to_the_largest(latencies in prop::collection::vec(1..OVER_NS, 2..50)) {
            let part = |ns: &u64| LatencyDistribution {
                count: 1,
                figures: LatencyFigures { mean_ns: *ns as f64, std_dev_ns: 0.0, min_ns: Some(*ns), max_ns: Some(*ns) },
                buckets: buckets([(bin_value_ns(*ns), 1)]),
                ..LatencyDistribution::default()
            };
            let parts: Vec<LatencyDistribution> = latencies.iter().map(part).collect();
            let together = pooled_distribution(&parts.iter().collect::<Vec<_>>()).expect("there are some");
            prop_assert_eq!(together.count, latencies.len() as u64);
            let max = together.figures.max_ns.expect("known");
            prop_assert_eq!(percentile_ns(&together, 1_000_000_000), Some(bin_value_ns(max)));
            prop_assert!(together.percentiles.is_sorted_by_key(|percentile| percentile.value_ns));
        }
    }
}
