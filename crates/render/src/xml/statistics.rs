//! Latency percentiles and interval series.

use super::number::{ms, percent, three_decimals, whole};
use super::writer::Writer;
use model::figures::{Directions, Figures, IntervalFigures, LatencyDistribution};
use std::collections::BTreeSet;
use std::fmt::Display;
use std::io;

/// The latencies of all threads and targets.
pub(super) fn latency(xml: &mut Writer<'_>, latencies: &Directions<Option<LatencyDistribution>>) -> io::Result<()> {
    let Directions { read, write, total } = latencies;
    let values = |latencies: &Option<LatencyDistribution>| latencies.as_ref().map_or(0, |known| known.distinct_values);
    xml.inside(
        "Latency",
        &[
            ("ReadHistoBuckets", &values(read)),
            ("WriteHistoBuckets", &values(write)),
            ("TotalHistoBuckets", &values(total)),
        ],
        |xml| {
            for (mean, std_dev, latencies) in [
                ("AverageReadMilliseconds", "ReadLatencyStdev", read),
                ("AverageWriteMilliseconds", "WriteLatencyStdev", write),
                ("AverageTotalMilliseconds", "LatencyStdev", total),
            ] {
                if let Some(latencies) = latencies {
                    xml.element(mean, ms(latencies.figures.mean_ns))?;
                    xml.element(std_dev, ms(latencies.figures.std_dev_ns))?;
                }
            }
            ranks(latencies).into_iter().try_for_each(|rank_ppb| bucket(xml, latencies, rank_ppb))
        },
    )
}

/// All ranks with known values: the 108 of a run, also without any I/O; fewer in results that were read from a text.
pub(super) fn ranks(latencies: &Directions<Option<LatencyDistribution>>) -> BTreeSet<u64> {
    let Directions { read, write, total } = latencies;
    if read.is_none() && write.is_none() && total.is_none() {
        return report::PERCENTILE_RANKS_PPB.into_iter().collect();
    }
    let known = [read, write, total].into_iter().flatten();
    known.flat_map(|latencies| latencies.percentiles.iter().map(|percentile| percentile.rank_ppb)).collect()
}

/// The value at a rank.
pub(super) fn value_ns(latencies: Option<&LatencyDistribution>, rank_ppb: u64) -> Option<u64> {
    let percentiles = &latencies?.percentiles;
    let at = percentiles.binary_search_by_key(&rank_ppb, |percentile| percentile.rank_ppb).ok()?;
    Some(percentiles[at].value_ns)
}

fn bucket(xml: &mut Writer<'_>, latencies: &Directions<Option<LatencyDistribution>>, rank_ppb: u64) -> io::Result<()> {
    xml.inside("Bucket", &[], |xml| {
        xml.element("Percentile", percent(rank_ppb))?;
        for (name, latencies) in [
            ("ReadMilliseconds", &latencies.read),
            ("WriteMilliseconds", &latencies.write),
            ("TotalMilliseconds", &latencies.total),
        ] {
            if let Some(value_ns) = value_ns(latencies.as_ref(), rank_ppb) {
                xml.element(name, ms(value_ns as f64))?;
            }
        }
        Ok(())
    })
}

/// The interval series of one row, or of all.
pub(super) fn iops(
    xml: &mut Writer<'_>,
    figures: &Directions<Figures>,
    series: &[Directions<IntervalFigures>],
    interval_ms: u32,
) -> io::Result<()> {
    xml.inside("Iops", &[], |xml| {
        for (name, figures) in
            [("ReadIopsStdDev", &figures.read), ("WriteIopsStdDev", &figures.write), ("IopsStdDev", &figures.total)]
        {
            // Without I/Os of the kind there is no interval of the kind.
            if let Some(std_dev) = figures.iops_std_dev.filter(|_| figures.ios > 0) {
                xml.element(name, three_decimals(std_dev))?;
            }
        }
        for (number, interval) in (1u64..).zip(series) {
            self::interval(xml, number * u64::from(interval_ms), interval)?;
        }
        Ok(())
    })
}

/// Attributes of an interval: latencies of reads.
const READ: [&str; 4] =
    ["ReadMinLatencyMilliseconds", "ReadMaxLatencyMilliseconds", "ReadAvgLatencyMilliseconds", "ReadLatencyStdDev"];
/// The same for writes.
const WRITE: [&str; 4] =
    ["WriteMinLatencyMilliseconds", "WriteMaxLatencyMilliseconds", "WriteAvgLatencyMilliseconds", "WriteLatencyStdDev"];

fn interval(xml: &mut Writer<'_>, end_ms: u64, interval: &Directions<IntervalFigures>) -> io::Result<()> {
    let Directions { read, write, total } = interval;
    let mut cells = vec![
        ("SampleMillisecond", end_ms.to_string()),
        ("Read", whole(read.iops)),
        ("Write", whole(write.iops)),
        ("Total", whole(total.iops)),
    ];
    for (names, figures) in [(READ, read), (WRITE, write)] {
        let values = match figures.latency {
            Some(latency) => {
                let extreme = |ns: Option<u64>| ms(ns.unwrap_or(0) as f64);
                [extreme(latency.min_ns), extreme(latency.max_ns), ms(latency.mean_ns), ms(latency.std_dev_ns)]
            }
            None if figures.ios == 0 => [(); 4].map(|()| ms(0.0)),
            // I/Os of unknown latency, in results of the oldest versions.
            None => continue,
        };
        cells.extend(names.into_iter().zip(values));
    }
    let attributes: Vec<(&str, &dyn Display)> =
        cells.iter().map(|(name, value)| (*name, value as &dyn Display)).collect();
    xml.empty("Bucket", &attributes)
}
