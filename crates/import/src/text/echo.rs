//! The echo of the input.

use super::lines::{Line, Lines, between};
use super::machine::cpu_list;
use super::{Report, echo_target};
use crate::{ReadError, number};
use model::affinity::push_cpu;
use model::profile::{
    Affinity, BufferSeparation, EfficiencyOrder, GroupSpan, IoRing, IoRingBatch, TimeSpan, Traversal,
};

/// Reads the input parameters, up to the next section.
pub(super) fn read(lines: &mut Lines<'_>, report: &mut Report) -> Result<(), ReadError> {
    while let Some(line) = lines.peek() {
        let content = line.content();
        if content == "System information:" || content.starts_with("Results for timespan ") {
            break;
        }
        lines.take();
        if content.starts_with("timespan:") {
            report.result.profile.time_spans.push(TimeSpan::of_results());
            report.buffer_separations_bytes.push(0);
        } else if content == "using verbose mode" {
            report.result.profile.verbose = true;
        } else if let (Some(span), Some(separation_bytes)) =
            (report.result.profile.time_spans.last_mut(), report.buffer_separations_bytes.last_mut())
        {
            let is_of_target = echo_target::read(line, span)?;
            if !is_of_target {
                time_span(line, span, separation_bytes, &mut report.signs)?;
            }
        }
    }
    Ok(())
}

fn time_span(
    line: Line<'_>,
    span: &mut TimeSpan,
    separation_bytes: &mut u64,
    signs: &mut super::VersionEvidence,
) -> Result<(), ReadError> {
    let content = line.content();
    match content {
        "measuring latency" => span.measure_latency = true,
        "affinity disabled" => span.affinity.disabled = true,
        "generating random data for each write IO" => span.random_write_data = true,
        _ => {}
    }
    for (beginning, end, place) in [
        ("duration: ", "s", &mut span.duration_s),
        ("warm up time: ", "s", &mut span.warm_up_s),
        ("cool down time: ", "s", &mut span.cool_down_s),
        ("random seed: ", "", &mut span.random_seed),
        ("thread pool with ", " threads", &mut span.thread_count),
        ("number of outstanding I/O operations per thread: ", "", &mut span.request_count),
    ] {
        if let Some(text) = between(content, beginning, end) {
            *place = line.parse(text, number::whole)?;
        }
    }
    let interval = between(content, "gathering IOPS at intervals of ", "ms").or(between(
        content,
        "calculating IOPS stddev with bucket duration = ",
        " milliseconds",
    ));
    if let Some(interval) = interval {
        span.calculate_iops_std_dev = true;
        span.interval_ms = line.parse(interval, number::whole)?;
    }
    if let Some(depth) = content.strip_prefix("completion depth: ") {
        span.completion_depth = Some(line.parse(depth, number::whole)?);
    }
    if let Some(ring) = content.strip_prefix("using IoRing (batch size: ") {
        span.io_ring = Some(io_ring(line, ring)?);
    }
    if let Some(separation) = content.strip_prefix("buffer separation: ") {
        signs.is_2_3 = true;
        if let Some(size) = between(separation, "thread optimized (", ")") {
            span.buffer_separation = BufferSeparation::ThreadOptimized;
            *separation_bytes = line.parse(size, number::size_bytes)?;
        }
    }
    affinity(line, &mut span.affinity)
}

fn io_ring(line: Line<'_>, text: &str) -> Result<IoRing, ReadError> {
    let (batch, buffers) = text.split_once(") ").unwrap_or((text, ""));
    let batch = match batch.strip_suffix('%') {
        Some(percent) => IoRingBatch::Percent(line.parse(percent, number::whole)?),
        None => IoRingBatch::Count(line.parse(batch, number::whole)?),
    };
    Ok(IoRing { batch, registered_buffers: buffers.starts_with("with ") })
}

fn affinity(line: Line<'_>, affinity: &mut Affinity) -> Result<(), ReadError> {
    let content = line.content();
    if let Some(assignment) = content.strip_prefix("affinity assignment: ") {
        let words: Vec<&str> = assignment.split(", ").collect();
        affinity.traversal = Some(match words.first() {
            Some(&"core-aware") => Traversal::CoreAware,
            _ => Traversal::Cpu,
        });
        affinity.group_span = Some(match words.get(1) {
            Some(&"span groups") => GroupSpan::Span,
            _ => GroupSpan::Fill,
        });
        affinity.efficiency = Some(match words.get(2) {
            Some(&"no P/E order") => EfficiencyOrder::Unordered,
            Some(&"E-cores first") => EfficiencyOrder::EfficiencyFirst,
            Some(&"fill P-cores first") => EfficiencyOrder::FillPerformanceFirst,
            Some(&"fill E-cores first") => EfficiencyOrder::FillEfficiencyFirst,
            _ => EfficiencyOrder::PerformanceFirst,
        });
    }
    let listed = content.strip_prefix("affinity (cpu): ").or(content.strip_prefix("affinity (group/cpu): "));
    if let Some(listed) = listed {
        affinity.listed = line.parse(listed, cpu_list)?;
    }
    // 2.2 and before: `0/1, 0/0`.
    if let Some(listed) = content.strip_prefix("advanced affinity round robin (group/core): ") {
        for pair in listed.split(", ") {
            for entry in line.parse(pair, cpu_list)? {
                entry.cpus().for_each(|cpu| push_cpu(&mut affinity.listed, entry.group, cpu));
            }
        }
    }
    Ok(())
}
