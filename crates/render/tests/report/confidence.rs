//! How far figures may be off, in a report.

use crate::support::{mix_run, part, report};
use model::confidence::{HalfWidths, Interval, PercentileHalfWidth, Withheld};
use model::figures::Directions;
use model::result::LoadLoop;

fn intervals(percentiles: &[(u64, f64, f64)]) -> HalfWidths {
    let percentile = |&(rank_ppb, low, high)| {
        let interval = Interval { low, high };
        PercentileHalfWidth { rank_ppb, half_width_ns: interval.half_width(), interval_ns: Some(interval) }
    };
    HalfWidths {
        iops_interval: Some(Interval { low: 8765.432, high: 9012.345 }),
        bytes_per_s_interval: Some(Interval { low: 68.5, high: 70.25 }.scaled(1_048_576.0)),
        latency_mean_interval_ns: Some(Interval { low: 881_000.0, high: 899_500.0 }),
        percentiles: percentiles.iter().map(percentile).collect(),
        ..HalfWidths::default()
    }
}

/// Everything behind the tables.
fn lines(confidence: Directions<Option<HalfWidths>>) -> String {
    let mut result = mix_run();
    let measured = result.time_spans[0].measured.as_mut().expect("there are figures");
    measured.load_loop = Some(LoadLoop::Closed { depth: 8 });
    measured.elapsed_ns = 60_000_000_000;
    measured.confidence = Some(confidence);
    part(&report(&result), "closed loop", "").to_owned()
}

#[test]
fn figures_have_intervals_and_what_has_none_says_so() {
    let percentiles = [(250_000_000, 629_000.0, 632_000.0), (500_000_000, 820_000.0, 825_000.0)];
    let (read, write) = (Some(intervals(&percentiles[..1])), Some(intervals(&[])));
    let total = Some(intervals(&percentiles));
    insta::assert_snapshot!(lines(Directions { read, write, total }), @r"
    closed loop, depth 8
    95 % confidence, all: 8884.15 [8765.43 - 9012.34] I/O per s, 69.41 [68.50 - 70.25] MiB/s, mean latency 0.888 [0.881 - 0.899] ms
    95 % confidence, all: 25th 0.630 [0.629 - 0.632] ms, 50th 0.822 [0.820 - 0.825] ms, none at or above the 75th (too few I/Os)
    95 % confidence, read: 6215.62 [8765.43 - 9012.34] I/O per s, 48.56 [68.50 - 70.25] MiB/s, mean latency 0.866 [0.881 - 0.899] ms
    95 % confidence, read: 25th 0.611 [0.629 - 0.632] ms, none at or above the 50th (too few I/Os)
    95 % confidence, write: 2668.53 [8765.43 - 9012.34] I/O per s, 20.85 [68.50 - 70.25] MiB/s, mean latency 0.937 [0.881 - 0.899] ms
    95 % confidence, write: none at or above the 25th (too few I/Os)
    ");
}

#[test]
fn what_is_withheld_gives_one_reason() {
    let withheld = Some(Withheld { dependence_s: Some(5.2), measure_s: Some(300.0) });
    let some = HalfWidths { withheld, iops_interval: None, bytes_per_s_interval: None, ..intervals(&[]) };
    let none = HalfWidths { withheld, ..HalfWidths::default() };
    let confidence = Directions { read: Some(some), write: Some(none.clone()), total: Some(none) };
    insta::assert_snapshot!(lines(confidence), @r"
    closed loop, depth 8
    95 % confidence, all: none, samples are correlated over about 5 s
    95 % confidence, all: none at or above the 4-nines (too few I/Os), none for the other figures
    95 % confidence, read: mean latency 0.866 [0.881 - 0.899] ms, samples are correlated over about 5 s
    95 % confidence, read: none at or above the 4-nines (too few I/Os), none for the other figures
    95 % confidence, write: none, samples are correlated over about 5 s
    95 % confidence, write: none at or above the 4-nines (too few I/Os), none for the other figures
    95 % confidence: measure for 300 s or longer for the missing intervals
    ");
}

/// Every run of 3 s was to be measured for 200 s.
#[test]
fn how_long_samples_are_correlated_may_not_be_determined() {
    let withheld = Some(Withheld { dependence_s: None, measure_s: None });
    let total = Some(HalfWidths { withheld, ..intervals(&[]) });
    let confidence = Directions { total, ..Directions::default() };
    insta::assert_snapshot!(lines(confidence), @r"
    closed loop, depth 8
    95 % confidence, all: 8884.15 [8765.43 - 9012.34] I/O per s, 69.41 [68.50 - 70.25] MiB/s, mean latency 0.888 [0.881 - 0.899] ms
    95 % confidence, all: none at or above the 4-nines (too few I/Os), none for the other figures (how long samples are correlated is not determined in 60 s)
    ");
}

#[test]
fn half_widths_of_earlier_versions_become_intervals() {
    let earlier = HalfWidths { iops: Some(120.456), latency_mean_ns: Some(9_400.0), ..HalfWidths::default() };
    let lines = lines(Directions { read: None, write: None, total: Some(earlier) });
    assert!(
        lines.contains("all: 8884.15 [8763.69 - 9004.61] I/O per s, mean latency 0.888 [0.879 - 0.897] ms"),
        "{lines}"
    );
}

#[test]
fn reads_alone_are_the_total() {
    let (read, total) = (Some(intervals(&[])), Some(intervals(&[])));
    let lines = lines(Directions { read, write: None, total });
    assert_eq!(lines.lines().count(), 3, "{lines}");
    assert!(!lines.contains("read:"), "{lines}");
}

#[test]
fn a_run_that_is_too_short_says_so() {
    let lines = lines(Directions::default());
    assert_eq!(
        lines,
        "closed loop, depth 8\n95 % confidence: none, the run has fewer than 10 full intervals of 100 ms\n"
    );
}
