//! Options that `DiskSpd` does not have: `--name`, `--name=value` or `--name value`, before the
//! targets.

use super::row::{Group, Kind, OptionRow, Pass, Repeat, Scope, Since};
use crate::builder::{Builder, Fault, Given};
use model::plan::EngineKind;

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
        long: "Lists all options, one line each. With an option it prints all that is known about that one.",
        example: "--help",
        ..OWN
    },
    OptionRow {
        name: "--version",
        short: "print the version and stop",
        long: "Prints the version of this program and of the DiskSpd that it behaves like.",
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

fn engine(builder: &mut Builder, given: &Given<'_>) -> Result<(), Fault> {
    let Some(kind) = EngineKind::from_option(given.value) else {
        let words = EngineKind::ALL.map(EngineKind::option).join(", ");
        return Err(Fault(format!("'{}' is no engine; there are {words}", given.value)));
    };
    builder.overrides.engine = Some(kind);
    Ok(())
}
