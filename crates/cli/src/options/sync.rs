//! `-y -e -X`: events, kernel tracing, and profiles from files.

use super::row::{Group, OptionRow, Pass, Repeat, Scope, SinceVersion};
use crate::builder::{Builder, GivenOption};
use std::path::PathBuf;

const EVENT: OptionRow =
    OptionRow { value: "<name>", scope: Scope::Invocation, group: Group::Synchronization, ..OptionRow::BASE };

pub(super) const ROWS: &[OptionRow] = &[
    OptionRow {
        name: "-X",
        value: "<file>",
        repeat: Repeat::Error,
        pass: Pass::One,
        with_profile: true,
        scope: Scope::Profile,
        group: Group::Targets,
        short: "run the XML profile in this file",
        long: "Runs the timespans of an XML profile. Only -C, -d, -W, -R, -v, -vs, -z, -: and the options that begin \
               with -- may be given with it; they override the profile. Targets on the command line replace *1, *2 \
               and so on in the profile.",
        example: "-Xprofile.xml",
        apply: profile_path,
        ..OptionRow::BASE
    },
    OptionRow {
        name: "-ys",
        short: "set this event when measuring starts",
        long: "Creates the event if it does not exist, and sets it when the measurement starts, after the warm-up.",
        example: "-ysStarted",
        apply: |builder, given| {
            builder.events.on_started = Some(given.value.to_owned());
            Ok(())
        },
        ..EVENT
    },
    OptionRow {
        name: "-yf",
        short: "set this event when measuring ends",
        long: "Creates the event if it does not exist, and sets it when the measurement ends, before the cool-down.",
        example: "-yfFinished",
        apply: |builder, given| {
            builder.events.on_finished = Some(given.value.to_owned());
            Ok(())
        },
        ..EVENT
    },
    OptionRow {
        name: "-yr",
        short: "wait for this event before the run starts",
        long: "Creates the event if it does not exist, and starts the run, including its warm-up, only when the event \
               is set.",
        example: "-yrReady",
        apply: |builder, given| {
            builder.events.wait_start = Some(given.value.to_owned());
            Ok(())
        },
        ..EVENT
    },
    OptionRow {
        name: "-yp",
        short: "stop the run when this event is set",
        long: "Creates the event if it does not exist; the run stops when it is set. Ctrl+C sets it too, so that all \
               runs with this event stop.",
        example: "-ypStop",
        apply: |builder, given| {
            builder.events.stop = Some(given.value.to_owned());
            Ok(())
        },
        ..EVENT
    },
    OptionRow {
        name: "-ye",
        repeat: Repeat::Accumulates,
        short: "set this existing event and exit",
        long: "Sets an event used by another running process of the same user, then exits without issuing any I/O. The \
               exit status is 0 if all given events were set, 1 if any of them does not exist.",
        example: "-yeReady",
        apply: |builder, given| {
            builder.signals.push(given.value.to_owned());
            Ok(())
        },
        ..EVENT
    },
    OptionRow {
        name: "-e",
        value: "(<class>|q|c|s|p)",
        repeat: Repeat::Accumulates,
        scope: Scope::Profile,
        xml: &["ETW"],
        group: Group::EventTracing,
        short: "kernel events to count (PROCESS, THREAD, DISK_IO, ...), their time source (q, c, s), or paged memory \
                (p)",
        long: "An event class to count: PROCESS, THREAD, IMAGE_LOAD, DISK_IO, MEMORY_PAGE_FAULTS, MEMORY_HARD_FAULTS, \
               NETWORK or REGISTRY. Or the time source of events: q for the performance counter, c for the cycle \
               counter, s for the system timer. Or p, to keep trace buffers in paged memory. May be given again for \
               more classes.",
        on_linux: "Events of each class during the measurement are counted from kernel counters (/proc, /sys) and \
                   printed after the tables. DISK_IO also prints I/O counts and mean latency at each level, from \
                   diskspd down to the disks. Linux has no events of the classes IMAGE_LOAD and REGISTRY, and q, c, s \
                   and p have no effect; a note reports this.",
        since: SinceVersion::DiskSpd("2.0"),
        example: "-eDISK_IO",
        apply: tracing,
        ..OptionRow::BASE
    },
];

fn profile_path(builder: &mut Builder, given: &GivenOption<'_>) -> Result<(), String> {
    if given.value.is_empty() {
        return Err("the path of the XML profile is missing (expected: -X<file>, without a space)".to_owned());
    }
    builder.profile_path = Some(PathBuf::from(given.value));
    Ok(())
}

/// Of the lower-case forms only the first letter counts.
fn tracing(builder: &mut Builder, given: &GivenOption<'_>) -> Result<(), String> {
    let word = given.value.trim_end();
    let tracing = builder.profile.tracing.get_or_insert_default();
    match word {
        "PROCESS" => tracing.process = true,
        "THREAD" => tracing.thread = true,
        "IMAGE_LOAD" => tracing.image_load = true,
        "DISK_IO" => tracing.disk_io = true,
        "MEMORY_PAGE_FAULTS" => tracing.memory_page_faults = true,
        "MEMORY_HARD_FAULTS" => tracing.memory_hard_faults = true,
        "NETWORK" => tracing.network = true,
        "REGISTRY" => tracing.registry = true,
        _ => {
            match word.chars().next() {
                Some('q') => tracing.use_perf_timer = true,
                Some('c') => tracing.use_cycles_counter = true,
                Some('s') => tracing.use_system_timer = true,
                Some('p') => tracing.use_paged_memory = true,
                _ => {
                    return Err(
                        "expected q, c, s, p or one of PROCESS, THREAD, IMAGE_LOAD, DISK_IO, MEMORY_PAGE_FAULTS, \
                         MEMORY_HARD_FAULTS, NETWORK, REGISTRY"
                            .to_owned(),
                    );
                }
            }
            builder.warn_of_ignored(given, &word[1..]);
        }
    }
    Ok(())
}
