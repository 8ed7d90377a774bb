//! `-L -D -R -v -vs -P -: -?`: statistics and output.

use super::row::{Group, Kind, OptionRow, Pass, Repeat, Scope, SinceVersion};
use crate::builder::{Builder, GivenOption};
use model::profile::ResultFormat;

const OUTPUT: OptionRow = OptionRow { group: Group::Output, scope: Scope::Profile, ..OptionRow::BASE };
const EARLY: OptionRow = OptionRow { pass: Pass::One, with_profile: true, ..OUTPUT };

/// `-P` without a number.
const PROGRESS_IOS_DEFAULT: u32 = 65_536;

pub(super) const ROWS: &[OptionRow] = &[
    OptionRow {
        name: "-L",
        kind: Kind::Flag,
        repeat: Repeat::Harmless,
        scope: Scope::TimeSpan,
        xml: &["MeasureLatency"],
        short: "measure latency",
        long: "Measures the latency of every I/O: mean, standard deviation and percentiles.",
        example: "-L",
        apply: |builder, _| {
            builder.span.measure_latency = true;
            Ok(())
        },
        ..OUTPUT
    },
    OptionRow {
        name: "-D",
        value: "[<milliseconds>]",
        scope: Scope::TimeSpan,
        xml: &["CalculateIopsStdDev", "IoBucketDuration"],
        short: "I/O rate statistics over intervals of this length [default 1000 ms]",
        long: "Counts I/Os per interval and reports the standard deviation of the rate. With -D0, or -D without a \
               number, the interval keeps its length (1000 ms unless set before).",
        example: "-D500",
        apply: |builder, given| {
            let interval = builder.number(given)?;
            builder.span.calculate_iops_std_dev = true;
            if interval > 0 {
                // A number read is at most 2^32 - 1.
                builder.span.interval_ms = interval as u32;
            }
            Ok(())
        },
        ..OUTPUT
    },
    OptionRow {
        name: "-R",
        value: "(text|xml)",
        xml: &["ResultFormat"],
        short: "format of the results [default text]",
        long: "Prints the results as text or as XML.",
        example: "-Rtext",
        apply: result_format,
        ..EARLY
    },
    OptionRow {
        name: "-Rp",
        value: "[text|xml|toml]",
        xml: &[],
        scope: Scope::Invocation,
        short: "show the profile in this format and do not run it",
        long: "Prints the settings from the other options, as text, as an XML profile for -X, or as a job file in \
               TOML for diskspd run, and exits. No target is opened or created. Only a job file holds requirements \
               (--require).",
        since: SinceVersion::DiskSpd("2.1"),
        example: "-Rpxml",
        apply: show_profile,
        ..EARLY
    },
    OptionRow {
        name: "-Rs",
        value: "[text|xml]",
        with_profile: false,
        scope: Scope::Invocation,
        short: "show system information in this format and exit; must be the only argument",
        long: "Prints the system information section of the results and exits. No other argument may be given.",
        since: SinceVersion::DiskSpd("2.3"),
        example: "-Rs",
        apply: |builder, given| {
            let format = optional_format(given.value)?;
            builder.system_information = Some(format.unwrap_or_default());
            Ok(())
        },
        ..EARLY
    },
    OptionRow {
        name: "-v",
        repeat: Repeat::Harmless,
        xml: &["Verbose"],
        short: "verbose: progress, and a report with all details",
        long: "Reports progress during the run.",
        on_linux: "Messages go to stderr; stdout holds only the results. The report has all that is known: intervals of \
                   all percentiles, devices with their highest values, bytes at each level of storage, and findings \
                   with explanations. Of a saved result, 'diskspd report --details' prints the same.",
        example: "-v",
        apply: |builder, given| {
            nothing_behind(given, "-v and -vs")?;
            builder.overrides.verbose = true;
            Ok(())
        },
        ..EARLY
    },
    OptionRow {
        name: "-vs",
        repeat: Repeat::Harmless,
        xml: &["VerboseStats"],
        short: "wait statistics in the results",
        long: "Adds two counts to the results of each thread: how often it waited for completions, and how many it \
               found per wait. Does not imply -v.",
        since: SinceVersion::DiskSpd("2.2"),
        example: "-vs",
        apply: |builder, given| {
            nothing_behind(given, "-v and -vs")?;
            builder.overrides.verbose_stats = true;
            Ok(())
        },
        ..EARLY
    },
    OptionRow {
        name: "-P",
        value: "[<count>]",
        xml: &["Progress"],
        short: "print a dot each time a thread has completed <count> I/Os [default 65536]",
        long: "Prints a dot each time a thread has completed this many I/Os. 0 or no number means 65536.",
        on_linux: "Dots go to stderr; stdout holds only the results.",
        example: "-P1000",
        apply: |builder, given| {
            let ios = builder.number(given)?;
            // A number read is at most 2^32 - 1.
            builder.profile.progress_ios = if ios > 0 { ios as u32 } else { PROGRESS_IOS_DEFAULT };
            Ok(())
        },
        ..OUTPUT
    },
    OptionRow {
        name: "-:",
        value: "<flags>",
        xml: &["ExperimentFlags"],
        short: "experiment flags [default 0]",
        long: "Turns on experimental features; the value is the sum of their numbers. 1: threads that wait for a rate \
               limit (-g) may sleep for longer than 1 ms at a time.",
        since: SinceVersion::DiskSpd("2.2"),
        example: "-:1",
        apply: |builder, given| {
            let flags = builder.bounded_or_zero(given, "the experiment flags")?;
            builder.overrides.experiment_flags = Some(flags);
            Ok(())
        },
        ..EARLY
    },
    OptionRow {
        name: "-?",
        kind: Kind::Flag,
        repeat: Repeat::Harmless,
        scope: Scope::Invocation,
        short: "print the usage and exit",
        long: "Prints one entry for each option of DiskSpd and exits. --help is shorter and also lists the options \
               that DiskSpd does not have.",
        on_linux: "/? does the same; no other option begins with /.",
        example: "-?",
        apply: |builder, _| {
            builder.usage = true;
            Ok(())
        },
        ..OUTPUT
    },
];

fn format(word: &str) -> Option<ResultFormat> {
    match word.trim_end() {
        "text" => Some(ResultFormat::Text),
        "xml" => Some(ResultFormat::Xml),
        _ => None,
    }
}

fn format_fault(word: &str) -> String {
    let found = if word.is_empty() { "none is given".to_owned() } else { format!("not '{word}'") };
    format!("expected a result format (-R[p|s][text|xml], -Rptoml), {found}")
}

fn optional_format(word: &str) -> Result<Option<ResultFormat>, String> {
    if word.trim_end().is_empty() {
        return Ok(None);
    }
    format(word).map(Some).ok_or_else(|| format_fault(word))
}

fn result_format(builder: &mut Builder, given: &GivenOption<'_>) -> Result<(), String> {
    builder.overrides.result_format = Some(format(given.value).ok_or_else(|| format_fault(given.value))?);
    Ok(())
}

fn show_profile(builder: &mut Builder, given: &GivenOption<'_>) -> Result<(), String> {
    builder.show = true;
    builder.show_job = given.value.trim_end() == "toml";
    if builder.show_job {
        return Ok(());
    }
    let format = optional_format(given.value)?;
    builder.overrides.result_format = format.or(builder.overrides.result_format);
    Ok(())
}

fn nothing_behind(given: &GivenOption<'_>, forms: &str) -> Result<(), String> {
    if given.value.trim_end().is_empty() {
        return Ok(());
    }
    Err(format!("unexpected '{}'; the forms are {forms}", given.value))
}
