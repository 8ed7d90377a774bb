//! The I/O of each thread on each target.

use super::number::ms;
use super::statistics;
use super::writer::Writer;
use model::figures::{Directions, Figures};
use model::plan::EffectiveDistribution;
use model::profile::TimeSpan;
use model::record::WaitCounts;
use model::result::{Measured, Row};
use std::collections::BTreeMap;
use std::io;

/// One element per thread, ascending.
pub(super) fn elements(xml: &mut Writer<'_>, span: &TimeSpan, measured: &Measured) -> io::Result<()> {
    // DiskSpd counts them only on its rings.
    let counted = span.io_ring.and(measured.submissions.as_ref());
    let submits: BTreeMap<u32, u64> =
        counted.iter().flat_map(|all| &all.threads).map(|of| (of.thread, of.count)).collect();
    let waits: BTreeMap<u32, &WaitCounts> = measured.waits.iter().map(|waits| (waits.thread, &waits.counts)).collect();
    for rows in measured.rows.chunk_by(|a, b| a.thread == b.thread) {
        let Some(Row { thread, .. }) = rows.first() else { continue };
        xml.inside("Thread", &[], |xml| {
            xml.element("Id", thread)?;
            if let Some(count) = submits.get(thread) {
                xml.element("SubmitCount", count)?;
            }
            for row in rows {
                xml.inside("Target", &[], |xml| target(xml, span, measured, row))?;
            }
            waits.get(thread).map_or(Ok(()), |counts| wait_statistics(xml, counts))
        })?;
    }
    Ok(())
}

fn target(xml: &mut Writer<'_>, span: &TimeSpan, measured: &Measured, row: &Row) -> io::Result<()> {
    let Directions { read, write, total } = &row.figures;
    xml.element("Path", row.path.display())?;
    xml.element("BytesCount", total.bytes)?;
    xml.element("FileSize", row.target_size_bytes)?;
    xml.element("IOCount", total.ios)?;
    xml.element("ReadBytes", read.bytes)?;
    xml.element("ReadCount", read.ios)?;
    xml.element("WriteBytes", write.bytes)?;
    xml.element("WriteCount", write.ios)?;
    if let Some(used) = row.distribution.and_then(|index| measured.distributions.get(index)) {
        distribution(xml, &used.distribution)?;
    }
    latency(xml, &row.figures)?;
    if span.calculate_iops_std_dev {
        statistics::iops(xml, &row.figures, &row.intervals, span.interval_ms)?;
    }
    Ok(())
}

/// Ranges in order; a gap before a range is a range without I/Os.
fn distribution(xml: &mut Writer<'_>, distribution: &EffectiveDistribution) -> io::Result<()> {
    xml.inside("Distribution", &[], |xml| {
        xml.inside("Absolute", &[], |xml| {
            let mut end_bytes = 0u64;
            for range in &distribution.ranges {
                if range.start_bytes > end_bytes {
                    xml.element_with("Range", &[("IO", &0)], range.start_bytes - end_bytes)?;
                }
                xml.element_with("Range", &[("IO", &range.io_percent)], range.length_bytes)?;
                end_bytes = range.start_bytes.saturating_add(range.length_bytes);
            }
            Ok(())
        })
    })
}

fn latency(xml: &mut Writer<'_>, figures: &Directions<Figures>) -> io::Result<()> {
    for (mean, std_dev, figures) in [
        ("AverageReadLatencyMilliseconds", "ReadLatencyStdev", &figures.read),
        ("AverageWriteLatencyMilliseconds", "WriteLatencyStdev", &figures.write),
        ("AverageLatencyMilliseconds", "LatencyStdev", &figures.total),
    ] {
        if let Some(latency) = figures.latency {
            xml.element(mean, ms(latency.mean_ns))?;
            xml.element(std_dev, ms(latency.std_dev_ns))?;
        }
    }
    Ok(())
}

fn wait_statistics(xml: &mut Writer<'_>, counts: &WaitCounts) -> io::Result<()> {
    let histogram = |counts: &[u64; 8]| counts.map(|count| count.to_string()).join(" ");
    xml.inside("WaitStatistics", &[], |xml| {
        xml.element("CompletionWait", counts.wait)?;
        xml.element("ThrottleWait", counts.throttle_wait)?;
        xml.element("ThrottleSleep", counts.throttle_sleep)?;
        xml.element("Lookaside", counts.lookaside)?;
        xml.element("WaitCompletion", histogram(&counts.wait_completions))?;
        xml.element("LookasideCompletion", histogram(&counts.lookaside_completions))
    })
}
