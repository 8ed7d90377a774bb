//! The load loop; only in our own reports.

use super::latency_table::Columns;
use super::lines::{Line, Lines};
use crate::read::xml::distribution;
use crate::read::{ReadError, number};
use model::profile::RateProcess;
use model::result::{Directions, LatencyDistribution, LatencyFigures, LoadLoop, Measured, OpenLoop};

/// The loop, if `line` is the first line about one.
pub(super) fn read(line: Line<'_>, lines: &mut Lines<'_>) -> Result<Option<LoadLoop>, ReadError> {
    let content = line.content();
    if let Some(depth) = content.strip_prefix("closed loop, depth ") {
        return Ok(Some(LoadLoop::Closed { depth: line.parse(depth, number::whole)? }));
    }
    let Some(told) = content.strip_prefix("open loop, ") else { return Ok(None) };
    let parts = told.split_once(" I/Os per s (").and_then(|(rate, rest)| Some((rate, rest.split_once("), depth ")?)));
    let wrong = || line.error(told, "expected the rate, arrival process and depth of the open loop");
    let (rate, (process, depth)) = parts.ok_or_else(wrong)?;
    let mut open = OpenLoop {
        depth: line.parse(depth, number::whole)?,
        rate_iops: line.parse(rate, number::whole)?,
        process: RateProcess::from_option(process).ok_or_else(wrong)?,
        ..OpenLoop::default()
    };
    while let Some(line) = lines.peek() {
        let Some((label, value)) = line.content().split_once(':') else { break };
        let value = value.trim();
        let ns = |line: Line<'_>| Ok(line.parse(value.trim_end_matches("ms"), number::real)?.map_or(0.0, number::ns));
        match label {
            "intended starts" => open.intended_starts = line.parse(value, number::whole)?,
            "backlog at the end" => open.backlog = line.parse(value, number::whole)?,
            "delayed by depth" => open.delayed_by_depth = line.parse(value, number::whole)?,
            "average lateness" => open.lateness_mean_ns = ns(line)?,
            "maximum lateness" => open.lateness_max_ns = ns(line)?.round() as u64,
            "average response time" => open.response_time.total = Some(of_mean(ns(line)?)),
            _ => break,
        }
        lines.take();
    }
    Ok(Some(LoadLoop::Open(Box::new(open))))
}

/// A distribution of which no more than the mean is known yet.
fn of_mean(mean_ns: f64) -> LatencyDistribution {
    LatencyDistribution { figures: LatencyFigures { mean_ns, ..LatencyFigures::default() }, ..Default::default() }
}

/// Adds the table of response times, which have an I/O for each of the figures.
pub(super) fn add_response_time(columns: Columns, measured: &mut Measured) {
    let Some(LoadLoop::Open(open)) = &mut measured.load_loop else { return };
    let figures = open.response_time.total.take().map(|total| total.figures).unwrap_or_default();
    let of = |ios: u64, figures, percentiles| {
        if ios == 0 { None } else { distribution(ios, Some(figures), percentiles, 0) }
    };
    open.response_time = Directions {
        read: of(measured.total.read.ios, LatencyFigures::default(), columns.read),
        write: of(measured.total.write.ios, LatencyFigures::default(), columns.write),
        total: of(measured.total.total.ios, figures, columns.total),
    };
}
