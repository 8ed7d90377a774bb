//! What follows `DiskSpd`'s tables in a report without details: intervals, devices, remarks and findings, a line each.
//!
//! Lines begin with what no line of `DiskSpd` begins with, so that scripts pass over them.

use crate::confidence;
use crate::{closing_line, foreign};
use crate::{flush_table, load_loop};
use model::confidence::{HalfWidths, Interval};
use model::figures::{Figures, LatencyDistribution};
use model::finding::{Finding, Severity};
use model::note::Note;
use model::printable::{printable, wrapped};
use model::profile::TimeSpan;
use model::result::{LoadLoop, Measured, RunResult, TimeSpanResult};
use model::storage_course::{DeviceCourse, DeviceFigures, DeviceRequests, ShareCourse, ShareFigures};
use model::units::mib;
use model::verdict::Verdict;
use report::words::confidence::{WithoutInterval, of_iops, of_mean_latency, without_interval};
use report::words::numbers::{grouped, ms};
use report::words::plain_table::{COLUMNS, PlainTable};
use report::words::verdict::sum_up;

use std::io::{self, Write};

/// The beginning of lines after the first.
const INDENT: &str = "          ";

/// Devices and shares that are shown; those beyond are the least busy.
const DEVICES_MAX: usize = 4;

/// Findings of one name that are shown; the others are counted.
const ALIKE_MAX: usize = 3;

/// The rank of the percentile in the table, in parts per billion.
const P99: u64 = 990_000_000;

/// Figures with their intervals, what the loop was, and devices; the first line is empty.
pub(crate) fn figures(out: &mut dyn Write, span: &TimeSpan, measured: &Measured) -> io::Result<()> {
    writeln!(out)?;
    let rows = rows(measured);
    let has_intervals = rows.iter().any(Row::has_intervals);
    let has_more = rows.iter().any(|row| row.is_in_no_table);
    if has_intervals || has_more {
        table(&rows).write(out)?;
    }
    if !has_intervals && let Some(reason) = reason(measured) {
        writeln!(out, "{}: none, {reason}", confidence::HEAD)?;
    }
    measured.flushes.as_ref().map_or(Ok(()), |flushes| flush_table::head(out, flushes))?;
    match &measured.load_loop {
        Some(LoadLoop::Open(open)) => {
            writeln!(
                out,
                "open loop: {} of {} starts late because of -o, {} not made",
                grouped(open.delayed_by_depth as f64),
                grouped(open.intended_starts as f64),
                grouped(open.backlog as f64)
            )?;
            load_loop::ramp(out, &open.ramp)?;
        }
        Some(LoadLoop::Closed { depth }) if !load_loop::below_depth(span).is_empty() => {
            load_loop::closed(out, *depth, span)?;
        }
        Some(LoadLoop::Closed { .. }) | None => {}
    }
    let Measured { devices, shares, .. } = measured;
    devices.iter().take(DEVICES_MAX).try_for_each(|device| writeln!(out, "{}", printable(&of_device(device))))?;
    shares.iter().take(DEVICES_MAX).try_for_each(|share| writeln!(out, "{}", printable(&of_share(share))))
}

/// All figures and findings of a result; of several timespans a line for each.
pub(crate) fn brief(result: &RunResult, out: &mut dyn Write) -> io::Result<()> {
    if let [only] = &result.time_spans[..] {
        only.measured.as_ref().map_or(Ok(()), |measured| table(&rows(measured)).write(out))?;
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

/// A row of the table: values with their intervals, latencies in nanoseconds.
struct Row {
    name: &'static str,
    iops: Option<(f64, Option<Interval>)>,
    mean: Option<(f64, Option<Interval>)>,
    p99: Option<(f64, Option<Interval>)>,
    /// True if `DiskSpd` has no table with these figures.
    is_in_no_table: bool,
}

impl Row {
    fn has_intervals(&self) -> bool {
        [&self.iops, &self.mean, &self.p99].into_iter().any(|cell| matches!(cell, Some((_, Some(_)))))
    }
}

fn rows(measured: &Measured) -> Vec<Row> {
    let confidence = measured.confidence.as_ref();
    let latencies = measured.total_latency.as_ref();
    let of = |name, figures: &Figures, intervals: Option<&HalfWidths>, latency: Option<&LatencyDistribution>| Row {
        name,
        iops: Some((figures.iops, intervals.and_then(|found| of_iops(figures, found)))),
        mean: figures.latency.map(|of| (of.mean_ns, intervals.and_then(|found| of_mean_latency(figures, found)))),
        p99: latency.and_then(|latency| Some((latency.at(P99)? as f64, intervals.and_then(at_p99)))),
        is_in_no_table: false,
    };
    let totals = &measured.total;
    let mut rows = vec![of(
        "all",
        &totals.total,
        confidence.and_then(|of| of.total.as_ref()),
        latencies.and_then(|of| of.total.as_ref()),
    )];
    if totals.read.ios > 0 && totals.write.ios > 0 {
        let read = confidence.and_then(|of| of.read.as_ref());
        rows.push(of("read", &totals.read, read, latencies.and_then(|of| of.read.as_ref())));
        let write = confidence.and_then(|of| of.write.as_ref());
        rows.push(of("write", &totals.write, write, latencies.and_then(|of| of.write.as_ref())));
    }
    rows.extend(response(measured));
    rows.extend(flushes(measured));
    rows
}

fn at_p99(intervals: &HalfWidths) -> Option<Interval> {
    intervals.percentiles.iter().find(|percentile| percentile.rank_ppb == P99)?.interval_ns
}

/// From the intended starts of an open loop on.
fn response(measured: &Measured) -> Option<Row> {
    let Some(LoadLoop::Open(open)) = &measured.load_loop else { return None };
    let found = open.response_time.total.as_ref()?;
    let intervals = open.response_time_confidence.as_ref();
    Some(Row {
        name: "response",
        iops: None,
        mean: Some((found.figures.mean_ns, intervals.and_then(|found| found.latency_mean_interval_ns))),
        p99: found.at(P99).map(|ns| (ns as f64, intervals.and_then(at_p99))),
        is_in_no_table: true,
    })
}

fn flushes(measured: &Measured) -> Vec<Row> {
    let Some(flushes) = &measured.flushes else { return Vec::new() };
    let flush = Row {
        name: flushes.call.name(),
        iops: Some((flushes.per_s, None)),
        mean: flushes.latency.map(|of| (of.mean_ns, None)),
        p99: flushes.p99_ns.map(|ns| (ns as f64, None)),
        is_in_no_table: true,
    };
    let commit = flushes.commit.as_ref().map(|commit| Row {
        name: "commit",
        iops: None,
        mean: Some((commit.mean_ns, None)),
        p99: Some((commit.p99_ns as f64, None)),
        is_in_no_table: true,
    });
    std::iter::once(flush).chain(commit).collect()
}

fn table(rows: &[Row]) -> PlainTable {
    let mut table = PlainTable::new(["95 %", "I/O per s", "mean (ms)", "p99 (ms)"], 1..4);
    let shown = |cell: &Option<(f64, Option<Interval>)>, scale: f64| match cell {
        None => "-".to_owned(),
        Some((value, None)) => digits(value * scale),
        Some((value, Some(Interval { low, high }))) => {
            format!("{} [{}-{}]", digits(value * scale), digits(low * scale), digits(high * scale))
        }
    };
    for Row { name, iops, mean, p99, .. } in rows {
        table.add([(*name).to_owned(), shown(iops, 1.0), shown(mean, ms(1.0)), shown(p99, ms(1.0))]);
    }
    table
}

/// Four digits or more, as many as matter.
fn digits(value: f64) -> String {
    match value.abs() {
        size if size >= 999.95 => grouped(value),
        size if size >= 99.995 => format!("{value:.1}"),
        size if size >= 9.9995 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// The remedy if no figure has an interval, else why; `None` if that is not known.
fn reason(measured: &Measured) -> Option<String> {
    Some(match without_interval(measured, None, measured.total.total.ios)? {
        WithoutInterval::Withheld { remedy: Some(remedy), .. } => remedy,
        without => without.why(),
    })
}

/// `vda: reads 26,661/s 0.200 ms, writes 11,508/s 0.264 ms, queue 8.4, 52 % busy`
fn of_device(DeviceCourse { device, mean, .. }: &DeviceCourse) -> String {
    let DeviceFigures { read, write, queue_depth, busy_percent, .. } = mean;
    let of = |what: &str, requests: &DeviceRequests| {
        let latency = requests.latency_mean_ns.map(|ns| format!(" {} ms", digits(ms(ns)))).unwrap_or_default();
        (requests.iops > 0.0).then(|| format!("{what} {}/s{latency}", grouped(requests.iops)))
    };
    let parts = [of("reads", read), of("writes", write)].into_iter().flatten();
    let rest = [format!("queue {queue_depth:.1}"), format!("{busy_percent:.0} % busy")];
    format!("{device}: {}", parts.chain(rest).collect::<Vec<_>>().join(", "))
}

/// `nas:/a: reads 512/s, 4 MiB/s, RTT 2.500 ms`
fn of_share(ShareCourse { source, mean, .. }: &ShareCourse) -> String {
    let ShareFigures { read, write, total } = mean;
    let of = |what: &str, iops: f64| (iops > 0.0).then(|| format!("{what} {}/s", grouped(iops)));
    let round_trip = total.rpc.as_ref().and_then(|rpc| rpc.round_trip_mean_ns);
    let round_trip = round_trip.map(|ns| format!("RTT {} ms", digits(ms(ns))));
    let rate = Some(format!("{} MiB/s", grouped(mib(total.bytes_per_s))));
    let parts = [of("reads", read.iops), of("writes", write.iops), rate, round_trip];
    format!("{source}: {}", parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

/// Errors, and notes that no finding tells.
pub(crate) fn remarks(out: &mut dyn Write, run_notes: &[Note], span_result: &TimeSpanResult) -> io::Result<()> {
    for error in &span_result.errors {
        foreign::remark(out, "ERROR", error)?;
    }
    let notes = run_notes.iter().chain(&span_result.notes);
    let told = notes.filter(|note| span_result.verdict.is_none() || !note.is_detail());
    told.cloned().collect::<Vec<_>>().iter().try_for_each(|note| foreign::remark(out, "NOTE", &note.to_string()))
}

/// The verdict: two lines for each warning and worse, and one with the names of all notes.
pub(crate) fn verdict(out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
    let grave = verdict.findings.iter().filter(|finding| finding.severity > Severity::Note);
    let notes = verdict.findings.iter().filter(|finding| finding.severity <= Severity::Note);
    let mut notes: Vec<&str> = notes.map(|finding| finding.name.as_str()).collect();
    notes.dedup();
    let notes = notes.join(", ");
    match verdict.severity() {
        None => return lines(out, "Verdict: ", &sum_up(verdict)),
        Some(worst) if worst > Severity::Note => writeln!(out, "Verdict: {worst}")?,
        Some(_) => return lines(out, "Verdict: ", &format!("valid; NOTE {notes}")),
    }
    let grave: Vec<&Finding> = grave.collect();
    grave.chunk_by(|one, other| one.name == other.name).try_for_each(|alike| of_one_name(out, alike))?;
    if notes.is_empty() { Ok(()) } else { lines(out, "  NOTE    ", &notes) }
}

/// The first of the findings of one name, such as those of many targets, and how many there are beside them.
fn of_one_name(out: &mut dyn Write, alike: &[&Finding]) -> io::Result<()> {
    let shown = &alike[..alike.len().min(ALIKE_MAX)];
    shown.iter().try_for_each(|found| finding(out, found))?;
    match (alike.len() - shown.len(), shown) {
        (0, _) | (_, []) => Ok(()),
        (more, [first, ..]) => {
            lines(out, &format!("  {:<7} ", first.severity), &format!("{}: {} more", first.name, grouped(more as f64)))
        }
    }
}

/// A line for each severity, the gravest first.
fn names(out: &mut dyn Write, findings: &[&Finding]) -> io::Result<()> {
    for severity in Severity::ALL {
        let found = findings.iter().filter(|finding| finding.severity == severity);
        let mut names: Vec<&str> = found.map(|finding| closing_line::name(finding)).collect();
        names.dedup();
        if !names.is_empty() {
            lines(out, &format!("{severity:<8}"), &names.join(", "))?;
        }
    }
    Ok(())
}

/// The figure, and what to do about it, without explanations.
pub(crate) fn finding(out: &mut dyn Write, found: &Finding) -> io::Result<()> {
    let Finding { name, severity, figure, advice, .. } = found;
    let (figure, _) = Finding::parts(figure);
    lines(out, &format!("  {severity:<7} "), &format!("{name}: {figure}"))?;
    let action = Finding::action(advice);
    if action.is_empty() { Ok(()) } else { lines(out, INDENT, action) }
}

/// A text in lines of the usual width; those after the first begin below the text of the first.
fn lines(out: &mut dyn Write, first: &str, text: &str) -> io::Result<()> {
    for (index, line) in wrapped(text, COLUMNS - INDENT.len()).iter().enumerate() {
        write!(out, "{}", if index == 0 { first } else { INDENT })?;
        foreign::write_bytes(out, line.as_bytes())?;
        writeln!(out)?;
    }
    Ok(())
}
