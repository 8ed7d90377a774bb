//! What a run means: every figure that any report shows.
//!
//! Made by `stats` from a record; renderers print it and compute nothing.

use crate::affinity::AffinityEntry;
use crate::confidence::{FigureSteadiness, HalfWidths};
use crate::course::{Section, Series};
use crate::environment::{Environment, TargetEnvironment};
use crate::expectation::Expectation;
use crate::facts::{SystemFacts, TargetFacts};
use crate::kernel_counters::KernelCountersAround;
use crate::kernel_events::KernelEvents;
use crate::kernel_message::KernelMessage;
use crate::note::Note;
use crate::plan::{EffectiveDistribution, EngineKind, Plan};
use crate::preset::PresetRun;
use crate::profile::{Profile, RateProcess};
use crate::record::WaitCounts;
use crate::slow_io::SlowIo;
use crate::units::UnixTime;
use crate::verdict::Verdict;
use crate::version::{DISKSPD_VERSION, DISKSPD_VERSION_DATE, IMPLEMENTATION, IMPLEMENTATION_VERSION};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A whole run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunResult {
    /// The program that measured.
    pub tool: Tool,
    /// The command line, arguments joined by single blanks, program name first.
    pub command_line: String,
    /// `--label`: name and value, in the order given.
    pub labels: Vec<(String, String)>,
    /// The preset that the profile was made from, if it was one.
    pub preset: Option<PresetRun>,
    /// What was asked for.
    pub profile: Profile,
    /// The machine.
    pub system: SystemFacts,
    /// More about it, if it was looked at.
    pub environment: Option<Environment>,
    /// What stood at each distinct target path before the run, if it was looked at.
    pub targets: BTreeMap<PathBuf, TargetFacts>,
    /// What each target stands on, if it was looked at.
    pub target_environments: BTreeMap<PathBuf, TargetEnvironment>,
    /// What was decided; `None` if the run was refused, and in results of other programs.
    pub plan: Option<Plan>,
    /// When the first timespan was about to start.
    pub started_at: UnixTime,
    /// One per timespan of the profile.
    pub time_spans: Vec<TimeSpanResult>,
    /// Sums over the measured timespans; `None` if there is but one, and it was not measured.
    pub totals: Option<Totals>,
    /// Notes of the plan; those of a timespan are with it.
    pub notes: Vec<Note>,
    /// What was warned of before the run: sentences without a prefix.
    pub warnings: Vec<String>,
    /// Why nothing was run; those of a timespan are with it.
    pub errors: Vec<String>,
}

impl RunResult {
    /// The sums, if the profile has several timespans: of one they are its own figures, and reports leave them out.
    pub fn totals_of_several(&self) -> Option<&Totals> {
        self.totals.as_ref().filter(|_| self.time_spans.len() > 1)
    }
}

/// The program that measured: this one, unless the result was read from elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tool {
    /// Version of `DiskSpd`: its own, or the one that an implementation behaves like. Empty if
    /// unknown.
    #[serde(rename = "diskspd_version")]
    pub version: String,
    /// Date of that version. Empty if unknown.
    #[serde(rename = "diskspd_version_date")]
    pub version_date: String,
    /// The implementation, if it is not `DiskSpd` itself.
    pub implementation: Option<Implementation>,
}

impl Default for Tool {
    fn default() -> Self {
        Self {
            version: DISKSPD_VERSION.to_owned(),
            version_date: DISKSPD_VERSION_DATE.to_owned(),
            implementation: Some(Implementation {
                name: IMPLEMENTATION.to_owned(),
                version: IMPLEMENTATION_VERSION.to_owned(),
            }),
        }
    }
}

/// A program that behaves like `DiskSpd`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Implementation {
    /// Its name.
    pub name: String,
    /// Its own version.
    pub version: String,
}

/// One timespan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeSpanResult {
    /// How it ended.
    pub outcome: Ending,
    /// Errors that ended it.
    pub errors: Vec<String>,
    /// What the user should know.
    pub notes: Vec<Note>,
    /// The engine of each target's threads, in target order: what the profile echo prints.
    pub engines: Vec<EngineKind>,
    /// Alignment of each I/O buffer in bytes; 0 = system default.
    pub buffer_separation_bytes: u64,
    /// The figures; `None` if the test was interrupted before the measurements began.
    pub measured: Option<Measured>,
    /// The kernel's own counters around the measurement, if they were read.
    pub kernel_counters: Option<KernelCountersAround>,
    /// What they amount to, if it was asked for (`-e`).
    pub kernel_events: Option<KernelEvents>,
    /// Whether the figures are what they claim to be; `None` without figures, and in results of other
    /// programs.
    pub verdict: Option<Verdict>,
    /// How near it came to what was said of the storage (`--expect`).
    pub expectation: Option<Expectation>,
}

/// How a timespan ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// It was not run, because an earlier one failed or the run was stopped or refused.
    #[default]
    NotRun,
    /// As planned.
    Completed,
    /// The user or an event ended it; measured if there are figures.
    Stopped,
    /// An error ended it.
    Failed,
}

/// The figures of a timespan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Measured time in nanoseconds.
    pub elapsed_ns: u64,
    /// True if an error or a stop ended it before its planned time.
    pub is_partial: bool,
    /// `-F`, or the number of threads.
    pub thread_count: u32,
    /// `-O`, if it was in effect.
    pub request_count: Option<u32>,
    /// Where the threads ran; `None` with `-n`.
    pub effective_affinity: Option<Vec<AffinityEntry>>,
    /// P-cores and E-cores used, if both were.
    pub mixed_cores: Option<MixedCores>,
    /// One per online CPU, ascending.
    pub cpus: Vec<CpuUsage>,
    /// Mean of each column over the CPUs.
    pub cpu_average: CpuUsage,
    /// Effective distributions in order of their ranges, each once.
    pub distributions: Vec<DistributionUse>,
    /// One per thread and target.
    pub rows: Vec<Row>,
    /// All rows together.
    pub total: Directions<Figures>,
    /// The interval series of all rows together (`-D`).
    pub intervals: Vec<Directions<IntervalFigures>>,
    /// One per distinct path in target order, if there is more than one path. Only with `-L`.
    pub target_latencies: Vec<(PathBuf, Directions<Option<LatencyDistribution>>)>,
    /// All targets together. Only with `-L`.
    pub total_latency: Option<Directions<Option<LatencyDistribution>>>,
    /// Submissions per thread; `None` = unknown, in results of other programs and in texts and XML without `-u`.
    pub submissions: Option<Submissions>,
    /// Wait statistics per thread (`-vs`).
    pub waits: Vec<ThreadWaits>,
    /// True if `-L` or `-D` was in effect.
    pub is_latency_run: bool,
    /// What decided when I/Os started; `None` = unknown, in results of other programs.
    pub load_loop: Option<LoadLoop>,
    /// 95 % confidence intervals. `None` = unknown; of a direction: it has no I/Os, or the series has fewer
    /// than ten whole cells.
    pub confidence: Option<Directions<Option<HalfWidths>>>,
    /// Whether the figures were the same all the time.
    pub steadiness: FigureSteadiness,
    /// Counts over time.
    pub series: Series,
    /// Latency histograms over time (`-D` or `-L`).
    pub sections: Vec<Section>,
    /// The slowest I/Os (`-D` or `-L`), the slowest first.
    pub slowest: Vec<SlowIo>,
    /// What the kernel logged within a second of these, in its order.
    pub kernel_messages: Vec<KernelMessage>,
    /// What flushes took (`--fdatasync-every`).
    pub flushes: Option<FlushFigures>,
}

/// Flushes, which are neither reads nor writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlushFigures {
    /// A thread flushed after so many writes.
    pub after_writes: u32,
    /// Flushes that ended while measuring, of all threads.
    pub count: u64,
    /// The same per second.
    pub per_s: f64,
    /// What they took; null = there were none.
    pub latency: Option<LatencyFigures>,
    /// Median in nanoseconds; null = there were none.
    pub p50_ns: Option<u64>,
    /// 99th percentile in nanoseconds; null = there were none.
    pub p99_ns: Option<u64>,
}

/// What decides when I/Os start.
#[derive(Clone, Debug, PartialEq)]
pub enum LoadLoop {
    /// Completions: while the target does not answer, nothing is asked of it.
    Closed {
        /// I/Os outstanding at most, all threads together.
        depth: u32,
    },
    /// A schedule (`--rate`).
    Open(Box<OpenLoop>),
}

/// What became of the intended I/Os of an open loop.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpenLoop {
    /// I/Os outstanding at most, all threads together.
    pub depth: u32,
    /// Intended starts per second, all threads together.
    pub rate_iops: u32,
    /// How they follow each other.
    pub process: RateProcess,
    /// Starts that were intended while measuring: those made and the backlog.
    pub intended_starts: u64,
    /// How many of them had not been made when the measurement ended.
    pub backlog: u64,
    /// How many of those made were late because all requests were outstanding when they were due.
    pub delayed_by_depth: u64,
    /// Mean time from intended to real start, in nanoseconds; 0 without starts.
    pub lateness_mean_ns: f64,
    /// Longest such time, in nanoseconds.
    pub lateness_max_ns: u64,
    /// Times from intended start to completion of the I/Os that completed while measuring.
    pub response_time: Directions<Option<LatencyDistribution>>,
}

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

/// Usage of one CPU in percent of the measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuUsage {
    /// Kernel CPU number.
    pub cpu: u32,
    /// Kernel plus user.
    pub usage_percent: f64,
    /// User.
    pub user_percent: f64,
    /// Kernel without idle.
    pub kernel_percent: f64,
    /// Idle.
    pub idle_percent: f64,
}

/// CPUs of different core types that were used together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MixedCores {
    /// CPUs of the highest class, effective order, compacted.
    pub performance: Vec<AffinityEntry>,
    /// All others.
    pub efficiency: Vec<AffinityEntry>,
}

/// An effective distribution and who used it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DistributionUse {
    /// The list.
    pub distribution: EffectiveDistribution,
    /// Paths in byte order, each with its threads, ascending.
    pub users: Vec<(PathBuf, Vec<u32>)>,
}

/// What one thread did to one target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Thread number.
    pub thread: u32,
    /// Index of the target in the timespan.
    pub target: usize,
    /// Its path.
    pub path: PathBuf,
    /// Size of the whole target in bytes.
    pub target_size_bytes: u64,
    /// The figures.
    pub figures: Directions<Figures>,
    /// Interval series (`-D`), one entry per interval that counts, empty ones included.
    pub intervals: Vec<Directions<IntervalFigures>>,
    /// Its effective distribution, if one was used: index into [`Measured::distributions`].
    pub distribution: Option<usize>,
    /// Its latencies (`-L`): buckets that are not empty, ascending, as in [`LatencyDistribution`].
    pub latency_buckets: RowBuckets,
}

/// Latency buckets of one row: index (`hot::buckets`) and count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowBuckets {
    /// Of reads.
    pub read: Vec<(u32, u64)>,
    /// Of writes.
    pub write: Vec<(u32, u64)>,
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
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencyDistribution {
    /// Number of I/Os.
    pub count: u64,
    /// Moments and extremes.
    pub figures: LatencyFigures,
    /// Every percentile that a report may show: the 108 of the XML result, ascending.
    pub percentiles: Vec<Percentile>,
    /// Number of distinct values that were kept.
    pub distinct_values: u64,
    /// The buckets themselves: index (`hot::buckets`) and count. Empty in results of other
    /// programs, which do not give them.
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
    /// Upper edge of the bucket that holds it, clipped to the extremes, in nanoseconds.
    pub value_ns: u64,
}

/// Submissions while measuring.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Submissions {
    /// Thread number, count, count per second.
    pub threads: Vec<(u32, u64, f64)>,
    /// All threads per second.
    pub total_per_s: f64,
}

/// How a thread waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadWaits {
    /// Thread number.
    pub thread: u32,
    /// Shows throttle columns.
    pub throttled: bool,
    /// The counters.
    pub counts: WaitCounts,
}

/// The figures of a direction that are asked for most, without levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// I/Os per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Mean latency in nanoseconds; `None` if it was not measured. Percentiles need `-L`.
    pub mean_ns: Option<f64>,
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

/// Sums over timespans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Totals {
    /// Sum of the measured times in nanoseconds.
    pub elapsed_ns: u64,
    /// Bytes, I/Os, rates and latency.
    pub figures: Directions<Figures>,
}
