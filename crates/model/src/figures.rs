//! Figures: rates and latencies of reads, writes and both.

use crate::operation::Operation;
use crate::profile::FlushCall;
use serde::{Deserialize, Serialize};

/// One value for reads, one for writes, one for both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "DirectionsOf{T}"))]
pub struct Directions<T> {
    /// Reads.
    pub read: T,
    /// Writes.
    pub write: T,
    /// Both.
    pub total: T,
}

/// The cells of one table row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Figures {
    /// Bytes transferred.
    pub bytes: u64,
    /// I/Os completed.
    pub ios: u64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// I/Os per second.
    pub iops: f64,
    /// Latency, if it was measured and there were I/Os.
    pub latency: Option<LatencyFigures>,
    /// Standard deviation of the I/Os per second over the intervals (`-D`).
    pub iops_std_dev: Option<f64>,
}

/// Latency in a few numbers, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencyFigures {
    /// Arithmetic mean.
    pub mean_ns: f64,
    /// Population standard deviation.
    pub std_dev_ns: f64,
    /// Smallest; `None` = unknown, in results of other programs.
    pub min_ns: Option<u64>,
    /// Largest; `None` = unknown, in results of other programs.
    pub max_ns: Option<u64>,
}

/// One interval of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IntervalFigures {
    /// I/Os completed in it.
    pub ios: u64,
    /// I/Os per second in it.
    pub iops: f64,
    /// Their latency.
    pub latency: Option<LatencyFigures>,
}

/// Latencies of many I/Os.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencyDistribution {
    /// Number of I/Os.
    pub count: u64,
    /// Moments and extremes.
    pub figures: LatencyFigures,
    // All that a report may show: the 108 of the XML result.
    /// Percentiles, ascending.
    pub percentiles: Vec<Percentile>,
    /// Number of distinct values that were kept.
    pub distinct_values: u64,
    // Buckets that are not empty, ascending: index (`hot::buckets`) and count. Empty in results of other programs.
    /// All of them.
    #[serde(rename = "histogram", with = "crate::histogram")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::histogram::Histogram"))]
    pub buckets: Vec<(u32, u64)>,
}

impl LatencyDistribution {
    /// The percentile of a rank in parts per billion, in nanoseconds, if it is one of those kept.
    pub fn at(&self, rank_ppb: u64) -> Option<u64> {
        self.percentiles.iter().find(|percentile| percentile.rank_ppb == rank_ppb).map(|percentile| percentile.value_ns)
    }
}

/// A percentile and its value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Percentile {
    /// Rank in parts per billion: `500_000_000` is the median.
    pub rank_ppb: u64,
    /// Upper edge of its bucket, limited to the minimum and maximum, in nanoseconds.
    pub value_ns: u64,
}

/// I/Os of one kind that transfer no data, all threads and targets together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OperationFigures {
    /// Their operation.
    pub operation: Operation,
    /// Volumes and rates; bytes are those that were discarded or zeroed.
    pub figures: Figures,
    /// Their latencies; null without `-L`, or without such I/Os.
    pub latency: Option<LatencyDistribution>,
}

/// I/Os of one kind and size, all threads and targets together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SizeFigures {
    /// Their operation.
    pub operation: Operation,
    /// Their size in bytes.
    pub size_bytes: u64,
    /// Percent of the I/Os of this kind that have the size.
    pub drawn_percent: f64,
    /// Volumes and rates, with the latency if it was measured.
    pub figures: Figures,
    /// Median in nanoseconds, at most 0.8 % (below 1 µs, 8 ns) above the exact one; null without `-L` or such
    /// I/Os, or if several hosts did them.
    pub p50_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// 99.9th percentile.
    pub p999_ns: Option<u64>,
}

/// Flushes, which are neither reads nor writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlushFigures {
    /// The system call.
    #[serde(default)]
    pub call: FlushCall,
    /// A thread flushes after this many writes.
    pub after_writes: u32,
    /// Flushes of all threads that ended during the measurement.
    pub count: u64,
    /// The same per second.
    pub per_s: f64,
    /// Writes that these flushes covered, divided by their number; null = there were none, or older documents.
    #[serde(default)]
    pub writes_per_flush: Option<f64>,
    /// Writes of all threads that ended during the measurement and that none of these flushes covered: the last groups,
    /// which were incomplete; null in older documents.
    #[serde(default)]
    pub unflushed_writes: Option<u64>,
    /// Their latencies; null = there were none.
    pub latency: Option<LatencyFigures>,
    /// Median in nanoseconds; null = there were none.
    pub p50_ns: Option<u64>,
    /// 99th percentile in nanoseconds; null = there were none.
    pub p99_ns: Option<u64>,
    /// Commits: writes until the flush after them has ended; null = there were none, or older documents.
    #[serde(default)]
    pub commit: Option<CommitFigures>,
}

/// How long commits took: writes until the flush after them has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommitFigures {
    /// Mean in nanoseconds.
    pub mean_ns: f64,
    /// Median in nanoseconds.
    pub p50_ns: u64,
    /// 99th percentile in nanoseconds.
    pub p99_ns: u64,
    /// The longest in nanoseconds.
    pub max_ns: u64,
}

/// Rotations of the files that threads append to (`--append`): truncations and reservations of blocks, which are part of
/// no latency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RotationFigures {
    /// Rotations of all threads that ended during the measurement.
    pub count: u64,
    /// Their total time, in nanoseconds.
    pub total_ns: u64,
    /// Time of the longest, in nanoseconds; null = there were none.
    pub max_ns: Option<u64>,
    /// Percent of the measured time of the threads that append, in which they did nothing else.
    pub time_percent: f64,
}

/// The most used figures of a direction, without levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// I/Os per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Mean latency in nanoseconds; `None` if it was not measured. Percentiles need `-L`.
    pub mean_ns: Option<f64>,
    /// Mean number of I/Os outstanding: I/Os per second times mean latency (Little's law); that of the total includes
    /// discards and write-zeroes. Null if latencies were not measured.
    #[serde(default)]
    pub outstanding: Option<f64>,
    /// Median latency.
    pub p50_ns: Option<u64>,
    /// 90th percentile.
    pub p90_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// 99.9th percentile.
    pub p999_ns: Option<u64>,
    /// Longest latency.
    pub max_ns: Option<u64>,
}
