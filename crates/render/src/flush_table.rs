//! Flushes: lines of their own below the tables, where no reader of `DiskSpd`'s tables looks any more.

use model::figures::{CommitFigures, FlushFigures};
use report::words::numbers::ms;
use std::io::{self, Write};

/// What the last line begins with.
const SPREAD: &str = "50th, 99th, maximum:";

/// `fdatasync, after every 4 writes of a thread: 25, 7.30 per s`
pub(crate) fn head(out: &mut dyn Write, flushes: &FlushFigures) -> io::Result<()> {
    let FlushFigures { call, after_writes, count, per_s, .. } = flushes;
    let after = if *after_writes == 1 { "each write".to_owned() } else { format!("every {after_writes} writes") };
    writeln!(out, "{}, after {after} of a thread: {count}, {per_s:.2} per s", call.name())
}

/// How many, what they covered, and what they took; `has_latencies` if the tables above have latencies of writes.
pub(crate) fn lines(out: &mut dyn Write, flushes: &FlushFigures, has_latencies: bool) -> io::Result<()> {
    writeln!(out)?;
    head(out, flushes)?;
    let FlushFigures { call, latency, p50_ns, p99_ns, commit, .. } = flushes;
    let call = call.name();
    if let Some((writes, left)) = flushes.writes_per_flush.zip(flushes.unflushed_writes) {
        let left = if left == 0 { String::new() } else { format!("; writes in incomplete last groups: {left}") };
        writeln!(out, "{:<24}{writes:.2}{left}", format!("writes per {call}:"))?;
    }
    if has_latencies {
        writeln!(out, "{:<24}writes alone, without {call}", "latencies above:")?;
    }
    let Some(latency) = latency else { return Ok(()) };
    let shown = |ns: f64| format!("{:.3}ms", ms(ns));
    let known = |ns: &Option<u64>| ns.map_or_else(|| "-".to_owned(), |ns| shown(ns as f64));
    writeln!(out, "{:<24}{}", format!("average {call}:"), shown(latency.mean_ns))?;
    writeln!(out, "{SPREAD:<24}{}, {}, {}", known(p50_ns), known(p99_ns), known(&latency.max_ns))?;
    let Some(CommitFigures { mean_ns, p50_ns, p99_ns, max_ns }) = commit else { return Ok(()) };
    let spread = [p50_ns, p99_ns, max_ns].map(|ns| shown(*ns as f64)).join(", ");
    writeln!(out, "{:<24}{} (write + {call})", "average commit:", shown(*mean_ns))?;
    writeln!(out, "{SPREAD:<24}{spread}")
}
