//! Progress of a run, reported while it lasts.

use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Value of `schema` in the first line of a stream.
pub const LIVE_SCHEMA: &str = "diskspd-live";

/// Version of the streams that are written.
pub const LIVE_SCHEMA_VERSION: u32 = 2;

/// Marker of streams of version 1, in the field `form` instead.
pub const LIVE_FORM_1: &str = "diskspd-live/1";

/// Outputs of a run while it lasts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveOptions {
    /// On a full screen.
    pub screen: bool,
    /// As a stream of lines for programs.
    pub stream: Option<StreamTarget>,
    /// Served as metrics at this address.
    pub metrics: Option<SocketAddr>,
    /// Length of the intervals in milliseconds.
    pub interval_ms: u32,
}

impl Default for LiveOptions {
    fn default() -> Self {
        Self { screen: false, stream: None, metrics: None, interval_ms: 1000 }
    }
}

impl LiveOptions {
    /// Options of the requested outputs.
    pub fn asked(&self) -> impl Iterator<Item = &'static str> {
        let asked =
            [(self.screen, "--live"), (self.stream.is_some(), "--live-json"), (self.metrics.is_some(), "--metrics")];
        asked.into_iter().filter_map(|(is_asked, option)| is_asked.then_some(option))
    }
}

/// Where a stream of lines goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamTarget {
    /// A file or FIFO.
    File(PathBuf),
    /// A descriptor that the program was started with.
    Descriptor(u32),
    /// A socket with a listener.
    Socket(PathBuf),
}

/// A phase of a timespan in which I/Os are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LivePhase {
    /// The load runs; its counts are discarded at the end of the phase.
    #[default]
    WarmUp,
    /// The counts become the result.
    Measurement,
}

impl LivePhase {
    /// Its name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WarmUp => "warm up",
            Self::Measurement => "measuring",
        }
    }
}

/// Counts of all threads in a phase up to one moment of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveCounts {
    /// Warm-up or measurement.
    pub phase: LivePhase,
    /// How long it has lasted.
    pub elapsed_ns: u64,
    /// Time left to its planned end.
    pub left_ns: u64,
    /// By thread and target.
    pub rows: Vec<LiveRow>,
}

/// Counts of one thread on one target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveRow {
    /// Number of the thread.
    pub thread: u32,
    /// Index of the target in the timespan.
    pub target: usize,
    /// Its reads.
    pub read: LiveTally,
    /// Its writes.
    pub write: LiveTally,
    /// Commits of the thread, in its first row alone: writes until the flush after them has ended.
    #[serde(default)]
    pub commit: LiveTally,
    /// Its reads and writes from their intended start (`--rate`).
    #[serde(default)]
    pub response: LiveTally,
}

/// Reads or writes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveTally {
    /// I/Os completed.
    pub ios: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// Sum of their latencies.
    pub latency_sum_ns: u64,
    /// The largest of them.
    pub latency_max_ns: u64,
    /// How many latencies fell into each coarse bucket of `hot::buckets`; the empty ones are left out. None
    /// before the measurement.
    pub buckets: Vec<(u32, u64)>,
}

/// The figures of an interval of a run, and those of the phase so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LiveInterval {
    /// The phase that it lies in.
    pub phase: LivePhase,
    /// Time from the start of the phase to the end of the interval, in nanoseconds.
    pub elapsed_ns: u64,
    /// Time from the end of the interval to the planned end of the phase, in nanoseconds.
    pub left_ns: u64,
    /// Length of the interval in nanoseconds.
    pub interval_ns: u64,
    /// The interval.
    pub interval: LiveFigures,
    /// The phase up to the end of the interval.
    pub so_far: LiveFigures,
}

/// Figures of one stretch of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LiveFigures {
    /// All threads on all targets.
    pub total: LiveLoad,
    /// By target, in the order of the plan.
    pub targets: Vec<LiveLoad>,
    /// By thread, in the order of the plan.
    pub threads: Vec<LiveLoad>,
    /// With `--on`, by host, in the order of the first line; targets and threads are empty then.
    #[serde(default)]
    pub hosts: Vec<LiveLoad>,
}

/// Reads, writes and both together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LiveLoad {
    /// Reads.
    pub read: LiveSide,
    /// Writes.
    pub write: LiveSide,
    /// Both.
    pub total: LiveSide,
    /// Writes until they were durable: those whose flush ended in this time. Null = no flushes, or in the warm-up; of targets,
    /// as a flush is one of the thread.
    #[serde(default)]
    pub commit: Option<LiveTimes>,
    /// Reads and writes from their intended start, to the end of the commit where there is one. Null without `--rate`, and in
    /// the warm-up.
    #[serde(default)]
    pub response: Option<LiveTimes>,
}

/// Times that include more than reads and writes alone: commits or responses. There is at least one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LiveTimes {
    /// How many ended.
    pub count: u64,
    /// Per second.
    pub per_s: f64,
    /// Mean in nanoseconds.
    pub mean_ns: f64,
    /// Null = a host reported none.
    pub latency: Option<LiveLatency>,
}

/// I/Os of a stretch of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LiveSide {
    /// I/Os completed.
    pub ios: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// I/Os per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Mean latency in nanoseconds of these I/Os alone, without a flush or a wait for the start; `None` without I/Os.
    pub latency_mean_ns: Option<f64>,
    /// `None` without I/Os, and in the warm-up.
    pub latency: Option<LiveLatency>,
}

/// Latencies of a stretch of time in nanoseconds, each the upper edge of a bucket that is at most 0.8 % wide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LiveLatency {
    /// The median.
    pub p50_ns: u64,
    /// The 99th percentile.
    pub p99_ns: u64,
    /// The 99.9th percentile.
    pub p999_ns: u64,
    /// The largest.
    pub max_ns: u64,
}
