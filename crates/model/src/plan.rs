//! The decisions about a run, made before it starts: every thread, range, buffer and engine.
//!
//! A plan is plain data. `plan` creates it, `--plan` prints it, `run` executes it.

mod open;
mod pattern;
mod target_work;

use crate::affinity::AffinityEntry;
use crate::device_guard::{DeviceBelow, LoopBacking};
use crate::engine_kind::EngineKind;
use crate::facts::{FileStamp, Fill, NewDirectory};
use crate::limits::{COUNTER_READINGS_MAX, COUNTER_STEP_NS_MIN, STORAGE_COUNTERS_MAX};
use crate::note::Note;
use crate::operation::{Operation, Shares};
use crate::profile::{EndAfter, FlushCall, FlushMode, IoPriority, RateBursts, Reduction, StreamName};
use crate::rw_flags::RwFlags;
use crate::verification::VerificationPlan;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::PathBuf;

pub use open::OpenPlan;
pub use pattern::{Area, EffectiveDistribution, EffectiveRange, Pattern, WeightedRange};
pub use target_work::TargetWork;

/// The whole run. Results have all of it but what only preparation and start need.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plan {
    /// Files created before the first timespan (XML `PrecreateFiles`).
    #[serde(skip)]
    pub precreate: Vec<Preparation>,
    /// In order of execution.
    pub time_spans: Vec<TimeSpanPlan>,
    /// Files that are deleted after the last timespan (`--delete-after`).
    #[serde(skip)]
    pub delete_after: Vec<PathBuf>,
    /// Notes on the decisions.
    pub notes: Vec<Note>,
}

impl Plan {
    /// Files that are made, in any timespan or before.
    pub fn creations(&self) -> impl Iterator<Item = &Creation> {
        let targets = self.time_spans.iter().flat_map(|span| &span.targets).map(|target| &target.preparation);
        self.precreate.iter().chain(targets).filter_map(|step| match step {
            Preparation::Create(creation) => Some(creation),
            _ => None,
        })
    }
}

/// One timespan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeSpanPlan {
    /// Warm-up in nanoseconds.
    pub warm_up_ns: u64,
    /// Measured time in nanoseconds.
    pub duration_ns: u64,
    /// Cool-down in nanoseconds.
    pub cool_down_ns: u64,
    /// Record latencies in buckets (`-L`).
    pub measure_latency: bool,
    /// Width and number of the intervals of `-D`.
    pub intervals: Option<Intervals>,
    /// Comparison of the data read with the data written (`--verify`); null = none.
    #[serde(default)]
    pub verification: Option<VerificationPlan>,
    /// Drop the targets' cached pages before the warm-up (`--cold`).
    pub cold: bool,
    /// Ends the timespan before its time.
    #[serde(default)]
    pub end_after: EndAfter,
    /// Number of writes after which a thread flushes (`--fdatasync-every`, `--fsync-every`).
    #[serde(default)]
    pub flush_after_writes: Option<u32>,
    /// How it flushes.
    #[serde(default)]
    pub flush_call: FlushCall,
    /// Print a dot per this many I/Os of a thread; 0 = off.
    pub progress_ios: u32,
    /// In the profile's order.
    pub targets: Vec<TargetPlan>,
    /// One per thread, in order of thread number.
    pub workers: Vec<WorkerPlan>,
    /// Number of shared counters for interlocked sequential targets.
    #[serde(skip)]
    pub shared_counters: usize,
    /// CPUs of the threads, in thread order, compacted; `None` with `-n`.
    pub effective_affinity: Option<Vec<AffinityEntry>>,
    /// CPUs on which `io_uring`'s kernel threads (`iou-wrk`) may run: those of `-a`, otherwise all that this process may
    /// use; `None` with `-n`, and in documents of earlier versions, where they ran on the CPU of their thread.
    #[serde(default)]
    pub io_worker_affinity: Option<Vec<AffinityEntry>>,
    /// Alignment of each I/O buffer in bytes (`-bsp`); 0 = page.
    pub buffer_separation_bytes: u64,
    /// Memory by kind.
    #[serde(skip)]
    pub memory: MemoryPlan,
}

/// The intervals of `-D`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Intervals {
    /// Width in nanoseconds.
    pub width_ns: u64,
    /// ceil(duration / width).
    pub count: u64,
}

impl Intervals {
    /// How often the kernel's counters are read during a measurement, for this number of devices and shares: at the
    /// intervals of `-D`, or once per second; less often if intervals are short or the run is long.
    pub fn of_counters(duration_ns: u64, intervals: Option<Self>, counted: usize) -> Self {
        const SECOND_NS: u64 = 1_000_000_000;
        let mut width_ns = intervals.map_or(SECOND_NS, |intervals| intervals.width_ns).max(1);
        let most = STORAGE_COUNTERS_MAX / (counted as u64).max(1);
        let most = most.clamp(COUNTER_READINGS_MIN, COUNTER_READINGS_MAX);
        while width_ns < COUNTER_STEP_NS_MIN || duration_ns.div_ceil(width_ns) > most {
            width_ns = width_ns.saturating_mul(2);
        }
        Self { width_ns, count: duration_ns.div_ceil(width_ns) }
    }
}

/// Readings of the counters that a measurement may have, however many devices there are.
const COUNTER_READINGS_MIN: u64 = 60;

/// Memory that a timespan takes, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryPlan {
    /// I/O buffers of all threads.
    pub buffers: u64,
    /// `-Z<size>` sources.
    pub write_sources: u64,
    /// Latency buckets, if every page of them were touched.
    pub latency_buckets: u64,
    /// Interval records, the series of counts, what threads keep of their section, and readings of the kernel's counters.
    pub intervals: u64,
    /// Stacks, rings and slot tables.
    pub threads: u64,
    /// The map of what each unit must hold (`--verify`), if all of it is used.
    pub verification: u64,
}

impl MemoryPlan {
    /// All kinds together.
    pub fn total(&self) -> u64 {
        [self.buffers, self.write_sources, self.latency_buckets, self.intervals, self.threads, self.verification]
            .into_iter()
            .fold(0, u64::saturating_add)
    }
}

/// A target as the threads will open it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TargetPlan {
    /// As the user wrote it: the name in reports.
    #[serde(with = "crate::path::One")]
    pub path: PathBuf,
    /// The stream that it belongs to; null = none.
    #[serde(default)]
    pub stream: Option<StreamName>,
    /// Size in bytes that offsets were planned for.
    pub size_bytes: u64,
    /// Preparation of the target before the run.
    pub preparation: Preparation,
    /// Its identity, which is compared again when it is opened.
    pub expect: Expected,
    /// How it is opened.
    pub open: OpenPlan,
    /// `-Z<size>` source shared by the threads: size in bytes and file.
    pub write_source: Option<WriteSourcePlan>,
    /// The run of several hosts that all write to it (`--shared`); absent = it is of this host alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub shared_run: Option<String>,
}

impl TargetPlan {
    /// Its length in bytes when threads open it.
    pub const fn opened_bytes(&self) -> u64 {
        match &self.preparation {
            Preparation::Create(Creation { blocks: Blocks::None, .. }) => 0,
            _ => self.size_bytes,
        }
    }
}

/// State of a target that is expected when it is opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Expected {
    /// The file that the preparation left there.
    Prepared,
    /// This file, which must have exactly the planned size after preparation.
    File(FileStamp),
    /// This block device.
    Block {
        /// Its device number.
        device: u64,
        /// Number of this use of its name since boot, if the plan writes to it.
        #[serde(default)]
        disk_sequence: Option<u64>,
        /// Its backing file or device, if the plan writes to it and it is a loop device.
        #[serde(default)]
        backing: Option<LoopBacking>,
        /// The devices below it, which must not change, if the plan writes to it.
        #[serde(default)]
        below: Vec<DeviceBelow>,
    },
    /// /dev/zero or /dev/null, whose size is the plan's.
    Character,
}

/// Preparation of a target before its timespan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Preparation {
    /// Nothing.
    Keep,
    /// An earlier entry of the plan makes this file.
    MadeBefore,
    /// The file already has the right size and contents; the plan states this, and nothing is done.
    Reuse {
        /// Which file.
        #[serde(with = "crate::path::One")]
        path: PathBuf,
    },
    /// Make it.
    Create(Creation),
}

/// A file to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Creation {
    /// Path of the file.
    #[serde(with = "crate::path::One")]
    pub path: PathBuf,
    /// How long, in bytes; for [`Blocks::None`], how long threads will make it.
    pub size_bytes: u64,
    /// The data that it is filled with.
    pub fill: Fill,
    /// How much of it is there before the threads begin.
    #[serde(default)]
    pub blocks: Blocks,
    /// The file that may be replaced; `None` = none may exist, unless an earlier entry of this
    /// plan made it.
    pub replaces: Option<FileStamp>,
    /// The directory to make with it; `None` = it exists.
    #[serde(default)]
    pub new_directory: Option<NewDirectory>,
    /// Alignment for direct writes in bytes; `None` = through the cache.
    pub direct_alignment_bytes: Option<u64>,
}

/// Blocks that a created file has before threads write to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Blocks {
    /// It is written from start to end.
    #[default]
    Written,
    /// Blocks are reserved for it, and not written (`--append=<size>,preallocate`).
    Reserved,
    /// It is empty (`--append`).
    None,
}

/// A `-Z<size>` source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WriteSourcePlan {
    /// Its size.
    pub size_bytes: u64,
    /// Its contents, repeated if shorter; `None` = random bytes from seed 0.
    #[serde(with = "crate::path")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::path::Written>"))]
    pub file: Option<PathBuf>,
    /// Pieces start at multiples of this.
    pub step_bytes: u64,
}

/// One worker thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkerPlan {
    /// Thread number, from 0.
    pub thread: u32,
    /// Kernel CPU number it is bound to; `None` = not bound.
    pub cpu: Option<u32>,
    /// How it does I/O.
    pub engine: EnginePlan,
    /// The targets it serves.
    pub targets: Vec<WorkerTarget>,
    /// How a request finds its target.
    pub assignment: Assignment,
    /// Requests outstanding at most.
    pub slots: u32,
    /// The generator is seeded with `seed` and jumped `stream` times.
    pub seed: u64,
    /// See `seed`.
    pub stream: u32,
    /// New random data for every write (`-Zr`).
    pub randomize_writes: bool,
}

impl WorkerPlan {
    /// Requests that may change data, as many as may be outstanding at once.
    pub fn writing_slots(&self) -> u32 {
        let mut writing = self.targets.iter().filter(|target| target.shares().changes_data()).peekable();
        match self.assignment {
            _ if self.engine.kind.is_one_at_a_time() => u32::from(writing.peek().is_some()),
            Assignment::Weighted if writing.peek().is_some() => self.slots,
            Assignment::Weighted | Assignment::Fixed => writing.map(|target| target.slots).sum(),
        }
    }

    /// True if, while latencies are recorded, some I/Os are timed from their submission too: those of
    /// a closed loop, which share the stamps of their batch.
    pub fn times_submissions(&self) -> bool {
        let shares_stamps = !self.engine.kind.is_one_at_a_time();
        let at_once = self.engine.ring.is_none_or(|ring| ring.batch.is_none() && !ring.submission_polling);
        let closed = |target: &WorkerTarget| target.pace == Pace::Unlimited && target.mapped.is_none();
        shares_stamps && at_once && self.targets.iter().all(closed)
    }
}

/// The engine of a thread and why it was chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EnginePlan {
    /// The engine.
    pub kind: EngineKind,
    /// A clause for `--plan`: "one request outstanding".
    pub reason: Cow<'static, str>,
    /// How its ring is used; `None` without `io_uring`.
    pub ring: Option<RingPlan>,
    /// Maximum number of completions reaped before they are counted and their requests reused (`-oc`); `None` = all
    /// available.
    pub completions_max: Option<u32>,
}

/// How a thread uses `io_uring`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RingPlan {
    /// Register the I/O buffers, as far as locked memory allows.
    pub registered_buffers: bool,
    /// Number of I/Os prepared before each submission (`-u`); `None` = all that are ready, once per loop.
    pub batch: Option<u32>,
    /// A kernel thread takes submissions (`--sqpoll`).
    pub submission_polling: bool,
    /// Completions are polled for at the device (`--iopoll`).
    pub completion_polling: bool,
}

/// How a request finds its target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Assignment {
    /// Each slot belongs to one target: the first target's requests, then the second's, ...
    /// (see [`WorkerTarget::slots`]).
    Fixed,
    /// Chosen for each I/O, by the targets' weights.
    Weighted,
}

/// I/O of one thread on one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkerTarget {
    /// Index into [`TimeSpanPlan::targets`].
    pub target: usize,
    /// Number of this thread among those of the target.
    pub relative_thread: u32,
    /// Its number of requests ([`Assignment::Fixed`]); with weights, the number of buffers for all of them.
    pub slots: u32,
    /// Share in [`Assignment::Weighted`].
    pub weight: u32,
    /// Bytes per I/O; with several sizes, the largest.
    pub block_bytes: u64,
    /// Several sizes (`--sizes`); `None` = all I/Os have `block_bytes`.
    #[serde(default)]
    pub sizes: Option<SizesPlan>,
    /// Where I/Os fall.
    pub pattern: Pattern,
    /// Percent of writes, 0..=100, of the I/Os that are neither discards nor write-zeroes.
    pub write_percent: u32,
    /// Percent of discards, of all I/Os (`--discard`).
    #[serde(default)]
    pub discard_percent: u32,
    /// Percent of write-zeroes, of all I/Os (`--write-zeroes`).
    #[serde(default)]
    pub write_zeroes_percent: u32,
    /// Content of writes.
    pub content: Content,
    /// When I/Os may be issued.
    pub pace: Pace,
    /// The target is mapped and I/Os are copies (`-Sm`).
    pub mapped: Option<MappedPlan>,
    /// Priority given to the kernel's I/O scheduler (`-I`).
    pub priority: IoPriority,
    /// Flags of each read and write: the bits of the kernel's `RWF_*`.
    #[serde(default)]
    pub rw_flags: RwFlags,
    /// I/O buffers in huge pages (`-l`).
    pub large_pages: bool,
    /// The effective distribution, for the report; `None` = uniform or sequential.
    pub effective_distribution: Option<EffectiveDistribution>,
}

/// I/Os of several sizes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SizesPlan {
    /// All sizes, ascending.
    pub sizes: Vec<SizePlan>,
    /// Throughput limit (`-g`), which counts the bytes that were drawn; `None` = none, or in I/Os.
    pub bytes_per_ms: Option<u32>,
}

/// One of several sizes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SizePlan {
    /// The size in bytes.
    pub bytes: u64,
    /// Percent of the reads that have it.
    pub read_percent: u32,
    /// Percent of the writes that have it.
    pub write_percent: u32,
    /// Percent of the discards and write-zeroes that have it.
    pub other_percent: u32,
    /// Distance between random offsets in bytes.
    pub alignment_bytes: u64,
    /// Number of random offsets, at least 1.
    pub positions: u64,
    /// Weighted ranges of random offsets; empty = uniform.
    pub ranges: Vec<WeightedRange>,
}

impl SizePlan {
    /// Percent of the I/Os of a kind that have this size.
    pub const fn percent_of(&self, operation: Operation) -> u32 {
        match operation {
            Operation::Read => self.read_percent,
            Operation::Write => self.write_percent,
            Operation::Discard | Operation::WriteZeroes => self.other_percent,
        }
    }
}

impl SizesPlan {
    /// The mean size in bytes of I/Os of a kind.
    pub fn mean_bytes(&self, operation: Operation) -> f64 {
        let part = |size: &SizePlan| size.bytes as f64 * f64::from(size.percent_of(operation)) / 100.0;
        self.sizes.iter().map(part).sum()
    }
}

impl WorkerTarget {
    /// A target for tests: one request reads blocks of 4 KiB in sequence.
    pub fn example(area: Area) -> Self {
        Self {
            target: 0,
            relative_thread: 0,
            slots: 1,
            weight: 1,
            block_bytes: 4096,
            sizes: None,
            pattern: Pattern::Sequential { area, start_bytes: 0 },
            write_percent: 0,
            discard_percent: 0,
            write_zeroes_percent: 0,
            content: Content::Ramp,
            pace: Pace::Unlimited,
            mapped: None,
            priority: IoPriority::Normal,
            rw_flags: RwFlags::NONE,
            large_pages: false,
            effective_distribution: None,
        }
    }

    /// The mean size in bytes of I/Os of a kind.
    pub fn mean_bytes(&self, operation: Operation) -> f64 {
        self.sizes.as_ref().map_or(self.block_bytes as f64, |sizes| sizes.mean_bytes(operation))
    }

    /// Shares of the operations in all I/Os.
    pub const fn shares(&self) -> Shares {
        let Self { discard_percent, write_zeroes_percent, write_percent, .. } = *self;
        Shares { discard_percent, write_zeroes_percent, write_percent }
    }

    /// True if its I/Os are those of a trace (`trace replay`).
    pub const fn is_recorded(&self) -> bool {
        matches!(self.pace, Pace::Recorded { .. })
    }

    /// True if any I/O may be of this operation.
    pub const fn does(&self, operation: Operation) -> bool {
        self.shares().does(operation)
    }

    /// True if any I/O changes what the target holds without transferring data.
    pub const fn changes_without_data(&self) -> bool {
        self.does(Operation::Discard) || self.does(Operation::WriteZeroes)
    }
}

/// How a mapped target is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MappedPlan {
    /// Copies bypass the CPU's caches (`-Smw`).
    pub non_temporal: bool,
    /// Flush after each write (`-N`); none if copies bypass the caches.
    pub flush: Option<FlushMode>,
}

/// Content of writes, by precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Bytes 00..FF repeating.
    Ramp,
    /// Zeros.
    Zero,
    /// New random bytes for every write.
    RandomEach,
    /// A random piece of the target's source.
    Source,
    /// Units that tell their place and write (`--verify`), otherwise random.
    Verified,
    /// New data for every write, which storage can compress and deduplicate.
    Reducible(Reduction),
}

/// When I/Os may be issued.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// As soon as a request is free.
    Unlimited,
    /// `-g`: the k-th I/O no earlier than k × `ios` -> `per_ns` after the start:
    /// one I/O every `interval_numerator / interval_denominator` nanoseconds, exactly.
    Throughput {
        /// Nanoseconds per I/O, numerator.
        interval_numerator: u64,
        /// Denominator.
        interval_denominator: u64,
    },
    /// `--rate`, constant: the k-th intended start, k from 0, exactly
    /// `(first_numerator + k × interval_numerator) / denominator` nanoseconds after the start. The
    /// starts of all threads and targets together are evenly spaced.
    Rate {
        /// Distance of the first intended start from the start of load, in nanoseconds, numerator.
        first_numerator: u64,
        /// Distance of intended starts from each other, in nanoseconds, numerator.
        interval_numerator: u64,
        /// Denominator of both.
        denominator: u64,
    },
    /// `--rate`, Poisson: gaps between intended starts are exponentially distributed.
    Poisson {
        /// Mean gap in nanoseconds, numerator.
        mean_numerator: u64,
        /// Denominator.
        mean_denominator: u64,
    },
    /// `--rate` that changes with time: the starts of all threads and targets together follow a curve.
    Varying {
        /// The curve.
        curve: RateCurve,
        /// The first of the starts that are made, from 1.
        first: u32,
        /// This one and every n-th after it are.
        every: u32,
        /// At random: the numbers of starts are exponentially distributed, `every` apart in the mean.
        is_poisson: bool,
    },
    /// At the times of a trace (`trace replay`), or in its order.
    Recorded {
        /// In order, as soon as a request is free.
        closed: bool,
    },
    /// `-i`, `-j`.
    Burst {
        /// I/Os per burst, at least 1.
        ios: u32,
        /// Pause after each in nanoseconds.
        pause_ns: u64,
    },
}

/// A rate of intended starts over time, of all threads together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RateCurve {
    /// From one rate to another over the measurement; the first before it, the second after it.
    Ramp {
        /// At the start of the measurement.
        from_iops: u32,
        /// At its end.
        to_iops: u32,
        /// From the start of load to the measurement, in nanoseconds.
        before_ns: u64,
        /// The measurement in nanoseconds.
        over_ns: u64,
    },
    /// Bursts, one of which begins with the measurement.
    Bursts {
        /// The mean rate.
        iops: u32,
        /// How it varies.
        bursts: RateBursts,
        /// From the start of load to the measurement, in nanoseconds.
        before_ns: u64,
    },
}

impl Pace {
    /// True if starts are intended at times that do not depend on completions.
    pub const fn is_open_loop(&self) -> bool {
        matches!(
            self,
            Self::Rate { .. } | Self::Poisson { .. } | Self::Varying { .. } | Self::Recorded { closed: false }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_at_the_intervals_or_once_per_second_but_not_too_often() {
        let ms = 1_000_000;
        let every = |duration_ms: u64, interval_ms: Option<u64>, counted| {
            let width = |width: u64| Intervals { width_ns: width * ms, count: duration_ms.div_ceil(width) };
            let found = Intervals::of_counters(duration_ms * ms, interval_ms.map(width), counted);
            (found.width_ns / ms, found.count)
        };
        assert_eq!(every(60_000, None, 0), (1000, 60));
        assert_eq!(every(60_000, None, 1), (1000, 60));
        assert_eq!(every(60_500, Some(500), 1), (500, 121));
        assert_eq!(every(1000, Some(30), 1), (120, 9));
        assert_eq!(every(86_400_000, Some(1000), 1), (64_000, 1350), "a day");
        assert_eq!(every(600_000, Some(1000), 300), (4000, 150), "many disks");
        assert_eq!(every(60_000, Some(1000), 1 << 20), (1000, 60));
    }
}
