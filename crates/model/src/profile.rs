//! The profile: what a user asks for, in the words of `DiskSpd`.
//!
//! The one description that the command line, XML profiles and the planner share. It holds what
//! was *said*, contradictions included; [`crate::validate`] finds those, and the plan holds what
//! will be *done*.

use crate::affinity::AffinityEntry;
use crate::plan::EngineKind;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

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
    /// `-Zr`: new random content for every write.
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
    /// `--max-ios`, `--max-bytes`, `--max-write`: ends before its time.
    #[serde(default)]
    pub end_after: EndAfter,
    /// `--rate`: I/Os per second that all threads together mean to start; `None` = closed loop.
    #[serde(default)]
    pub rate_iops: Option<u32>,
    /// `--rate-process`; `None` = not said (constant).
    #[serde(default)]
    pub rate_process: Option<RateProcess>,
    /// `--fdatasync-every`: a thread flushes after so many writes; `None` = never.
    #[serde(default)]
    pub flush_after_writes: Option<u32>,
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
            end_after: EndAfter::default(),
            rate_iops: None,
            rate_process: None,
            flush_after_writes: None,
            measure_latency: false,
            calculate_iops_std_dev: false,
            interval_ms: 1000,
            buffer_separation: BufferSeparation::default(),
            targets: Vec::new(),
        }
    }
}

impl TimeSpan {
    /// True if threads pick the target of each I/O anew (`-F` with `-O`).
    pub fn is_pool_with_requests(&self) -> bool {
        self.thread_count > 0 && self.request_count > 0
    }

    /// Number of threads that serve `target` (`-F`, else its own `-t`).
    pub fn threads_on(&self, target: &Target) -> u32 {
        if self.thread_count > 0 { self.thread_count } else { target.threads }
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
    /// How many I/Os are built before one submission.
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

/// One target with its own settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Target {
    /// Path as the user wrote it; may be a template (`*1`).
    #[serde(with = "crate::path")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::path::Written"))]
    pub path: PathBuf,
    /// `-b`.
    #[serde(rename = "block_size_bytes")]
    pub block_size: Bytes,
    /// `-B`.
    #[serde(rename = "base_offset_bytes")]
    pub base_offset: Bytes,
    /// `-f<size>` or `-B<base>:<length>`: exclusive end, from the start of the target; 0 = none.
    #[serde(rename = "max_offset_bytes")]
    pub max_offset: Bytes,
    /// `-c`: create with this size; `Some(0)` was said and creates nothing.
    #[serde(rename = "create_size_bytes")]
    pub create_size: Option<Bytes>,
    /// Percent of I/Os at random offsets: 0 sequential, 100 random (`-r`), else mixed (`-rs`).
    pub random_percent: u32,
    /// `-r<align>` or `-s<stride>`; `None` or 0 = block size.
    #[serde(rename = "alignment_bytes")]
    pub alignment: Option<Bytes>,
    /// `-si`.
    pub interlocked: bool,
    /// `-p`.
    pub parallel: bool,
    /// `-rd`.
    pub distribution: Option<Distribution>,
    /// `-o`.
    pub outstanding: u32,
    /// `-t`.
    pub threads: u32,
    /// `-T`.
    #[serde(rename = "thread_stride_bytes")]
    pub thread_stride: Bytes,
    /// `-w`, 0..=100.
    pub write_percent: u32,
    /// `-i`, if given.
    pub burst_ios: Option<u32>,
    /// `-j`, if given.
    pub think_time_ms: Option<u32>,
    /// `-g`.
    pub throughput: Throughput,
    /// `-Sb`, `-Su`, `-Sr`.
    pub cache_mode: CacheMode,
    /// `-Sw`.
    pub write_through: bool,
    /// `-Sm`.
    pub memory_mapped: bool,
    /// `-N`.
    pub flush: Option<FlushMode>,
    /// `-Sy`, `-SY`.
    pub bypass_io: Option<BypassIo>,
    /// `-fs`.
    pub sequential_scan_hint: bool,
    /// `-fr`.
    pub random_access_hint: bool,
    /// `-ft`.
    pub temporary_hint: bool,
    /// `-l`.
    pub large_pages: bool,
    /// `-Z`: zero write buffers.
    pub zero_write_buffers: bool,
    /// `-Z<size>[,file]`.
    pub write_source: Option<WriteSource>,
    /// `-I`.
    pub io_priority: IoPriority,
    /// XML `Weight`.
    pub weight: u32,
    /// XML `ThreadTargets`; empty = on all threads.
    pub thread_targets: Vec<ThreadTarget>,
}

impl Target {
    /// A target with every default of the command line.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            block_size: Bytes::from_kib(64),
            base_offset: Bytes(0),
            max_offset: Bytes(0),
            create_size: None,
            random_percent: 0,
            alignment: None,
            interlocked: false,
            parallel: false,
            distribution: None,
            outstanding: 2,
            threads: 1,
            thread_stride: Bytes(0),
            write_percent: 0,
            burst_ios: None,
            think_time_ms: None,
            throughput: Throughput::Unlimited,
            cache_mode: CacheMode::Cached,
            write_through: false,
            memory_mapped: false,
            flush: None,
            bypass_io: None,
            sequential_scan_hint: false,
            random_access_hint: false,
            temporary_hint: false,
            large_pages: false,
            zero_write_buffers: false,
            write_source: None,
            io_priority: IoPriority::Normal,
            weight: 1,
            thread_targets: Vec::new(),
        }
    }

    /// Alignment of random offsets, or stride of sequential ones; an unset or zero one is the
    /// block size.
    pub fn effective_alignment(&self) -> Bytes {
        match self.alignment {
            Some(alignment) if alignment.get() > 0 => alignment,
            _ => self.block_size,
        }
    }

    /// True if any I/O of this target writes.
    pub fn writes(&self) -> bool {
        self.write_percent > 0
    }

    /// True if any I/O of this target reads.
    pub fn reads(&self) -> bool {
        self.write_percent < 100
    }

    /// The size that `-c` asks for, if it creates anything.
    pub fn size_to_create(&self) -> Option<Bytes> {
        self.create_size.filter(|size| size.get() > 0)
    }

    /// True if the path is a template (`*1`), which only a profile may hold.
    pub fn is_template(&self) -> bool {
        self.path.as_os_str().as_encoded_bytes().starts_with(b"*")
    }
}

/// `-rd`: where random I/Os fall.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// `-rdpct`: lengths in percent of the target.
    Percent(Vec<DistributionRange>),
    /// `-rdabs`: lengths in bytes; 0 in the last place = to the end of the target.
    Absolute(Vec<DistributionRange>),
}

impl Distribution {
    /// The ranges, in order.
    pub fn ranges(&self) -> &[DistributionRange] {
        match self {
            Self::Percent(ranges) | Self::Absolute(ranges) => ranges,
        }
    }
}

/// One range of a distribution; it starts where the one before it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DistributionRange {
    /// Percent of the I/Os that fall here; 0 = a hole.
    pub io_percent: u32,
    /// Length in percent or bytes, by the kind of the list.
    pub length: u64,
}

/// `-g`: limit per thread and target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Throughput {
    /// No limit.
    #[default]
    Unlimited,
    /// Bytes per millisecond.
    BytesPerMs(u32),
    /// I/Os per second.
    Iops(u32),
}

/// Which caches stand between the tool and the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CacheMode {
    /// Through the file system's cache.
    #[default]
    Cached,
    /// `-Sr`: the client's cache of a network file system is off.
    NoLocalCache,
    /// `-Su`: no software cache.
    Unbuffered,
}

/// `-N`: what follows each memory mapped write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FlushMode {
    /// `-Nv`
    ViewOfFile,
    /// `-Nn`
    NonVolatileMemory,
    /// `-Ni`
    NonVolatileMemoryNoDrain,
}

/// `-Sy`, `-SY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BypassIo {
    /// `-Sy`: as far as possible.
    Partial,
    /// `-SY`: or fail.
    Full,
}

/// `-Z<size>[,file]`: where write data is taken from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WriteSource {
    /// Size of the source buffer.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// Its content, repeated if shorter; `None` = random.
    #[serde(with = "crate::path")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::path::Written>"))]
    pub file: Option<PathBuf>,
}

/// `-I`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum IoPriority {
    /// 1
    VeryLow,
    /// 2
    Low,
    /// 3
    #[default]
    Normal,
}

/// XML `ThreadTarget`: a thread that serves the target, and with which weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadTarget {
    /// Thread number, from 0.
    pub thread: u32,
    /// 0 = the target's own weight.
    pub weight: u32,
}

/// `--rate-process`: how the intended starts of an open loop follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RateProcess {
    /// At even distances.
    #[default]
    Constant,
    /// Independently of each other: gaps are exponentially distributed.
    Poisson,
}

impl RateProcess {
    /// Every process.
    pub const ALL: [Self; 2] = [Self::Constant, Self::Poisson];

    /// The word after `--rate-process`, and in output.
    pub const fn option(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Poisson => "poisson",
        }
    }

    /// The process with this word.
    pub fn from_option(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|process| process.option() == word)
    }
}

/// When a timespan ends before its time; `None` = this does not end it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EndAfter {
    /// `--max-ios`: so many I/Os were measured, by all threads together.
    pub ios: Option<u64>,
    /// `--max-bytes`: the next I/O would bring the measured bytes above this.
    pub bytes: Option<u64>,
    /// `--max-write`: the next write would bring the bytes written, warm-up included, above this.
    pub written_bytes: Option<u64>,
}

impl EndAfter {
    /// These limits, or `other`'s where there are none.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            ios: self.ios.or(other.ios),
            bytes: self.bytes.or(other.bytes),
            written_bytes: self.written_bytes.or(other.written_bytes),
        }
    }
}

impl fmt::Display for EndAfter {
    /// As options: `--max-ios=1000, --max-write=1048576`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limits = [("--max-ios", self.ios), ("--max-bytes", self.bytes), ("--max-write", self.written_bytes)];
        let given = limits.iter().filter_map(|(option, limit)| limit.map(|limit| format!("{option}={limit}")));
        f.write_str(&given.collect::<Vec<_>>().join(", "))
    }
}
