//! The part after `DiskSpd`'s tables in a report without details: intervals, devices, remarks and findings, a line
//! each.
//!
//! Lines begin unlike any line of `DiskSpd`, so that scripts ignore them.

use crate::foreign;
use crate::report_text::{self, labelled};
use model::finding::{Finding, Severity};
use model::note::Note;
use model::printable::printable;
use model::result::{Measured, RunResult, TimeSpanResult};
use model::storage_course::{
    CacheFigures, CacheHits, DeviceCourse, DeviceFigures, DeviceRequests, ShareCourse, ShareFigures,
};
use model::units::mib;
use report::closing_line;
use report::intervals::{self, digits};
use report::numbers::{grouped, ms};

use std::io::{self, Write};

/// Devices and shares that are shown; the others are the least busy.
const DEVICES_MAX: usize = 4;

/// Figures with their intervals, and devices; the first line is empty.
pub(crate) fn figures(out: &mut dyn Write, measured: &Measured) -> io::Result<()> {
    writeln!(out)?;
    intervals::in_short(measured, false).map_or(Ok(()), |table| report_text::table(out, &table))?;
    report::no_intervals(measured).map_or(Ok(()), |words| report_text::sentence(out, &words))?;
    let Measured { devices, shares, caches, .. } = measured;
    devices.iter().take(DEVICES_MAX).try_for_each(|device| writeln!(out, "{}", printable(&of_device(device))))?;
    shares.iter().take(DEVICES_MAX).try_for_each(|share| writeln!(out, "{}", printable(&of_share(share))))?;
    caches.iter().take(DEVICES_MAX).try_for_each(|cache| report_text::sentence(out, &printable(&of_cache(cache))))
}

/// All figures and findings of a result; for several timespans a line for each.
pub(crate) fn brief(result: &RunResult, out: &mut dyn Write) -> io::Result<()> {
    if let [only] = &result.time_spans[..] {
        let measured = only.measured.iter();
        let tables = measured.flat_map(|of| [intervals::in_short(of, true), report::flushes(of)]).flatten();
        tables.into_iter().try_for_each(|table| report_text::table(out, &table))?;
        remarks(out, &[], only)?;
        return names(out, &only.findings().collect::<Vec<_>>());
    }
    for (index, span_result) in result.time_spans.iter().enumerate() {
        let line = closing_line::of_time_span(result, index).unwrap_or_else(|| "no results".to_owned());
        writeln!(out, "timespan {}: {}", index + 1, printable(&line))?;
        span_result.errors.iter().try_for_each(|error| foreign::remark(out, "ERROR", error))?;
    }
    Ok(())
}

/// `vda: reads 26,661/s 0.200 ms, writes 11,508/s 0.264 ms, queue 8.4, 52 % busy`
fn of_device(DeviceCourse { device, mean, .. }: &DeviceCourse) -> String {
    let DeviceFigures { read, write, queue_depth, busy_percent, .. } = mean;
    let requests = |what: &str, requests: &DeviceRequests| {
        let latency = requests.latency_mean_ns.map(|ns| format!(" {} ms", digits(ms(ns)))).unwrap_or_default();
        (requests.iops > 0.0).then(|| format!("{what} {}/s{latency}", grouped(requests.iops)))
    };
    let parts = [requests("reads", read), requests("writes", write)].into_iter().flatten();
    let rest = [format!("queue {queue_depth:.1}"), format!("{busy_percent:.0} % busy")];
    format!("{device}: {}", parts.chain(rest).collect::<Vec<_>>().join(", "))
}

/// `nas:/a: reads 512/s, 4 MiB/s, RTT 2.500 ms`
fn of_share(ShareCourse { source, mean, .. }: &ShareCourse) -> String {
    let ShareFigures { read, write, total } = mean;
    let requests = |what: &str, iops: f64| (iops > 0.0).then(|| format!("{what} {}/s", grouped(iops)));
    let round_trip = total.rpc.as_ref().and_then(|rpc| rpc.round_trip_mean_ns);
    let round_trip = round_trip.map(|ns| format!("RTT {} ms", digits(ms(ns))));
    let rate = Some(format!("{} MiB/s", grouped(mib(total.bytes_per_s))));
    let parts = [requests("reads", read.iops), requests("writes", write.iops), rate, round_trip];
    format!("{source}: {}", parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

/// `cache bcache0: 93.1 % of reads hit (931 of 1,000), 12 reads bypassed it`
fn of_cache(CacheFigures { cache, read, write, bypassed_reads }: &CacheFigures) -> String {
    let hits = |what: &str, of: &CacheHits| {
        let share = of.hit_percent?;
        let (hits, all) = (of.hits as f64, of.hits.saturating_add(of.misses) as f64);
        Some(format!("{share:.1} % of {what} hit ({} of {})", grouped(hits), grouped(all)))
    };
    let bypassed = bypassed_reads.filter(|reads| *reads > 0);
    let bypassed = bypassed.map(|reads| format!("{} reads bypassed it", grouped(reads as f64)));
    let parts = [hits("reads", read), write.as_ref().and_then(|write| hits("writes", write)), bypassed];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("cache {cache}: {}", if parts.is_empty() { "no I/O counted".to_owned() } else { parts.join(", ") })
}

/// Errors, and notes that no finding reports.
pub(crate) fn remarks(out: &mut dyn Write, run_notes: &[Note], span_result: &TimeSpanResult) -> io::Result<()> {
    for error in &span_result.errors {
        foreign::remark(out, "ERROR", error)?;
    }
    let notes = run_notes.iter().chain(&span_result.notes);
    let told = notes.filter(|note| span_result.verdict.is_none() || !note.is_detail());
    told.cloned().collect::<Vec<_>>().iter().try_for_each(|note| foreign::remark(out, "NOTE", &note.to_string()))
}

/// A line for each severity, the gravest first.
fn names(out: &mut dyn Write, findings: &[&Finding]) -> io::Result<()> {
    for severity in Severity::ALL {
        let found = findings.iter().filter(|finding| finding.severity == severity);
        let mut names: Vec<&str> = found.map(|finding| closing_line::name(finding)).collect();
        names.dedup();
        if !names.is_empty() {
            labelled(out, severity.word(), &names.join(", "))?;
        }
    }
    Ok(())
}
