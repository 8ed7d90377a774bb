//! Latencies: moments, extremes and percentiles.

use model::figures::{LatencyDistribution, LatencyFigures, Percentile};
use model::note::{Note, SAMPLES_OF_P50};
use model::record::{RowRecord, Tally, TimeSpanRecord};
use std::collections::BTreeMap;

/// The ranks of every distribution in parts per billion: 0, 1 ... 99, then 99.9 to 99.9999999,
/// then 100 percent.
pub const PERCENTILE_RANKS_PPB: [u64; 108] = ranks();

const PPB: u64 = 1_000_000_000;

/// The percentiles that a report shows, by the names that they have there, ascending: their ranks in
/// parts per billion.
pub const NAMED_PERCENTILES: [(&str, u64); 13] = [
    ("25th", 250_000_000),
    ("50th", 500_000_000),
    ("75th", 750_000_000),
    ("90th", 900_000_000),
    ("95th", 950_000_000),
    ("99th", 990_000_000),
    ("3-nines", 999_000_000),
    ("4-nines", 999_900_000),
    ("5-nines", 999_990_000),
    ("6-nines", 999_999_000),
    ("7-nines", 999_999_900),
    ("8-nines", 999_999_990),
    ("9-nines", 999_999_999),
];

/// I/Os that must lie beyond a percentile for it to mean more than which I/Os were the slowest.
pub(crate) const IOS_BEYOND_MIN: u64 = 10;

/// True if fewer than ten of `count` I/Os lie beyond a rank.
pub fn is_weak(count: u64, rank_ppb: u64) -> bool {
    let beyond_ppb = u128::from(count) * u128::from(PPB - rank_ppb.min(PPB));
    beyond_ppb < u128::from(IOS_BEYOND_MIN) * u128::from(PPB)
}

/// A percentile in words: `99.9th percentile`.
pub fn ordinal(rank_ppb: u64) -> String {
    let (percent, rest) = (rank_ppb / (PPB / 100), rank_ppb % (PPB / 100));
    let decimals = format!("{rest:07}");
    let decimals = decimals.trim_end_matches('0');
    let point = if decimals.is_empty() { "" } else { "." };
    format!("{percent}{point}{decimals}th percentile")
}

const fn ranks() -> [u64; 108] {
    let mut ranks = [PPB; 108];
    let mut percent = 0;
    while percent < 100 {
        ranks[percent] = percent as u64 * (PPB / 100);
        percent += 1;
    }
    let (mut nines, mut missing) = (0, PPB / 1000);
    while missing > 0 {
        ranks[100 + nines] = PPB - missing;
        nines += 1;
        missing /= 10;
    }
    ranks
}

/// Moments and extremes; `None` without I/Os.
pub(crate) fn figures(tally: &Tally) -> Option<LatencyFigures> {
    if tally.count == 0 {
        return None;
    }
    let count = tally.count as f64;
    let sum = tally.sum_ns as f64;
    let mean_ns = sum / count;
    let variance = (tally.sum_squares_ns2 - sum * mean_ns) / count;
    // The difference of two large sums may come out slightly negative, or slightly above what any
    // values between these extremes can reach: half their distance.
    let std_dev_max = tally.max_ns.saturating_sub(tally.min_ns) as f64 / 2.0;
    let std_dev_ns = variance.max(0.0).sqrt().min(std_dev_max);
    Some(LatencyFigures { mean_ns, std_dev_ns, min_ns: Some(tally.min_ns), max_ns: Some(tally.max_ns) })
}

/// Counts, moments and buckets of many rows, on the way to one distribution.
///
/// Merging is associative and commutative, so rows, targets and whole runs add up in any order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct MergedLatencies {
    tally: Tally,
    buckets: BTreeMap<u32, u64>,
}

impl MergedLatencies {
    pub(crate) fn add(&mut self, tally: &Tally, buckets: &[(u32, u64)]) {
        self.tally.merge(tally);
        self.add_buckets(buckets.iter().copied());
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.tally.merge(&other.tally);
        self.add_buckets(other.buckets.iter().map(|(&index, &count)| (index, count)));
    }

    fn add_buckets(&mut self, buckets: impl Iterator<Item = (u32, u64)>) {
        for (index, count) in buckets {
            *self.buckets.entry(index).or_default() += count;
        }
    }

    /// The distribution; `None` without I/Os.
    pub(crate) fn distribution(self) -> Option<LatencyDistribution> {
        let figures = figures(&self.tally)?;
        let buckets: Vec<(u32, u64)> = self.buckets.into_iter().collect();
        let extremes = (self.tally.min_ns, self.tally.max_ns);
        let percentiles = percentiles_of(&buckets, upper_edge_ns, extremes, PERCENTILE_RANKS_PPB);
        let distinct_values = buckets.len() as u64;
        Some(LatencyDistribution { count: self.tally.count, figures, percentiles, distinct_values, buckets })
    }
}

/// How many of `depth` I/Os were in flight, and how long free requests waited, by the samples of all threads that did
/// I/Os; `None` if one of them has none, or there are too few.
pub(crate) fn in_flight(record: &TimeSpanRecord, depth: u32) -> Option<Note> {
    let (mut wait, mut submission, mut mean) = (MergedLatencies::default(), MergedLatencies::default(), 0.0);
    for thread in &record.threads {
        let rows = record.rows.iter().filter(|row| row.thread == thread.thread);
        let latency_ns: u128 = rows.map(RowRecord::latency_sum_ns).sum();
        if latency_ns == 0 {
            continue;
        }
        let samples = thread.stamp_samples.as_ref()?;
        let [wait_ns, submitted_ns] = [&samples.wait, &samples.submission].map(|times| times.tally.sum_ns as f64);
        // Those outstanding, by Little's law, and of their time the sample's share after the submission: never more than the
        // depth, which the rate times the sample's mean would be where a sample met a stall.
        let outstanding = latency_ns as f64 / record.elapsed_ns as f64;
        mean += outstanding * submitted_ns / (wait_ns + submitted_ns).max(1.0);
        wait.add(&samples.wait.tally, &samples.wait.buckets);
        submission.add(&samples.submission.tally, &samples.submission.buckets);
    }
    let wait = wait.distribution().filter(|wait| wait.count >= SAMPLES_OF_P50)?;
    let at = |percent: usize| wait.percentiles[percent].value_ns;
    let mean_hundredths = (mean * 100.0).round() as u64;
    Some(Note::InFlight { ios: wait.count, depth, mean_hundredths, wait_p50_ns: at(50), wait_p99_ns: at(99) })
}

/// Percentiles of ascending ranks in one walk over the buckets, which ascend too.
///
/// A percentile is the smallest value below or at which lie at least rank x n of the n samples,
/// in exact arithmetic; its value is the upper edge of its bucket, clipped to the extremes.
pub(crate) fn percentiles_of(
    buckets: &[(u32, u64)],
    upper_edge_ns: fn(u32) -> u64,
    (min_ns, max_ns): (u64, u64),
    ranks_ppb: impl IntoIterator<Item = u64>,
) -> Vec<Percentile> {
    let samples: u128 = buckets.iter().map(|&(_, count)| u128::from(count)).sum();
    let mut left = buckets.iter();
    let mut at_or_below = 0u128;
    let mut value_ns = min_ns;
    let mut percentile = |rank_ppb: u64| {
        while at_or_below * u128::from(PPB) < u128::from(rank_ppb) * samples {
            let Some(&(index, count)) = left.next() else { break };
            at_or_below += u128::from(count);
            value_ns = upper_edge_ns(index).min(max_ns).max(min_ns);
        }
        Percentile { rank_ppb, value_ns }
    };
    ranks_ppb.into_iter().map(&mut percentile).collect()
}

/// The upper edge of a coarse bucket; one that does not exist lies above everything.
pub(crate) fn coarse_upper_edge_ns(index: u32) -> u64 {
    let index = index as usize;
    if index < hot::buckets::COARSE_COUNT { hot::buckets::coarse_upper_edge_ns(index) } else { u64::MAX }
}

/// The upper edge of a bucket; one that does not exist lies above everything.
pub(crate) fn upper_edge_ns(index: u32) -> u64 {
    let index = index as usize;
    if index < hot::buckets::BUCKET_COUNT { hot::buckets::upper_edge_ns(index) } else { u64::MAX }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "the figures compared are exact")]
mod tests {
    use super::*;
    use model::record::{DirectionRecord, StampSamples, ThreadRecord, TimesRecord};
    use proptest::prelude::*;

    #[test]
    fn a_percentile_needs_ten_ios_beyond_it() {
        assert!(!is_weak(10_000, 999_000_000));
        assert!(is_weak(9_999, 999_000_000));
        assert!(!is_weak(10_000_000_000, 999_999_999));
        assert!(is_weak(u64::MAX, 1_000_000_000));
    }

    fn record(latencies_ns: &[u64]) -> TimesRecord {
        let mut record = TimesRecord::default();
        let mut buckets = BTreeMap::<u32, u64>::new();
        for &ns in latencies_ns {
            let square = ns as f64 * ns as f64;
            let one = Tally { count: 1, sum_ns: u128::from(ns), sum_squares_ns2: square, min_ns: ns, max_ns: ns };
            record.tally.merge(&one);
            *buckets.entry(hot::buckets::index(ns) as u32).or_default() += 1;
        }
        record.buckets = buckets.into_iter().collect();
        record
    }

    /// A thread with a sample, and its row of a measurement of a second, in which all I/Os are like the first of the sample.
    fn sampled(thread: u32, ios: u64, wait: &[u64], submission: &[u64]) -> (ThreadRecord, RowRecord) {
        let stamp_samples = Some(StampSamples { wait: record(wait), submission: record(submission) });
        let sum_ns = u128::from(ios * (wait[0] + submission[0]));
        let tally = Tally { count: ios, sum_ns, ..Tally::default() };
        let read = DirectionRecord { tally, ..DirectionRecord::default() };
        (
            ThreadRecord { thread, stamp_samples, ..ThreadRecord::default() },
            RowRecord { thread, read, ..RowRecord::default() },
        )
    }

    #[test]
    fn ios_in_flight_are_the_rate_times_the_time_from_the_submission() {
        let note = |parts: &[(ThreadRecord, RowRecord)]| {
            let (threads, rows) = parts.iter().cloned().unzip();
            in_flight(&TimeSpanRecord { threads, rows, elapsed_ns: 1_000_000_000, ..TimeSpanRecord::default() }, 32)
        };
        let two = [sampled(0, 1_000_000, &[100; 60], &[9_000; 60]), sampled(1, 2_000_000, &[500; 40], &[3_500; 40])];
        let Some(Note::InFlight { ios, depth, mean_hundredths, wait_p50_ns, wait_p99_ns }) = note(&two) else {
            panic!("there are samples");
        };
        assert_eq!((ios, depth, mean_hundredths, wait_p50_ns, wait_p99_ns), (100, 32, 1600, 100, 500));
        assert_eq!(note(&[sampled(0, 1000, &[100; 19], &[900; 19])]), None, "too few");
        let stalled = [vec![9_900; 29], vec![1_000_000_000]].concat();
        let Some(Note::InFlight { mean_hundredths, .. }) = note(&[sampled(0, 1_000_000, &[100; 30], &stalled)]) else {
            panic!("there are samples");
        };
        assert_eq!(mean_hundredths, 1000, "never more than were outstanding, whatever the sample met");
        let [first, (mut second, row)] = two;
        second.stamp_samples = None;
        assert_eq!(note(&[first.clone(), (second.clone(), row)]), None, "a thread did I/Os that no sample stands for");
        assert!(note(&[first, (second, RowRecord::default())]).is_some());
    }

    fn merged(latencies_ns: &[u64]) -> MergedLatencies {
        let mut merged = MergedLatencies::default();
        let record = record(latencies_ns);
        merged.add(&record.tally, &record.buckets);
        merged
    }

    fn distribution(latencies_ns: &[u64]) -> LatencyDistribution {
        merged(latencies_ns).distribution().expect("there are samples")
    }

    fn at(distribution: &LatencyDistribution, rank_ppb: u64) -> u64 {
        let found = distribution.percentiles.iter().find(|percentile| percentile.rank_ppb == rank_ppb);
        found.expect("the rank is one of the 108").value_ns
    }

    #[test]
    fn the_ranks_are_the_108_of_the_result_document() {
        assert_eq!(PERCENTILE_RANKS_PPB[..3], [0, 10_000_000, 20_000_000]);
        assert_eq!(
            PERCENTILE_RANKS_PPB[99..],
            [
                990_000_000,
                999_000_000,
                999_900_000,
                999_990_000,
                999_999_000,
                999_999_900,
                999_999_990,
                999_999_999,
                1_000_000_000
            ]
        );
        assert!(PERCENTILE_RANKS_PPB.is_sorted());
    }

    #[test]
    fn percentiles_of_the_published_examples() {
        let three = distribution(&[1, 2, 3]);
        assert_eq!([0, 500_000_000, PPB].map(|rank| at(&three, rank)), [1, 2, 3]);

        let once: Vec<u64> = (1..=99).collect();
        let ranks = [500_000_000, 600_000_000, 100_000_000];
        assert_eq!(ranks.map(|rank| at(&distribution(&once), rank)), [50, 60, 10]);

        let half_twice: Vec<u64> = (1..=99).chain(1..=49).collect();
        assert_eq!(ranks.map(|rank| at(&distribution(&half_twice), rank)), [37, 45, 8]);
    }

    #[test]
    fn three_nines_of_a_thousand_samples_is_the_999th() {
        let thousand: Vec<u64> = (1..=1000).collect();
        assert_eq!(at(&distribution(&thousand), 999_000_000), 999);
        assert_eq!(at(&distribution(&thousand), 999_900_000), 1000);
    }

    #[test]
    fn a_percentile_is_the_upper_edge_of_its_bucket_within_the_extremes() {
        let values = [1_000_000, 1_000_001, 5_000_000];
        let distribution = distribution(&values);
        assert_eq!(at(&distribution, 0), 1_000_000, "rank 0 is the minimum, not an edge");
        let edge = hot::buckets::upper_edge_ns(hot::buckets::index(1_000_000));
        assert!(edge > 1_000_001);
        assert_eq!(at(&distribution, 500_000_000), edge);
        assert_eq!(at(&distribution, PPB), 5_000_000, "rank 100 is the maximum");
    }

    #[test]
    fn moments_are_those_of_a_population() {
        let figures = figures(&record(&[2, 4, 4, 4, 5, 5, 7, 9]).tally).expect("there are samples");
        assert_eq!(figures, LatencyFigures { mean_ns: 5.0, std_dev_ns: 2.0, min_ns: Some(2), max_ns: Some(9) });
        assert_eq!(super::figures(&Tally::default()), None);
    }

    #[test]
    fn rounding_never_makes_a_deviation_negative_or_too_large() {
        let tally =
            Tally { count: 3, sum_ns: 9_000_003, sum_squares_ns2: 2.7e13, min_ns: 3_000_001, max_ns: 3_000_001 };
        assert_eq!(figures(&tally).expect("there are samples").std_dev_ns, 0.0);
        let off = Tally { sum_squares_ns2: 2.8e13, max_ns: 3_000_003, ..tally };
        assert_eq!(figures(&off).expect("there are samples").std_dev_ns, 1.0);
    }

    #[test]
    fn a_million_million_samples_do_not_overflow() {
        let many = TimesRecord {
            tally: Tally {
                count: 1_000_000_000_000,
                sum_ns: 1_000_000_000_000 * 90_000_000_000,
                sum_squares_ns2: 1e12 * 9e10 * 9e10,
                min_ns: 90_000_000_000,
                max_ns: 90_000_000_000,
            },
            buckets: vec![(hot::buckets::index(90_000_000_000) as u32, 1_000_000_000_000)],
        };
        let mut merged = MergedLatencies::default();
        merged.add(&many.tally, &many.buckets);
        merged.add(&many.tally, &many.buckets);
        let distribution = merged.distribution().expect("there are samples");
        assert_eq!(distribution.count, 2_000_000_000_000);
        assert_eq!(at(&distribution, 999_999_999), 90_000_000_000);
        assert_eq!(distribution.figures.mean_ns, 9e10);
        assert_eq!(distribution.figures.std_dev_ns, 0.0);
    }

    #[test]
    fn an_impossible_bucket_is_clipped_to_the_maximum() {
        let mut broken = record(&[10, 20]);
        broken.buckets.push((u32::MAX, 1));
        let mut merged = MergedLatencies::default();
        merged.add(&broken.tally, &broken.buckets);
        assert_eq!(at(&merged.distribution().expect("there are samples"), PPB), 20);
    }

    fn latencies() -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec(1u64..10_000_000, 0..50)
    }

    proptest! {
        #[test]
        fn percentiles_are_ceil_p_n_th_smallest_within_a_bucket(values in prop::collection::vec(0u64..u64::MAX >> 20, 1..300)) {
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let n = sorted.len() as u128;
            for Percentile { rank_ppb, value_ns } in distribution(&values).percentiles {
                let rank = (u128::from(rank_ppb) * n).div_ceil(u128::from(PPB)).max(1);
                let exact = sorted[rank as usize - 1];
                prop_assert!(value_ns >= exact && value_ns - exact <= exact / 1024, "{} for {}", value_ns, exact);
            }
        }

        #[test]
        fn percentiles_agree_with_hdrhistogram(values in prop::collection::vec(1u64..10_000_000_000, 1..300)) {
            let mut oracle = hdrhistogram::Histogram::<u64>::new(3).expect("three digits are allowed");
            for &value in &values {
                oracle.record(value).expect("the histogram resizes itself");
            }
            let n = u128::from(oracle.len());
            let mut at_or_below = 0u128;
            let steps: Vec<(u128, u64)> = oracle.iter_recorded().map(|step| {
                at_or_below += u128::from(step.count_at_value());
                (at_or_below * u128::from(PPB), step.value_iterated_to())
            }).collect();
            for Percentile { rank_ppb, value_ns } in distribution(&values).percentiles.into_iter().skip(1) {
                let reached = steps.iter().find(|&&(samples_ppb, _)| samples_ppb >= u128::from(rank_ppb) * n);
                let theirs = reached.expect("the last step holds all samples").1;
                prop_assert!(value_ns.abs_diff(theirs) <= theirs / 500 + 1, "{} against {}", value_ns, theirs);
            }
        }

        #[test]
        fn merging_is_associative_and_commutative(a in latencies(), b in latencies(), c in latencies()) {
            let (a, b, c) = (merged(&a), merged(&b), merged(&c));
            let mut left = a.clone();
            left.merge(&b);
            left.merge(&c);
            let mut right = c.clone();
            right.merge(&b);
            let mut swapped = right.clone();
            swapped.merge(&a);
            let mut nested = b;
            nested.merge(&c);
            let mut outer = a;
            outer.merge(&nested);
            prop_assert_eq!(&left, &outer);
            prop_assert_eq!(&left, &swapped);
        }

        #[test]
        fn merging_is_the_same_as_measuring_together(a in latencies(), b in latencies()) {
            let mut parts = merged(&a);
            parts.merge(&merged(&b));
            let together: Vec<u64> = a.into_iter().chain(b).collect();
            prop_assert_eq!(parts.distribution(), merged(&together).distribution());
        }

        #[test]
        fn deviations_stay_between_nothing_and_half_the_range(values in prop::collection::vec(0u64..1 << 40, 1..100)) {
            let tally = record(&values).tally;
            let figures = figures(&tally).expect("there are samples");
            prop_assert!(figures.std_dev_ns >= 0.0);
            prop_assert!(figures.std_dev_ns <= (tally.max_ns - tally.min_ns) as f64 / 2.0);
            prop_assert!(figures.mean_ns >= tally.min_ns as f64 * 0.999_999);
        }
    }
}
