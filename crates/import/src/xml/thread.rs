//! The I/O of each thread on each target.

use super::element::Element;
use super::statistics;
use crate::distributions::{Distributions, effective};
use crate::{ReadError, finish, number};
use model::figures::{Directions, Figures};
use model::profile::TimeSpan;
use model::record::WaitCounts;
use model::result::{Measured, Row, Submissions, ThreadSubmissions, ThreadWaits};
use std::path::Path;

/// Reads all threads into the rows, distributions, submissions and waits of a timespan.
pub(super) fn read_all(element: Element<'_, '_>, span: &TimeSpan, measured: &mut Measured) -> Result<(), ReadError> {
    let mut distributions = Distributions::default();
    let mut submissions = Submissions::default();
    let mut submits = 0u64;
    for (index, thread) in (0u32..).zip(element.children("Thread")) {
        let id = thread.whole("Id")?.unwrap_or(index);
        if let Some(count) = thread.whole("SubmitCount")? {
            let per_s = stats::per_second(count, measured.elapsed_ns);
            submissions.threads.push(ThreadSubmissions { thread: id, count, per_s });
            submits = submits.saturating_add(count);
        }
        for target in thread.children("Target") {
            let row = row(target, id, span, measured.elapsed_ns)?;
            if let Some(list) = target.child("Distribution") {
                add_distribution(&mut distributions, list, &row.path, id)?;
            }
            measured.rows.push(row);
        }
        measured.waits.extend(thread.child("WaitStatistics").map(|waits| self::waits(waits, id)).transpose()?);
    }
    if !submissions.threads.is_empty() {
        submissions.total_per_s = stats::per_second(submits, measured.elapsed_ns);
        measured.submissions = Some(submissions);
    }
    finish::number_targets(&mut measured.rows, span);
    measured.distributions = distributions.finish(&mut measured.rows);
    Ok(())
}

fn row(target: Element<'_, '_>, thread: u32, span: &TimeSpan, elapsed_ns: u64) -> Result<Row, ReadError> {
    let path = target.child_text("Path").unwrap_or_default();
    let iops = target.child("Iops").map(|iops| statistics::iops(iops, span.interval_ms)).transpose()?;
    let direction = |bytes, ios| -> Result<Figures, ReadError> {
        Ok(stats::figures(target.whole(bytes)?.unwrap_or(0), target.whole(ios)?.unwrap_or(0), elapsed_ns))
    };
    let mut figures = Directions {
        read: direction("ReadBytes", "ReadCount")?,
        write: direction("WriteBytes", "WriteCount")?,
        total: direction("BytesCount", "IOCount")?,
    };
    figures.read.latency = statistics::figures(target, "AverageReadLatencyMilliseconds", "ReadLatencyStdev")?;
    figures.write.latency = statistics::figures(target, "AverageWriteLatencyMilliseconds", "WriteLatencyStdev")?;
    figures.total.latency = statistics::figures(target, "AverageLatencyMilliseconds", "LatencyStdev")?;
    if span.measure_latency {
        // 2.2 lacks it.
        finish::pool_total(&mut figures);
    }
    if let Some(iops) = &iops {
        set_std_devs(&mut figures, &iops.std_devs);
    }
    Ok(Row {
        thread,
        path: path.into(),
        target_size_bytes: target.whole("FileSize")?.unwrap_or(0),
        figures,
        intervals: iops.map(|iops| iops.series).unwrap_or_default(),
        ..Row::default()
    })
}

pub(super) fn set_std_devs(figures: &mut Directions<Figures>, std_devs: &Directions<f64>) {
    figures.read.iops_std_dev = Some(std_devs.read);
    figures.write.iops_std_dev = Some(std_devs.write);
    figures.total.iops_std_dev = Some(std_devs.total);
}

/// Adds the distribution of a thread; a range without I/Os is a gap.
fn add_distribution(
    distributions: &mut Distributions,
    element: Element<'_, '_>,
    path: &Path,
    thread: u32,
) -> Result<(), ReadError> {
    let Some(absolute) = element.child("Absolute") else { return Ok(()) };
    let mut ranges = Vec::new();
    let mut start_bytes = 0u64;
    for range in absolute.children("Range") {
        let (io_percent, length_bytes) = (range.whole_attribute("IO")?.unwrap_or(0), range.whole_text()?);
        if io_percent > 0 {
            ranges.push((io_percent, start_bytes, length_bytes));
        }
        start_bytes = start_bytes.saturating_add(length_bytes);
    }
    distributions.add(&effective(&ranges), path, &[thread]).map_err(|reason| element.error(reason))
}

fn waits(element: Element<'_, '_>, thread: u32) -> Result<ThreadWaits, ReadError> {
    let count = |name| Ok(element.whole(name)?.unwrap_or(0));
    let counts = WaitCounts {
        wait: count("CompletionWait")?,
        throttle_wait: count("ThrottleWait")?,
        throttle_sleep: count("ThrottleSleep")?,
        lookaside: count("Lookaside")?,
        wait_completions: histogram(element, "WaitCompletion")?,
        lookaside_completions: histogram(element, "LookasideCompletion")?,
    };
    Ok(ThreadWaits { thread, throttled: counts.throttle_wait > 0 || counts.throttle_sleep > 0, counts })
}

/// Eight counts; 2.2 has none for waits.
fn histogram(element: Element<'_, '_>, name: &'static str) -> Result<[u64; 8], ReadError> {
    let mut counts = [0; 8];
    let Some(child) = element.child(name) else { return Ok(counts) };
    for (count, text) in counts.iter_mut().zip(child.text().split_whitespace()) {
        *count = number::whole(text).map_err(|reason| child.error_at_name(&reason))?;
    }
    Ok(counts)
}
