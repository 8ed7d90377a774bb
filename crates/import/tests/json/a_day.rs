//! Memory and size of a day of intervals: one thread, one target, 100,000 reads a second, `-D -L`.

use hot::buckets;
use model::facts::SystemFacts;
use model::packed_counts::PackedCounts;
use model::plan::{Expected, Intervals, OpenPlan, Plan, Preparation, TargetPlan, TimeSpanPlan};
use model::profile::{Profile, Target, TimeSpan};
use model::record::{
    CellCounts, DirectionRecord, IntervalRecord, Outcome, Record, RowRecord, SectionCounts, SectionRecord, SeriesCell,
    SeriesRecord, Tally, TimeSpanRecord,
};
use std::io::{self, Write};

const S: u64 = 1_000_000_000;

/// Intervals of a day, and of two short runs whose difference is the cost of an interval.
const DAY: u64 = 86_400;
const SHORT: [u64; 2] = [300, 600];

const IOS: u64 = 100_000;

/// Limits for a day.
const MEMORY_BYTES_MAX: u64 = 300_000_000;
const FILE_BYTES_MAX: u64 = 220_000_000;

/// Counts the bytes written to it.
#[derive(Default)]
struct Length(u64);

impl Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The coarse buckets of an interval: latencies around 320 us, log-normal with a sigma of 0.5, so that they spread over
/// four powers of two; counts vary between intervals like samples.
fn histogram(interval: u64) -> Vec<(u32, u64)> {
    let (mean, sigma) = ((320_000f64).ln(), 0.5);
    let mut state = interval;
    let mut spread = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let bucket = |bucket: usize| {
        let (low, high) = (buckets::coarse_lower_edge_ns(bucket), buckets::coarse_upper_edge_ns(bucket) + 1);
        let (low, high) = ((low as f64).ln(), (high as f64).ln());
        let density = (-0.5 * ((f64::midpoint(low, high) - mean) / sigma).powi(2)).exp();
        let expected = IOS as f64 * density * (high - low) / (sigma * std::f64::consts::TAU.sqrt());
        let sampled = expected + 3.4 * (spread() - 0.5) * expected.sqrt();
        (bucket as u32, (sampled + spread()).max(0.0) as u64)
    };
    let coarse = |ns| buckets::coarse(buckets::index(ns));
    (coarse(20_000)..coarse(8_000_000)).map(bucket).filter(|&(_, count)| count > 0).collect()
}

fn tally(interval: u64) -> Tally {
    let count = IOS + interval % 977;
    let sum_ns = u128::from(count * (320_000 + interval % 613));
    Tally { count, sum_ns, sum_squares_ns2: 1.3e16 + interval as f64, min_ns: 20_011 + interval, max_ns: 7_654_321 }
}

fn record(intervals: u64) -> TimeSpanRecord {
    let elapsed_ns = intervals * S;
    let interval = |index| IntervalRecord { index, read: tally(index), write: Tally::default() };
    let section = |index| SectionRecord {
        start_ns: index * S,
        end_ns: (index + 1) * S,
        read: SectionCounts {
            tally: tally(index),
            bytes: tally(index).count * 4096,
            histogram: PackedCounts::pack(histogram(index)),
        },
        ..SectionRecord::default()
    };
    let cell = |index| SeriesCell {
        read: CellCounts { ios: 10_000 + index % 97, bytes: 40_960_000, latency_sum_ns: 3_200_000_000 },
        write: CellCounts::default(),
    };
    let read = DirectionRecord { tally: tally(7), bytes: 4096 * IOS, buckets: histogram(1) };
    TimeSpanRecord {
        outcome: Outcome::Completed,
        elapsed_ns,
        rows: vec![RowRecord { read, intervals: (0..intervals).map(interval).collect(), ..RowRecord::default() }],
        // Those of a day.
        series: SeriesRecord { width_ns: 400_000_000, cells: (0..intervals * 5 / 2).map(cell).collect() },
        sections: (0..intervals).map(section).collect(),
        ..TimeSpanRecord::default()
    }
}

fn plan(intervals: u64) -> TimeSpanPlan {
    let target = TargetPlan {
        path: "/data/a.dat".into(),
        stream: None,
        size_bytes: 1 << 40,
        preparation: Preparation::Keep,
        expect: Expected::Character,
        open: OpenPlan::default(),
        write_source: None,
        shared_run: None,
    };
    TimeSpanPlan {
        duration_ns: intervals * S,
        measure_latency: true,
        intervals: Some(Intervals { width_ns: S, count: intervals }),
        targets: vec![target],
        ..TimeSpanPlan::default()
    }
}

/// Bytes of memory, from the record to its document, and bytes of the document.
fn taken(intervals: u64) -> [u64; 2] {
    let span = TimeSpan {
        measure_latency: true,
        calculate_iops_std_dev: true,
        targets: vec![Target::new("/data/a.dat")],
        ..TimeSpan::default()
    };
    let profile = Profile { time_spans: vec![span], ..Profile::default() };
    let plan = Plan { time_spans: vec![plan(intervals)], ..Plan::default() };
    let system = SystemFacts::default();
    let mut length = Length::default();
    let allocations = allocation_counter::measure(|| {
        let record = Record { time_spans: vec![record(intervals)], ..Record::default() };
        let context = stats::RunContext { command_line: "diskspd".to_owned(), ..stats::RunContext::default() };
        let plan = Some(&plan);
        let input = stats::Input { context, profile: &profile, system: &system, plan, record: &record };
        let result = stats::summarise(input);
        render::json::write(&result, |_| None, &mut length).expect("a counter takes everything");
    });
    [allocations.bytes_max, length.0]
}

#[test]
fn a_day_of_seconds_fits_into_memory_and_file() {
    let buckets = histogram(1).len();
    assert!((400..800).contains(&buckets), "{buckets} buckets are those of another load");
    let [short, long] = SHORT.map(taken);
    let day = |index: usize| short[index] + (long[index] - short[index]) * (DAY - SHORT[0]) / (SHORT[1] - SHORT[0]);
    println!("a day: {} bytes of memory, a file of {} bytes, {buckets} buckets an interval", day(0), day(1));
    assert!(day(0) <= MEMORY_BYTES_MAX, "{} bytes of memory", day(0));
    assert!(day(1) <= FILE_BYTES_MAX, "{} bytes of file", day(1));
}
