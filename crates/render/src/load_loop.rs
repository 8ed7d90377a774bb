//! What decided when I/Os started: the last lines of the figures, where no reader of `DiskSpd`'s
//! tables looks any more.

use crate::latency_table;
use model::profile::{Target, Throughput, TimeSpan};
use model::result::{LoadLoop, OpenLoop, RampInterval};
use report::words::numbers::ms;
use report::words::plain_table::PlainTable;
use std::io::{self, Write};

/// The title of the table of response times.
pub(crate) const RESPONSE_TIME: &str = "Response time distribution (intended start to completion):";

/// Response times of an open loop; nothing of a closed one, which has no intended starts.
pub(crate) fn response_times(out: &mut dyn Write, load_loop: &LoadLoop) -> io::Result<()> {
    let LoadLoop::Open(open) = load_loop else { return Ok(()) };
    writeln!(out, "\n{RESPONSE_TIME}")?;
    latency_table::table(out, &open.response_time)
}

/// Which loop it was, what became of the intended starts, and how many I/Os were outstanding where that is known.
pub(crate) fn lines(
    out: &mut dyn Write,
    load_loop: &LoadLoop,
    span: &TimeSpan,
    outstanding: Option<f64>,
) -> io::Result<()> {
    writeln!(out)?;
    match load_loop {
        LoadLoop::Closed { depth } => closed(out, *depth, span)?,
        LoadLoop::Open(open) => open_loop(out, open)?,
    }
    outstanding.map_or(Ok(()), |mean| writeln!(out, "average outstanding:    {mean:.2}"))
}

/// The depth, and what keeps the loop below it.
pub(crate) fn closed(out: &mut dyn Write, depth: u32, span: &TimeSpan) -> io::Result<()> {
    let options = below_depth(span);
    if options.is_empty() {
        writeln!(out, "closed loop, depth {depth}")
    } else {
        writeln!(out, "closed loop, depth at most {depth} ({})", options.join(", "))
    }
}

/// Options that keep a closed loop below its depth by their meaning.
pub(crate) fn below_depth(span: &TimeSpan) -> Vec<&'static str> {
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

fn open_loop(out: &mut dyn Write, open: &OpenLoop) -> io::Result<()> {
    let OpenLoop { depth, rate_iops, process, intended_starts, backlog, delayed_by_depth, .. } = open;
    writeln!(out, "open loop, {rate_iops} I/Os per s ({process}), depth {depth}")?;
    writeln!(out, "intended starts:        {intended_starts}")?;
    writeln!(out, "backlog at the end:     {backlog}")?;
    writeln!(out, "delayed by -o limit:    {delayed_by_depth}")?;
    writeln!(out, "average lateness:       {:.3}ms", ms(open.lateness_mean_ns))?;
    writeln!(out, "maximum lateness:       {:.3}ms", ms(open.lateness_max_ns as f64))?;
    let mean_ns = open.response_time.total.as_ref().map_or(0.0, |response| response.figures.mean_ns);
    writeln!(out, "average response time:  {:.3}ms", ms(mean_ns))?;
    ramp(out, &open.ramp)
}

/// Response times over an offered rate that rises or falls.
pub(crate) fn ramp(out: &mut dyn Write, intervals: &[RampInterval]) -> io::Result<()> {
    if intervals.is_empty() {
        return Ok(());
    }
    let mut table =
        PlainTable::new(["from (s)", "to (s)", "offered/s", "I/O per s", "response avg (ms)", "99th"], 0..6);
    for RampInterval { start_ns, end_ns, offered_iops, iops, response_mean_ns, response_p99_ns } in intervals {
        let seconds = |ns: u64| format!("{:.2}", ns as f64 / 1e9);
        let shown = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), |ns| format!("{:.3}", ms(ns)));
        table.add([
            seconds(*start_ns),
            seconds(*end_ns),
            format!("{offered_iops:.2}"),
            format!("{iops:.2}"),
            shown(*response_mean_ns),
            shown(response_p99_ns.map(|ns| ns as f64)),
        ]);
    }
    writeln!(out)?;
    table.write(out)?;
    writeln!(out)
}
