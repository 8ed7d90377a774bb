//! The report of a trace of block I/O, and of the load that comes closest to it.

use super::answer::Statement;
use super::axis::Axis;
use super::block::{Answer, Block, Brief, Column, Report, Section, Table, Tone, Trust, charts, dash};
use super::chart::{Chart, ChartResult, Marks, MissingChart, Series};
use super::foreign_text::text;
use super::load_figures::{self, LoadFigures, rows_of_load};
use super::quantity::{Quantity, grouped, latency, significant, significant_grouped, size};
use super::role::Role;
use crate::words::time::utc;
use model::operation::Operation;
use model::shell::quoted;
use model::units::{UnixTime, counted, mib, pluralized};
use std::collections::BTreeMap;
use trace::account::Account;
use trace::event::Action;
use trace::figures::{Closest, Figures};
use trace::fit::{Outcome, Pace, Property};
use trace::readers::TraceKind;
use trace::summary::Summary;
use trace::summary::arrivals::Bursts;

/// Sizes, devices and processes of a table.
const ROWS_MAX: usize = 12;

/// Length in seconds below which a trace may not be typical.
const TYPICAL_S: f64 = 60.0;

/// The report of a trace in files with this name; `job` is the file of the closest load, if it was written.
pub fn trace(name: &str, figures: &Figures, closest: Option<&Closest>, job: Option<&str>) -> Report {
    let summary = &figures.summary;
    let answer = Answer::resting_on([], statement(summary));
    let tables = [requests(summary)].into_iter().chain(sizes(summary)).map(Block::Table).collect();
    let mut sections = vec![
        Section::new("", vec![Block::Answers { answers: vec![answer] }]),
        Section::new("Requests", tables),
        Section::new("Order, places and times", vec![Block::Table(properties(summary))]),
    ];
    sections.push(Section::new("Requests over time", charts(vec![course(summary)])));
    sections.push(Section::new("Devices and processes", owners(figures).into_iter().map(Block::Table).collect()));
    if let Some(closest) = closest {
        let blocks = vec![Block::Table(kept(closest)), Block::Table(differences(summary, closest))];
        sections.push(Section::new("The closest load", blocks));
    }
    let begun = figures.begin_unix_ns.map(|ns| utc(UnixTime(ns.into())));
    let subtitle = begun.into_iter().chain([kind(figures.kind)]).collect::<Vec<_>>().join(" · ");
    Report::new(
        format!("Trace: {}", text(name)),
        String::new(),
        subtitle,
        brief(name, figures, closest.zip(job)),
        sections,
    )
}

fn kind(kind: TraceKind) -> String {
    match kind {
        TraceKind::IoTrace => "a trace of diskspd (.iotrace)".to_owned(),
        TraceKind::Blktrace => "a trace of blktrace".to_owned(),
        TraceKind::Blkparse => "text of blkparse".to_owned(),
        TraceKind::IoLog(version) => format!("a log of fio, version {version}"),
        TraceKind::Csv => "CSV of MSR Cambridge".to_owned(),
    }
}

fn brief(name: &str, figures: &Figures, job: Option<(&Closest, &str)>) -> Brief {
    let summary = &figures.summary;
    let (next, command) = match job {
        _ if summary.operations() == 0 => (
            "Record again while the application runs.".to_owned(),
            "diskspd trace record DEVICE -d60 --output t.iotrace".to_owned(),
        ),
        Some((closest, job)) => {
            let load = &closest.fit.load;
            let end = load.base_offset.saturating_add(load.target_bytes);
            let next = format!(
                "Run the closest load on the storage to be tested: a device, or a file of at least {} (diskspd -c{end} -d1 -W0 \
                 TARGET makes one).",
                size(end)
            );
            (next, format!("diskspd run {} TARGET", text(&quoted(job))))
        }
        None => (
            "Make a job file of the closest load.".to_owned(),
            format!("diskspd trace show {} --job job.toml", text(&quoted(name))),
        ),
    };
    Brief { measured: requests_in(figures) + ".", on: devices(figures), trust: trust(figures), next, command }
}

/// `12,345 requests of 60 s in a trace of blktrace, from 2026-11-30 12:00:00 UTC`
pub(crate) fn requests_in(figures: &Figures) -> String {
    let begun = figures.begin_unix_ns.map(|ns| format!(", from {}", utc(UnixTime(ns.into()))));
    format!(
        "{} of {} in {}{}",
        request_count(figures.account.events),
        Quantity::TimeS.value(duration_s(&figures.summary)),
        kind(figures.kind),
        begun.unwrap_or_default()
    )
}

/// Its first devices, with their sizes.
pub(crate) fn devices(figures: &Figures) -> String {
    let devices = figures.devices();
    let shown = devices.iter().take(3).map(|(device, _)| {
        let bytes = device.size_bytes.map(|bytes| format!(", {}", size(bytes)));
        text(&device.name) + &bytes.unwrap_or_default()
    });
    let more = devices.len().saturating_sub(3);
    let more = (more > 0).then(|| counted(more, "other device"));
    let on = shown.chain(more).collect::<Vec<_>>().join("; ");
    if on.is_empty() { "No device.".to_owned() } else { on + "." }
}

/// `1 request`, `12,345 requests`
fn request_count(count: u64) -> String {
    format!("{} {}", grouped(count as f64), pluralized(count, "request"))
}

fn duration_s(summary: &Summary) -> f64 {
    summary.arrivals.duration_ns as f64 / 1e9
}

/// Extent to which the figures describe the application.
pub(crate) fn trust(figures: &Figures) -> Trust {
    let (account, summary) = (&figures.account, &figures.summary);
    let Account {
        loss_count,
        lost_bytes,
        late,
        issues_without_completion: open,
        completions_without_issue: unknown,
        missed_events: missed,
        ..
    } = *account;
    let first = account.losses.first().map(|loss| format!(", the first at {}: {}", loss.place, text(&loss.reason)));
    let length_s = duration_s(summary);
    let limits = [
        (loss_count > 0).then(|| {
            let parts = counted(loss_count, "part");
            format!("{parts} of the trace ({}) cannot be read{}", size(lost_bytes), first.unwrap_or_default())
        }),
        (missed > 0).then(|| format!("up to {} were lost while recording", counted(missed, "event"))),
        (late > 0).then(|| format!("{} came too late to be put in order", request_count(late))),
        (unknown > 0).then(|| format!("{} began before the trace and are left out", request_count(unknown))),
        (open > 0).then(|| format!("the end of {} is not in the trace", request_count(open))),
        (summary.operations() > 0 && summary.depth.is_none())
            .then(|| "the trace has no completions: latencies and depth are unknown".to_owned()),
        (summary.operations() > 0 && summary.arrivals.mean_iops == 0.0)
            .then(|| "the trace has no times: rate and arrivals are unknown".to_owned()),
        (length_s > 0.0 && length_s < TYPICAL_S)
            .then(|| format!("{} may not be typical", Quantity::TimeS.value(length_s))),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    if limits.is_empty() {
        return Trust { tone: Tone::Good, words: "Yes: every request of the trace was read.".to_owned() };
    }
    Trust { tone: Tone::Warn, words: format!("Only in part: {}.", limits.join("; ")) }
}

/// The pattern in a sentence, and its properties.
fn statement(summary: &Summary) -> Statement {
    if summary.operations() == 0 {
        return Statement::new(Tone::Plain, "The trace has no request that reads or writes", []);
    }
    let rate = if summary.arrivals.mean_iops > 0.0 {
        let bytes_per_s = bytes(summary) as f64 / duration_s(summary);
        format!("{}, {}", rate(summary.arrivals.mean_iops), Quantity::MibPerS.value(mib(bytes_per_s)))
    } else {
        request_count(summary.operations())
    };
    let headline = format!("{} {} {}: {rate}", order(summary), mix(summary), sizes_in_words(summary));
    let touched = format!(
        "They touch {} of a range of {}; {}.",
        size(summary.footprint.bytes.min(summary.span_bytes())),
        size(summary.span_bytes()),
        skew_in_words(summary)
    );
    let arrivals = (summary.arrivals.mean_iops > 0.0).then(|| format!("{}.", arrivals_in_words(summary)));
    let waits = summary.depth.map(|depth| {
        let latencies = [Operation::Read, Operation::Write].map(|operation| {
            let found = summary.actions[operation.index()].latencies?;
            Some(format!(
                "half of the {} took up to {}, 99 % up to {}",
                operation.plural(),
                ns(found.p50_ns),
                ns(found.p99_ns)
            ))
        });
        let latencies: Vec<String> = latencies.into_iter().flatten().collect();
        let joint = if latencies.is_empty() { "" } else { "; " };
        format!(
            "On average {} were in flight, at most {}{joint}{}.",
            significant(depth.mean),
            depth.max,
            latencies.join("; ")
        )
    });
    Statement::new(Tone::Plain, headline, [Some(touched), arrivals, waits].into_iter().flatten())
}

fn ns(ns: u64) -> String {
    latency(ns as f64)
}

fn rate(iops: f64) -> String {
    format!("{} requests/s", if iops < 100.0 { significant(iops) } else { grouped(iops) })
}

fn bytes(summary: &Summary) -> u64 {
    Operation::ALL.into_iter().map(|operation| summary.volume(operation).bytes).fold(0, u64::saturating_add)
}

fn share_percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

fn order(summary: &Summary) -> String {
    match summary.sequential_percent() {
        percent if percent >= 90.0 => "Sequential".to_owned(),
        percent if percent <= 10.0 => "Random".to_owned(),
        percent => format!("{percent:.0} % sequential"),
    }
}

/// `reads (70 %) and writes (30 %)`
fn mix(summary: &Summary) -> String {
    let shares = Operation::ALL.into_iter().map(|operation| {
        let percent = share_percent(summary.volume(operation).requests, summary.operations());
        (operation.plural(), percent)
    });
    let shares: Vec<(&str, f64)> = shares.filter(|&(_, percent)| percent >= 0.5).collect();
    match &shares[..] {
        [(only, _)] => (*only).to_owned(),
        several => {
            let words: Vec<String> =
                several.iter().map(|(name, percent)| format!("{name} ({} %)", significant(*percent))).collect();
            let (last, others) =
                words.split_last().map_or_else(Default::default, |(last, rest)| (last.clone(), rest.join(", ")));
            format!("{others} and {last}")
        }
    }
}

/// Requests by size, of all operations.
fn size_counts(summary: &Summary) -> BTreeMap<u64, u64> {
    let mut counts = BTreeMap::new();
    for (&size, &count) in summary.sizes.iter().flat_map(|sizes| &sizes.counts) {
        *counts.entry(size).or_default() += count;
    }
    counts
}

fn sizes_in_words(summary: &Summary) -> String {
    let counts = size_counts(summary);
    let Some((&main, &count)) = counts.iter().max_by_key(|&(_, &count)| count) else { return String::new() };
    let at = |percent: u64| {
        let mut below = 0;
        let is_reached = |&(_, count): &(&u64, &u64)| {
            below += count;
            below * 100 >= summary.operations() * percent
        };
        counts.iter().find(is_reached).map_or(0, |(&size, _)| size)
    };
    match share_percent(count, summary.operations()) {
        percent if percent >= 99.5 => format!("of {}", size(main)),
        percent if percent >= 50.0 => format!("mostly of {}", size(main)),
        _ => format!("of {} to {}", size(at(5)), size(at(95))),
    }
}

fn skew_in_words(summary: &Summary) -> String {
    match summary.skew {
        None => "too few offsets are repeated to tell how popular they are".to_owned(),
        Some(fit) if fit.exponent == 0.0 => "all offsets are equally popular".to_owned(),
        Some(fit) => {
            let law = format!("zipf {} ± {}", significant(fit.exponent), significant(fit.error));
            if fit.is_zipf() {
                format!("some offsets are more popular than others ({law})")
            } else {
                format!("some offsets are more popular than others, not as a Zipf law has it (nearest: {law})")
            }
        }
    }
}

/// Arrivals between regular and random are neither.
const REGULAR_VARIATION: f64 = 0.05;

fn arrivals_in_words(summary: &Summary) -> String {
    let arrivals = &summary.arrivals;
    match (&arrivals.bursts, arrivals.variation) {
        (Some(bursts), _) => format!("They come in {}", bursts_in_words(bursts)),
        (None, variation) if variation < REGULAR_VARIATION => "They come at regular intervals".to_owned(),
        (None, variation) => format!(
            "They come without clear bursts (variation of the times between them: {}; 0 is regular, 1 random)",
            significant(variation)
        ),
    }
}

fn bursts_in_words(bursts: &Bursts) -> String {
    let speed = bursts.on_iops.map_or_else(|| "all at once".to_owned(), |iops| format!("at {}", rate(iops)));
    format!(
        "{} bursts, on average of {} requests {speed} each {}; {:.0} % of the requests are in them",
        grouped(bursts.count as f64),
        significant(bursts.requests),
        latency(bursts.cycle_ns),
        100.0 * bursts.share
    )
}

/// Kinds of requests with their latencies.
fn requests(summary: &Summary) -> Table {
    let all: u64 = summary.actions.iter().map(|action| action.volume.requests).sum();
    let rows = Action::ALL.into_iter().filter_map(|action| {
        let found = &summary.actions[action.index()];
        let volume = found.volume;
        if volume.requests == 0 {
            return None;
        }
        let known = |value: Option<f64>| value.map_or_else(dash, latency);
        let mean_bytes = (volume.bytes > 0).then(|| size(volume.bytes / volume.requests));
        Some(vec![
            action.name().to_owned(),
            grouped(volume.requests as f64),
            significant(share_percent(volume.requests, all)),
            significant_grouped(mib(volume.bytes as f64)),
            mean_bytes.unwrap_or_else(dash),
            known(found.latencies.map(|of| of.mean_ns)),
            known(found.latencies.map(|of| of.p50_ns as f64)),
            known(found.latencies.map(|of| of.p99_ns as f64)),
            known(found.latencies.map(|of| of.max_ns as f64)),
        ])
    });
    let numbers = ["requests", "%", "MiB", "mean size", "mean", "50th", "99th", "max"].map(Column::number);
    let mut columns: Vec<Column> = [Column::text("kind")].into_iter().chain(numbers).collect();
    (columns[3].spare, columns[5].spare) = (Some(0), Some(1));
    Table { columns, rows: rows.collect(), label: "Requests", ..Table::default() }
}

/// Requests of each size, unless there is only one.
fn sizes(summary: &Summary) -> Option<Table> {
    let counts = size_counts(summary);
    let mut shown: Vec<(u64, u64)> = counts.iter().map(|(&size, &count)| (size, count)).collect();
    shown.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    shown.truncate(ROWS_MAX);
    shown.sort_unstable();
    let used = |operation: &Operation| summary.volume(*operation).requests > 0;
    let operations: Vec<Operation> = Operation::ALL.into_iter().filter(used).collect();
    let row = |&(bytes, _): &(u64, u64)| {
        let shares = operations.iter().map(|&operation| {
            let count = summary.sizes[operation].counts.get(&bytes).copied().unwrap_or(0);
            significant(share_percent(count, summary.volume(operation).requests))
        });
        [size(bytes)].into_iter().chain(shares).collect()
    };
    let names = operations.iter().map(|operation| Column::number(&format!("% of {}", operation.plural())));
    let left_out = counts.len() - shown.len();
    (counts.len() > 1).then(|| Table {
        columns: [Column::number("size")].into_iter().chain(names).collect(),
        rows: shown.iter().map(row).collect(),
        note: if left_out > 0 {
            format!("{} more, which are rarer.", counted(left_out, "size"))
        } else {
            String::new()
        },
        label: "Sizes",
        ..Table::default()
    })
}

/// Order, places, popularity, arrivals and depth.
fn properties(summary: &Summary) -> Table {
    let arrivals = &summary.arrivals;
    let granule = size(summary.footprint.granule_bytes);
    let skew = summary.skew.map_or_else(dash, |fit| {
        format!(
            "zipf {} ± {} over {} offsets; {} by the hottest alone",
            significant(fit.exponent),
            significant(fit.error),
            grouped(fit.positions as f64),
            significant(fit.exponent_of_hottest)
        )
    });
    let windows = arrivals
        .dispersions
        .iter()
        .filter_map(|window| Some(format!("{} in {}", significant(window.index?), latency(window.window_ns as f64))));
    let windows: Vec<String> = windows.collect();
    let depth = summary.depth.map_or_else(dash, |depth| {
        format!(
            "mean {}, median {}, 99th {}, at most {}; none for {} % of the time",
            significant(depth.mean),
            depth.p50,
            depth.p99,
            depth.max,
            significant(100.0 * depth.idle)
        )
    });
    let rows = [
        ("sequential", format!("{} % of the requests", significant(summary.sequential_percent()))),
        (
            "touched",
            format!(
                "{} (in units of {granule}), in a range of {}",
                size(summary.footprint.bytes),
                size(summary.span_bytes())
            ),
        ),
        ("skew", skew),
        (
            "variation",
            format!("{} of the times between requests (0: regular, 1: random)", significant(arrivals.variation)),
        ),
        (
            "dispersion",
            if windows.is_empty() {
                dash()
            } else {
                format!("{} (0: regular, 1: random, more: bursts)", windows.join(", "))
            },
        ),
        ("bursts", arrivals.bursts.as_ref().map_or_else(|| "none".to_owned(), bursts_in_words)),
        ("in flight", depth),
    ];
    Table {
        columns: vec![Column::text("property"), Column::words("value")],
        rows: rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect(),
        label: "Properties",
        ..Table::default()
    }
}

/// Reads and writes per second over time.
fn course(summary: &Summary) -> ChartResult {
    const TITLE: &str = "Requests per second";
    let course = &summary.course;
    let width_s = course.interval_ns as f64 / 1e9;
    if course.requests.len() < 2 {
        return Err(MissingChart { title: TITLE, reason: "the trace is too short, or has no times".to_owned() });
    }
    let points = |index: usize| -> Vec<(f64, f64)> {
        let middle = |number: u32| (f64::from(number) + 0.5) * width_s;
        (0_u32..).zip(&course.requests).map(|(number, of)| (middle(number), of[index] as f64 / width_s)).collect()
    };
    let lines = [("reads", Role::Read, 0), ("writes", Role::Write, 1)].into_iter();
    let lines = lines.filter(|&(_, _, index)| course.requests.iter().any(|of| of[index] > 0));
    let series: Vec<Series> = lines
        .map(|(name, role, index)| Series { name: name.to_owned(), role, marks: Marks::Line(points(index)) })
        .collect();
    let highest = course.requests.iter().flatten().map(|&count| count as f64 / width_s);
    Ok(Chart {
        name: "requests",
        title: TITLE.to_owned(),
        caption: format!("Each point is {} of the trace, by the time of issue.", latency(course.interval_ns as f64)),
        x: Axis::linear("", Quantity::TimeS, 0.0, course.requests.len() as f64 * width_s),
        y: Axis::from_zero("requests/s", Quantity::Iops, highest),
        right: None,
        series,
        markers: Vec::new(),
    })
}

/// Devices, if there are several, and processes.
fn owners(figures: &Figures) -> Vec<Table> {
    let all = figures.account.events;
    let (devices, processes) = (figures.devices(), figures.processes());
    let rest = |count: usize| match count.saturating_sub(ROWS_MAX) {
        0 => String::new(),
        more => format!("{more} more, with fewer requests."),
    };
    let amount = |bytes: u64| significant_grouped(mib(bytes as f64));
    let of_devices = Table {
        columns: ["device", "size"]
            .map(Column::text)
            .into_iter()
            .chain(["requests", "%", "MiB"].map(Column::number))
            .collect(),
        rows: devices
            .iter()
            .take(ROWS_MAX)
            .map(|(device, of)| {
                let share = significant(share_percent(of.volume.requests, all));
                let bytes = device.size_bytes.map_or_else(dash, size);
                vec![text(&device.name), bytes, grouped(of.volume.requests as f64), share, amount(of.volume.bytes)]
            })
            .collect(),
        note: rest(devices.len()),
        label: "Devices",
        ..Table::default()
    };
    let of_processes = Table {
        columns: [Column::text("process"), Column::number("pid")]
            .into_iter()
            .chain(["requests", "%", "read MiB", "written MiB"].map(Column::number))
            .collect(),
        rows: processes
            .iter()
            .take(ROWS_MAX)
            .map(|(process, of)| {
                let name = if process.name.is_empty() { dash() } else { text(&process.name) };
                let share = significant(share_percent(of.volume.requests, all));
                let (read, written) = (amount(of.reads.bytes), amount(of.writes.bytes));
                vec![name, process.pid.to_string(), grouped(of.volume.requests as f64), share, read, written]
            })
            .collect(),
        note: rest(processes.len()),
        label: "Processes",
        ..Table::default()
    };
    let is_known = processes.iter().any(|(process, _)| process.pid > 0 || !process.name.is_empty());
    let tables = [(devices.len() > 1).then_some(of_devices), is_known.then_some(of_processes)];
    tables.into_iter().flatten().collect()
}

/// The parts of the trace that the closest load keeps.
fn kept(closest: &Closest) -> Table {
    let row = |row: &trace::fit::Row| {
        let outcome = match row.outcome {
            Outcome::Kept => "kept",
            Outcome::Approximated => "in part",
            Outcome::Lost => "lost",
        };
        vec![property(row.property).to_owned(), outcome.to_owned(), row.why.to_owned()]
    };
    Table {
        columns: vec![Column::text("of the trace"), Column::text("in the load"), Column::words("how")],
        rows: closest.fit.rows.iter().map(row).collect(),
        label: "Properties that the load keeps",
        ..Table::default()
    }
}

const fn property(property: Property) -> &'static str {
    match property {
        Property::Mix => "kinds of requests",
        Property::Sizes => "sizes",
        Property::Flushes => "flushes",
        Property::Sequence => "sequential share",
        Property::Skew => "popularity of offsets",
        Property::WorkingSet => "range of offsets",
        Property::Rate => "rate or depth",
        Property::Arrivals => "times between requests",
        Property::Order => "order of requests",
        Property::Devices => "devices",
        Property::Processes => "processes",
    }
}

/// Figures of the trace beside those of the load's own requests.
fn differences(summary: &Summary, closest: &Closest) -> Table {
    let [mut of_trace, own] = [summary, &closest.own].map(LoadFigures::from);
    if matches!(closest.fit.load.pace, Pace::Depth(_)) {
        (of_trace.iops, of_trace.variation) = (None, None);
    }
    let mut rows = rows_of_load(&of_trace, &own);
    rows.retain(|row| row.difference.is_some());
    let note = "Figures of the load are those of its own requests, made by its generators without any I/O; each takes the \
                mean latency of the trace.";
    load_figures::table(rows, "figure", ["trace", "load"], "The trace and the load", note)
}
