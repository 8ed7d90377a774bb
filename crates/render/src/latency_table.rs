//! Latency percentiles.

use crate::foreign;
use model::figures::{Directions, LatencyDistribution};
use model::result::{Measured, TargetLatencies};
use report::NAMED_PERCENTILES;
use report::numbers::ms;
use std::io::{self, Write};

/// A table per path, if there are several, and the table of all; empty without `-L`.
pub(crate) fn tables(out: &mut dyn Write, measured: &Measured) -> io::Result<()> {
    for TargetLatencies { path, latency } in &measured.target_latencies {
        write!(out, "\nLatency distribution: ")?;
        foreign::write_path(out, path)?;
        writeln!(out)?;
        table(out, latency)?;
    }
    if let Some(latencies) = &measured.total_latency {
        writeln!(out, "\nTotal latency distribution:")?;
        table(out, latencies)?;
    }
    Ok(())
}

pub(crate) fn table(out: &mut dyn Write, latencies: &Directions<Option<LatencyDistribution>>) -> io::Result<()> {
    writeln!(out, "  %-ile |  Read (ms) | Write (ms) | Total (ms)")?;
    writeln!(out, "{}", "-".repeat(46))?;
    row(out, "min", latencies, |latencies| latencies.figures.min_ns)?;
    for (label, rank_ppb) in NAMED_PERCENTILES {
        row(out, label, latencies, |latencies| {
            let found = latencies.percentiles.iter().find(|percentile| percentile.rank_ppb == rank_ppb);
            found.map(|percentile| percentile.value_ns)
        })?;
    }
    row(out, "max", latencies, |latencies| latencies.figures.max_ns)
}

/// Without samples, reads and writes show `N/A`, and the total shows zero. A percentile missing from an imported result
/// is `N/A` everywhere.
fn row(
    out: &mut dyn Write,
    label: &str,
    latencies: &Directions<Option<LatencyDistribution>>,
    value_ns: impl Fn(&LatencyDistribution) -> Option<u64>,
) -> io::Result<()> {
    let value_of = |latencies: &Option<LatencyDistribution>| latencies.as_ref().and_then(&value_ns);
    let cell = |latencies: &Option<LatencyDistribution>| {
        value_of(latencies).map_or_else(|| "N/A".to_owned(), |ns| format!("{:.3}", ms(ns as f64)))
    };
    let total = if latencies.total.is_some() { cell(&latencies.total) } else { format!("{:.3}", 0.0) };
    writeln!(out, "{label:>7} | {:>10} | {:>10} | {total:>10}", cell(&latencies.read), cell(&latencies.write))
}
