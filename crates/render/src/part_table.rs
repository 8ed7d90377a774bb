//! One part of a measurement.

use model::figures::{Directions, Figures};
use model::units::mib;
use report::numbers::ms;
use report::{NAMED_PERCENTILES, Part};
use std::io::{self, Write};

/// The part of a timespan, which is numbered if there are several.
pub fn part(time_span: Option<usize>, part: &Part, out: &mut dyn Write) -> io::Result<()> {
    let of = time_span.map(|number| format!(" of timespan {number}")).unwrap_or_default();
    let s = |ns: u64| ns as f64 / 1e9;
    writeln!(out, "From {} s to {} s of the measurement{of}:", s(part.start_ns), s(part.end_ns))?;
    writeln!(out, "{:>10} | {:>15} | {:>15} | {:>15}", "", "Read", "Write", "Total")?;
    writeln!(out, "{}", "-".repeat(64))?;
    row(out, "bytes", &part.figures, |figures| Some(figures.bytes.to_string()))?;
    row(out, "I/Os", &part.figures, |figures| Some(figures.ios.to_string()))?;
    row(out, "MiB/s", &part.figures, |figures| Some(format!("{:.2}", mib(figures.bytes_per_s))))?;
    row(out, "I/O per s", &part.figures, |figures| Some(format!("{:.2}", figures.iops)))?;
    let latency_ms = |ns: f64| format!("{:.3}", ms(ns));
    row(out, "mean (ms)", &part.figures, |figures| Some(latency_ms(figures.latency?.mean_ns)))?;
    row(out, "min (ms)", &part.figures, |figures| Some(latency_ms(figures.latency?.min_ns? as f64)))?;
    let Directions { read, write, total } = &part.percentiles;
    for (index, percentile) in total.iter().enumerate() {
        let values = Directions { read: read.get(index), write: write.get(index), total: Some(percentile) };
        row(out, &name(percentile.rank_ppb), &values, |value| Some(latency_ms(value.as_ref()?.value_ns as f64)))?;
    }
    row(out, "max (ms)", &part.figures, |figures: &Figures| Some(latency_ms(figures.latency?.max_ns? as f64)))
}

fn row<T>(
    out: &mut dyn Write,
    label: &str,
    values: &Directions<T>,
    cell: impl Fn(&T) -> Option<String>,
) -> io::Result<()> {
    let cell = |value| cell(value).unwrap_or_else(|| "N/A".to_owned());
    let [read, write, total] = [&values.read, &values.write, &values.total].map(cell);
    writeln!(out, "{label:>10} | {read:>15} | {write:>15} | {total:>15}")
}

/// The name as in the report, or the rank in percent.
fn name(rank_ppb: u64) -> String {
    let named = NAMED_PERCENTILES.iter().find(|(_, rank)| *rank == rank_ppb);
    named.map_or_else(|| format!("{}%", rank_ppb as f64 / 1e7), |(name, _)| (*name).to_owned())
}
