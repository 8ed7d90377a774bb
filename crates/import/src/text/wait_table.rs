//! Submissions and waits of the threads.

use super::lines::{Line, Lines};
use crate::{ReadError, number};
use model::result::{Measured, Submissions, ThreadSubmissions, ThreadWaits};

/// Reads submissions per second below their title.
pub(super) fn submissions(lines: &mut Lines<'_>, measured: &mut Measured) -> Result<(), ReadError> {
    let mut submissions = Submissions::default();
    while let Some(line) = lines.take() {
        let cells = line.cells();
        let &[label, rate] = cells.as_slice() else { continue };
        if label == "thread" {
            continue;
        }
        let per_s = line.parse(rate, number::real)?.unwrap_or(0.0);
        if label == "total:" {
            submissions.total_per_s = per_s;
            measured.submissions = Some(submissions);
            return Ok(());
        }
        // The text has the rate only.
        let count = stats::amount(per_s, measured.elapsed_ns);
        submissions.threads.push(ThreadSubmissions { thread: line.parse(label, number::whole)?, count, per_s });
    }
    Err(lines.error_here("the table of submissions ends before its line 'total:'"))
}

/// Reads a table of waits below its title, up to an empty line. 2.2 has one table for everything, 2.3 one for waits and
/// one for lookasides; their titles identify the columns.
pub(super) fn waits(lines: &mut Lines<'_>, measured: &mut Measured) -> Result<(), ReadError> {
    let Some(header) = lines.take() else { return Ok(()) };
    let titles = header.cells();
    while let Some(line) = lines.peek() {
        if line.content().is_empty() {
            break;
        }
        lines.take();
        if !line.is_rule() {
            row(line, &titles, measured)?;
        }
    }
    Ok(())
}

fn row(line: Line<'_>, titles: &[&str], measured: &mut Measured) -> Result<(), ReadError> {
    let cells = line.cells();
    let thread = line.parse(cells.first().copied().unwrap_or_default(), number::whole)?;
    // Rows have the same order in each table.
    let known = measured.waits.binary_search_by_key(&thread, |waits| waits.thread);
    let index = known.unwrap_or_else(|index| {
        measured.waits.insert(index, ThreadWaits { thread, ..ThreadWaits::default() });
        index
    });
    let waits = &mut measured.waits[index];
    for (&title, &cell) in titles.iter().zip(&cells) {
        match title {
            "wait" | "completion wait" => waits.counts.wait = line.parse(cell, number::whole)?,
            "lookaside" => waits.counts.lookaside = line.parse(cell, number::whole)?,
            "0 - 7+ complete per wait" => waits.counts.wait_completions = histogram(line, cell)?,
            "0 - 7+ complete per lookaside" => waits.counts.lookaside_completions = histogram(line, cell)?,
            _ if title.starts_with("throttle wait") => throttle(line, cell, titles, waits)?,
            _ => {}
        }
    }
    measured.is_latency_run |= titles.contains(&"lookaside");
    Ok(())
}

/// `260  -   3911`, or `---` for a thread that is not throttled. 2.2 prints zeros instead.
fn throttle(line: Line<'_>, cell: &str, titles: &[&str], waits: &mut ThreadWaits) -> Result<(), ReadError> {
    let Some((wait, sleep)) = cell.split_once(" - ") else { return Ok(()) };
    waits.counts.throttle_wait = line.parse(wait, number::whole)?;
    waits.counts.throttle_sleep = line.parse(sleep, number::whole)?;
    let has_done = waits.counts.throttle_wait > 0 || waits.counts.throttle_sleep > 0;
    waits.throttled = has_done || !titles.contains(&"completion wait");
    Ok(())
}

fn histogram(line: Line<'_>, cell: &str) -> Result<[u64; 8], ReadError> {
    let mut counts = [0; 8];
    for (count, text) in counts.iter_mut().zip(cell.split_whitespace()) {
        *count = line.parse(text, number::whole)?;
    }
    Ok(counts)
}
