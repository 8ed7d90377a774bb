//! I/Os by size: a table of its own below those of `DiskSpd`.

use model::figures::SizeFigures;
use model::units::{Bytes, mib};
use report::words::numbers::ms;
use report::words::plain_table::PlainTable;
use std::io::{self, Write};

/// Nothing if all I/Os have one size.
pub(crate) fn table(out: &mut dyn Write, sizes: &[SizeFigures]) -> io::Result<()> {
    if sizes.is_empty() {
        return Ok(());
    }
    let has_latency = sizes.iter().any(|of| of.figures.latency.is_some());
    let mut header = vec!["by size", "size", "share", "I/Os", "MiB/s", "I/O per s"];
    if has_latency {
        header.extend(["average (ms)", "50th", "99th", "99.9th", "maximum"]);
    }
    let columns = header.len();
    let mut table = PlainTable::new(header, 1..columns);
    for SizeFigures { operation, size_bytes, drawn_percent, figures, p50_ns, p99_ns, p999_ns } in sizes {
        let mut cells = vec![
            operation.name().to_owned(),
            Bytes(*size_bytes).to_string(),
            format!("{drawn_percent:.2}%"),
            figures.ios.to_string(),
            format!("{:.2}", mib(figures.bytes_per_s)),
            format!("{:.2}", figures.iops),
        ];
        if has_latency {
            let shown = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), |ns| format!("{:.3}", ms(ns)));
            cells.push(shown(figures.latency.map(|latency| latency.mean_ns)));
            let percentiles = [*p50_ns, *p99_ns, *p999_ns, figures.latency.and_then(|latency| latency.max_ns)];
            cells.extend(percentiles.map(|ns| shown(ns.map(|ns| ns as f64))));
        }
        table.add(cells);
    }
    writeln!(out)?;
    table.write(out)
}
