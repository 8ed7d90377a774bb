//! Options that `DiskSpd` does not have: `--name`, `--name=value` or `--name value`, before the
//! targets.

use super::row::{Group, Kind, OptionRow, Pass, Repeat, Scope, Since};
use crate::builder::{Builder, Fault, Given};
use crate::expect;
use crate::size;
use model::plan::EngineKind;
use model::profile::RateProcess;

/// What our own options share.
pub(super) const OWN: OptionRow = OptionRow {
    kind: Kind::Flag,
    repeat: Repeat::Harmless,
    pass: Pass::Zero,
    with_profile: true,
    scope: Scope::Invocation,
    group: Group::Own,
    since: Since::Own,
    ..OptionRow::BASE
};

pub(super) const ROWS: &[OptionRow] = &[
    OptionRow {
        name: "--overwrite",
        short: "let -c and writes touch existing files that this program did not make",
        long: "Without it, a run that creates or writes a file refuses existing files that this program did not make. \
               For scripts that cannot be changed, DISKSPD_OVERWRITE=1 in the environment does the same.",
        example: "--overwrite",
        apply: |builder, _| {
            builder.options.overwrite = true;
            Ok(())
        },
        ..OWN
    },
    OptionRow {
        name: "--recreate",
        short: "make the files of -c anew even where they could be reused",
        long: "-c reuses a file that this program made earlier with the same size and fill; with --recreate it is \
               made anew, as DiskSpd does.",
        example: "--recreate",
        apply: |builder, _| {
            builder.options.recreate = true;
            Ok(())
        },
        ..OWN
    },
    OptionRow {
        name: "--destroy",
        value: "=<id>",
        kind: Kind::Value,
        repeat: Repeat::Accumulates,
        short: "let writes destroy what is on the block device of this wwid, serial number or backing file",
        long: "A block device is written to only if nobody uses it and it is named by what stays with it, whatever the \
               kernel calls it today: its wwid, EUI, NGUID or serial number, the UUID of a device of md or the device \
               mapper, or the file behind a loop device; -part<n> follows for a partition. A refused run prints the \
               option to give. Disks listed in /etc/diskspd/scratch need it only if something is found on them. May \
               be given again for other devices; profiles do not keep it.",
        example: "--destroy=eui.0025385b71b00001",
        apply: destroy,
        ..OWN
    },
    OptionRow {
        name: "--engine",
        value: "=<io_uring|aio|sync|mmap|null>",
        kind: Kind::Value,
        repeat: Repeat::LastWins,
        scope: Scope::TimeSpan,
        xml: &["Engine"],
        short: "use this engine for every thread, or fail",
        long: "Without it a thread with one outstanding I/O is synchronous, and others use io_uring or, where that is \
               not available, Linux AIO. null completes every I/O at once without the kernel: what is left is the \
               cost of this program, and the highest rate it can show on this machine.",
        example: "--engine=io_uring",
        apply: engine,
        ..OWN
    },
    OptionRow {
        name: "--sqpoll",
        scope: Scope::TimeSpan,
        xml: &["SubmissionPolling"],
        short: "let a kernel thread take the submissions of io_uring",
        long: "Submissions need no system call; a kernel thread per ring takes them and keeps a CPU busy.",
        example: "--sqpoll",
        apply: |builder, _| {
            builder.overrides.submission_polling = true;
            Ok(())
        },
        ..OWN
    },
    OptionRow {
        name: "--iopoll",
        scope: Scope::TimeSpan,
        xml: &["CompletionPolling"],
        short: "poll the device for the completions of io_uring",
        long: "Completions are polled for instead of awaited. Needs -Su or -Sh and a device with poll queues, such as \
               NVMe with nvme.poll_queues set.",
        example: "--iopoll",
        apply: |builder, _| {
            builder.overrides.completion_polling = true;
            Ok(())
        },
        ..OWN
    },
    OptionRow {
        name: "--cold",
        scope: Scope::TimeSpan,
        xml: &["Cold"],
        short: "drop the targets' cached pages before the warm-up",
        long: "The targets' dirty pages are written and their clean pages dropped, so that buffered reads begin at the \
               device.",
        example: "--cold",
        apply: |builder, _| {
            builder.overrides.cold = true;
            Ok(())
        },
        ..OWN
    },
    OptionRow {
        name: "--near-device",
        scope: Scope::TimeSpan,
        xml: &["NearDevice"],
        short: "run threads on the NUMA node that their targets' disks are attached to",
        long: "Each thread takes the next CPU of the node that the kernel says its disks belong to, in the order that -a \
               would give. Where the kernel knows no node, threads run as without it and a note says so.",
        example: "--near-device",
        apply: |builder, _| {
            builder.overrides.near_device = true;
            Ok(())
        },
        ..OWN
    },
    OptionRow {
        name: "--max-ios",
        value: "=<n>",
        kind: Kind::Value,
        repeat: Repeat::LastWins,
        scope: Scope::TimeSpan,
        xml: &["MaxIos"],
        short: "end the timespan once this many I/Os are measured",
        long: "Exact over all threads: no further I/O is started. I/Os of the warm-up do not count. -d still ends the \
               timespan if its time is over before.",
        example: "--max-ios=100000",
        apply: |builder, given| {
            builder.overrides.end_after.ios = Some(count(given)?);
            Ok(())
        },
        ..OWN
    },
    OptionRow {
        name: "--max-bytes",
        value: "=<size>[KMGT]",
        kind: Kind::Value,
        repeat: Repeat::LastWins,
        scope: Scope::TimeSpan,
        xml: &["MaxBytes"],
        short: "end the timespan before more bytes than this are measured",
        long: "Reads and writes of all threads together; no I/O is started that would exceed it. Those of the warm-up \
               do not count. -d still ends the timespan if its time is over before.",
        example: "--max-bytes=10G",
        apply: |builder, given| {
            builder.overrides.end_after.bytes = Some(size_without_blocks(given)?);
            Ok(())
        },
        ..OWN
    },
    OptionRow {
        name: "--max-write",
        value: "=<size>[KMGT]",
        kind: Kind::Value,
        repeat: Repeat::LastWins,
        scope: Scope::TimeSpan,
        xml: &["MaxWriteBytes"],
        short: "end the timespan before more bytes than this are written",
        long: "Spares devices that wear: writes of all threads together, the warm-up's and cool-down's too, but not \
               those that make a file (-c). No I/O is started that might exceed it. -d still ends the timespan if its \
               time is over before.",
        example: "--max-write=50G",
        apply: |builder, given| {
            builder.overrides.end_after.written_bytes = Some(size_without_blocks(given)?);
            Ok(())
        },
        ..OWN
    },
    OptionRow {
        name: "--rate",
        value: "=<iops>",
        kind: Kind::Value,
        repeat: Repeat::LastWins,
        scope: Scope::TimeSpan,
        xml: &["Rate"],
        short: "open loop: start so many I/Os per second over all threads, whether or not earlier ones are done",
        long: "The schedule is fixed before the run, and an I/O that could not start on time starts as soon as it can. \
               Two latencies are shown: service time from start to completion, in DiskSpd's columns, and response time \
               from the intended start to completion, in a table of its own. -o is the most that is outstanding per \
               thread; if that delays starts, the result says so. Excludes -g, -i, -j and -O.",
        example: "--rate=5000",
        apply: |builder, given| {
            builder.overrides.rate_iops = Some(rate(given)?);
            Ok(())
        },
        ..OWN
    },
    OptionRow {
        name: "--rate-process",
        value: "=<constant|poisson>",
        kind: Kind::Value,
        repeat: Repeat::LastWins,
        scope: Scope::TimeSpan,
        xml: &["RateProcess"],
        short: "how the I/Os of --rate follow each other: evenly (constant, the default) or independently (poisson)",
        long: "constant spaces the intended starts of all threads together evenly. poisson draws the gaps of each thread \
               from an exponential distribution, as independent clients cause them; the same -z gives the same gaps.",
        example: "--rate-process=poisson",
        apply: rate_process,
        ..OWN
    },
    OptionRow {
        name: "--fdatasync-every",
        value: "=<writes>",
        kind: Kind::Value,
        repeat: Repeat::LastWins,
        scope: Scope::TimeSpan,
        xml: &["FlushAfterWrites"],
        short: "call fdatasync after so many writes of a thread, and measure what it takes",
        long: "As databases do that make many writes durable at once: after so many writes a thread waits for those under \
               way, calls fdatasync on what it writes to, and goes on. Flushes are counted and timed as operations of \
               their own, beside reads and writes. Together with -Su this is one of two ways to write durably; the other \
               is -Suw, where each write is durable when it ends.",
        example: "--fdatasync-every=32",
        apply: |builder, given| {
            let writes = count(given)?;
            let writes =
                u32::try_from(writes).map_err(|_| Fault(format!("{writes} writes are more than {}", u32::MAX)))?;
            builder.overrides.flush_after_writes = Some(writes);
            Ok(())
        },
        ..OWN
    },
    OptionRow {
        name: "--delete-after",
        short: "delete the target files that this program made, once the run is over",
        long: "Files that this program made, in this run or before, are deleted after the last timespan, also when the \
               run fails or is interrupted. Others, and devices, stay; a note in the result names them.",
        example: "--delete-after",
        apply: |builder, _| {
            builder.options.delete_after = true;
            Ok(())
        },
        ..OWN
    },
    OptionRow {
        name: "--expect",
        value: "=<figure>=<value>[,...]",
        kind: Kind::Value,
        repeat: Repeat::Accumulates,
        short: "tell what share the run reached of what the storage is said to do, and what binds",
        long: "Figures: raid=0, 1, 5, 6 or 10, drives=<n>, drive-read=<bytes>, drive-write=<bytes> and drive-iops=<n> of one \
               drive, vm-iops=<n>, vm-bytes=<bytes>, and hba=<bits>[x<lanes>] as in 12Gx4, all per second; K, M, G and T are \
               decimal here. Every ceiling that follows is named behind the verdict with its value and the share \
               that was reached, with the rule of thumb for small random writes to a RAID marked as an estimate. More \
               than 100 %, a cap from the start and a burst that ran out are flagged.",
        example: "--expect=raid=5,drives=3,drive-write=450M,vm-iops=1920",
        apply: |builder, given| {
            let before = builder.options.expect.as_deref().copied().unwrap_or_default();
            builder.options.expect = Some(Box::new(expect::parse(given.value, before)?));
            Ok(())
        },
        ..OWN
    },
    OptionRow {
        name: "--hold-latency",
        short: "keep CPUs from sleeping states that take long to wake from, for the whole run",
        long: "Holds /dev/cpu_dma_latency open with 0 from before the targets are made to the end, as root may. At low \
               queue depths the time that a sleeping CPU takes to wake up is in every latency; without sleep it is \
               not, and the machine draws more power and may clock lower. A note in the result says that it was held, or \
               why not.",
        example: "--hold-latency",
        apply: |builder, _| {
            builder.options.hold_latency = true;
            Ok(())
        },
        ..OWN
    },
    OptionRow {
        name: "--strict",
        short: "end with status 4 if the verdict finds figures invalid",
        long: "Each timespan's results end with a verdict: what was found that makes the figures other than they claim \
               to be. With --strict a run that ends well but has a finding INVALID ends with exit status 4. The report \
               is written all the same.",
        example: "--strict",
        apply: |builder, _| {
            builder.options.strict = true;
            Ok(())
        },
        ..OWN
    },
    OptionRow {
        name: "--plan",
        short: "print what would be done and why, and stop",
        long: "Prints which threads, CPUs, ranges, queue depths, memory and engine were chosen and why, and stops. \
               Nothing is written.",
        example: "--plan",
        apply: |builder, _| {
            builder.options.plan_only = true;
            Ok(())
        },
        ..OWN
    },
    OptionRow {
        name: "--help",
        value: "[=<option>]",
        kind: Kind::OptionalValue,
        short: "this help, or all about one option, e.g. --help -rd",
        long: "Lists all options, one line each. With an option, or the name of a subcommand, it prints all that is known \
               about that one.",
        example: "--help",
        ..OWN
    },
    OptionRow {
        name: "--man",
        value: "[=<subcommand>]",
        kind: Kind::OptionalValue,
        short: "print the man page of diskspd, or of a subcommand, and stop",
        long: "Prints a page for man(1), made from the same table as this help: diskspd --man >diskspd.1. With the name \
               of a subcommand it is the page of that one. Packages bring them all.",
        example: "--man=sweep",
        ..OWN
    },
    OptionRow {
        name: "--completions",
        value: "=<bash|zsh|fish>",
        kind: Kind::Value,
        short: "print a script that completes the words of diskspd in this shell, and stop",
        long: "Prints the completions of options, of their values and of subcommands. For the shell at hand: \
               source <(diskspd --completions=bash). Packages bring them for all three.",
        example: "--completions=bash",
        ..OWN
    },
    OptionRow {
        name: "--version",
        short: "print version, commit, build and what the kernel offers, and stop",
        long: "Prints the version of this program and of the DiskSpd that it behaves like, the commit and the machine type \
               that it was built for, and what it can use of this kernel.",
        example: "--version",
        ..OWN
    },
];

fn destroy(builder: &mut Builder, given: &Given<'_>) -> Result<(), Fault> {
    if given.value.is_empty() {
        return Err(Fault::new("the name of a block device is missing; a run without --destroy prints it"));
    }
    builder.options.destroy.push(given.value.to_owned());
    Ok(())
}

/// A number of at least 1.
fn count(given: &Given<'_>) -> Result<u64, Fault> {
    let text = given.value;
    text.parse().ok().filter(|&count| count > 0).ok_or_else(|| Fault(format!("'{text}' is not a number from 1")))
}

fn rate(given: &Given<'_>) -> Result<u32, Fault> {
    let iops = count(given)?;
    u32::try_from(iops).map_err(|_| Fault(format!("{iops} I/Os per second are more than {}", u32::MAX)))
}

fn rate_process(builder: &mut Builder, given: &Given<'_>) -> Result<(), Fault> {
    let Some(process) = RateProcess::from_option(given.value) else {
        let words = RateProcess::ALL.map(RateProcess::option).join(" and ");
        return Err(Fault(format!("'{}' is no process; there are {words}", given.value)));
    };
    builder.overrides.rate_process = Some(process);
    Ok(())
}

/// A size in bytes; there is no block of -b that could be its unit before the targets are known.
fn size_without_blocks(given: &Given<'_>) -> Result<u64, Fault> {
    let text = given.value;
    if text.ends_with(['b', 'B']) {
        return Err(Fault(format!("'{text}' counts blocks, which targets may differ in; --max-ios counts I/Os")));
    }
    let size = size::parse(text, 1).map_err(|fault| Fault(fault.to_string()))?;
    if size == 0 { Err(Fault::new("a limit of 0 bytes allows no I/O")) } else { Ok(size) }
}

fn engine(builder: &mut Builder, given: &Given<'_>) -> Result<(), Fault> {
    let Some(kind) = EngineKind::from_option(given.value) else {
        let words = EngineKind::ALL.map(EngineKind::option).join(", ");
        return Err(Fault(format!("'{}' is no engine; there are {words}", given.value)));
    };
    builder.overrides.engine = Some(kind);
    Ok(())
}
