//! Streams alone and together, and their interference.

use crate::profile::StreamName;
use serde::{Deserialize, Serialize};

/// The figures of a stream by which runs are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StreamHeadline {
    /// I/Os per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Mean latency of reads and writes in nanoseconds; null = not measured, or no I/Os.
    pub mean_ns: Option<f64>,
    /// Median latency.
    pub p50_ns: Option<f64>,
    /// 99th percentile.
    pub p99_ns: Option<f64>,
    /// 99.9th percentile.
    pub p999_ns: Option<f64>,
}

/// A stream in one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StreamInRun {
    /// Its name.
    pub name: StreamName,
    /// Its figures.
    pub figures: StreamHeadline,
}

/// Interference between the streams of a load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interference {
    /// Complete rounds: each stream alone, and all together.
    pub rounds: u32,
    /// One per stream, in the order given.
    pub streams: Vec<StreamInterference>,
}

/// Effect of the others on a stream. Figures are medians over the rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StreamInterference {
    /// Its name.
    pub name: StreamName,
    /// Without the others.
    pub alone: StreamHeadline,
    /// With all others.
    pub together: StreamHeadline,
    /// I/Os per second together, in percent of those alone; null = none alone.
    pub iops_share_percent: Option<f64>,
    /// 99th percentile together divided by that alone; null = one of them is unknown.
    pub p99_factor: Option<f64>,
}
