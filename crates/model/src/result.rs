//! Results of a run: every figure that any report shows.
//!
//! Made by `stats` from a record; renderers print it and compute nothing. These types are the JSON result, too:
//! their fields, in this order, are its keys, and their comments the descriptions in its schema.

use crate::affinity::AffinityEntry;
use crate::confidence::{FigureSteadiness, HalfWidths};
use crate::course::{CpuCourse, Section, Series};
use crate::ending::Ending;
use crate::engine_kind::EngineKind;
use crate::environment::Environment;
use crate::expectation::Expectation;
use crate::facts::SystemFacts;
use crate::figures::{
    Directions, Figures, FlushFigures, IntervalFigures, LatencyDistribution, OperationFigures, RotationFigures,
    SizeFigures, Summary,
};
use crate::finding::Finding;
use crate::fleet::Fleet;
use crate::host_timing::HostTiming;
use crate::kernel_counters::KernelCountersAround;
use crate::kernel_events::KernelEvents;
use crate::kernel_log::KernelMessage;
use crate::ledger::Ledger;
use crate::note::Note;
use crate::plan::{EffectiveDistribution, Plan};
use crate::preset::PresetRun;
use crate::profile::{OfferedRate, Profile, RateProcess, Reduction, Skew, StreamName};
use crate::record::{SlowIo, WaitCounts};
use crate::replay_figures::ReplayFigures;
use crate::storage_course::{CacheFigures, DeviceCourse, ShareCourse};
use crate::targets_found::TargetsFound;
use crate::units::UnixTime;
use crate::verdict::Verdict;
use crate::verification::VerificationFigures;
use crate::version::{DISKSPD_VERSION, DISKSPD_VERSION_DATE, IMPLEMENTATION, IMPLEMENTATION_VERSION};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Value of `schema` in every JSON result.
pub const RESULT_SCHEMA: &str = "diskspd-result";

/// Version of the JSON results that are written, and the newest that is read. Fields may be added to
/// it; one that is renamed, removed or given another meaning makes a new version.
pub const RESULT_SCHEMA_VERSION: u32 = 2;

/// Everything about one run: what was asked for, on which machine, what was decided, and what was
/// measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Result"))]
pub struct RunResult {
    /// The program that measured.
    pub tool: Tool,
    /// The command line, arguments joined by single blanks, program name first.
    pub command_line: String,
    /// Labels that `--label` gave, in that order.
    #[serde(with = "crate::label")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<crate::label::Label>"))]
    pub labels: Vec<(String, String)>,
    /// The preset that the profile was made from; null = none.
    #[serde(default)]
    pub preset: Option<PresetRun>,
    /// When the first timespan was about to start, in nanoseconds since 1970-01-01 00:00:00 UTC;
    /// null = unknown.
    #[serde(rename = "started_at_unix_ns")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i128>"))]
    pub started_at: UnixTime,
    /// The requested load.
    pub profile: Profile,
    /// The machine.
    pub system: SystemFacts,
    /// More about the machine; null = not examined.
    pub environment: Option<Environment>,
    /// State of each distinct target path before the run.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<crate::targets_found::TargetFound<'_>>"))]
    pub targets: TargetsFound,
    /// The plan of the run; null = unknown, or the run was refused.
    pub plan: Option<Plan>,
    /// One per timespan of the profile, those that were not run included.
    pub time_spans: Vec<TimeSpanResult>,
    /// Sums over the measured timespans; null = there is only one, and it was not measured.
    pub totals: Option<Totals>,
    /// The hosts that carried it out together (`--on`); null = one machine.
    #[serde(default)]
    pub fleet: Option<Fleet>,
    /// Notes on the results of the whole run.
    #[serde(serialize_with = "crate::note::with_messages")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<crate::note::Remark<'_>>"))]
    pub notes: Vec<Note>,
    /// Warnings before the run.
    pub warnings: Vec<String>,
    /// Why nothing was run.
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

impl Tool {
    /// True for results of this program; those of any other are imported.
    pub fn is_ours(&self) -> bool {
        self.implementation.as_ref().is_some_and(|implementation| implementation.name == IMPLEMENTATION)
    }
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeSpanResult {
    /// How it ended.
    pub outcome: Ending,
    /// Errors that ended it, one message each.
    pub errors: Vec<String>,
    /// When it began and ended, by the machine's monotonic clock; null = the load did not start, or another program
    /// ran it.
    #[serde(default)]
    pub timing: Option<HostTiming>,
    /// Notes on the results.
    #[serde(serialize_with = "crate::note::with_messages")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<crate::note::Remark<'_>>"))]
    pub notes: Vec<Note>,
    /// The engine of each target's threads, in target order.
    pub engines: Vec<EngineKind>,
    /// Alignment of each I/O buffer in bytes; 0 = the system's default.
    pub buffer_separation_bytes: u64,
    /// The main figures; null = the timespan ended before the measurement began.
    #[serde(default)]
    pub summary: Option<Directions<Summary>>,
    /// Metrics by full name, as in `commit.p99`: I/Os per second, MiB/s, nanoseconds or percent (docs/metrics.md); only
    /// those that were measured. Without a scope: all reads and writes; such latencies are left out where the application
    /// waits for commits or responses.
    #[serde(default)]
    pub metrics: BTreeMap<String, f64>,
    /// All figures; null = the timespan ended before the measurement began.
    pub measured: Option<Measured>,
    /// The kernel's own counters around the measurement; null = they were not read.
    pub kernel_counters: Option<KernelCountersAround>,
    /// Bytes that were asked for and bytes that reached storage; null = the kernel's counters were not read, or several
    /// hosts.
    #[serde(default)]
    pub ledger: Option<Ledger>,
    /// Kernel events by class, and I/O at each level of storage (`-e`); null = not asked for.
    #[serde(default)]
    pub kernel_events: Option<KernelEvents>,
    /// Results of verification; null = not asked for (`--verify`).
    #[serde(default)]
    pub verification: Option<VerificationFigures>,
    /// Conditions that invalidate or bias the results; null = there are no results, or another program measured them.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::verdict::WrittenVerdict<'_>>"))]
    pub verdict: Option<Verdict>,
    /// Results against the storage's rated limits (`--expect`); null = none were given.
    #[serde(default)]
    pub expectation: Option<Expectation>,
    /// Outcome of each requirement (`--require`), in the order given; the subject is the requirement.
    #[serde(default)]
    pub requirements: Vec<Finding>,
}

impl TimeSpanResult {
    /// Findings of all rules.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        let verdict = self.verdict.iter().flat_map(|verdict| &verdict.findings);
        let expectation = self.expectation.iter().flat_map(|expectation| &expectation.findings);
        verdict.chain(expectation).chain(&self.requirements)
    }
}

/// The figures of a timespan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measured {
    /// Measured time in nanoseconds; of several hosts that in which all of them measured.
    pub elapsed_ns: u64,
    /// True if an error or a stop ended it before its planned time.
    pub is_partial: bool,
    /// True if latencies were measured (`-L` or `-D`).
    pub is_latency_run: bool,
    /// `-F`, or the number of threads.
    pub thread_count: u32,
    /// `-O`; null = it was not in effect.
    pub request_count: Option<u32>,
    /// Where the threads ran, in thread order; null = anywhere (`-n`), or on several hosts.
    pub effective_affinity: Option<Vec<AffinityEntry>>,
    /// Numbers of P-cores and E-cores used; null = cores of only one type were used, or several hosts.
    pub mixed_cores: Option<MixedCores>,
    /// Usage of each online CPU, ascending; empty for several hosts, each of which has CPUs of its own.
    pub cpus: Vec<CpuUsage>,
    /// Mean over the CPUs, of several hosts over those of all; its field `cpu` has no meaning.
    pub cpu_average: CpuUsage,
    /// Usage of all online CPUs together over time; empty if unknown, for several hosts, and from formats other than JSON.
    #[serde(default)]
    pub cpu_course: CpuCourse,
    /// Effective distributions, each listed once, with the threads and targets that used them.
    pub distributions: Vec<DistributionUse>,
    /// One per thread and target.
    pub rows: Vec<Row>,
    /// All rows together. The rates of several hosts are those of the time in which all of them measured, counts and
    /// latencies those of everything that any of them measured.
    pub total: Directions<Figures>,
    /// The interval series of all rows together; empty without `-D`.
    pub intervals: Vec<Directions<IntervalFigures>>,
    /// Latencies of each distinct path in target order, if there are several; empty without `-L`.
    pub target_latencies: Vec<TargetLatencies>,
    /// Latencies of all targets together; null without `-L`.
    pub total_latency: Option<Directions<Option<LatencyDistribution>>>,
    /// System calls that submitted I/Os; null if read from a text or XML without `-u`.
    pub submissions: Option<Submissions>,
    /// How each thread waited; empty without `-vs`.
    pub waits: Vec<ThreadWaits>,
    /// The trigger of the I/O starts: completions or a schedule; null = unknown.
    #[serde(default)]
    pub load_loop: Option<LoadLoop>,
    /// How true the replay of a trace was; null = I/Os were generated.
    #[serde(default)]
    pub replay: Option<ReplayFigures>,
    /// Flushes; null = none were requested (`--fdatasync-every`).
    #[serde(default)]
    pub flushes: Option<FlushFigures>,
    /// Latencies of these; null = there were none, or a result of an earlier version.
    #[serde(default)]
    pub flush_latency: Option<LatencyDistribution>,
    /// Commits: writes, discards and write-zeroes, each from its start to the end of the first flush that began after its
    /// completion; null = no flush ended, or more than 65,536 writes between flushes, or a result of an earlier version.
    #[serde(default)]
    pub commit_latency: Option<LatencyDistribution>,
    /// Rotations of the files that threads append to; null = no file was to be rotated (`--append`).
    #[serde(default)]
    pub rotations: Option<RotationFigures>,
    /// I/Os that transfer no data, which `DiskSpd`'s tables do not have; empty without `--discard` and
    /// `--write-zeroes`.
    #[serde(default)]
    pub operations: Vec<OperationFigures>,
    /// I/Os by kind and size; empty without `--sizes`.
    #[serde(default)]
    pub sizes: Vec<SizeFigures>,
    /// Distribution of the I/Os drawn with `--skew`, by target; empty if none was asked for.
    #[serde(default)]
    pub skews: Vec<SkewFigures>,
    /// Figures of each stream (`--stream`), in the order of the profile; empty without streams.
    #[serde(default)]
    pub streams: Vec<StreamFigures>,
    /// Measured reduction of the data written with `--compress` or `--dedupe`, by target; empty if none was asked for.
    #[serde(default)]
    pub reductions: Vec<ReductionFigures>,
    /// Half the widths of 95 % confidence intervals; null = unknown, and of a direction: it has no I/Os, or
    /// the series has fewer than ten whole cells.
    #[serde(default)]
    pub confidence: Option<Directions<Option<HalfWidths>>>,
    /// Stability of the rates and latencies over the measurement.
    #[serde(default)]
    pub steadiness: FigureSteadiness,
    /// Counts per 100 ms over all threads and targets; long runs have wider cells.
    #[serde(default)]
    pub series: Series,
    /// Latencies of each interval (`-D`), or of each twentieth of the measurement (`-L`), all threads and
    /// targets together; empty without both.
    #[serde(default)]
    pub sections: Vec<Section>,
    /// The block devices below the targets over the measurement, the busiest first, partitions left out: one step per
    /// interval (`-D`), or per second (`-L`), but none below 100 ms, and longer ones in long runs. Empty without both.
    #[serde(default)]
    pub devices: Vec<DeviceCourse>,
    /// The shares (NFS, SMB) that targets are on, in the same steps.
    #[serde(default)]
    pub shares: Vec<ShareCourse>,
    /// The caches below the targets (bcache, dm-cache, dm-writecache, ZFS), as they count hits and misses themselves.
    #[serde(default)]
    pub caches: Vec<CacheFigures>,
    /// The slowest I/Os, at most 100, the slowest first; empty without `-L` and `-D`.
    #[serde(default)]
    pub slowest: Vec<SlowIo>,
    /// Kernel messages logged while one of these was outstanding, or within a second of it, in order; at most 100.
    #[serde(default)]
    pub kernel_messages: Vec<KernelMessage>,
}

impl Measured {
    /// False if the usage of the CPUs is unknown, as in results of fio; usage and idle time add up to 100 otherwise.
    pub fn has_cpu_usage(&self) -> bool {
        !self.cpus.is_empty() || self.cpu_average != CpuUsage::default()
    }
}

/// The trigger of I/O starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LoadLoop {
    /// Completions.
    Closed {
        /// I/Os outstanding at most, all threads together.
        depth: u32,
    },
    /// A schedule (`--rate`).
    Open(Box<OpenLoop>),
}

/// Outcome of the intended I/Os of an open loop.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpenLoop {
    /// I/Os outstanding at most, all threads together.
    pub depth: u32,
    /// Intended starts per second, all threads together.
    pub rate_iops: OfferedRate,
    /// How they follow each other.
    pub process: RateProcess,
    /// Intended starts during the measurement: the I/Os started plus the backlog.
    pub intended_starts: u64,
    /// Number of these that had not started when the measurement ended.
    pub backlog: u64,
    /// Number of started I/Os that were late because all requests were outstanding when they were due.
    pub delayed_by_depth: u64,
    /// Mean time from intended to actual start, in nanoseconds; 0 without starts.
    pub lateness_mean_ns: f64,
    /// Longest such time, in nanoseconds.
    pub lateness_max_ns: u64,
    /// Offered rate and response times over the measurement, of a rate that rises or falls (`--rate=1000..50000`), in at
    /// most 20 parts; empty for other rates.
    #[serde(default)]
    pub ramp: Vec<RampInterval>,
    /// Times from intended start to completion; null = there were no such I/Os.
    pub response_time: Directions<Option<LatencyDistribution>>,
    /// 95 % confidence intervals of the response times of all I/Os together, of their mean and percentiles only; null =
    /// neither `-L` nor `-D`, or a file of an earlier version.
    #[serde(default)]
    pub response_time_confidence: Option<HalfWidths>,
}

/// A part of a measurement whose offered rate rises or falls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RampInterval {
    /// Where it begins, in nanoseconds since the start of the measurement.
    pub start_ns: u64,
    /// Where it ends.
    pub end_ns: u64,
    /// Intended starts per second, the mean of the part.
    pub offered_iops: f64,
    /// I/Os that completed per second.
    pub iops: f64,
    /// Mean time from intended start to completion of these, in nanoseconds; null = there were none.
    pub response_mean_ns: Option<f64>,
    /// The 99th percentile of these times in nanoseconds; null for several hosts.
    pub response_p99_ns: Option<u64>,
}

/// Latencies of one target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TargetLatencies {
    /// The target's path.
    #[serde(with = "crate::path::One")]
    pub path: PathBuf,
    /// By direction; null = there were no such I/Os.
    pub latency: Directions<Option<LatencyDistribution>>,
}

/// I/O of the threads of one stream, all its targets together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StreamFigures {
    /// Its name.
    pub name: StreamName,
    /// Indices of its targets in the timespan.
    pub targets: Vec<usize>,
    /// Volumes and rates of its reads and writes.
    pub figures: Directions<Figures>,
    /// Their latencies, by direction; null without `-L`, or without such I/Os.
    pub latency: Directions<Option<LatencyDistribution>>,
}

/// Where the skewed I/Os of a target fell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SkewFigures {
    /// Index of the target in the timespan.
    pub target: usize,
    /// Its path.
    #[serde(with = "crate::path::One")]
    pub path: PathBuf,
    /// The requested skew.
    pub skew: Skew,
    /// Positions at which random I/Os can start.
    pub positions: u64,
    /// Distance between them in bytes.
    pub alignment_bytes: u64,
    /// Random I/Os started while measuring, all threads together.
    pub draws: u64,
    /// Shares of the hottest positions, ascending.
    pub hottest: Vec<HottestShare>,
    /// Positions that these I/Os touched, each counted once: exact for the 2,048 hottest, the expected number for the
    /// others, from how many I/Os fell into each group of them.
    pub touched_positions: u64,
}

/// The I/Os on the hottest positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HottestShare {
    /// Percent of the positions.
    pub positions_percent: u32,
    /// Number of these positions, rounded up.
    pub positions: u64,
    /// Percent of the I/Os that the law gives them.
    pub law_percent: f64,
    /// Percent of the I/Os that they received; null = there were none.
    pub drawn_percent: Option<f64>,
}

/// How much smaller storage can make what was written to a target, measured on a sample of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReductionFigures {
    /// Index of the target in the timespan.
    pub target: usize,
    /// Its path.
    #[serde(with = "crate::path::One")]
    pub path: PathBuf,
    /// The requested reduction.
    pub asked: Reduction,
    /// Bytes that were compressed: the first writes of each thread.
    pub sample_bytes: u64,
    /// Their size divided by that after zstd (level 3) on pieces of 128 KiB; null = nothing was written.
    pub zstd_ratio: Option<f64>,
    /// The same with LZ4.
    pub lz4_ratio: Option<f64>,
    /// Blocks of 4 KiB that were compared with each other.
    pub compared_blocks: u64,
    /// Percent of them that are equal to another one of them; null = no write was so large.
    pub equal_blocks_percent: Option<f64>,
}

/// Usage of one CPU, as percentages of the measured time.
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DistributionUse {
    /// The distribution.
    pub distribution: EffectiveDistribution,
    /// Paths in byte order, each with its threads.
    pub users: Vec<DistributionUser>,
}

/// Threads that used a distribution on one path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DistributionUser {
    /// The target's path.
    #[serde(with = "crate::path::One")]
    pub path: PathBuf,
    /// Thread numbers, ascending.
    pub threads: Vec<u32>,
}

/// I/O of one thread on one target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    /// Thread number.
    pub thread: u32,
    /// Index of the target in the timespan.
    pub target: usize,
    /// Its path.
    #[serde(with = "crate::path::One")]
    pub path: PathBuf,
    /// Size of the whole target in bytes.
    pub target_size_bytes: u64,
    /// The figures.
    pub figures: Directions<Figures>,
    // Buckets as in `LatencyDistribution`.
    /// Histogram of the latencies of reads (`-L`).
    #[serde(rename = "read_latency_histogram", with = "crate::histogram")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::histogram::Histogram"))]
    pub read_buckets: Vec<(u32, u64)>,
    /// Histogram of the latencies of writes (`-L`).
    #[serde(rename = "write_latency_histogram", with = "crate::histogram")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::histogram::Histogram"))]
    pub write_buckets: Vec<(u32, u64)>,
    /// Interval series, one entry per interval that counts, empty ones included; empty without
    /// `-D`.
    pub intervals: Vec<Directions<IntervalFigures>>,
    /// Index into `distributions`; null = none was used.
    pub distribution: Option<usize>,
}

/// System calls that submitted I/Os while measuring.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Submissions {
    /// One per thread.
    pub threads: Vec<ThreadSubmissions>,
    /// All threads, per second.
    pub total_per_s: f64,
}

/// Submissions of one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadSubmissions {
    /// Thread number.
    pub thread: u32,
    /// How many.
    pub count: u64,
    /// Per second.
    pub per_s: f64,
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

/// Sums over timespans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Totals {
    /// Sum of the measured times in nanoseconds.
    pub elapsed_ns: u64,
    /// Bytes, I/Os, rates and latency.
    pub figures: Directions<Figures>,
}
