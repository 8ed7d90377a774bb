//! The course of a measurement in results.

use crate::figures::LatencyFigures;
use crate::packed_counts::PackedCounts;
use serde::{Deserialize, Serialize};

/// I/O of all threads on all targets in equal parts of the measurement, in order, empty parts included. A last part
/// that was not reached whole is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Series {
    /// Width of a part in nanoseconds; 0 without a series.
    pub width_ns: u64,
    /// Reads that completed.
    pub read: SeriesCounts,
    /// Writes that completed.
    pub write: SeriesCounts,
}

/// Reads or writes of a series, one number per part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SeriesCounts {
    /// I/Os.
    pub ios: Vec<u64>,
    /// Bytes transferred.
    pub bytes: Vec<u64>,
    /// Sum of the latencies in nanoseconds; empty if latencies were not measured (`-L`, `-D`).
    pub latency_sum_ns: Vec<u64>,
}

/// Usage of all online CPUs together in each part of the measurement, one number per part: a second, or more in long
/// runs. The parts follow each other without gaps, the first from the start. What is missing to 100 % is idle time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuCourse {
    /// Where each part ends, in nanoseconds since the start of the measurement.
    pub end_ns: Vec<u64>,
    /// Percent of the time that programs used.
    pub user_percent: Vec<f64>,
    /// Percent that the kernel used.
    pub kernel_percent: Vec<f64>,
    /// Steal time: percent in which the hypervisor ran something else.
    pub steal_percent: Vec<f64>,
}

/// I/O of all threads on all targets in one part of the measurement. Sections follow each other without gaps, from its
/// start to its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Section {
    /// Where it begins, in nanoseconds since the start of the measurement.
    pub start_ns: u64,
    /// Where it ends.
    pub end_ns: u64,
    /// Reads that completed in it; null = there were none.
    pub read: Option<SectionFigures>,
    /// Writes that completed in it; null = there were none.
    pub write: Option<SectionFigures>,
}

/// Reads or writes of a section.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SectionFigures {
    /// How many.
    pub ios: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// Moments and extremes of their latencies.
    pub latency: LatencyFigures,
    // By coarse bucket (`hot::buckets::coarse`).
    /// All of their latencies.
    pub histogram: PackedCounts,
}
