//! I/Os that transfer no data: a table of its own below those of `DiskSpd`.

use model::figures::OperationFigures;
use model::units::mib;
use report::words::numbers::ms;
use report::words::plain_table::PlainTable;
use stats::NAMED_PERCENTILES;
use std::io::{self, Write};

/// The percentiles that are shown, by their names in the tables of latencies.
const SHOWN: [&str; 3] = ["50th", "99th", "3-nines"];

/// Nothing if there were none.
pub(crate) fn table(out: &mut dyn Write, operations: &[OperationFigures]) -> io::Result<()> {
    if operations.is_empty() {
        return Ok(());
    }
    let has_latency = operations.iter().any(|of| of.latency.is_some());
    let mut header = vec!["without data", "bytes", "I/Os", "MiB/s", "I/O per s"];
    if has_latency {
        header.extend(["average (ms)", "50th", "99th", "99.9th", "maximum"]);
    }
    let columns = header.len();
    let mut table = PlainTable::new(header, 1..columns);
    for OperationFigures { operation, figures, latency } in operations {
        let mut cells = vec![
            operation.name().to_owned(),
            figures.bytes.to_string(),
            figures.ios.to_string(),
            format!("{:.2}", mib(figures.bytes_per_s)),
            format!("{:.2}", figures.iops),
        ];
        if has_latency {
            let shown = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), |ns| format!("{:.3}", ms(ns)));
            cells.push(shown(latency.as_ref().map(|latency| latency.figures.mean_ns)));
            for (_, rank_ppb) in NAMED_PERCENTILES.into_iter().filter(|(name, _)| SHOWN.contains(name)) {
                cells.push(shown(latency.as_ref().and_then(|latency| latency.at(rank_ppb)).map(|ns| ns as f64)));
            }
            cells.push(shown(latency.as_ref().and_then(|latency| latency.figures.max_ns).map(|ns| ns as f64)));
        }
        table.add(cells);
    }
    writeln!(out)?;
    table.write(out)
}
