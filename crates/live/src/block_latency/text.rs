//! Distributions as tables with bars.

use super::{Counts, DiskLatencies, lower_edge_ns, upper_edge_ns};
use model::units::counted;
use std::fmt::Write as _;

/// Characters of the longest bar.
const BAR_WIDTH: u64 = 24;

const PERCENTILES: [(&str, u64); 4] = [("p50", 500), ("p90", 900), ("p99", 990), ("p99.9", 999)];

/// The table of one disk: a line for each bucket from the first that is not empty to the last.
pub fn table(name: &str, latencies: &DiskLatencies, length_s: f64) -> String {
    let DiskLatencies { reads, writes } = latencies;
    let mut text =
        format!("{name}, {length_s:.1} s: {}, {}\n", counted(total(reads), "read"), counted(total(writes), "write"));
    let used = || reads.keys().chain(writes.keys()).copied();
    let (Some(first), Some(last)) = (used().min(), used().max()) else { return text };
    let most = reads.values().chain(writes.values()).copied().max().unwrap_or(1).max(1);
    let width = BAR_WIDTH as usize;
    let _ = writeln!(text, "  {:>9} {:>9}  {:>9} {:<width$}  {:>9}", "from", "to", "reads", "", "writes");
    for bucket in first..=last {
        let (from, to) = (duration(lower_edge_ns(bucket)), duration(upper_edge_ns(bucket)));
        let [read, write] = [reads, writes].map(|counts| counts.get(&bucket).copied().unwrap_or(0));
        let line =
            format!("  {from:>9} {to:>9}  {read:>9} {:<width$}  {write:>9} {}", bar(read, most), bar(write, most));
        text.extend([line.trim_end(), "\n"]);
    }
    for (what, counts) in [("reads", reads), ("writes", writes)] {
        if !counts.is_empty() {
            let figures =
                PERCENTILES.map(|(name, per_mille)| format!("{name} <= {}", duration(percentile(counts, per_mille))));
            let _ = writeln!(text, "  {what}: {}", figures.join(", "));
        }
    }
    text
}

fn total(counts: &Counts) -> u64 {
    counts.values().sum()
}

/// The upper edge of the bucket that holds this percentile.
fn percentile(counts: &Counts, per_mille: u64) -> u64 {
    let wanted = u128::from(total(counts)) * u128::from(per_mille);
    let mut seen = 0u128;
    for (&bucket, &count) in counts {
        seen += u128::from(count) * 1000;
        if seen >= wanted {
            return upper_edge_ns(bucket);
        }
    }
    0
}

fn bar(count: u64, most: u64) -> String {
    let eighths = (u128::from(count) * u128::from(BAR_WIDTH) * 8).div_ceil(u128::from(most)) as usize;
    let part = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    "█".repeat(eighths / 8) + part
}

/// Three digits and a unit.
fn duration(ns: u64) -> String {
    let (value, unit) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (ns as f64 / 1e3, "us"),
        1_000_000..1_000_000_000 => (ns as f64 / 1e6, "ms"),
        _ => (ns as f64 / 1e9, "s"),
    };
    let decimals = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_line_for_each_bucket_and_its_percentiles() {
        let latencies = DiskLatencies {
            reads: Counts::from([(66, 10), (67, 800), (68, 190), (90, 1)]),
            writes: Counts::from([(70, 5)]),
        };
        insta::assert_snapshot!(table("nvme0n1", &latencies, 10.0));
        insta::assert_snapshot!(table("sda", &DiskLatencies::default(), 1.0), @"sda, 1.0 s: 0 reads, 0 writes");
    }

    #[test]
    fn durations_have_three_digits() {
        let shown = [999, 1_000, 81_919, 98_303, 999_960, 1_048_575, 123_456_789, 1_500_000_000].map(duration);
        assert_eq!(shown, ["999 ns", "1.00 us", "81.9 us", "98.3 us", "1000 us", "1.05 ms", "123 ms", "1.50 s"]);
    }
}
