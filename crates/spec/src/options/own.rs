//! Options that `DiskSpd` does not have: `--name`, `--name=value` or `--name value`, before the
//! targets.

use super::row::{Group, Kind, OptionRow, Pass, Repeat, Scope, Since};

const OWN: OptionRow = OptionRow {
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
