//! The cause of I/O starts (closed or open loop), and the flushes between I/Os.

use crate::block::{Block, Column, Table, dash};
use crate::quantity::{grouped, latency, significant, significant_grouped};
use model::figures::{CommitFigures, FlushFigures};
use model::profile::{Target, Throughput, TimeSpan};
use model::result::{LoadLoop, Measured, OpenLoop, RampInterval, TimeSpanResult};

/// Options that by design keep a closed loop below its depth.
fn below_depth(span: &TimeSpan) -> Vec<&'static str> {
    let any = |of: fn(&Target) -> bool| span.targets.iter().any(of);
    let options = [
        ("-g", any(|target| target.throughput != Throughput::Unlimited)),
        ("-i, -j", any(|target| target.burst_ios.is_some() && target.think_time_ms.is_some())),
        ("-u", span.io_ring.is_some()),
        ("-Zr", span.random_write_data),
        ("--compress", any(|target| target.compress_ratio.is_some())),
        ("--dedupe", any(|target| target.dedupe_percent.is_some())),
        ("--append", any(|target| target.append.is_some())),
        ("--fdatasync-every", span.flush_after_writes.is_some()),
        ("--fsync-every", span.fsync_after_writes.is_some()),
        ("--verify", span.verify),
    ];
    options.into_iter().filter_map(|(option, is_on)| is_on.then_some(option)).collect()
}

/// True if the depth alone decided when I/Os started.
pub(crate) fn is_plain(span: Option<&TimeSpan>, measured: &Measured) -> bool {
    matches!(measured.load_loop, Some(LoadLoop::Closed { .. })) && span.is_none_or(|span| below_depth(span).is_empty())
}

/// The loop, the depth, and the outcome of intended starts.
pub(crate) fn block(span: Option<&TimeSpan>, span_result: &TimeSpanResult) -> Option<Block> {
    let outstanding = span_result.summary.and_then(|summary| summary.total.outstanding);
    Some(match span_result.measured.as_ref()?.load_loop.as_ref()? {
        LoadLoop::Closed { depth } => {
            let options = span.map(below_depth).unwrap_or_default();
            let depth = if options.is_empty() {
                format!("closed loop, depth {depth}")
            } else {
                format!("closed loop, depth at most {depth} ({})", options.join(", "))
            };
            let mean = outstanding.map(|mean| format!("; average outstanding {mean:.2}")).unwrap_or_default();
            Block::notes([depth + &mean])
        }
        LoadLoop::Open(open) => Block::Table(open_loop(open, outstanding)),
    })
}

fn open_loop(open: &OpenLoop, outstanding: Option<f64>) -> Table {
    let OpenLoop { depth, rate_iops, process, intended_starts, backlog, delayed_by_depth, .. } = open;
    let mean = open.response_time.total.as_ref().map_or_else(dash, |response| latency(response.figures.mean_ns));
    let names = [
        "intended starts",
        "delayed by -o",
        "not started",
        "average lateness",
        "maximum lateness",
        "average response",
        "average outstanding",
    ];
    let cells = [
        intended_starts.to_string(),
        delayed_by_depth.to_string(),
        backlog.to_string(),
        latency(open.lateness_mean_ns),
        latency(open.lateness_max_ns as f64),
        mean,
        outstanding.map_or_else(dash, |mean| format!("{mean:.2}")),
    ];
    Table {
        heading: format!("open loop, {rate_iops} I/Os per s ({process}), depth {depth}"),
        columns: names.map(Column::number).into(),
        rows: vec![cells.into()],
        ..Table::default()
    }
}

/// Response times over an offered rate that rises or falls.
pub(crate) fn ramp(measured: &Measured) -> Option<Table> {
    let Some(LoadLoop::Open(open)) = &measured.load_loop else { return None };
    let row = |of: &RampInterval| {
        let seconds = |ns: u64| format!("{:.2} s", ns as f64 / 1e9);
        vec![
            seconds(of.start_ns),
            seconds(of.end_ns),
            significant(of.offered_iops),
            significant(of.iops),
            of.response_mean_ns.map_or_else(dash, latency),
            of.response_p99_ns.map_or_else(dash, |ns| latency(ns as f64)),
        ]
    };
    let names = ["from", "to", "offered/s", "IOPS", "mean response", "p99 response"];
    (!open.ramp.is_empty()).then(|| Table {
        heading: "Response times over the offered rate".to_owned(),
        columns: names.map(Column::number).into(),
        rows: open.ramp.iter().map(row).collect(),
        ..Table::default()
    })
}

/// Flushes after writes, and commits if each write has one.
pub fn flushes(measured: &Measured) -> Option<Table> {
    let FlushFigures { call, after_writes, count, per_s, latency: of_flushes, p50_ns, p99_ns, commit, .. } =
        measured.flushes.as_ref()?;
    let call = call.name();
    let known = |ns: Option<u64>| ns.map_or_else(dash, |ns| latency(ns as f64));
    let max_ns = of_flushes.and_then(|of| of.max_ns);
    let of_calls = [
        call.to_owned(),
        grouped(*count as f64),
        significant_grouped(*per_s),
        of_flushes.map_or_else(dash, |of| latency(of.mean_ns)),
        known(*p50_ns),
        known(*p99_ns),
        known(max_ns),
    ];
    let of_commits = commit.as_ref().map(|CommitFigures { mean_ns, p50_ns, p99_ns, max_ns }| {
        let spread = [p50_ns, p99_ns, max_ns].map(|ns| latency(*ns as f64));
        [format!("commit (write + {call})"), dash(), dash(), latency(*mean_ns)].into_iter().chain(spread).collect()
    });
    let mut sentences = Vec::new();
    if let Some((writes, left)) = flushes_cover(measured) {
        let left = if left == 0 { String::new() } else { format!("; writes in incomplete last groups: {left}") };
        sentences.push(format!("Writes per {call}: {writes:.2}{left}."));
    }
    if measured.total_latency.as_ref().is_some_and(|of| of.write.is_some()) {
        sentences.push(format!("Other latencies are of writes alone, without {call}."));
    }
    let after = if *after_writes == 1 { "each write".to_owned() } else { format!("every {after_writes} writes") };
    let names = ["count", "per s", "mean", "p50", "p99", "maximum"].map(Column::number);
    Some(Table {
        heading: format!("{call}, after {after} of a thread"),
        columns: [Column::text("")].into_iter().chain(names).collect(),
        rows: [of_calls.into()].into_iter().chain(of_commits).collect(),
        note: sentences.join(" "),
        ..Table::default()
    })
}

fn flushes_cover(measured: &Measured) -> Option<(f64, u64)> {
    let flushes = measured.flushes.as_ref()?;
    flushes.writes_per_flush.zip(flushes.unflushed_writes)
}
