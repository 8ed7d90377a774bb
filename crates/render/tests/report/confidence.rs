//! Confidence intervals in a report.

use crate::support::{mix_run, part, report};
use model::confidence::{HalfWidths, Interval, PercentileHalfWidth, Withheld};
use model::figures::{Directions, Figures};
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

/// All text after the tables.
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

    Figures and their 95 % intervals
                                all                 read                write
     I/O per s  8,884 [8,765-9,012]  6,216 [8,765-9,012]  2,669 [8,765-9,012]
     MiB/s      69.41 [68.50-70.25]  48.56 [68.50-70.25]  20.85 [68.50-70.25]
     mean (ms)  0.888 [0.881-0.899]  0.866 [0.881-0.899]  0.937 [0.881-0.899]
     25th (ms)  0.630 [0.629-0.632]  0.611 [0.629-0.632]                0.683
     50th (ms)  0.822 [0.820-0.825]                0.802                0.874
    95 % intervals cover the variation within this run, not that from run to run.
    Percentiles have none if too few I/Os lie beyond them.
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

    Figures and their 95 % intervals
                  all                 read  write
     mean (ms)  0.888  0.866 [0.881-0.899]  0.937
    95 % intervals cover the variation within this run, not that from run to run.
    Percentiles have none if too few I/Os lie beyond them. Some figures have none:
    samples are correlated over about 5 s: measure for 300 s or longer.
    ");
}

/// Every run of 3 s was advised to be measured for 200 s.
#[test]
fn how_long_samples_are_correlated_may_not_be_determined() {
    let withheld = Some(Withheld { dependence_s: None, measure_s: None });
    let total = Some(HalfWidths { withheld, ..intervals(&[]) });
    let confidence = Directions { total, ..Directions::default() };
    insta::assert_snapshot!(lines(confidence), @r"
    closed loop, depth 8

    Figures and their 95 % intervals
                                all   read  write
     I/O per s  8,884 [8,765-9,012]  6,216  2,669
     MiB/s      69.41 [68.50-70.25]  48.56  20.85
     mean (ms)  0.888 [0.881-0.899]  0.866  0.937
    95 % intervals cover the variation within this run, not that from run to run.
    Percentiles have none if too few I/Os lie beyond them. Some figures have none:
    how long samples are correlated is not determined in 60 s.
    ");
}

#[test]
fn half_widths_of_earlier_versions_become_intervals() {
    let earlier = HalfWidths { iops: Some(120.456), latency_mean_ns: Some(9_400.0), ..HalfWidths::default() };
    let lines = lines(Directions { read: None, write: None, total: Some(earlier) });
    for row in [" I/O per s  8,884 [8,764-9,005]  6,216  2,669\n", " mean (ms)  0.888 [0.879-0.897]  0.866  0.937\n"] {
        assert!(lines.contains(row), "{lines}");
    }
}

#[test]
fn reads_alone_are_the_total() {
    let mut result = mix_run();
    let measured = result.time_spans[0].measured.as_mut().expect("there are figures");
    let (read, total) = (Some(intervals(&[])), Some(intervals(&[])));
    measured.confidence = Some(Directions { read, write: None, total });
    measured.total.write = Figures::default();
    let report = report(&result);
    let table = part(&report, "Figures and their", "");
    assert_eq!(table.lines().nth(1).map(str::trim), Some("all"), "{table}");
}

#[test]
fn a_run_that_is_too_short_says_so() {
    let lines = lines(Directions::default());
    assert_eq!(
        lines,
        "closed loop, depth 8\n\nNo 95 % intervals: the run has fewer than 10 full intervals of 100 ms.\n"
    );
}
