//! `-t -F -o -O -oc -g -i -j`: threads, queue depth and rates.

use super::row::{Group, OptionRow, Scope, SinceVersion};
use crate::builder::{Builder, GivenOption};
use crate::size;
use model::limits::COMPLETION_DEPTH_MAX;
use model::profile::Throughput;

const LOAD: OptionRow = OptionRow { group: Group::Load, ..OptionRow::BASE };

pub(super) const ROWS: &[OptionRow] = &[
    OptionRow {
        name: "-t",
        value: "<count>",
        xml: &["ThreadsPerFile"],
        short: "threads per target [default 1]",
        long: "Threads per target. Cannot be used with -F, which sets the total number of threads.",
        example: "-t4",
        apply: |builder, given| {
            builder.settings().threads = builder.bounded(given, "the number of threads per target", 1, u32::MAX)?;
            Ok(())
        },
        ..LOAD
    },
    OptionRow {
        name: "-F",
        value: "<count>",
        scope: Scope::TimeSpan,
        xml: &["ThreadCount"],
        short: "total number of threads; each works on every target",
        long: "Total number of threads; each works on every target. Cannot be used with -t above 1.",
        example: "-F4",
        apply: |builder, given| {
            builder.span.thread_count = builder.bounded(given, "the total number of threads", 1, u32::MAX)?;
            Ok(())
        },
        ..LOAD
    },
    OptionRow {
        name: "-o",
        value: "<count>",
        xml: &["RequestCount"],
        short: "outstanding I/Os per target and thread [default 2]",
        long: "I/Os that a thread keeps outstanding on each target, at most 65536.",
        on_linux: "With one outstanding I/O a thread reads and writes synchronously; with more it uses io_uring.",
        example: "-o32",
        apply: |builder, given| {
            builder.settings().outstanding = builder.bounded(given, "the number of outstanding I/Os", 1, u32::MAX)?;
            Ok(())
        },
        ..LOAD
    },
    OptionRow {
        name: "-O",
        value: "<count>",
        scope: Scope::TimeSpan,
        xml: &["RequestCount"],
        short: "outstanding I/Os per thread across targets; the target is chosen per I/O (with -F)",
        long: "I/Os that a thread keeps outstanding over all targets, at most 65536; the target is chosen for each \
               I/O. Needs -F; -o is then ignored. Cannot be used with -g, -j or -p.",
        example: "-O8",
        apply: |builder, given| {
            builder.span.request_count =
                builder.bounded(given, "the number of outstanding I/Os per thread", 1, u32::MAX)?;
            Ok(())
        },
        ..LOAD
    },
    OptionRow {
        name: "-oc",
        value: "<count>",
        scope: Scope::TimeSpan,
        xml: &["CompletionDepth"],
        short: "maximum completions reaped at once, 1 to 16 [default 16]",
        long: "Maximum number of completions that a thread reaps at once. Completions reaped together get the same \
               time stamp: a smaller number makes latencies more precise, but costs more system calls. Ignored with -u \
               and with one outstanding I/O.",
        since: SinceVersion::DiskSpd("2.3"),
        example: "-oc8",
        apply: |builder, given| {
            let depth = builder.bounded(given, "the completion depth", 1, COMPLETION_DEPTH_MAX)?;
            builder.span.completion_depth = Some(depth);
            Ok(())
        },
        ..LOAD
    },
    OptionRow {
        name: "-g",
        group: Group::Rate,
        value: "(<bytes/ms>|<count>i|<size>/s)",
        xml: &["Throughput"],
        short: "limit per thread and target: bytes per ms; with i: I/Os per s; with /s: bytes per s",
        long: "Limits each thread, on each target, to this many bytes per millisecond or, with the suffix i, to this \
               many I/Os per second. -g100M/s limits it to 100 MiB per second (not in DiskSpd), rounded to whole bytes \
               per millisecond. Cannot be used with -x or -O.",
        since: SinceVersion::DiskSpd("2.0"),
        example: "-g200i",
        apply: throughput,
        ..LOAD
    },
    OptionRow {
        name: "-i",
        group: Group::Rate,
        value: "<count>",
        xml: &["BurstSize"],
        short: "I/Os per burst; needs -j",
        long: "I/Os that a thread issues to a target before it pauses for -j milliseconds.",
        example: "-i10",
        apply: |builder, given| {
            builder.settings().burst_ios = Some(builder.bounded(given, "the number of I/Os per burst", 1, u32::MAX)?);
            Ok(())
        },
        ..LOAD
    },
    OptionRow {
        name: "-j",
        group: Group::Rate,
        value: "<milliseconds>",
        xml: &["ThinkTime"],
        short: "pause between bursts in milliseconds; needs -i",
        long: "Pause in milliseconds between the bursts of -i.",
        example: "-j100",
        apply: |builder, given| {
            let pause = builder.bounded(given, "the pause between bursts in milliseconds", 1, u32::MAX)?;
            builder.settings().think_time_ms = Some(pause);
            Ok(())
        },
        ..LOAD
    },
];

/// Bytes per second, in the unit of profiles.
fn bytes_per_second(builder: &mut Builder, given: &GivenOption<'_>, asked: u64) -> Result<(), String> {
    let bytes_per_ms = asked.saturating_add(500) / 1000;
    let rate = u32::try_from(bytes_per_ms).ok().filter(|rate| *rate > 0);
    let rate = rate.ok_or_else(|| format!("the rate must be 1000 to {}000 bytes per second", u32::MAX))?;
    if (u64::from(rate) * 1000).abs_diff(asked) > asked / 1000 {
        builder.warn(format!("'{}' is rounded to {rate}000 bytes per second", given.argument));
    }
    builder.settings().throughput = Throughput::BytesPerMs(rate);
    Ok(())
}

/// The last character determines the unit; text between the number and it is ignored.
fn throughput(builder: &mut Builder, given: &GivenOption<'_>) -> Result<(), String> {
    let value = given.value.trim_end();
    if let Some(bytes_per_s) = size::per_second(value) {
        return bytes_per_second(builder, given, bytes_per_s?);
    }
    let (number, is_iops) = match value.strip_suffix('i') {
        Some(number) => (number, true),
        None if value.ends_with(|c: char| c.is_ascii_digit()) => (value, false),
        None => {
            return Err(
                "invalid rate (expected: I/Os per second as in 200i, bytes per second as in 100M/s, or bytes per \
                        millisecond as in 2000)"
                    .to_owned(),
            );
        }
    };
    let rate = builder.bounded(&GivenOption { value: number, ..*given }, "the rate", 1, u32::MAX)?;
    builder.settings().throughput = if is_iops { Throughput::Iops(rate) } else { Throughput::BytesPerMs(rate) };
    Ok(())
}
