//! Flushes; only in our own reports.

use super::lines::{Line, Lines};
use crate::flush_table::{AFTER, AVERAGE, HEAD, SPREAD};
use crate::read::{ReadError, number};
use model::result::{FlushFigures, LatencyFigures};

/// The flushes, if `line` is the first line about them.
pub(super) fn read(line: Line<'_>, lines: &mut Lines<'_>) -> Result<Option<FlushFigures>, ReadError> {
    let Some(told) = line.content().strip_prefix(HEAD) else { return Ok(None) };
    let wrong = || line.error(told, "expected the writes per fdatasync, the flush count and the flush rate");
    let (writes, rest) = told.split_once(AFTER).ok_or_else(wrong)?;
    let (count, rate) = rest.split_once(", ").ok_or_else(wrong)?;
    let mut flushes = FlushFigures {
        after_writes: line.parse(writes, number::whole)?,
        count: line.parse(count, number::whole)?,
        per_s: line.parse(rate.trim_end_matches(" per s"), number::real)?.unwrap_or(0.0),
        ..FlushFigures::default()
    };
    while let Some(line) = lines.peek() {
        let ns = |text: &str| {
            let milliseconds = line.parse(text.trim().trim_end_matches("ms"), number::real)?;
            Ok::<_, ReadError>(milliseconds.map(number::ns))
        };
        if let Some(average) = line.content().strip_prefix(AVERAGE) {
            let mean_ns = ns(average)?.unwrap_or(0.0);
            flushes.latency = Some(LatencyFigures { mean_ns, ..LatencyFigures::default() });
        } else if let Some(spread) = line.content().strip_prefix(SPREAD) {
            let mut values = spread.split(',').map(|text| if text.trim() == "-" { Ok(None) } else { ns(text) });
            let mut next = || values.next().transpose().map(|value| value.flatten().map(|ns| ns.round() as u64));
            (flushes.p50_ns, flushes.p99_ns) = (next()?, next()?);
            let max_ns = next()?;
            flushes.latency = flushes.latency.map(|latency| LatencyFigures { max_ns, ..latency });
        } else {
            break;
        }
        lines.take();
    }
    Ok(Some(flushes))
}
