//! Raw data of a run: counts, buckets, intervals, CPU times. `stats` computes figures from it.
//!
//! Records of several runs merge by adding counts and buckets and aligning intervals by index.

use crate::host_timing::HostTiming;
use crate::kernel_counters::{DeviceCounters, KernelCountersAround, ShareCounters};
use crate::kernel_log::KernelMessage;
use crate::note::Note;
use crate::operation::Operation;
use crate::packed_counts::PackedCounts;
use crate::replay::ReplayChanges;
use crate::units::UnixTime;
use crate::verification::VerificationFigures;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A whole run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// When the first timespan was about to start.
    pub started_at: UnixTime,
    /// One per timespan of the profile, those that were not run included.
    pub time_spans: Vec<TimeSpanRecord>,
    /// Kernel messages logged during the run, by `CLOCK_MONOTONIC`.
    pub kernel_messages: Vec<KernelMessage>,
    /// Notes on the whole run.
    pub notes: Vec<Note>,
}

/// One timespan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeSpanRecord {
    /// How it ended.
    pub outcome: Outcome,
    /// Measured time in nanoseconds; 0 if nothing was measured.
    pub elapsed_ns: u64,
    /// One per thread and target, in thread order, then target order.
    pub rows: Vec<RowRecord>,
    /// One per thread.
    pub threads: Vec<ThreadRecord>,
    /// CPU times over the measurement, one per online CPU, ascending.
    pub cpus: Vec<CpuTimes>,
    /// Counts of every 100 ms.
    pub series: SeriesRecord,
    /// Latency histograms of equal parts: the intervals of `-D`, or twentieths with `-L`; else none.
    pub sections: Vec<SectionRecord>,
    /// The kernel's own counters around the measurement; `None` if it did not begin.
    pub kernel_counters: Option<KernelCountersAround>,
    /// When the first of these were read, in nanoseconds of `CLOCK_MONOTONIC`.
    pub counted_from_ns: u64,
    /// Counters of the kernel from the start of the measurement to its end, ascending.
    pub readings: Vec<CounterReading>,
    /// Results of verification; `None` without `--verify`.
    pub verification: Option<VerificationFigures>,
    /// When its threads were started, in nanoseconds of `CLOCK_MONOTONIC`: times of verification count from here.
    pub verified_from_ns: u64,
    /// Changes to the requests of a trace (`trace replay`); `None` = I/Os were generated.
    pub replay: Option<ReplayChanges>,
    /// When it began and ended; `None` if the load did not start.
    pub timing: Option<HostTiming>,
    /// Notes for the user.
    pub notes: Vec<Note>,
}

/// The kernel's counters at one moment of a measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CounterReading {
    /// When they were read, in nanoseconds since the start of the measurement.
    pub at_ns: u64,
    /// Time of all online CPUs together since the start, about once per second; `None` in between, and if it is
    /// unknown.
    pub cpus: Option<CpuTimes>,
    /// Block devices below the targets, partitions left out, by the kernel's name; none without `-L` and `-D`.
    pub devices: BTreeMap<String, DeviceCounters>,
    /// Shares that targets are on; none without `-L` and `-D`.
    pub shares: Vec<ShareCounters>,
}

/// How a timespan ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// It was not run, because an earlier one failed or the run was stopped.
    #[default]
    NotRun,
    /// As planned.
    Completed,
    /// Ctrl+C or a stop event; measured if [`TimeSpanRecord::elapsed_ns`] is above 0.
    Stopped,
    /// An error.
    Failed {
        /// Every message, once per thread and target.
        errors: Vec<String>,
    },
}

/// I/O of one thread on one target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowRecord {
    /// Thread number.
    pub thread: u32,
    /// Index of the target in the timespan.
    pub target: usize,
    /// Reads completed while measuring.
    pub read: DirectionRecord,
    /// Writes completed while measuring.
    pub write: DirectionRecord,
    /// I/Os that transfer no data, completed while measuring, of each kind that the plan has.
    pub others: Vec<OperationRecord>,
    /// I/Os of each size, of each kind that the plan has; empty if all have one size.
    pub sizes: Vec<SizeRecord>,
    /// Non-empty intervals (`-D`), ascending.
    pub intervals: Vec<IntervalRecord>,
    /// Intended starts and response times; `None` in a closed loop.
    pub open_loop: Option<OpenLoopRecord>,
    /// Requests of a trace that were issued (`trace replay`); `None` = I/Os were generated.
    pub replay: Option<ReplayRecord>,
    /// Random offsets drawn while measuring, by stratum of the skew (`hot::skew`); empty without `--skew`.
    pub skew_draws: Vec<u64>,
    /// The first data written, warm-up included; `None` unless data that reduces is written (`--compress`, `--dedupe`).
    pub written: Option<WrittenSample>,
}

/// The first data that one thread wrote to one target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrittenSample {
    /// Write by write.
    pub bytes: Vec<u8>,
    /// A hash of each whole block of 4 KiB, of more writes than [`bytes`](Self::bytes) holds.
    pub block_hashes: Vec<u64>,
}

/// I/Os of one kind of one row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OperationRecord {
    /// Their operation.
    pub operation: Operation,
    /// How many, and their latencies; their bytes are those that were discarded or zeroed.
    pub record: DirectionRecord,
}

impl RowRecord {
    /// The latencies of all of its I/Os together, in nanoseconds.
    pub fn latency_sum_ns(&self) -> u128 {
        let others: u128 = self.others.iter().map(|other| other.record.tally.sum_ns).sum();
        self.read.tally.sum_ns + self.write.tally.sum_ns + others
    }
}

/// I/Os of one kind and size of one row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SizeRecord {
    /// Their operation.
    pub operation: Operation,
    /// Their size.
    pub size_bytes: u64,
    /// Bytes transferred: less than the size of each if some transfers were short.
    pub bytes: u64,
    /// How many, and their latencies.
    pub tally: Tally,
    /// Coarse buckets that are not empty, ascending: index (`hot::buckets::coarse`) and count. Empty without `-L`.
    pub buckets: Vec<(u32, u64)>,
}

/// Outcome of the intended I/Os of one row (`--rate`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpenLoopRecord {
    /// From intended start to completion, of reads that completed while measuring.
    pub read: TimesRecord,
    /// The same of writes.
    pub write: TimesRecord,
    /// How late I/Os were started whose starts were intended, and made, while measuring.
    pub lateness: Tally,
    /// How many of these were due while all requests were outstanding.
    pub delayed_by_depth: u64,
    /// Starts intended while measuring that were not made before its end.
    pub backlog: u64,
}

/// Requests of a trace that one row issued.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayRecord {
    /// Requests issued.
    pub issued: u64,
    /// How late they were; empty in a closed replay.
    pub lateness: TimesRecord,
    /// Flushes that ended.
    pub flushes: TimesRecord,
    /// Requests that were late as the trace was not read fast enough; of a closed replay: waits for the trace.
    pub delayed_by_reading: u64,
}

/// Times of some I/Os.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimesRecord {
    /// Their number and moments.
    pub tally: Tally,
    /// Buckets that are not empty, ascending: index (`hot::buckets`) and count.
    pub buckets: Vec<(u32, u64)>,
}

/// Flushes of one thread that ended during the measurement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlushRecord {
    /// Their times.
    pub times: TimesRecord,
    /// Writes that they covered.
    pub covered_writes: u64,
    /// Writes that ended during the measurement after the last of them.
    pub unflushed_writes: u64,
}

/// Reads or writes of one row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DirectionRecord {
    /// Completed I/Os and their latencies.
    pub tally: Tally,
    /// Bytes transferred.
    pub bytes: u64,
    /// Latency buckets that are not empty, ascending: index (`hot::buckets`) and count. Empty
    /// without `-L`.
    pub buckets: Vec<(u32, u64)>,
}

/// One interval of one row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IntervalRecord {
    /// floor((completion - start of measurement) / width).
    pub index: u64,
    /// Reads.
    pub read: Tally,
    /// Writes.
    pub write: Tally,
}

/// One thread's own counters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThreadRecord {
    /// Thread number.
    pub thread: u32,
    /// True if any of its targets has a rate or burst limit and its engine waits for completions.
    pub throttled: bool,
    /// Submissions while measuring (system calls that submitted something).
    pub submits: u64,
    /// Waits over the whole run.
    pub waits: WaitCounts,
    /// When it began to submit, in nanoseconds of `CLOCK_MONOTONIC`; `None` = it did not.
    pub started_ns: Option<u64>,
    /// How it got the CPU from the start of load to its end; `None` = unknown.
    pub cpu_wait: Option<CpuWait>,
    /// Times of some I/Os before and after their submission (`-L`); `None` where an I/O has one time only.
    pub stamp_samples: Option<StampSamples>,
    /// Its flushes (`--fdatasync-every`, `--fsync-every`).
    pub flushes: Option<FlushRecord>,
    /// Its commits: writes, each from its start to the end of the flush after it; `None` if a flush covers more than
    /// [`COMMIT_WRITES_MAX`](crate::limits::COMMIT_WRITES_MAX).
    pub commits: Option<TimesRecord>,
    /// Its rotations of files (`--append`); `None` if none are rotated.
    pub rotations: Option<Tally>,
    /// Its slowest I/Os (`-L` or `-D`), in no order.
    pub slowest: Vec<SlowIo>,
}

/// Time in which a thread was runnable but waited for a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuWait {
    /// Nanoseconds spent waiting for a CPU.
    pub wait_ns: u64,
    /// Time from the start of load to its end, in nanoseconds.
    pub of_ns: u64,
    /// How often it got a CPU.
    pub turns: u64,
}

/// The parts of the latencies of some I/Os.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StampSamples {
    /// From when the request was free to just before the submission.
    pub wait: TimesRecord,
    /// From there to when the completion was collected.
    pub submission: TimesRecord,
}

/// How a thread waited, over warm-up, measurement and cool-down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitCounts {
    /// Waits for a completion.
    pub wait: u64,
    /// Waits for a completion or the next permitted start.
    pub throttle_wait: u64,
    /// Sleeps until the next permitted start, with no I/O in flight.
    pub throttle_sleep: u64,
    /// Looks for completions without waiting.
    pub lookaside: u64,
    /// Number of waits that returned 0, 1, ... 6, 7 or more completions.
    pub wait_completions: [u64; 8],
    /// The same for lookasides.
    pub lookaside_completions: [u64; 8],
}

/// CPU time spent during the measurement, in clock ticks of /proc/stat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// Kernel CPU number.
    pub cpu: u32,
    /// user + nice
    pub user: u64,
    /// system + irq + softirq
    pub kernel: u64,
    /// idle + iowait
    pub idle: u64,
    /// Steal time.
    pub steal: u64,
}

impl CpuTimes {
    /// Time spent between two readings; CPUs that were not there in both are left out. A counter that went backwards
    /// (iowait may) counts as standing still.
    pub fn spent(before: &[Self], after: &[Self]) -> Vec<Self> {
        let spent = |after: &Self| {
            let before = before.iter().find(|before| before.cpu == after.cpu)?;
            Some(Self {
                cpu: after.cpu,
                user: after.user.saturating_sub(before.user),
                kernel: after.kernel.saturating_sub(before.kernel),
                idle: after.idle.saturating_sub(before.idle),
                steal: after.steal.saturating_sub(before.steal),
            })
        };
        after.iter().filter_map(spent).collect()
    }
}

/// Count and moments of latencies. Without `-L` and `-D` only the count is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Number of I/Os.
    pub count: u64,
    /// Sum of latencies in nanoseconds.
    pub sum_ns: u128,
    /// Sum of squared latencies in square nanoseconds.
    pub sum_squares_ns2: f64,
    /// Smallest latency in nanoseconds; meaningless if `count` is 0.
    pub min_ns: u64,
    /// Largest.
    pub max_ns: u64,
}

impl Tally {
    /// Adds another tally.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.sum_squares_ns2 += other.sum_squares_ns2;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

/// I/O of all threads on all targets in equal parts of the measurement, in order, empty parts included. A last part
/// that was not reached whole is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeriesRecord {
    /// Width of a cell in nanoseconds: 100 ms, doubled until there are at most
    /// [`SERIES_CELLS_MAX`](crate::limits::SERIES_CELLS_MAX). 0 without cells.
    pub width_ns: u64,
    /// The first begins with the measurement.
    pub cells: Vec<SeriesCell>,
}

/// One part of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeriesCell {
    /// Reads that completed in it.
    pub read: CellCounts,
    /// Writes that completed in it.
    pub write: CellCounts,
}

/// I/Os of one cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CellCounts {
    /// How many.
    pub ios: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// Sum of their latencies in nanoseconds; meaningful with `-L` and `-D` only.
    pub latency_sum_ns: u64,
}

/// I/O of all threads on all targets in one part of the measurement, with its latencies. Sections follow each other
/// without gaps from the start of the measurement to its end; the last may be shorter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SectionRecord {
    /// Where it begins, in nanoseconds since the start of the measurement.
    pub start_ns: u64,
    /// Where it ends.
    pub end_ns: u64,
    /// Reads that completed in it.
    pub read: SectionCounts,
    /// Writes that completed in it.
    pub write: SectionCounts,
    /// Their times from intended start to completion, reads and writes together; none in a closed loop.
    pub response: SectionCounts,
}

/// I/Os of one section.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SectionCounts {
    /// How many, and the moments of their latencies.
    pub tally: Tally,
    /// Bytes transferred.
    pub bytes: u64,
    /// Their latencies by coarse bucket (`hot::buckets::coarse`).
    pub histogram: PackedCounts,
}

/// An I/O that took long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlowIo {
    /// When it completed, in nanoseconds since the start of the measurement.
    pub ended_at_ns: u64,
    /// Its latency in nanoseconds. It may have begun before the measurement.
    pub latency_ns: u64,
    /// Thread number.
    pub thread: u32,
    /// Index of the target in the timespan.
    pub target: usize,
    /// True for a write.
    pub is_write: bool,
    /// Its operation; null in results of versions that knew reads and writes only.
    #[serde(default)]
    pub operation: Option<Operation>,
    /// Its offset in the target.
    pub offset_bytes: u64,
    /// How much was asked for.
    pub size_bytes: u64,
}

impl SlowIo {
    /// Its operation.
    pub fn operation(&self) -> Operation {
        self.operation.unwrap_or(if self.is_write { Operation::Write } else { Operation::Read })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_never_go_below_zero() {
        let before = [CpuTimes { cpu: 0, user: 5, kernel: 5, idle: 50, steal: 0 }];
        let after =
            [CpuTimes { cpu: 0, user: 8, kernel: 5, idle: 40, steal: 1 }, CpuTimes { cpu: 1, ..CpuTimes::default() }];
        assert_eq!(CpuTimes::spent(&before, &after), [CpuTimes { cpu: 0, user: 3, kernel: 0, idle: 0, steal: 1 }]);
    }
}
