//! The profile: the load that a user requests, in the terms of `DiskSpd`.
//!
//! The one description that the command line, XML profiles and the planner share. It holds the request as given,
//! contradictions included; the module `validate` finds those, and the plan holds the decisions.

mod append;
mod rate;
mod reduction;
mod sizes;
mod skew;
mod stream;
mod target;

use crate::affinity::AffinityEntry;
use crate::engine_kind::EngineKind;
use crate::limits::TARGETS_MAX;
use crate::replay::Replay;
use serde::{Deserialize, Serialize};
use std::fmt;

pub use append::{Append, Rotation};
pub use rate::{OfferedRate, RateBursts, RateProcess};
pub use reduction::Reduction;
pub use sizes::{SizeMix, SizeShare};
pub use skew::{Skew, SkewLaw};
pub use stream::StreamName;
pub use target::{
    BypassIo, CacheMode, Distribution, DistributionRange, FlushMode, IoPriority, Target, ThreadTarget, Throughput,
    WriteSource,
};

/// Everything one invocation asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Profile {
    /// Run in this order; the command line makes exactly one.
    pub time_spans: Vec<TimeSpan>,
    /// `-v`: progress messages.
    pub verbose: bool,
    /// `-vs`: wait statistics.
    pub verbose_stats: bool,
    /// `-P`: one dot per this many completed I/Os of a thread; 0 = off.
    pub progress_ios: u32,
    /// `-:`: experiment mask.
    pub experiment_flags: u32,
    /// `-R`.
    pub result_format: ResultFormat,
    /// XML `PrecreateFiles`.
    pub precreate_files: Option<PrecreateFiles>,
    /// `-e`: kernel event classes to record.
    pub tracing: Option<Tracing>,
}

/// Form of the result document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ResultFormat {
    /// `DiskSpd`'s text report.
    #[default]
    Text,
    /// `DiskSpd`'s XML results.
    Xml,
}

/// Which files are created before the first timespan (XML only).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PrecreateFiles {
    /// Every path with its largest size.
    UseMaxSize,
    /// Only paths whose sizes are all equal and none 0.
    OnlyConstantSizes,
    /// Only paths whose nonzero sizes are all equal.
    OnlyConstantOrZeroSizes,
}

/// `-e`: kernel event classes and time source, as twelve independent switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tracing {
    /// `-ePROCESS`
    pub process: bool,
    /// `-eTHREAD`
    pub thread: bool,
    /// `-eIMAGE_LOAD`
    pub image_load: bool,
    /// `-eDISK_IO`
    pub disk_io: bool,
    /// `-eMEMORY_PAGE_FAULTS`
    pub memory_page_faults: bool,
    /// `-eMEMORY_HARD_FAULTS`
    pub memory_hard_faults: bool,
    /// `-eNETWORK`
    pub network: bool,
    /// `-eREGISTRY`
    pub registry: bool,
    /// `-ep`
    pub use_paged_memory: bool,
    /// `-eq`
    pub use_perf_timer: bool,
    /// `-es`
    pub use_system_timer: bool,
    /// `-ec`
    pub use_cycles_counter: bool,
}

/// One stretch of load with its own durations, threads and targets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeSpan {
    /// `-d`: measured time in seconds.
    pub duration_s: u32,
    /// `-W`: warm-up in seconds.
    pub warm_up_s: u32,
    /// `-C`: cool-down in seconds.
    pub cool_down_s: u32,
    /// `-z`.
    pub random_seed: u32,
    /// `-Zr`: new random data for every write.
    pub random_write_data: bool,
    /// `-F`: total threads, every one serving every target; 0 = threads per target.
    pub thread_count: u32,
    /// `-O`: outstanding I/Os per thread, target chosen per I/O; 0 = off.
    pub request_count: u32,
    /// `-n`, `-a`.
    pub affinity: Affinity,
    /// `-x`.
    pub completion_routines: bool,
    /// `-u`.
    pub io_ring: Option<IoRing>,
    /// `-oc`, if given.
    pub completion_depth: Option<u32>,
    /// `--engine`: every thread uses this one, or the run fails.
    pub engine: Option<EngineKind>,
    /// `--sqpoll`.
    pub submission_polling: bool,
    /// `--iopoll`.
    pub completion_polling: bool,
    /// `--cold`: the targets' cached pages are dropped before the warm-up.
    pub cold: bool,
    /// `--near-device`: threads run on the NUMA node of their targets' disks.
    #[serde(default)]
    pub near_device: bool,
    /// `--atime`: I/O changes access times.
    #[serde(default)]
    pub access_times: bool,
    /// `--max-ios`, `--max-bytes`, `--max-write`: ends before its time.
    #[serde(default)]
    pub end_after: EndAfter,
    /// The requests of a trace in place of generated ones (`diskspd trace replay`); null = none.
    #[serde(default)]
    pub replay: Option<Replay>,
    /// `--rate`: intended I/Os per second of all threads together; `None` = closed loop.
    #[serde(default)]
    pub rate_iops: Option<OfferedRate>,
    /// `--rate-process`; `None` = not said (constant).
    #[serde(default)]
    pub rate_process: Option<RateProcess>,
    /// `--fdatasync-every`: a thread flushes after this many writes; `None` = never.
    #[serde(default)]
    pub flush_after_writes: Option<u32>,
    /// `--fsync-every`: the same with fsync.
    #[serde(default)]
    pub fsync_after_writes: Option<u32>,
    /// `--verify`: what is read is compared with what was written.
    #[serde(default)]
    pub verify: bool,
    /// `--verify-stop`: corrupt units that end the run; `None` = none do.
    #[serde(default)]
    pub verify_stop: Option<u64>,
    /// `-L`.
    pub measure_latency: bool,
    /// `-D`.
    pub calculate_iops_std_dev: bool,
    /// Width of a `-D` interval in milliseconds.
    pub interval_ms: u32,
    /// `-bs`.
    pub buffer_separation: BufferSeparation,
    /// At least one after validation.
    pub targets: Vec<Target>,
}

impl Default for TimeSpan {
    fn default() -> Self {
        Self {
            duration_s: 10,
            warm_up_s: 5,
            cool_down_s: 0,
            random_seed: 0,
            random_write_data: false,
            thread_count: 0,
            request_count: 0,
            affinity: Affinity::default(),
            completion_routines: false,
            io_ring: None,
            completion_depth: None,
            engine: None,
            submission_polling: false,
            completion_polling: false,
            cold: false,
            near_device: false,
            access_times: false,
            end_after: EndAfter::default(),
            replay: None,
            rate_iops: None,
            rate_process: None,
            flush_after_writes: None,
            fsync_after_writes: None,
            verify: false,
            verify_stop: None,
            measure_latency: false,
            calculate_iops_std_dev: false,
            interval_ms: 1000,
            buffer_separation: BufferSeparation::default(),
            targets: Vec::new(),
        }
    }
}

/// The system call that makes what was written durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FlushCall {
    /// Data, and what is needed to read it.
    #[default]
    Fdatasync,
    /// Data and all metadata of the file.
    Fsync,
}

impl FlushCall {
    /// The name of the call.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fdatasync => "fdatasync",
            Self::Fsync => "fsync",
        }
    }

    /// The option that requests it.
    pub const fn option(self) -> &'static str {
        match self {
            Self::Fdatasync => "--fdatasync-every",
            Self::Fsync => "--fsync-every",
        }
    }
}

impl TimeSpan {
    /// After how many writes a thread flushes, and how; `None` = never.
    pub fn flushes(&self) -> Option<(u32, FlushCall)> {
        let call = |writes: Option<u32>, call| Some((writes?, call));
        call(self.flush_after_writes, FlushCall::Fdatasync).or_else(|| call(self.fsync_after_writes, FlushCall::Fsync))
    }

    /// True if the intended rate of starts varies over time.
    pub fn varies_rate(&self) -> bool {
        self.replay.is_some()
            || self.rate_iops.is_some_and(OfferedRate::is_ramp)
            || matches!(self.rate_process, Some(RateProcess::Bursts(_)))
    }

    /// Settings that results of versions before 2.3 leave out, as those versions had only one value for them; the rest
    /// is as by default.
    pub fn of_results() -> Self {
        Self {
            buffer_separation: BufferSeparation::SystemDefault,
            affinity: Affinity { efficiency: Some(EfficiencyOrder::Unordered), ..Affinity::default() },
            ..Self::default()
        }
    }

    /// True if threads pick the target of each I/O again (`-F` with `-O`).
    pub fn is_pool_with_requests(&self) -> bool {
        self.thread_count > 0 && self.request_count > 0
    }

    /// Number of threads that serve `target` (`-F`, else its own `-t`).
    pub fn threads_on(&self, target: &Target) -> u32 {
        if self.thread_count > 0 { self.thread_count } else { target.threads }
    }

    /// I/Os that each thread on a target issues per burst (`-i`), at least 1, and the pause after them in milliseconds
    /// (`-j`); `None` = no bursts. A rate of its own takes their place.
    pub fn burst_on(&self, target: &Target) -> Option<(u32, u32)> {
        let (ios, pause_ms) = target.burst_ios.zip(target.think_time_ms)?;
        let listed = target.thread_targets.len() as u32;
        let sharers = if self.thread_count > 0 && listed > 0 { listed } else { self.threads_on(target) };
        (ios > 0 && pause_ms > 0).then(|| ((ios / sharers.max(1)).max(1), pause_ms))
    }

    /// The streams in the order of their first targets, each with the indices of its targets.
    pub fn streams(&self) -> Vec<(&StreamName, Vec<usize>)> {
        let mut streams: Vec<(&StreamName, Vec<usize>)> = Vec::new();
        for (index, target) in self.targets.iter().enumerate() {
            let Some(name) = &target.stream else { continue };
            match streams.iter_mut().find(|(known, _)| *known == name) {
                Some((_, targets)) => targets.push(index),
                None => streams.push((name, vec![index])),
            }
        }
        streams
    }

    /// The error if there are too many targets to check any of them.
    pub fn too_many_targets(&self) -> Option<String> {
        let targets = self.targets.len();
        (targets > TARGETS_MAX).then(|| {
            format!(
                "too many targets: {targets} (maximum {TARGETS_MAX} per timespan): use fewer and larger targets, or \
                 several timespans"
            )
        })
    }
}

/// Thread placement: `-n` and every form of `-a`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Affinity {
    /// `-n`.
    pub disabled: bool,
    /// `-ac`; `None` = not said (CPU order).
    pub traversal: Option<Traversal>,
    /// `-as`; `None` = not said (fill).
    pub group_span: Option<GroupSpan>,
    /// `-ap -aP -ae -aE -aup`; `None` = not said (P-cores first in each pass).
    pub efficiency: Option<EfficiencyOrder>,
    /// Listed CPUs in specification order; empty = all.
    pub listed: Vec<AffinityEntry>,
}

/// Order of CPUs inside a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Traversal {
    /// Ascending CPU numbers.
    #[default]
    Cpu,
    /// First threads of all cores, then second threads.
    CoreAware,
}

/// How groups are filled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum GroupSpan {
    /// One group completely, then the next.
    #[default]
    Fill,
    /// Each pass and class across all groups.
    Span,
}

/// Order of performance and efficiency cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EfficiencyOrder {
    /// `-aup`: no order.
    Unordered,
    /// `-ap`: P first in each pass.
    #[default]
    PerformanceFirst,
    /// `-ae`: E first in each pass.
    EfficiencyFirst,
    /// `-aP`: all P passes before any E.
    FillPerformanceFirst,
    /// `-aE`: all E passes before any P.
    FillEfficiencyFirst,
}

/// `-u[n][<batch>[p]]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IoRing {
    /// Number of I/Os prepared before each submission.
    pub batch: IoRingBatch,
    /// False with `n`.
    pub registered_buffers: bool,
}

/// Submission batch of `-u`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum IoRingBatch {
    /// 1..=100 percent of the thread's outstanding requests.
    Percent(u32),
    /// 1..=65536 I/Os.
    Count(u32),
}

impl Default for IoRing {
    fn default() -> Self {
        Self { batch: IoRingBatch::Percent(25), registered_buffers: true }
    }
}

/// `-bs`: placement of I/O buffers in virtual memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BufferSeparation {
    /// `-bsn`: wherever the allocator puts them.
    SystemDefault,
    /// `-bsp`: no two buffers share a cache line of page-directory entries.
    #[default]
    ThreadOptimized,
}

/// When a timespan ends before its time; `None` = this does not end it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EndAfter {
    /// `--max-ios`: this many I/Os were measured, over all threads.
    pub ios: Option<u64>,
    /// `--max-bytes`: the next I/O would bring the measured bytes above this.
    pub bytes: Option<u64>,
    /// `--max-write`: the next write would bring the bytes written, warm-up included, above this.
    pub written_bytes: Option<u64>,
}

impl fmt::Display for EndAfter {
    /// As options: `--max-ios=1000, --max-write=1048576`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limits = [("--max-ios", self.ios), ("--max-bytes", self.bytes), ("--max-write", self.written_bytes)];
        let given = limits.iter().filter_map(|(option, limit)| limit.map(|limit| format!("{option}={limit}")));
        f.write_str(&given.collect::<Vec<_>>().join(", "))
    }
}
