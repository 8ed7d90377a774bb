//! Notes of a run: every fallback, clamp, lost sample and ignored option.

use crate::durability::Durability;
use crate::facts::NewDirectory;
use crate::kernel_log::DeviceFault;
use crate::profile::EndAfter;
use crate::units::{Bytes, counted, latency};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

/// A note: its name in `note`, then its fields.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Note"))]
pub(crate) struct Remark<'a> {
    /// The text of the note, as in reports.
    #[cfg_attr(feature = "schema", serde(default))]
    message: String,
    #[serde(flatten)]
    note: Cow<'a, Note>,
}

/// Notes in documents, each with its text; for `#[serde(serialize_with)]`.
pub(crate) fn with_messages<S: Serializer>(notes: &[Note], serializer: S) -> Result<S::Ok, S::Error> {
    let remark = |note| Remark { message: Note::to_string(note), note: Cow::Borrowed(note) };
    serializer.collect_seq(notes.iter().map(remark))
}

/// A fact about a run that is not an error; shown by every renderer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "BareNote"))]
#[serde(tag = "note", rename_all = "snake_case")]
pub enum Note {
    /// Registered buffers were requested, but the kernel refused them.
    BuffersNotRegistered {
        /// The kernel's reason.
        reason: String,
    },
    /// Registered buffers of all threads exceed the limit on locked memory.
    BuffersBeyondLockLimit {
        /// Threads whose buffers are not registered.
        threads: u32,
        /// Of how many.
        of_threads: u32,
        /// Bytes of all rings and buffers.
        needed_bytes: u64,
        /// The limit in bytes, which holds for all processes of the user together; null = unknown.
        limit_bytes: Option<u64>,
    },
    /// Another engine was used.
    EngineFallback {
        /// The requested engine.
        wanted: String,
        /// The engine that was used.
        used: String,
        /// The reason, as a clause.
        reason: String,
    },
    /// A ring setup flag was left out because this kernel does not support it.
    RingFlagsReduced {
        /// The missing flags.
        missing: String,
    },
    /// The target is smaller than the requested maximum offset.
    TargetBelowMaximum {
        /// Which target.
        #[serde(with = "crate::path::One")]
        path: PathBuf,
        /// Its size in bytes.
        size_bytes: u64,
        /// The maximum offset from `-f` or `-B`.
        max_offset_bytes: u64,
    },
    /// The size of a target is no multiple of its blocks: its end is neither read nor written.
    EndNotReached {
        /// Which target.
        #[serde(with = "crate::path::One")]
        path: PathBuf,
        /// Bytes at its end.
        bytes: u64,
    },
    /// The alignment required for direct I/O is unknown.
    AlignmentAssumed {
        /// Which target.
        #[serde(with = "crate::path::One")]
        path: PathBuf,
        /// The alignment assumed, in bytes.
        alignment_bytes: u64,
    },
    /// Other processes could only be searched in /proc.
    OpenersSearchedInProc {
        /// Which target.
        #[serde(with = "crate::path::One")]
        path: PathBuf,
        /// Why a lease could not be used.
        reason: String,
    },
    /// The directory of a new file did not exist.
    DirectoryCreated {
        /// The directory.
        directory: NewDirectory,
    },
    /// A block device was written to: its previous contents are lost.
    DeviceWritten {
        /// Which target.
        #[serde(with = "crate::path::One")]
        path: PathBuf,
        /// The persistent identifier of the device.
        identity: String,
        /// Option or file that allowed it.
        allowed_by: String,
        /// Its previous contents, as a phrase.
        content: String,
        /// A network through which other hosts may access it.
        network: Option<String>,
    },
    /// Steal time: the hypervisor ran something else on the CPUs.
    CpuStolen {
        /// Share of the time of the CPUs that threads ran on during the measurement, in hundredths of a percent.
        percent_hundredths: u32,
    },
    /// The threads were runnable but waited for a CPU.
    CpuAwaited {
        /// Share of the threads' time, in hundredths of a percent.
        percent_hundredths: u32,
        /// Mean wait before a thread got a CPU, in nanoseconds; null in files of older versions.
        #[serde(default)]
        turn_ns: Option<u64>,
    },
    /// CPUs were kept out of idle states for the whole run (`--hold-latency`).
    CpuLatencyHeld,
    /// CPUs could not be kept out of idle states.
    CpuLatencyNotHeld {
        /// The reason, as a clause.
        reason: String,
    },
    /// The reader of `--live-json` was too slow and missed lines.
    LiveLinesDropped {
        /// Number of dropped lines.
        lines: u64,
    },
    /// The trace of the I/Os (`--trace`) lacks some, as they could not be written down in time.
    TraceIncomplete {
        /// Number of missing I/Os.
        ios: u64,
    },
    /// The process did not run for a while during the measurement, most likely because a signal stopped it.
    ProcessPaused {
        /// For how long, in nanoseconds.
        pause_ns: u64,
        /// The part of it that lasted to the end of the measurement: I/Os that it delayed completed after the end.
        #[serde(default)]
        at_end_ns: u64,
    },
    /// The CPU's time counter, which latencies are measured with, drifted from the kernel clock.
    ClocksDisagree {
        /// Difference at the end of the run, in nanoseconds.
        deviation_ns: u64,
    },
    /// The clock that latencies are measured with advances in large steps.
    ClockSteps {
        /// By how much, in nanoseconds.
        step_ns: u64,
    },
    /// CPU times could not be read.
    CpuTimesUnknown {
        /// The reason, as a clause.
        reason: String,
    },
    /// I/Os that had not completed when the run ended.
    IosNeverReturned {
        /// How many.
        count: u64,
    },
    /// I/Os that were outstanding at the end took long to complete: the target was slow for this queue depth.
    QueueDrainedLate {
        /// How long the run waited for them, in nanoseconds.
        drain_ns: u64,
        /// I/Os outstanding at the end.
        outstanding: u64,
        /// I/Os that had not completed when the wait ended; they are not counted.
        left: u64,
    },
    /// The run ended early because a limit on its I/O was reached.
    EndedByLimit {
        /// The limits.
        limits: EndAfter,
    },
    /// The run ended early because corrupt units were found (`--verify-stop`).
    EndedByVerification {
        /// How many.
        units: u64,
    },
    /// The map of verified units is too large for the memory.
    VerificationWithoutMap {
        /// Memory that it needs, in bytes.
        needed_bytes: u64,
        /// The memory that is available, in bytes.
        available_bytes: u64,
    },
    /// Intended starts (`--rate`) were late because all requests were outstanding.
    StartsDelayedByDepth {
        /// How many.
        delayed: u64,
        /// Number of starts that were made.
        started: u64,
        /// I/Os outstanding at most, all threads together.
        depth: u32,
    },
    /// Intended I/Os (`--rate`) had not started when the measurement ended.
    StartsNotMade {
        /// How many.
        backlog: u64,
        /// Of how many.
        intended: u64,
    },
    /// The run is so long that its time series has buckets wider than 100 ms.
    SeriesCoarsened {
        /// Bucket width in nanoseconds.
        width_ns: u64,
    },
    /// There are so many intervals (`-D`) that each latency histogram covers several of them.
    SectionsMerged {
        /// How many.
        intervals: u64,
    },
    /// A target is not deleted (`--delete-after`).
    NotDeleted {
        /// Which target.
        #[serde(with = "crate::path::One")]
        path: PathBuf,
        /// Why it is not deleted.
        reason: String,
    },
    /// `io_uring` passed I/Os to kernel worker threads (`iou-wrk`), because submitting them to the target
    /// would have blocked.
    IoWorkerThreads {
        /// Largest number seen at one time.
        threads: u64,
        /// CPU time that they used during the measurement, in milliseconds; null = unknown.
        #[serde(default)]
        cpu_time_ms: Option<u64>,
    },
    /// In a closed loop a latency begins when its request was free. How much of it is from the submission on, by a
    /// sample of the I/Os.
    InFlight {
        /// Number of I/Os in the sample.
        ios: u64,
        /// I/Os outstanding at most, all threads together.
        depth: u32,
        /// Mean number of I/Os that were submitted and not collected, in hundredths.
        mean_hundredths: u64,
        /// Median time from when a request was free to its submission.
        wait_p50_ns: u64,
        /// 99th percentile of these.
        wait_p99_ns: u64,
    },
    /// Of results of earlier versions: a sample of I/Os timed from the previous completion batch, as their latencies
    /// were, and from the submission.
    SlotTimes {
        /// Number of I/Os timed in both ways.
        ios: u64,
        /// Median from the previous completion batch, as reported.
        slot_p50_ns: u64,
        /// 99th percentile of these.
        slot_p99_ns: u64,
        /// Median from the submission.
        submission_p50_ns: u64,
        /// 99th percentile of these.
        submission_p99_ns: u64,
    },
    /// A flush covers fewer writes (`--fdatasync-every`, `--fsync-every`) than requests could write at once.
    WriteDepthLimited {
        /// The option.
        option: String,
        /// Writes that a thread has outstanding at most.
        writes: u32,
        /// Requests of the thread that write.
        depth: u32,
    },
    /// An option that has no effect on Linux.
    OptionWithoutEffect {
        /// The option.
        option: String,
        /// The reason, as a clause.
        reason: String,
    },
    /// Transfers shorter than the block.
    ShortTransfers {
        /// Which target.
        #[serde(with = "crate::path::One")]
        path: PathBuf,
        /// How many.
        count: u64,
    },
    /// How writes with `-Sw` became durable on a device, from its counters over the measurement.
    WritesMadeDurable {
        /// The kernel's name of the device.
        device: String,
        /// The mechanism, derived from its counters and properties.
        how: Durability,
        /// Writes of this run that had to become durable on it.
        write_count: u64,
        /// Flushes that the device completed, from all sources.
        flush_count: u64,
        /// Mean time of such a flush, in microseconds.
        flush_mean_us: Option<u64>,
    },
    /// How writes with `-Sw` became durable is unknown.
    DurabilityUnknown {
        /// Which target.
        #[serde(with = "crate::path::One")]
        path: PathBuf,
        /// The reason, as a clause.
        reason: String,
    },
    /// The kernel log reported faults of a device below a target, from the start of the run to
    /// its end.
    DeviceFaultsLogged {
        /// The kernel's name of the device.
        device: String,
        /// Kind of fault.
        fault: DeviceFault,
        /// How many messages. The kernel leaves some out if there are many.
        count: u64,
        /// The first of them.
        first: String,
    },
    /// A device below a target recorded errors from the start of the run to its end.
    DeviceErrorsCounted {
        /// The kernel's name of the device.
        device: String,
        /// Where the counter is below the device's directory in /sys.
        counter: String,
        /// Increase of the counter.
        count: u64,
    },
    /// Data that an imported result does not include.
    NotInSource {
        /// Where it was read from: "text of `DiskSpd` 2.0.17".
        source: String,
        /// The missing data, as a list in words.
        missing: String,
    },
    /// An imported result has only some settings of the load.
    LoadInPart {
        /// Where it was read from: "fio 3.33".
        source: String,
        /// Options of the settings that it has: "-b".
        known: Vec<String>,
    },
    /// The text of a note read from a report.
    Verbatim {
        /// The text.
        text: String,
    },
}

impl Note {
    /// True of a note that a finding of the verdict repeats, or that explains how figures came about: reports without
    /// details leave it out.
    pub fn is_detail(&self) -> bool {
        match self {
            // Below nine tenths, the depth is not the requested one.
            Self::InFlight { depth, mean_hundredths, .. } => *mean_hundredths >= 90 * u64::from(*depth),
            Self::RingFlagsReduced { .. }
            | Self::CpuStolen { .. }
            | Self::CpuAwaited { .. }
            | Self::CpuLatencyHeld
            | Self::ProcessPaused { .. }
            | Self::ClocksDisagree { .. }
            | Self::QueueDrainedLate { .. }
            | Self::SeriesCoarsened { .. }
            | Self::SectionsMerged { .. }
            | Self::StartsNotMade { .. }
            | Self::IoWorkerThreads { .. }
            | Self::SlotTimes { .. } => true,
            _ => false,
        }
    }
}

impl fmt::Display for Note {
    #[expect(clippy::too_many_lines, reason = "a list: one sentence for each note")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuffersNotRegistered { reason } => {
                write!(f, "I/O buffers are not registered with io_uring: {reason}")
            }
            Self::BuffersBeyondLockLimit { threads, of_threads, needed_bytes, limit_bytes } => {
                beyond_lock_limit(f, [*threads, *of_threads], *needed_bytes, *limit_bytes)
            }
            Self::EngineFallback { wanted, used, reason } => write!(f, "{used} is used instead of {wanted}: {reason}"),
            Self::RingFlagsReduced { missing } => write!(f, "this kernel's io_uring lacks {missing}"),
            Self::TargetBelowMaximum { path, size_bytes, max_offset_bytes } => write!(
                f,
                "'{}' is {} long, less than the maximum offset (-f, -B) of {}; I/O ends at its last byte",
                path.display(),
                counted(*size_bytes, "byte"),
                counted(*max_offset_bytes, "byte")
            ),
            Self::EndNotReached { path, bytes } => {
                write!(f, "no block reaches the last {} of '{}'", counted(*bytes, "byte"), path.display())
            }
            Self::AlignmentAssumed { path, alignment_bytes } => {
                let alignment = counted(*alignment_bytes, "byte");
                write!(f, "direct I/O alignment on '{}' is unknown; assuming {alignment}", path.display())
            }
            Self::OpenersSearchedInProc { path, reason } => write!(
                f,
                "the kernel could not tell whether another process has '{}' open ({reason}). Instead, diskspd searched \
                 /proc, swap files and loop devices; this does not find processes in other containers or on other \
                 hosts",
                path.display()
            ),
            Self::DirectoryCreated { directory } => write!(
                f,
                "the directory '{}' did not exist: it is created on {}",
                directory.path.display(),
                directory.place()
            ),
            Self::DeviceWritten { path, identity, allowed_by, content, network } => {
                write!(
                    f,
                    "block device '{}' ({identity}) is overwritten, allowed by {allowed_by}; previous contents: \
                     {content}",
                    path.display()
                )?;
                match network {
                    Some(network) => write!(f, "; use by other hosts over {network} cannot be detected"),
                    None => Ok(()),
                }
            }
            Self::CpuStolen { percent_hundredths } => cpu_stolen(f, *percent_hundredths),
            Self::CpuAwaited { percent_hundredths, .. } => cpu_awaited(f, *percent_hundredths),
            Self::CpuLatencyHeld => f.write_str("CPUs were kept out of idle states for the whole run (--hold-latency)"),
            Self::CpuLatencyNotHeld { reason } => {
                write!(f, "CPUs could not be kept out of idle states (--hold-latency): {reason}")
            }
            Self::LiveLinesDropped { lines } => {
                write!(f, "--live-json dropped {} because the reader was too slow", counted(*lines, "line"))
            }
            Self::TraceIncomplete { ios } => {
                write!(f, "--trace lacks {}, which could not be written in time", counted(*ios, "I/O"))
            }
            Self::ProcessPaused { pause_ns, at_end_ns } => process_paused(f, *pause_ns, *at_end_ns),
            Self::ClocksDisagree { deviation_ns } => clocks_disagree(f, *deviation_ns),
            Self::ClockSteps { step_ns } => clock_steps(f, *step_ns),
            Self::CpuTimesUnknown { reason } => write!(f, "CPU times are unknown: {reason}"),
            Self::IosNeverReturned { count } => {
                write!(f, "{} had not completed when the run ended (not counted)", counted(*count, "I/O"))
            }
            Self::QueueDrainedLate { drain_ns, outstanding, left } => drained_late(f, *drain_ns, *outstanding, *left),
            Self::EndedByVerification { units } => {
                write!(f, "the run ended early after {} (--verify-stop)", counted(*units, "corrupt unit"))
            }
            Self::VerificationWithoutMap { needed_bytes, available_bytes } => write!(
                f,
                "the map of verified units needs {} of memory, and {} is available: units are compared with themselves \
                 only (place, run, checksum), so lost writes are not found. Use a smaller target (-f) or larger I/Os",
                Bytes(*needed_bytes),
                Bytes(*available_bytes)
            ),
            Self::EndedByLimit { limits } => write!(f, "the run ended early because a limit was reached ({limits})"),
            Self::StartsDelayedByDepth { delayed, started, depth } => starts_delayed(f, *delayed, *started, *depth),
            Self::StartsNotMade { backlog, intended } => starts_not_made(f, *backlog, *intended),
            Self::SeriesCoarsened { width_ns } => {
                write!(f, "the run is long: its time series has buckets of {} ms", width_ns / 1_000_000)
            }
            Self::SectionsMerged { intervals } => {
                write!(f, "many intervals (-D): each latency histogram covers {}", counted(*intervals, "interval"))
            }
            Self::NotDeleted { path, reason } => {
                write!(f, "'{}' is not deleted (--delete-after): {reason}", path.display())
            }
            Self::IoWorkerThreads { threads, .. } => {
                let threads = counted(*threads, "kernel worker thread");
                write!(f, "io_uring passed I/Os to {threads}, because submitting them to the target would have blocked")
            }
            Self::SlotTimes { ios, slot_p50_ns, slot_p99_ns, submission_p50_ns, submission_p99_ns } => {
                slot_times(f, *ios, [*slot_p50_ns, *slot_p99_ns], [*submission_p50_ns, *submission_p99_ns])
            }
            Self::InFlight { ios, depth, mean_hundredths, wait_p50_ns, wait_p99_ns } => {
                in_flight(f, *ios, (*mean_hundredths, *depth), [*wait_p50_ns, *wait_p99_ns])
            }
            Self::WriteDepthLimited { option, writes, depth } => write!(
                f,
                "{option}={writes} limits the outstanding writes of a thread to {writes} of its {depth} requests (-o)"
            ),
            Self::OptionWithoutEffect { option, reason } => write!(f, "{option} has no effect: {reason}"),
            Self::ShortTransfers { path, count } => {
                let transfers = counted(*count, "transfer");
                write!(f, "{transfers} on '{}' fell short of the block size", path.display())
            }
            Self::WritesMadeDurable { device, how, write_count, flush_count, flush_mean_us } => {
                let how = how.words();
                write!(
                    f,
                    "write-through on {device}: {how}; {}, {}",
                    counted(*write_count, "write"),
                    counted(*flush_count, "flush")
                )?;
                flush_mean_us.map_or(Ok(()), |us| write!(f, " of {} on average", latency(us as f64 * 1e3)))
            }
            Self::DurabilityUnknown { path, reason } => {
                write!(
                    f,
                    "write-through on '{}': cannot determine how writes were made durable: {reason}",
                    path.display()
                )
            }
            Self::DeviceFaultsLogged { device, fault, count, first } => {
                let fault = fault.words();
                write!(f, "{device} had {fault} during the run: {count} in the kernel log, first: {first}")
            }
            Self::DeviceErrorsCounted { device, counter, count } => {
                write!(f, "{device} recorded errors during the run: {counter} rose by {count}")
            }
            Self::NotInSource { source, missing } => write!(f, "read from {source}, which does not include {missing}"),
            Self::LoadInPart { source, known } if known.is_empty() => {
                write!(f, "read from {source}, which has no settings of the load: loads are not compared")
            }
            Self::LoadInPart { source, known } => {
                write!(f, "read from {source}; settings of the load that are known, and compared: {}", known.join(", "))
            }
            Self::Verbatim { text } => f.write_str(text),
        }
    }
}

/// Samples below which ten I/Os do not lie beyond the percentile.
pub const SAMPLES_OF_P50: u64 = 20;
const SAMPLES_OF_P99: u64 = 1000;

/// How many were in flight, and how long free requests waited.
fn in_flight(f: &mut fmt::Formatter<'_>, ios: u64, (mean, depth): (u64, u32), wait_ns: [u64; 2]) -> fmt::Result {
    let [p50, p99] = wait_ns.map(|ns| ns as f64 / 1e6);
    write!(f, "I/Os in flight: {}.{:02} of {depth} on average; a free request waited ", mean / 100, mean % 100)?;
    match ios {
        SAMPLES_OF_P99.. => write!(f, "p50 {p50:.4} ms, p99 {p99:.4} ms (a sample of {ios})"),
        _ => write!(f, "p50 {p50:.4} ms (a sample of {ios})"),
    }
}

/// Median and 99th percentile in nanoseconds, taken in both ways.
fn slot_times(f: &mut fmt::Formatter<'_>, ios: u64, slot_ns: [u64; 2], submission_ns: [u64; 2]) -> fmt::Result {
    f.write_str("latency is timed from the previous completion batch, not from each submission")?;
    let ([slot_p50, slot_p99], [submission_p50, submission_p99]) =
        (slot_ns.map(|ns| ns as f64 / 1e6), submission_ns.map(|ns| ns as f64 / 1e6));
    match ios {
        SAMPLES_OF_P99.. => write!(
            f,
            ": p50 {slot_p50:.4} ms, p99 {slot_p99:.4} ms; timed from submission: p50 {submission_p50:.4} ms, p99 \
             {submission_p99:.4} ms (a sample of {ios})"
        ),
        SAMPLES_OF_P50.. => write!(
            f,
            ": p50 {slot_p50:.4} ms; timed from submission: p50 {submission_p50:.4} ms (a sample of {ios}, too few for a \
             p99)"
        ),
        _ => write!(f, "; too few I/Os were timed in both ways to show the difference: {ios}"),
    }
}

fn beyond_lock_limit(
    f: &mut fmt::Formatter<'_>,
    [threads, of_threads]: [u32; 2],
    needed_bytes: u64,
    limit_bytes: Option<u64>,
) -> fmt::Result {
    write!(
        f,
        "I/O buffers of {threads} of {of_threads} threads are not registered with io_uring: rings and buffers need {} of \
         locked memory",
        Bytes(needed_bytes)
    )?;
    if let Some(limit_bytes) = limit_bytes {
        write!(f, ", and all processes of this user together may lock {}", Bytes(limit_bytes))?;
    }
    write!(f, "; raise the limit with ulimit -l {}", needed_bytes.div_ceil(1024))
}

fn cpu_stolen(f: &mut fmt::Formatter<'_>, percent_hundredths: u32) -> fmt::Result {
    write!(
        f,
        "the hypervisor took {}.{:02}% of the time of the CPUs that the run used; this steal time is not in the CPU table",
        percent_hundredths / 100,
        percent_hundredths % 100
    )
}

fn process_paused(f: &mut fmt::Formatter<'_>, pause_ns: u64, at_end_ns: u64) -> fmt::Result {
    let seconds = |ns: u64| ns as f64 / 1e9;
    write!(
        f,
        "the process did not run for {:.1} s of the measurement (stopped by a signal, or not scheduled)",
        seconds(pause_ns)
    )?;
    match at_end_ns {
        0 => f.write_str("; rates and latencies include this pause"),
        _ if at_end_ns == pause_ns => {
            f.write_str("; rates include this pause, but latencies do not, because it lasted until the end")
        }
        _ => write!(
            f,
            "; rates include this whole pause, but latencies do not include its last {:.1} s, at the end of the measurement",
            seconds(at_end_ns)
        ),
    }
}

fn cpu_awaited(f: &mut fmt::Formatter<'_>, percent_hundredths: u32) -> fmt::Result {
    write!(
        f,
        "the threads waited for a CPU for {}.{:02}% of their time; latencies include this wait",
        percent_hundredths / 100,
        percent_hundredths % 100
    )
}

fn starts_delayed(f: &mut fmt::Formatter<'_>, delayed: u64, started: u64, depth: u32) -> fmt::Result {
    write!(
        f,
        "{delayed} of {} could not start on time because of the limit of {depth} outstanding (-o): response times \
         include this wait",
        counted(started, "I/O")
    )
}

fn drained_late(f: &mut fmt::Formatter<'_>, drain_ns: u64, outstanding: u64, left: u64) -> fmt::Result {
    let s = drain_ns as f64 / 1e9;
    let ios = counted(outstanding, "I/O");
    match left {
        0 => write!(f, "the {ios} outstanding at the end took {s:.1} s to complete (not counted)"),
        _ => write!(f, "{left} of the {ios} outstanding at the end had not completed {s:.1} s later (not counted)"),
    }
}

fn starts_not_made(f: &mut fmt::Formatter<'_>, backlog: u64, intended: u64) -> fmt::Result {
    write!(
        f,
        "{backlog} of {} had not started when the measurement ended; response times do not include this wait",
        counted(intended, "intended I/O")
    )
}

fn clocks_disagree(f: &mut fmt::Formatter<'_>, deviation_ns: u64) -> fmt::Result {
    write!(
        f,
        "the CPU's time counter drifted from the kernel clock by {} during the run; rates and latencies may be \
         wrong by as much",
        latency(deviation_ns as f64)
    )
}

fn clock_steps(f: &mut fmt::Formatter<'_>, step_ns: u64) -> fmt::Result {
    write!(
        f,
        "clock resolution: {}; latencies cannot be more precise than this (the kernel lists other clock sources \
         in /sys/devices/system/clocksource/clocksource0/available_clocksource)",
        latency(step_ns as f64)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_depth_has_two_decimals_and_a_small_sample_no_p99() {
        let note = |ios| {
            let (wait_p50_ns, wait_p99_ns) = (2_100, 14_000);
            Note::InFlight { ios, depth: 32, mean_hundredths: 3105, wait_p50_ns, wait_p99_ns }.to_string()
        };
        let head = "I/Os in flight: 31.05 of 32 on average; a free request waited p50 0.0021 ms";
        assert_eq!(note(1000), format!("{head}, p99 0.0140 ms (a sample of 1000)"));
        assert_eq!(note(999), format!("{head} (a sample of 999)"));
    }

    #[test]
    fn percentiles_of_tiny_samples_are_not_told() {
        let note = |ios| {
            let (slot_p50_ns, slot_p99_ns) = (200_000, 6_000_000);
            let (submission_p50_ns, submission_p99_ns) = (190_000, 5_000_000);
            Note::SlotTimes { ios, slot_p50_ns, slot_p99_ns, submission_p50_ns, submission_p99_ns }.to_string()
        };
        let head = "latency is timed from the previous completion batch, not from each submission";
        let both =
            ": p50 0.2000 ms, p99 6.0000 ms; timed from submission: p50 0.1900 ms, p99 5.0000 ms (a sample of 1000)";
        assert_eq!(note(1000), format!("{head}{both}"));
        let median = ": p50 0.2000 ms; timed from submission: p50 0.1900 ms (a sample of 999, too few for a p99)";
        assert_eq!(note(999), format!("{head}{median}"));
        assert_eq!(note(2), format!("{head}; too few I/Os were timed in both ways to show the difference: 2"));
    }
}
