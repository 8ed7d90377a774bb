//! What a user must know beside the figures: every fallback, clamp and ignored option.

use crate::device_fault::DeviceFault;
use crate::durability::Durability;
use crate::profile::EndAfter;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// A fact about a run that is not an error; shown by every renderer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "BareNote"))]
#[serde(tag = "note", rename_all = "snake_case")]
pub enum Note {
    /// Registered buffers were wanted and the kernel refused them.
    BuffersNotRegistered {
        /// The kernel's reason.
        reason: String,
    },
    /// Another engine had to do.
    EngineFallback {
        /// The one that was wanted.
        wanted: String,
        /// The one that was used.
        used: String,
        /// Why.
        reason: String,
    },
    /// A ring set-up flag that this kernel does not know was left out.
    RingFlagsReduced {
        /// What is missing.
        missing: String,
    },
    /// The target is smaller than the maximum offset asked for.
    TargetBelowMaximum {
        /// Which target.
        #[serde(with = "crate::path")]
        #[cfg_attr(feature = "schema", schemars(with = "crate::path::Written"))]
        path: PathBuf,
        /// Its size in bytes.
        size_bytes: u64,
        /// What `-f` or `-B` asked for.
        max_offset_bytes: u64,
    },
    /// The alignment that direct I/O needs is not known.
    AlignmentAssumed {
        /// Which target.
        #[serde(with = "crate::path")]
        #[cfg_attr(feature = "schema", schemars(with = "crate::path::Written"))]
        path: PathBuf,
        /// The alignment assumed, in bytes.
        alignment_bytes: u64,
    },
    /// Other processes could only be looked for in /proc.
    OpenersSearchedInProc {
        /// Which target.
        #[serde(with = "crate::path")]
        #[cfg_attr(feature = "schema", schemars(with = "crate::path::Written"))]
        path: PathBuf,
        /// Why a lease did not do.
        reason: String,
    },
    /// A block device was written to: what was on it is lost.
    DeviceWritten {
        /// Which target.
        #[serde(with = "crate::path")]
        #[cfg_attr(feature = "schema", schemars(with = "crate::path::Written"))]
        path: PathBuf,
        /// The name that stays with the device.
        identity: String,
        /// What allowed it: an option or a file.
        allowed_by: String,
        /// What was on it, as a phrase.
        content: String,
        /// A network that other hosts may reach it by.
        network: Option<String>,
    },
    /// The hypervisor ran something else on our CPUs.
    CpuStolen {
        /// Share of all CPU time during the measurement, in hundredths of a percent.
        percent_hundredths: u32,
    },
    /// The threads could have run, and other threads had the CPUs.
    CpuAwaited {
        /// Share of the threads' time, in hundredths of a percent.
        percent_hundredths: u32,
    },
    /// CPUs were kept from sleeping states for the whole run (`--hold-latency`).
    CpuLatencyHeld,
    /// They could not be kept from them.
    CpuLatencyNotHeld {
        /// Why.
        reason: String,
    },
    /// A program that read along did not get all lines (`--live-json`).
    LiveLinesDropped {
        /// How many it did not get.
        lines: u64,
    },
    /// The process was kept from running during the measurement: stopped by a signal, most likely.
    ProcessPaused {
        /// For how long, in nanoseconds.
        pause_ns: u64,
    },
    /// The clock that latencies were taken from and the kernel's came apart.
    ClocksDisagree {
        /// By how much at the end of the run, in nanoseconds.
        deviation_ns: u64,
    },
    /// CPU times could not be read.
    CpuTimesUnknown {
        /// Why.
        reason: String,
    },
    /// I/Os that the kernel had not given back when the run ended.
    IosNeverReturned {
        /// How many.
        count: u64,
    },
    /// The run ended before its time because a limit on its I/O was reached.
    EndedByLimit {
        /// The limits.
        limits: EndAfter,
    },
    /// Intended starts (`--rate`) were late because all requests were outstanding.
    StartsDelayedByDepth {
        /// How many.
        delayed: u64,
        /// Of how many that were made.
        started: u64,
        /// I/Os outstanding at most, all threads together.
        depth: u32,
    },
    /// Intended starts (`--rate`) had not been made when the measurement ended.
    StartsNotMade {
        /// How many.
        backlog: u64,
        /// Of how many.
        intended: u64,
    },
    /// The run is so long that its series of counts has wider cells than 100 ms.
    SeriesCoarsened {
        /// How wide, in nanoseconds.
        width_ns: u64,
    },
    /// There are so many intervals (`-D`) that a latency histogram is kept of several together.
    SectionsMerged {
        /// How many.
        intervals: u64,
    },
    /// A target is not deleted, though files that this program made are.
    NotDeleted {
        /// Which target.
        #[serde(with = "crate::path")]
        #[cfg_attr(feature = "schema", schemars(with = "crate::path::Written"))]
        path: PathBuf,
        /// What it is instead.
        reason: String,
    },
    /// `io_uring` gave I/Os to kernel threads of its own (`iou-wrk`), because the target could not take
    /// them without waiting.
    IoWorkerThreads {
        /// The most that were seen at a time.
        threads: u64,
    },
    /// In a closed loop an I/O's time begins when the batch before it came back. So much of it is the
    /// program's own: the same I/Os, a sample of all, timed from their submission too.
    SlotTimes {
        /// How many were timed in both ways.
        ios: u64,
        /// Median from the batch before, as reported.
        slot_p50_ns: u64,
        /// 99th percentile of these.
        slot_p99_ns: u64,
        /// Median from the submission.
        submission_p50_ns: u64,
        /// 99th percentile of these.
        submission_p99_ns: u64,
    },
    /// An option that has no effect on Linux.
    OptionWithoutEffect {
        /// The option.
        option: String,
        /// Why.
        reason: String,
    },
    /// Transfers shorter than the block.
    ShortTransfers {
        /// Which target.
        #[serde(with = "crate::path")]
        #[cfg_attr(feature = "schema", schemars(with = "crate::path::Written"))]
        path: PathBuf,
        /// How many.
        count: u64,
    },
    /// How writes with `-Sw` became durable on a device, by its own counters over the measurement.
    WritesMadeDurable {
        /// The kernel's name of the device.
        device: String,
        /// What its counters and properties amount to.
        how: Durability,
        /// Writes of this run that had to become durable there.
        write_count: u64,
        /// Flushes that the device completed, whoever asked for them.
        flush_count: u64,
        /// Mean time of such a flush, in microseconds.
        flush_mean_us: Option<u64>,
    },
    /// How writes with `-Sw` became durable cannot be told.
    DurabilityUnknown {
        /// Which target.
        #[serde(with = "crate::path")]
        #[cfg_attr(feature = "schema", schemars(with = "crate::path::Written"))]
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The kernel's log told of trouble with a device below a target, from the start of the run to
    /// its end.
    DeviceFaultsLogged {
        /// The kernel's name of the device.
        device: String,
        /// Of what sort.
        fault: DeviceFault,
        /// How many messages. The kernel leaves some out if there are many.
        count: u64,
        /// The first of them.
        first: String,
    },
    /// A device below a target counted errors from the start of the run to its end.
    DeviceErrorsCounted {
        /// The kernel's name of the device.
        device: String,
        /// Where the counter is below the device's directory in /sys.
        counter: String,
        /// How much it rose.
        count: u64,
    },
    /// What a result that was read from elsewhere does not tell.
    NotInSource {
        /// Where it was read from: "text of `DiskSpd` 2.0.17".
        source: String,
        /// What is missing, as a list in words.
        missing: String,
    },
    /// A note that was read from a report, in its words.
    Verbatim {
        /// The words.
        text: String,
    },
}

impl fmt::Display for Note {
    #[expect(clippy::too_many_lines, reason = "a list: one sentence for each note")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuffersNotRegistered { reason } => {
                write!(f, "I/O buffers are not registered with io_uring: {reason}")
            }
            Self::EngineFallback { wanted, used, reason } => write!(f, "{used} is used instead of {wanted}: {reason}"),
            Self::RingFlagsReduced { missing } => write!(f, "this kernel's io_uring lacks {missing}"),
            Self::TargetBelowMaximum { path, size_bytes, max_offset_bytes } => write!(
                f,
                "'{}' has {size_bytes} bytes, less than the maximum offset {max_offset_bytes}; its size is used",
                path.display()
            ),
            Self::AlignmentAssumed { path, alignment_bytes } => write!(
                f,
                "the alignment that direct I/O needs on '{}' is not known; {alignment_bytes} bytes assumed",
                path.display()
            ),
            Self::OpenersSearchedInProc { path, reason } => write!(
                f,
                "the kernel could not tell whether another process has '{}' open ({reason}): /proc, swap and loop devices \
                 were searched, where processes of other containers and other hosts are not seen",
                path.display()
            ),
            Self::DeviceWritten { path, identity, allowed_by, content, network } => {
                write!(
                    f,
                    "the block device '{}' ({identity}) is written to, as {allowed_by} allows; before, it held {content}",
                    path.display()
                )?;
                match network {
                    Some(network) => write!(f, "; whether other hosts use it by {network} cannot be seen"),
                    None => Ok(()),
                }
            }
            Self::CpuStolen { percent_hundredths } => cpu_stolen(f, *percent_hundredths),
            Self::CpuAwaited { percent_hundredths } => cpu_awaited(f, *percent_hundredths),
            Self::CpuLatencyHeld => {
                f.write_str("CPUs were kept from sleeping states for the whole run (--hold-latency)")
            }
            Self::CpuLatencyNotHeld { reason } => {
                write!(f, "CPUs could not be kept from sleeping states (--hold-latency): {reason}")
            }
            Self::LiveLinesDropped { lines } => {
                write!(f, "--live-json: {lines} lines were dropped, because their reader did not take them in time")
            }
            Self::ProcessPaused { pause_ns } => process_paused(f, *pause_ns),
            Self::ClocksDisagree { deviation_ns } => clocks_disagree(f, *deviation_ns),
            Self::CpuTimesUnknown { reason } => write!(f, "CPU times are unknown: {reason}"),
            Self::IosNeverReturned { count } => {
                write!(f, "{count} I/Os had not come back from the kernel when the run ended; they are not counted")
            }
            Self::EndedByLimit { limits } => write!(f, "the run ended before its time, as {limits} asks"),
            Self::StartsDelayedByDepth { delayed, started, depth } => starts_delayed(f, *delayed, *started, *depth),
            Self::StartsNotMade { backlog, intended } => starts_not_made(f, *backlog, *intended),
            Self::SeriesCoarsened { width_ns } => {
                write!(f, "the run is long: its series of counts has cells of {} ms", width_ns / 1_000_000)
            }
            Self::SectionsMerged { intervals } => {
                write!(
                    f,
                    "there are many intervals (-D): each latency histogram is that of {intervals} of them together"
                )
            }
            Self::NotDeleted { path, reason } => {
                write!(f, "'{}' is not deleted (--delete-after): {reason}", path.display())
            }
            Self::IoWorkerThreads { threads } => {
                let were = if *threads == 1 { "thread" } else { "threads" };
                write!(
                    f,
                    "io_uring gave I/Os to {threads} kernel {were} of its own, because the target could not take them \
                     without waiting"
                )
            }
            Self::SlotTimes { ios, slot_p50_ns, slot_p99_ns, submission_p50_ns, submission_p99_ns } => {
                slot_times(f, *ios, [*slot_p50_ns, *slot_p99_ns], [*submission_p50_ns, *submission_p99_ns])
            }
            Self::OptionWithoutEffect { option, reason } => write!(f, "{option} has no effect: {reason}"),
            Self::ShortTransfers { path, count } => {
                write!(f, "{count} transfers on '{}' were shorter than the block size", path.display())
            }
            Self::WritesMadeDurable { device, how, write_count, flush_count, flush_mean_us } => {
                let how = how.words();
                write!(f, "-Sw on {device}: {how}; {write_count} writes, {flush_count} flushes")?;
                flush_mean_us.map_or(Ok(()), |us| write!(f, " of {}.{:03} ms on average", us / 1000, us % 1000))
            }
            Self::DurabilityUnknown { path, reason } => {
                write!(f, "-Sw on '{}': how writes became durable cannot be told: {reason}", path.display())
            }
            Self::DeviceFaultsLogged { device, fault, count, first } => {
                let fault = fault.words();
                write!(f, "{device} had {fault} during the run, {count} in the kernel's log, the first: {first}")
            }
            Self::DeviceErrorsCounted { device, counter, count } => {
                write!(f, "{device} counted errors during the run: {counter} rose by {count}")
            }
            Self::NotInSource { source, missing } => write!(f, "read from {source}, which does not tell {missing}"),
            Self::Verbatim { text } => f.write_str(text),
        }
    }
}

/// Median and 99th percentile in nanoseconds, taken in both ways.
fn slot_times(f: &mut fmt::Formatter<'_>, ios: u64, slot_ns: [u64; 2], submission_ns: [u64; 2]) -> fmt::Result {
    let ([slot_p50, slot_p99], [submission_p50, submission_p99]) =
        (slot_ns.map(|ns| ns as f64 / 1e6), submission_ns.map(|ns| ns as f64 / 1e6));
    write!(
        f,
        "latencies begin when the batch before came back: p50 {slot_p50:.4} ms, p99 {slot_p99:.4} ms; from their \
         submission the same I/Os took p50 {submission_p50:.4} ms, p99 {submission_p99:.4} ms (a sample of {ios})"
    )
}

fn cpu_stolen(f: &mut fmt::Formatter<'_>, percent_hundredths: u32) -> fmt::Result {
    write!(
        f,
        "the hypervisor took {}.{:02}% of the CPU time during the measurement (steal); it is in no column",
        percent_hundredths / 100,
        percent_hundredths % 100
    )
}

fn process_paused(f: &mut fmt::Formatter<'_>, pause_ns: u64) -> fmt::Result {
    write!(
        f,
        "the process did not run for {:.1} s of the measurement (stopped by a signal, or no CPU was given to it); \
         rates are over the whole time, and latencies include the pause",
        pause_ns as f64 / 1e9
    )
}

fn cpu_awaited(f: &mut fmt::Formatter<'_>, percent_hundredths: u32) -> fmt::Result {
    write!(
        f,
        "the threads waited for a CPU for {}.{:02}% of their time; latencies include that",
        percent_hundredths / 100,
        percent_hundredths % 100
    )
}

fn starts_delayed(f: &mut fmt::Formatter<'_>, delayed: u64, started: u64, depth: u32) -> fmt::Result {
    write!(
        f,
        "{delayed} of {started} I/Os could not start on time because all {depth} requests (-o) were outstanding: \
         response time is limited by this program's depth"
    )
}

fn starts_not_made(f: &mut fmt::Formatter<'_>, backlog: u64, intended: u64) -> fmt::Result {
    write!(
        f,
        "{backlog} of {intended} intended starts had not been made when the measurement ended; response times do not \
         hold what these have waited"
    )
}

fn clocks_disagree(f: &mut fmt::Formatter<'_>, deviation_ns: u64) -> fmt::Result {
    write!(
        f,
        "the processor's time stamp counter and the kernel's clock came apart by {:.3} ms during the run; \
         rates and latencies may be as wrong",
        deviation_ns as f64 / 1e6
    )
}
