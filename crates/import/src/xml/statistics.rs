//! Latency percentiles and interval series.

use super::element::Element;
use crate::finish::distribution;
use crate::{ReadError, number};
use model::figures::{Directions, IntervalFigures, LatencyDistribution, LatencyFigures, Percentile};

/// The figures from two children of an element: a mean and a deviation, in milliseconds.
pub(super) fn figures(
    element: Element<'_, '_>,
    mean: &'static str,
    std_dev: &'static str,
) -> Result<Option<LatencyFigures>, ReadError> {
    let (mean_ms, std_dev_ms) = (element.real(mean)?, element.real(std_dev)?);
    Ok(mean_ms.map(|mean_ms| LatencyFigures {
        mean_ns: number::ns(mean_ms),
        std_dev_ns: number::ns(std_dev_ms.unwrap_or(0.0)),
        min_ns: None,
        max_ns: None,
    }))
}

/// The latencies of all threads and targets, over this number of I/Os.
pub(super) fn latency(
    element: Element<'_, '_>,
    ios: Directions<u64>,
) -> Result<Directions<Option<LatencyDistribution>>, ReadError> {
    let mut percentiles = Directions::<Vec<Percentile>>::default();
    for bucket in element.children("Bucket") {
        let Some(rank) = bucket.child("Percentile") else { continue };
        let rank_ppb = number::rank_ppb(rank.text()).map_err(|reason| rank.error_at_name(&reason))?;
        for (list, name) in [
            (&mut percentiles.read, "ReadMilliseconds"),
            (&mut percentiles.write, "WriteMilliseconds"),
            (&mut percentiles.total, "TotalMilliseconds"),
        ] {
            list.extend(bucket.real(name)?.map(|ms| Percentile { rank_ppb, value_ns: number::whole_ns(ms) }));
        }
    }
    let values = |name| Ok(element.whole_attribute(name)?.unwrap_or(0));
    let read = figures(element, "AverageReadMilliseconds", "ReadLatencyStdev")?;
    let write = figures(element, "AverageWriteMilliseconds", "WriteLatencyStdev")?;
    let total = figures(element, "AverageTotalMilliseconds", "LatencyStdev")?;
    Ok(Directions {
        read: distribution(ios.read, read, percentiles.read, values("ReadHistoBuckets")?),
        write: distribution(ios.write, write, percentiles.write, values("WriteHistoBuckets")?),
        total: distribution(ios.total, total, percentiles.total, values("TotalHistoBuckets")?),
    })
}

/// Deviations and series of a row, or of all rows.
pub(super) struct Iops {
    /// I/Os per second; 0 if there were no I/Os of the kind.
    pub(super) std_devs: Directions<f64>,
    pub(super) series: Vec<Directions<IntervalFigures>>,
}

pub(super) fn iops(element: Element<'_, '_>, interval_ms: u32) -> Result<Iops, ReadError> {
    let std_dev = |name| Ok(element.real(name)?.unwrap_or(0.0));
    Ok(Iops {
        std_devs: Directions {
            read: std_dev("ReadIopsStdDev")?,
            write: std_dev("WriteIopsStdDev")?,
            total: std_dev("IopsStdDev")?,
        },
        series: element.children("Bucket").map(|bucket| interval(bucket, interval_ms)).collect::<Result<_, _>>()?,
    })
}

fn interval(bucket: Element<'_, '_>, interval_ms: u32) -> Result<Directions<IntervalFigures>, ReadError> {
    let rate = |name: &str| Ok(bucket.real_attribute(name)?.unwrap_or(0.0));
    let ios = |rate: f64| stats::amount(rate, u64::from(interval_ms) * 1_000_000);
    let direction = |rate: f64, latency: Option<LatencyFigures>| IntervalFigures {
        ios: ios(rate),
        iops: rate,
        latency: latency.filter(|_| ios(rate) > 0),
    };
    let read = direction(rate("Read")?, interval_latency(bucket, "Read")?);
    let write = direction(rate("Write")?, interval_latency(bucket, "Write")?);
    let parts = [read, write].into_iter().filter(|part| part.ios > 0);
    let known: Option<Vec<_>> = parts.map(|part| part.latency.map(|latency| (part.ios, latency))).collect();
    let total = direction(rate("Total")?, known.and_then(stats::pooled));
    Ok(Directions { read, write, total })
}

/// `None` in results of versions before 2.0.20, which lack it.
fn interval_latency(bucket: Element<'_, '_>, kind: &str) -> Result<Option<LatencyFigures>, ReadError> {
    let value = |name: &str| bucket.real_attribute(&format!("{kind}{name}"));
    let Some(mean_ms) = value("AvgLatencyMilliseconds")? else { return Ok(None) };
    Ok(Some(LatencyFigures {
        mean_ns: number::ns(mean_ms),
        std_dev_ns: number::ns(value("LatencyStdDev")?.unwrap_or(0.0)),
        min_ns: value("MinLatencyMilliseconds")?.map(number::whole_ns),
        max_ns: value("MaxLatencyMilliseconds")?.map(number::whole_ns),
    }))
}
