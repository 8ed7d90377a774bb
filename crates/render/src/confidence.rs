//! Confidence intervals: lines of ours after `DiskSpd`'s tables.

use model::confidence::{HalfWidths, Interval, LASTING_S};
use model::figures::{Figures, LatencyDistribution};
use model::result::{LoadLoop, Measured, OpenLoop};
use model::units::mib;
use report::words::confidence::{FEW_SAMPLES, of_bytes, of_iops, of_mean_latency, remedy, why};
use report::words::numbers::ms;
use stats::NAMED_PERCENTILES;
use std::io::{self, Write};

/// What each line begins with.
pub(crate) const HEAD: &str = "95 % confidence";

/// Two lines for all I/Os, and for reads and writes if there were both.
pub(crate) fn lines(out: &mut dyn Write, measured: &Measured) -> io::Result<()> {
    let Some(confidence) = &measured.confidence else { return Ok(()) };
    if measured.load_loop.is_none() {
        writeln!(out)?;
    }
    let Some(total) = &confidence.total else { return writeln!(out, "{HEAD}: none, {FEW_SAMPLES}") };
    let latencies = measured.total_latency.as_ref();
    let elapsed_s = measured.elapsed_ns as f64 / 1e9;
    let of_all = latencies.and_then(|latencies| latencies.total.as_ref());
    direction(out, "all", &measured.total.total, (total, elapsed_s), of_all)?;
    if let (Some(read), Some(write)) = (&confidence.read, &confidence.write) {
        let latencies = latencies.map(|latencies| (latencies.read.as_ref(), latencies.write.as_ref()));
        let (of_reads, of_writes) = latencies.unwrap_or_default();
        direction(out, "read", &measured.total.read, (read, elapsed_s), of_reads)?;
        direction(out, "write", &measured.total.write, (write, elapsed_s), of_writes)?;
    }
    if let Some(LoadLoop::Open(open)) = &measured.load_loop {
        response_times(out, open, elapsed_s)?;
    }
    // A finding says it of shorter runs.
    match remedy(measured).filter(|_| elapsed_s >= LASTING_S) {
        Some(remedy) => writeln!(out, "{HEAD}: {remedy} for the missing intervals"),
        None => Ok(()),
    }
}

/// Of all I/Os together.
fn response_times(out: &mut dyn Write, open: &OpenLoop, elapsed_s: f64) -> io::Result<()> {
    const NAME: &str = "response times";
    let known = (&open.response_time_confidence, &open.response_time.total);
    let (Some(intervals), Some(found)) = known else { return Ok(()) };
    let mean = match (intervals.latency_mean_interval_ns, &intervals.withheld) {
        (Some(interval), _) => format!("mean {:.3} {} ms", ms(found.figures.mean_ns), shown(in_ms(interval), 3)),
        (None, Some(withheld)) => format!("none, {}", why(withheld, elapsed_s)),
        (None, None) => "none".to_owned(),
    };
    writeln!(out, "{HEAD}, {NAME}: {mean}")?;
    let reason = intervals.withheld.as_ref().map(|withheld| why(withheld, elapsed_s));
    let reason = reason.filter(|_| intervals.latency_mean_interval_ns.is_some());
    percentiles(out, NAME, found.count, (intervals, reason), found)
}

fn direction(
    out: &mut dyn Write,
    name: &str,
    figures: &Figures,
    (intervals, elapsed_s): (&HalfWidths, f64),
    latencies: Option<&LatencyDistribution>,
) -> io::Result<()> {
    let in_mib = |bytes: Interval| bytes.scaled(mib(1.0));
    let mut parts = Vec::new();
    if let Some(found) = of_iops(figures, intervals) {
        parts.push(format!("{:.2} {} I/O per s", figures.iops, shown(found, 2)));
    }
    if let Some(found) = of_bytes(figures, intervals) {
        parts.push(format!("{:.2} {} MiB/s", mib(figures.bytes_per_s), shown(in_mib(found), 2)));
    }
    if let (Some(latency), Some(found)) = (&figures.latency, of_mean_latency(figures, intervals)) {
        parts.push(format!("mean latency {:.3} {} ms", ms(latency.mean_ns), shown(in_ms(found), 3)));
    }
    let withheld = intervals.withheld.as_ref().map(|withheld| why(withheld, elapsed_s));
    if parts.is_empty() {
        parts.push("none".to_owned());
    }
    // One reason for all figures that lack an interval.
    let measured = 2 + usize::from(figures.latency.is_some());
    let is_short = parts.len() < measured;
    if let Some(reason) = withheld.as_ref().filter(|_| is_short) {
        parts.push(reason.clone());
    }
    writeln!(out, "{HEAD}, {name}: {}", parts.join(", "))?;
    let reason = withheld.filter(|_| !is_short);
    latencies.map_or(Ok(()), |latencies| percentiles(out, name, figures.ios, (intervals, reason), latencies))
}

/// `reason`: why some have no interval, unless it was just said.
fn percentiles(
    out: &mut dyn Write,
    of: &str,
    ios: u64,
    (intervals, reason): (&HalfWidths, Option<String>),
    latencies: &LatencyDistribution,
) -> io::Result<()> {
    let mut parts = Vec::new();
    let mut is_withheld = false;
    for (name, rank_ppb) in NAMED_PERCENTILES {
        let value = latencies.percentiles.iter().find(|percentile| percentile.rank_ppb == rank_ppb);
        let found = intervals.percentiles.iter().find(|percentile| percentile.rank_ppb == rank_ppb);
        if let (Some(value), Some(found)) = (value, found) {
            let value_ns = value.value_ns as f64;
            let found_ns = found.interval_ns.unwrap_or_else(|| Interval::around(value_ns, found.half_width_ns));
            parts.push(format!("{name} {:.3} {} ms", ms(value_ns), shown(in_ms(found_ns), 3)));
        } else if intervals.withheld.is_none() || stats::is_weak(ios, rank_ppb) {
            parts.push(format!("none at or above the {name} (too few I/Os)"));
            break;
        } else {
            is_withheld = true;
        }
    }
    if is_withheld {
        let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
        parts.push(format!("none for the other figures{reason}"));
    }
    writeln!(out, "{HEAD}, {of}: {}", parts.join(", "))
}

fn in_ms(ns: Interval) -> Interval {
    ns.scaled(ms(1.0))
}

/// `[12.3 - 14.5]`
fn shown(interval: Interval, decimals: usize) -> String {
    format!("[{:.decimals$} - {:.decimals$}]", interval.low, interval.high)
}
