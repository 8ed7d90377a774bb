//! The top of the document, where its form is not that of the nouns: everything that holds
//! latency histograms or pairs. The parts below are the nouns themselves.

use super::histogram::{Buckets, CoarseBuckets};
use model::affinity::AffinityEntry;
use model::confidence::{FigureSteadiness, HalfWidths};
use model::course::Series;
use model::environment::{Environment, TargetEnvironment};
use model::expectation::Expectation;
use model::facts::{SystemFacts, TargetFacts};
use model::kernel_counters::KernelCountersAround;
use model::kernel_events::KernelEvents;
use model::kernel_message::KernelMessage;
use model::note::Note;
use model::plan::{EffectiveDistribution, EngineKind, Plan};
use model::preset::PresetRun;
use model::profile::{Profile, RateProcess};
use model::result::{
    CpuUsage, Directions, Ending, Figures, FlushFigures, IntervalFigures, LatencyFigures,
    MixedCores, Percentile, Summary, ThreadWaits, Tool, Totals,
};
use model::slow_io::SlowIo;
use model::verdict::Finding;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::PathBuf;

/// Everything about one run: what was asked for, on which machine, what was decided, and what was
/// measured.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Result"))]
pub(super) struct Document<'a> {
    /// Always `diskspd-result`.
    pub(super) schema: Cow<'a, str>,
    /// Version of this format. Fields may be added to a version; readers ignore those that they do
    /// not know.
    pub(super) schema_version: u32,
    /// The program that measured.
    pub(super) tool: Cow<'a, Tool>,
    /// The command line, arguments joined by single blanks, program name first.
    pub(super) command_line: Cow<'a, str>,
    /// What `--label` gave, in that order.
    pub(super) labels: Vec<Label>,
    /// The preset that the profile was made from; null = none.
    #[serde(default)]
    pub(super) preset: Option<PresetRun>,
    /// When the first timespan was about to start, in nanoseconds since 1970-01-01 00:00:00 UTC;
    /// null = unknown.
    pub(super) started_at_unix_ns: Option<i128>,
    /// What was asked for.
    pub(super) profile: Cow<'a, Profile>,
    /// The machine.
    pub(super) system: Cow<'a, SystemFacts>,
    /// More about the machine; null = it was not looked at.
    pub(super) environment: Option<Cow<'a, Environment>>,
    /// What stood at each distinct target path before the run.
    pub(super) targets: Vec<Target<'a>>,
    /// What was decided before anything was done; null = unknown, or the run was refused.
    pub(super) plan: Option<Cow<'a, Plan>>,
    /// One per timespan of the profile, those that were not run included.
    pub(super) time_spans: Vec<TimeSpan<'a>>,
    /// Sums over the measured timespans; null = there is but one, and it was not measured.
    pub(super) totals: Option<Totals>,
    /// What must be known beside the figures, about the whole run.
    pub(super) notes: Vec<Remark>,
    /// What was warned of before the run.
    pub(super) warnings: Vec<String>,
    /// Why nothing was run.
    pub(super) errors: Vec<String>,
}

/// A name and a value that `--label` gave.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Label {
    /// What stands before the `=`.
    pub(super) key: String,
    /// What stands behind it.
    pub(super) value: String,
}

/// A target path and what stood there.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "TargetFound"))]
pub(super) struct Target<'a> {
    /// The path, as the user wrote it.
    #[serde(with = "model::path")]
    #[cfg_attr(feature = "schema", schemars(with = "model::path::Written"))]
    pub(super) path: PathBuf,
    /// What was there; null = unknown.
    pub(super) facts: Option<Cow<'a, TargetFacts>>,
    /// What it stands on; null = it was not looked at.
    pub(super) environment: Option<Cow<'a, TargetEnvironment>>,
}

/// A note: its name in `note`, then what belongs to it.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Note"))]
pub(super) struct Remark {
    /// What the note says, as reports print it.
    #[serde(default)]
    pub(super) message: String,
    #[serde(flatten)]
    pub(super) note: Note,
}

/// One timespan.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "TimeSpanResult"))]
pub(super) struct TimeSpan<'a> {
    /// How it ended.
    pub(super) outcome: Ending,
    /// Errors that ended it, one message each.
    pub(super) errors: Vec<String>,
    /// What must be known beside the figures.
    pub(super) notes: Vec<Remark>,
    /// The engine of each target's threads, in target order.
    pub(super) engines: Vec<EngineKind>,
    /// Alignment of each I/O buffer in bytes; 0 = the system's default.
    pub(super) buffer_separation_bytes: u64,
    /// The figures that are asked for most; null = it ended before the measurements began.
    #[serde(default)]
    pub(super) summary: Option<Directions<Summary>>,
    /// All figures; null = it ended before the measurements began.
    pub(super) measured: Option<Figured<'a>>,
    /// The kernel's own counters around the measurement; null = they were not read.
    pub(super) kernel_counters: Option<Cow<'a, KernelCountersAround>>,
    /// Kernel events by class, and I/O at each level of storage (`-e`); null = not asked for.
    #[serde(default)]
    pub(super) kernel_events: Option<Cow<'a, KernelEvents>>,
    /// Whether the figures are what they claim to be; null = there are none, or another program
    /// measured.
    #[serde(default)]
    pub(super) verdict: Option<Judged<'a>>,
    /// How near it came to what was said of the storage (`--expect`); null = nothing was said.
    #[serde(default)]
    pub(super) expectation: Option<Cow<'a, Expectation>>,
}

/// A verdict.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Verdict"))]
pub(super) struct Judged<'a> {
    /// That of the most severe finding.
    #[serde(default)]
    pub(super) level: Level,
    /// The most severe first.
    pub(super) findings: Cow<'a, [Finding]>,
}

/// How far the figures can be trusted.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(super) enum Level {
    /// There are no findings.
    #[default]
    Ok,
    /// Notes only.
    Note,
    /// A warning.
    Warn,
    /// The figures are invalid.
    Invalid,
}

/// The figures of a timespan.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Measured"))]
pub(super) struct Figured<'a> {
    /// Measured time in nanoseconds.
    pub(super) elapsed_ns: u64,
    /// True if an error or a stop ended it before its planned time.
    pub(super) is_partial: bool,
    /// True if latencies were measured (`-L` or `-D`).
    pub(super) is_latency_run: bool,
    /// `-F`, or the number of threads.
    pub(super) thread_count: u32,
    /// `-O`; null = it was not in effect.
    pub(super) request_count: Option<u32>,
    /// Where the threads ran, in thread order; null = anywhere (`-n`).
    pub(super) effective_affinity: Option<Vec<AffinityEntry>>,
    /// P-cores and E-cores used; null = not both were.
    pub(super) mixed_cores: Option<Cow<'a, MixedCores>>,
    /// Usage of each online CPU, ascending.
    pub(super) cpus: Cow<'a, [CpuUsage]>,
    /// Mean over the CPUs; its `cpu` means nothing.
    pub(super) cpu_average: CpuUsage,
    /// Effective distributions, each once, and who used them.
    pub(super) distributions: Vec<Distribution<'a>>,
    /// One per thread and target.
    pub(super) rows: Vec<ThreadAndTarget<'a>>,
    /// All rows together.
    pub(super) total: Directions<Figures>,
    /// The interval series of all rows together; empty without `-D`.
    pub(super) intervals: Cow<'a, [Directions<IntervalFigures>]>,
    /// Latencies of each distinct path in target order, if there are several; empty without `-L`.
    pub(super) target_latencies: Vec<TargetLatencies<'a>>,
    /// Latencies of all targets together; null without `-L`.
    pub(super) total_latency: Option<Directions<Option<Latencies<'a>>>>,
    /// System calls that submitted I/Os; null if read from a text or XML without `-u`.
    pub(super) submissions: Option<Submitted>,
    /// How each thread waited; empty without `-vs`.
    pub(super) waits: Cow<'a, [ThreadWaits]>,
    /// What decided when I/Os started; null = unknown.
    #[serde(default)]
    pub(super) load_loop: Option<Loop<'a>>,
    /// Flushes; null = there were to be none (`--fdatasync-every`).
    #[serde(default)]
    pub(super) flushes: Option<FlushFigures>,
    /// Half the widths of 95 % confidence intervals; null = unknown, and of a direction: it has no I/Os, or
    /// the series has fewer than ten whole cells.
    #[serde(default)]
    pub(super) confidence: Option<Cow<'a, Directions<Option<HalfWidths>>>>,
    /// Whether the figures were the same all the time.
    #[serde(default)]
    pub(super) steadiness: FigureSteadiness,
    /// Counts of every 100 ms, all threads and targets together; of wider parts in long runs.
    #[serde(default)]
    pub(super) series: Cow<'a, Series>,
    /// Latencies of each interval (`-D`), or of each twentieth of the measurement (`-L`), all threads and
    /// targets together; empty without both.
    #[serde(default)]
    pub(super) sections: Vec<SectionOf>,
    /// The slowest I/Os, at most 100, the slowest first; empty without `-L` and `-D`.
    #[serde(default)]
    pub(super) slowest: Cow<'a, [SlowIo]>,
    /// What the kernel logged while one of these was under way, or within a second of that, in its order; at
    /// most 100.
    #[serde(default)]
    pub(super) kernel_messages: Cow<'a, [KernelMessage]>,
}

/// What all threads did to all targets in one part of the measurement. Sections follow each other without
/// gaps, from its start to its end.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Section"))]
pub(super) struct SectionOf {
    /// Where it begins, in nanoseconds since the start of the measurement.
    pub(super) start_ns: u64,
    /// Where it ends.
    pub(super) end_ns: u64,
    /// Reads that completed in it; null = there were none.
    pub(super) read: Option<SectionSide>,
    /// Writes that completed in it; null = there were none.
    pub(super) write: Option<SectionSide>,
}

/// Reads or writes of a section.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "SectionFigures"))]
pub(super) struct SectionSide {
    /// How many.
    pub(super) ios: u64,
    /// Bytes transferred.
    pub(super) bytes: u64,
    /// Moments and extremes of their latencies.
    pub(super) latency: LatencyFigures,
    /// All of their latencies.
    pub(super) histogram: CoarseBuckets,
}

/// What decides when I/Os start.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "LoadLoop"))]
#[serde(rename_all = "snake_case")]
pub(super) enum Loop<'a> {
    /// Completions.
    Closed {
        /// I/Os outstanding at most, all threads together.
        depth: u32,
    },
    /// A schedule (`--rate`).
    Open(Box<Opened<'a>>),
}

/// What became of the intended I/Os of an open loop.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "OpenLoop"))]
pub(super) struct Opened<'a> {
    /// I/Os outstanding at most, all threads together.
    pub(super) depth: u32,
    /// Intended starts per second, all threads together.
    pub(super) rate_iops: u32,
    /// How they follow each other.
    pub(super) process: RateProcess,
    /// Starts that were intended while measuring: those made and the backlog.
    pub(super) intended_starts: u64,
    /// How many of them had not been made when the measurement ended.
    pub(super) backlog: u64,
    /// How many of those made were late because all requests were outstanding when they were due.
    pub(super) delayed_by_depth: u64,
    /// Mean time from intended to real start, in nanoseconds; 0 without starts.
    pub(super) lateness_mean_ns: f64,
    /// Longest such time, in nanoseconds.
    pub(super) lateness_max_ns: u64,
    /// Times from intended start to completion; null = there were no such I/Os.
    pub(super) response_time: Directions<Option<Latencies<'a>>>,
}

/// An effective distribution and who used it.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "DistributionUse"))]
pub(super) struct Distribution<'a> {
    /// The distribution.
    pub(super) distribution: Cow<'a, EffectiveDistribution>,
    /// Paths in byte order, each with its threads.
    pub(super) users: Vec<User>,
}

/// Threads that used a distribution on one path.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "DistributionUser"))]
pub(super) struct User {
    /// The target's path.
    #[serde(with = "model::path")]
    #[cfg_attr(feature = "schema", schemars(with = "model::path::Written"))]
    pub(super) path: PathBuf,
    /// Thread numbers, ascending.
    pub(super) threads: Vec<u32>,
}

/// What one thread did to one target.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Row"))]
pub(super) struct ThreadAndTarget<'a> {
    /// Thread number.
    pub(super) thread: u32,
    /// Index of the target in the timespan.
    pub(super) target: usize,
    /// Its path.
    #[serde(with = "model::path")]
    #[cfg_attr(feature = "schema", schemars(with = "model::path::Written"))]
    pub(super) path: PathBuf,
    /// Size of the whole target in bytes.
    pub(super) target_size_bytes: u64,
    /// The figures.
    pub(super) figures: Directions<Figures>,
    /// Histogram of the latencies of reads (`-L`).
    pub(super) read_latency_histogram: Buckets,
    /// Histogram of the latencies of writes (`-L`).
    pub(super) write_latency_histogram: Buckets,
    /// Interval series, one entry per interval that counts, empty ones included; empty without
    /// `-D`.
    pub(super) intervals: Cow<'a, [Directions<IntervalFigures>]>,
    /// Index into `distributions`; null = none was used.
    pub(super) distribution: Option<usize>,
}

/// Latencies of one target.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct TargetLatencies<'a> {
    /// The target's path.
    #[serde(with = "model::path")]
    #[cfg_attr(feature = "schema", schemars(with = "model::path::Written"))]
    pub(super) path: PathBuf,
    /// By direction; null = there were no such I/Os.
    pub(super) latency: Directions<Option<Latencies<'a>>>,
}

/// Latencies of many I/Os.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "LatencyDistribution"))]
pub(super) struct Latencies<'a> {
    /// Number of I/Os.
    pub(super) count: u64,
    /// Moments and extremes.
    pub(super) figures: LatencyFigures,
    /// Percentiles, ascending.
    pub(super) percentiles: Cow<'a, [Percentile]>,
    /// Number of distinct values that were kept.
    pub(super) distinct_values: u64,
    /// All of them.
    pub(super) histogram: Buckets,
}

/// System calls that submitted I/Os while measuring.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Submissions"))]
pub(super) struct Submitted {
    /// One per thread.
    pub(super) threads: Vec<SubmittedByThread>,
    /// All threads, per second.
    pub(super) total_per_s: f64,
}

/// Submissions of one thread.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ThreadSubmissions"))]
pub(super) struct SubmittedByThread {
    /// Thread number.
    pub(super) thread: u32,
    /// How many.
    pub(super) count: u64,
    /// Per second.
    pub(super) per_s: f64,
}
