//! Flushes: lines of their own below the tables, where no reader of `DiskSpd`'s tables looks any more.

use crate::numbers::ms;
use model::figures::FlushFigures;
use std::io::{self, Write};

/// What the second line begins with.
const AVERAGE: &str = "average fdatasync:";
/// What the third line begins with.
const SPREAD: &str = "50th, 99th, maximum:";

/// How many, and what they took.
pub(crate) fn lines(out: &mut dyn Write, flushes: &FlushFigures) -> io::Result<()> {
    let FlushFigures { after_writes, count, per_s, latency, p50_ns, p99_ns } = flushes;
    writeln!(out, "\nfdatasync, after every {after_writes} writes of a thread: {count}, {per_s:.2} per s")?;
    let Some(latency) = latency else { return Ok(()) };
    let known = |ns: &Option<u64>| ns.map_or_else(|| "-".to_owned(), |ns| format!("{:.3}ms", ms(ns as f64)));
    writeln!(out, "{AVERAGE:<24}{:.3}ms", ms(latency.mean_ns))?;
    writeln!(out, "{SPREAD:<24}{}, {}, {}", known(p50_ns), known(p99_ns), known(&latency.max_ns))
}
