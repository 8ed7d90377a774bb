//! The slowest I/Os of a measurement, and what the kernel said meanwhile.

use crate::foreign;
use model::result::Measured;
use report::words::numbers::ms;
use std::io::{self, Write};
use std::path::Path;

/// Those of a timespan, which has a number if there are several.
pub fn slowest(time_span: Option<usize>, measured: &Measured, out: &mut dyn Write) -> io::Result<()> {
    let of = time_span.map(|number| format!(" of timespan {number}")).unwrap_or_default();
    writeln!(out, "Slowest I/Os{of}, with their completion times:")?;
    writeln!(out, "{:>12} | {:>12} | thread |  kind |           offset |     size | file", "time (s)", "latency (ms)")?;
    writeln!(out, "{}", "-".repeat(80))?;
    for io in &measured.slowest {
        let kind = io.operation().name();
        let (at_s, latency_ms) = (io.ended_at_ns as f64 / 1e9, ms(io.latency_ns as f64));
        write!(out, "{at_s:12.6} | {latency_ms:12.3} | {:6} | {kind:>5} | ", io.thread)?;
        write!(out, "{:16} | {:8} | ", io.offset_bytes, io.size_bytes)?;
        let row = measured.rows.iter().find(|row| row.target == io.target);
        foreign::write_path(out, row.map_or(Path::new("?"), |row| &row.path))?;
        writeln!(out)?;
    }
    for message in &measured.kernel_messages {
        write!(out, "{:12.6} | kernel: ", message.at_ns as f64 / 1e9)?;
        foreign::write_bytes(out, message.text.as_bytes())?;
        writeln!(out)?;
    }
    Ok(())
}
