//! How far figures may be off, in a report.

use crate::support::{mix_run, part, report};
use model::confidence::{HalfWidths, PercentileHalfWidth};
use model::figures::Directions;
use model::result::LoadLoop;

fn half_widths(percentiles: &[(u64, f64)]) -> HalfWidths {
    let percentile = |&(rank_ppb, half_width_ns)| PercentileHalfWidth { rank_ppb, half_width_ns };
    HalfWidths {
        iops: 120.456,
        bytes_per_s: 0.941 * 1_048_576.0,
        latency_mean_ns: Some(9_400.0),
        percentiles: percentiles.iter().map(percentile).collect(),
    }
}

/// Everything behind the tables.
fn lines(confidence: Directions<Option<HalfWidths>>) -> String {
    let mut result = mix_run();
    let measured = result.time_spans[0].measured.as_mut().expect("there are figures");
    measured.load_loop = Some(LoadLoop::Closed { depth: 8 });
    measured.confidence = Some(confidence);
    part(&report(&result), "closed loop", "").to_owned()
}

#[test]
fn figures_have_half_widths_and_what_has_none_says_so() {
    let percentiles = [(250_000_000, 1000.0), (500_000_000, 2000.0)];
    let (read, write) = (Some(half_widths(&percentiles[..1])), Some(half_widths(&[])));
    let total = Some(half_widths(&percentiles));
    insta::assert_snapshot!(lines(Directions { read, write, total }), @r"
    closed loop, depth 8
    95 % confidence, all: 8884.15 ± 120.46 I/O per s, 69.41 ± 0.94 MiB/s, mean latency 0.888 ± 0.009 ms
    95 % confidence, all: 25th 0.630 ± 0.001 ms, 50th 0.822 ± 0.002 ms, none at or above the 75th (too few I/Os)
    95 % confidence, read: 6215.62 ± 120.46 I/O per s, 48.56 ± 0.94 MiB/s, mean latency 0.866 ± 0.009 ms
    95 % confidence, read: 25th 0.611 ± 0.001 ms, none at or above the 50th (too few I/Os)
    95 % confidence, write: 2668.53 ± 120.46 I/O per s, 20.85 ± 0.94 MiB/s, mean latency 0.937 ± 0.009 ms
    95 % confidence, write: none at or above the 25th (too few I/Os)
    ");
}

#[test]
fn reads_alone_are_the_total() {
    let (read, total) = (Some(half_widths(&[])), Some(half_widths(&[])));
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
