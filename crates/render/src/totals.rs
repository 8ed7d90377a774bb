//! Sums over several timespans.

use model::figures::Figures;
use model::result::Totals;
use model::units::mib;
use std::io::{self, Write};

/// The section, beginning with two empty lines.
pub(crate) fn table(out: &mut dyn Write, totals: &Totals) -> io::Result<()> {
    let rule = "-".repeat(79);
    writeln!(out, "\n\nTotals:\n{}\n", "*".repeat(79))?;
    writeln!(out, "type   |       bytes     |     I/Os     |    MiB/s   |  I/O per s\n{rule}")?;
    row(out, "write", &totals.figures.write)?;
    row(out, "read", &totals.figures.read)?;
    writeln!(out, "{rule}")?;
    row(out, "total", &totals.figures.total)?;
    writeln!(out, "\ntotal test time:\t{:.2}s", totals.elapsed_ns as f64 / 1e9)
}

fn row(out: &mut dyn Write, label: &str, figures: &Figures) -> io::Result<()> {
    let Figures { bytes, ios, bytes_per_s, iops, .. } = figures;
    writeln!(out, "{label:<6} | {bytes:15} | {ios:12} | {:10.2} | {iops:10.2}", mib(*bytes_per_s))
}
