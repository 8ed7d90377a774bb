//! Rotations of logs: lines of their own below the tables, as for flushes.

use model::figures::RotationFigures;
use report::words::numbers::ms;
use std::io::{self, Write};

/// How many, and what they took.
pub(crate) fn lines(out: &mut dyn Write, rotations: &RotationFigures) -> io::Result<()> {
    let RotationFigures { count, total_ns, max_ns, time_percent } = rotations;
    let total = ms(*total_ns as f64);
    writeln!(out, "\nlog rotations (--append), not in latencies: {count}")?;
    let Some(max_ns) = max_ns else { return Ok(()) };
    writeln!(
        out,
        "total, maximum:         {total:.3}ms ({time_percent:.2}% of the threads' time), {:.3}ms",
        ms(*max_ns as f64)
    )
}
