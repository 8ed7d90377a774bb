//! The histogram of fio, whose bins are in its `json+`: 64 to each power of two, and those of this program.
//!
//! Below 128 ns each nanosecond has a bin of its own. Above, a bin is at most 1/64 of its values wide, and stands for
//! the middle of it, so that a value is off by at most 1/128 (0.8 %). Each bucket of `hot::buckets` lies in one bin.

use crate::device_rates::rates;
use crate::latency::{PERCENTILE_RANKS_PPB, percentiles_of, upper_edge_ns};
use crate::sample::moments;
use hot::buckets;
use model::course::SeriesCounts;
use model::figures::LatencyDistribution;
use model::kernel_counters::DeviceCounters;
use model::result::TimeSpanResult;
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

/// Ranks in parts per billion: those that fio prints by default, and those of the text report. fio takes at most 20.
pub const RANKS_PPB: [u64; 20] = {
    let mut ranks = [
        1000, 5000, 10_000, 20_000, 25_000, 30_000, 40_000, 50_000, 60_000, 70_000, 75_000, 80_000, 90_000, 95_000,
        99_000, 99_500, 99_900, 99_950, 99_990, 99_999,
    ];
    let mut index = 0;
    while index < ranks.len() {
        ranks[index] *= 10_000;
        index += 1;
    }
    ranks
};

/// The shortest time that a sample of fio covers by default (`bwavgtime`, `iopsavgtime`).
const SAMPLE_NS: u64 = 500_000_000;

/// Rates of parts of a measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Samples {
    /// Number of parts.
    pub count: u64,
    /// The lowest rate, without decimals.
    pub min: u64,
    /// The highest rate, without decimals.
    pub max: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation with n - 1, as fio has it; 0 of a single part.
    pub std_dev: f64,
}

/// KiB per second and I/Os per second of the parts of a series, each at least as long as a sample of fio; `None`
/// without a whole part. `width_ns` is that of the series.
pub fn samples(counts: &SeriesCounts, width_ns: u64) -> Option<(Samples, Samples)> {
    let together = SAMPLE_NS.div_ceil(width_ns.max(1));
    let length_s = together.checked_mul(width_ns).filter(|_| width_ns > 0)? as f64 / 1e9;
    let sample_values = |counts: &[u64], unit: f64| {
        let parts = counts.chunks_exact(usize::try_from(together).ok()?);
        let rates: Vec<f64> = parts.map(|part| part.iter().map(|n| *n as f64).sum::<f64>() / unit / length_s).collect();
        let (mean, std_dev) = moments(&rates);
        let (min, max) =
            (rates.iter().copied().reduce(f64::min)? as u64, rates.iter().copied().reduce(f64::max)? as u64);
        Some(Samples { count: rates.len() as u64, min, max, mean, std_dev })
    };
    Some((sample_values(&counts.bytes, 1024.0)?, sample_values(&counts.ios, 1.0)?))
}

/// CPU time of this program, in its own code and in the kernel, in percent of the time of its threads; `None` = unknown.
pub fn cpu_percent(span_result: &TimeSpanResult, threads: u64) -> Option<(f64, f64)> {
    let around = span_result.kernel_counters.as_ref()?;
    let used = around.after.since(&around.before).process?;
    let (all_ms, user_ms) = used.cpu_time_ms.zip(used.user_time_ms)?;
    let time_ms = span_result.measured.as_ref()?.elapsed_ns as f64 / 1e6 * threads as f64;
    let percent = |ms: u64| 100.0 * ms as f64 / time_ms;
    (time_ms > 0.0).then(|| (percent(user_ms), percent(all_ms.saturating_sub(user_ms))))
}

/// Part of the measurement with at least one request in flight at a device, in percent; `None` = unknown.
pub fn busy_percent(of: &DeviceCounters, span_result: &TimeSpanResult) -> Option<f64> {
    let elapsed_ns = span_result.measured.as_ref()?.elapsed_ns;
    rates(&DeviceCounters::default(), of, elapsed_ns).map(|rates| rates.busy_percent)
}

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

/// A percentile of a distribution, in nanoseconds: the listed one, else that of its buckets.
pub fn percentile_ns(of: &LatencyDistribution, rank_ppb: u64) -> Option<u64> {
    let max_ns = of.figures.max_ns.unwrap_or(u64::MAX);
    let extremes = (of.figures.min_ns.unwrap_or(0).min(max_ns), max_ns);
    let of_buckets = || {
        let found = percentiles_of(&of.buckets, upper_edge_ns, extremes, [rank_ppb]);
        found.first().map(|percentile| percentile.value_ns).filter(|_| !of.buckets.is_empty())
    };
    of.at(rank_ppb).or_else(of_buckets)
}

/// Adds the percentiles that a distribution of fio does not list, from its bins: between those that it lists, and its
/// extremes.
pub fn complete_percentiles(of: &mut LatencyDistribution) {
    if of.buckets.is_empty() {
        return;
    }
    let value_ns = |index: u32| bin_value_ns(buckets::lower_edge_ns((index as usize).min(buckets::BUCKET_COUNT - 1)));
    let ranks = PERCENTILE_RANKS_PPB.into_iter().filter(|rank_ppb| *rank_ppb > 0 && of.at(*rank_ppb).is_none());
    let mut missing = percentiles_of(&of.buckets, value_ns, (0, u64::MAX), ranks);
    for percentile in &mut missing {
        let above = of.percentiles.partition_point(|named| named.rank_ppb < percentile.rank_ppb);
        let lower = above.checked_sub(1).map_or(of.figures.min_ns, |index| Some(of.percentiles[index].value_ns));
        let upper = of.percentiles.get(above).map_or(of.figures.max_ns, |named| Some(named.value_ns));
        percentile.value_ns = percentile.value_ns.min(upper.unwrap_or(u64::MAX)).max(lower.unwrap_or(0));
    }
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
    use model::figures::{LatencyFigures, Percentile};
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

    /// Parts of 100 ms become samples of 500 ms; what is left of the series is none.
    #[test]
    fn samples_are_rates_of_half_seconds() {
        let ios = [vec![1; 5], vec![3; 5], vec![100; 4]].concat();
        let bytes = ios.iter().map(|ios| ios * 4096).collect();
        let (bandwidth, rate) =
            samples(&SeriesCounts { ios, bytes, ..SeriesCounts::default() }, 100_000_000).expect("two");
        assert_eq!((rate.count, rate.min, rate.max), (2, 10, 30));
        assert!((rate.mean - 20.0).abs() < 1e-9 && (rate.std_dev - 200_f64.sqrt()).abs() < 1e-9, "{rate:?}");
        assert_eq!((bandwidth.min, bandwidth.max), (40, 120));
        assert!(
            samples(&SeriesCounts { ios: vec![1; 4], bytes: vec![1; 4], ..SeriesCounts::default() }, 100_000_000)
                .is_none()
        );
        assert!(samples(&SeriesCounts::default(), 0).is_none());
    }

    /// Percentiles that fio prints may lie above its largest latency; those computed between them ascend.
    #[test]
    fn percentiles_between_those_that_are_named_ascend() {
        let figures = LatencyFigures { mean_ns: 1.0, std_dev_ns: 0.0, min_ns: Some(1000), max_ns: Some(10_001) };
        let percentile = |rank_ppb, value_ns| Percentile { rank_ppb, value_ns };
        let mut of = LatencyDistribution {
            count: 100,
            figures,
            percentiles: vec![percentile(500_000_000, 1000), percentile(990_000_000, 10_048)],
            buckets: buckets([(bin_value_ns(1000), 50), (bin_value_ns(10_001), 50)]),
            ..LatencyDistribution::default()
        };
        complete_percentiles(&mut of);
        assert!(of.percentiles.is_sorted_by_key(|percentile| percentile.value_ns), "{:?}", of.percentiles);
        assert_eq!((of.at(10_000_000), of.at(999_000_000)), (Some(1000), Some(10_048)));
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
            prop_assert_eq!(percentile_ns(&together, 1_000_000_000), Some(bin_value_ns(max).min(max)));
            prop_assert!(together.percentiles.is_sorted_by_key(|percentile| percentile.value_ns));
        }
    }
}
