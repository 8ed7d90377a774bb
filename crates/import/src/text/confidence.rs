//! Confidence intervals; only in our own reports.

use super::lines::Line;
use crate::confidence::HEAD;
use crate::read::{ReadError, number};
use model::confidence::{HalfWidths, PercentileHalfWidth};
use model::result::Measured;
use model::units::bytes_of_mib;
use stats::NAMED_PERCENTILES;

/// Reads the line, if it is about confidence.
pub(super) fn read(line: Line<'_>, measured: &mut Measured) -> Result<bool, ReadError> {
    let Some((whose, told)) = line.content().strip_prefix(HEAD).and_then(|rest| rest.split_once(": ")) else {
        return Ok(false);
    };
    let confidence = measured.confidence.get_or_insert_default();
    let half_widths = match whose {
        // Of earlier versions; scripts take any line with "total:" for that of the tables.
        ", all" | ", total" => &mut confidence.total,
        ", read" => &mut confidence.read,
        ", write" => &mut confidence.write,
        "" if told.starts_with("none, ") => return Ok(true),
        _ => return Err(line.error(told, "expected confidence intervals for total, read or write")),
    };
    let half_widths = half_widths.get_or_insert_default();
    for part in told.split(", ") {
        // What has no half width says why.
        if let Some((figure, half_width)) = part.split_once(" ± ") {
            add(line, figure, half_width, half_widths)?;
        }
    }
    Ok(true)
}

/// A figure and its half width with a unit: `99th 1.234`, `0.056 ms`.
fn add(line: Line<'_>, figure: &str, half_width: &str, half_widths: &mut HalfWidths) -> Result<(), ReadError> {
    let (amount, unit) = half_width.split_once(' ').unwrap_or((half_width, ""));
    let amount = line.parse(amount, number::real)?.unwrap_or(0.0);
    let label = figure.rsplit_once(' ').map_or("", |(label, _)| label);
    let named = NAMED_PERCENTILES.into_iter().find(|&(name, _)| name == label);
    match (unit, label, named) {
        ("I/O per s", "", _) => half_widths.iops = amount,
        ("MiB/s", "", _) => half_widths.bytes_per_s = bytes_of_mib(amount),
        ("ms", "mean latency", _) => half_widths.latency_mean_ns = Some(number::ns(amount)),
        ("ms", _, Some((_, rank_ppb))) => {
            half_widths.percentiles.push(PercentileHalfWidth { rank_ppb, half_width_ns: number::ns(amount) });
        }
        _ => return Err(line.error(figure, "this figure has no confidence interval")),
    }
    Ok(())
}
