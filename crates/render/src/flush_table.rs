//! Flushes: lines of their own below the tables, where no reader of `DiskSpd`'s tables looks any more.

use crate::numbers::ms;
use model::figures::FlushFigures;
use std::io::{self, Write};

/// What the last line begins with.
const SPREAD: &str = "50th, 99th, maximum:";

/// How many, and what they took.
pub(crate) fn lines(out: &mut dyn Write, flushes: &FlushFigures) -> io::Result<()> {
    let FlushFigures { call, after_writes, count, per_s, latency, p50_ns, p99_ns } = flushes;
    let call = call.name();
    writeln!(out, "\n{call}, after every {after_writes} writes of a thread: {count}, {per_s:.2} per s")?;
    let Some(latency) = latency else { return Ok(()) };
    let known = |ns: &Option<u64>| ns.map_or_else(|| "-".to_owned(), |ns| format!("{:.3}ms", ms(ns as f64)));
    writeln!(out, "{:<24}{:.3}ms", format!("average {call}:"), ms(latency.mean_ns))?;
    writeln!(out, "{SPREAD:<24}{}, {}, {}", known(p50_ns), known(p99_ns), known(&latency.max_ns))
}
