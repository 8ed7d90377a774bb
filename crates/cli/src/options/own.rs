//! Options that `DiskSpd` does not have: `--name`, `--name=value` or `--name value`, before the
//! targets.

use super::row::{Group, Kind, OptionRow, Pass, Repeat, Scope, SinceVersion};
use crate::builder::{Builder, GivenOption};
use crate::file_name::not_an_option;
use crate::typed_stream::TypedStream;
use crate::{expect, requirement};
use model::latency_band::BandKind;

/// Values common to our own options.
pub(super) const OWN: OptionRow = OptionRow {
    kind: Kind::Flag,
    repeat: Repeat::Harmless,
    pass: Pass::Zero,
    with_profile: true,
    scope: Scope::Invocation,
    group: Group::Program,
    since: SinceVersion::Own,
    ..OptionRow::BASE
};

pub(super) const ROWS: &[OptionRow] = &[
    OptionRow {
        name: "--overwrite",
        group: Group::Targets,
        short: "let -c and writes modify existing files that this program did not create",
        long: "Without it, such files are refused. For scripts that cannot be changed, set DISKSPD_OVERWRITE=1 in the \
               environment instead.",
        example: "--overwrite",
        apply: |builder, _| {
            builder.options.overwrite = true;
            Ok(())
        },
        ..OWN
    },
    OptionRow {
        name: "--recreate",
        group: Group::Targets,
        short: "recreate -c files even if they could be reused",
        long: "By default, -c reuses a file that this program created earlier with the same size and fill.",
        example: "--recreate",
        apply: |builder, _| {
            builder.options.recreate = true;
            Ok(())
        },
        ..OWN
    },
    OptionRow {
        name: "--destroy",
        group: Group::Targets,
        value: "=<id>",
        kind: Kind::Value,
        repeat: Repeat::Accumulates,
        short: "allow writes to the block device with this wwid, serial number or backing file; its data is lost",
        long: "The device must not be in use. Other persistent IDs are allowed, too: its EUI, its NGUID, or the UUID \
               of an md or device mapper device; append -part<n> for a partition. Kernel names such as sda are not. If \
               a run is refused, its error shows the option to give. Disks listed in /etc/diskspd/scratch need this \
               option only if a signature is found on them.",
        example: "--destroy=eui.0025385b71b00001",
        apply: destroy,
        ..OWN
    },
    OptionRow {
        name: "--stream",
        group: Group::Access,
        value: "=<name>:<options>",
        kind: Kind::Value,
        repeat: Repeat::Accumulates,
        scope: Scope::TimeSpan,
        xml: &["Stream"],
        with_profile: false,
        short: "a load with its own name and options, run at the same time as the others; repeat the option for each load",
        long: "The name has 1 to 32 letters, digits, dots, underscores or hyphens. After the colon follow options of a \
               target, such as -b -r -w -t -o -g -S --sizes, and perhaps targets; without targets, the stream uses \
               those at the end of the command line. Options of a target outside of --stream are defaults for all \
               streams; an option inside replaces its default, and -S, -Z and the access pattern (-r, -rs, -s) are \
               replaced as a whole. All other options, such as -d and --rate, are given outside. File names with \
               blanks need quotation marks inside the text. Results have figures for each stream. Cannot be used with \
               -F, -O or -X; a job file names the stream of each target with the key stream.",
        example: "--stream=oltp: -b8K -r -w30 -t2 -o8",
        apply: stream,
        ..OWN
    },
    OptionRow {
        name: "--mix",
        group: Group::Access,
        value: "=<weight>:<options>",
        kind: Kind::Value,
        repeat: Repeat::Accumulates,
        scope: Scope::TimeSpan,
        xml: &["Weight"],
        with_profile: false,
        short: "a share of the I/Os with options of its own; repeat the option for each part of the mix",
        long: "With -F and -O each thread chooses a part for each I/O, with a probability that is the part's weight \
               divided by the sum of all weights; otherwise each part has its own threads (-t, -o). Options and \
               targets of a part are typed as for --stream. All parts share one set of results. Cannot be used with \
               --stream or -X.",
        example: "--mix=60: -b8K -r -w20",
        apply: mix,
        ..OWN
    },
];

/// Options that follow those of [`settings`].
pub(super) const LAST_ROWS: &[OptionRow] = &[
    OptionRow {
        name: "--delete-after",
        group: Group::Targets,
        short: "delete the target files that this program created, after the run",
        long: "Files of earlier runs are deleted too, also if the run fails or is interrupted. Other files and devices \
               are kept; a note in the result names them.",
        example: "--delete-after",
        apply: |builder, _| {
            builder.options.delete_after = true;
            Ok(())
        },
        ..OWN
    },
    OptionRow {
        name: "--expect",
        group: Group::Acceptance,
        value: "=<figure>=<value>[,...]",
        kind: Kind::Value,
        repeat: Repeat::Accumulates,
        short: "compare results with the storage's rated limits, and name the bottleneck",
        long: "Figures, separated by commas: drives=<n> and raid=<level> (0, 1, 5, 6 or 10); drive-read=<bytes>, \
               drive-write=<bytes> and drive-iops=<n> (or drive-read-iops=<n> and drive-write-iops=<n>) of a single \
               drive; vm-iops=<n> and vm-bytes=<bytes> of the virtual machine; volume-iops=<n> and \
               volume-bytes=<bytes> of a cloud volume, all per second. volume=[<n>x]<name> takes the caps of a kind of \
               volume, such as gp3 or 4xp30 for a stripe of four, vm=<name> those of a VM size, such as Standard_B2ms, \
               from the program's table or, with volumes=<file>, from a table of your own. hba=<bits>[x<lanes>] is the \
               line rate of the adapter, as in 12Gx4. K, M, G and T are decimal here. --plan names the lowest limit. \
               The report has each limit, and the percentage of it that the run reached.",
        example: "--expect=raid=5,drives=3,drive-write=450M,vm-iops=1920",
        apply: |builder, given| {
            let criteria = &mut builder.options.criteria;
            criteria.stated = Some(expect::parse(given.value, criteria.stated.unwrap_or_default(), given.environment)?);
            Ok(())
        },
        ..OWN
    },
    OptionRow {
        name: "--hold-latency",
        group: Group::Affinity,
        short: "keep CPUs out of deep idle states for the whole run",
        long: "Holds /dev/cpu_dma_latency open at 0; needs root. At low queue depths every latency includes the time a \
               CPU takes to leave an idle state. The machine draws more power and may clock lower. A note in the \
               result states whether this succeeded and, if not, why.",
        example: "--hold-latency",
        apply: |builder, _| {
            builder.options.hold_latency = true;
            Ok(())
        },
        ..OWN
    },
    OptionRow {
        name: "--journal",
        group: Group::Durability,
        value: "=<dir>",
        kind: Kind::Value,
        repeat: Repeat::Error,
        short: "experimental: save the map of --verify, and log changes, in this directory for a later 'diskspd verify'",
        long: "'diskspd verify --journal' compares the targets with it, also after a power cut or a kill. The \
               directory must exist, and must not be on the storage of a target unless --journal-here is given. During \
               the run it has a log of each thread (about 40 bytes per write), at the end the file 'map'; a run that \
               fails leaves the logs and no map. Files that are not diskspd's are never replaced. Needs --verify and a \
               run of one timespan.",
        example: "--journal=/var/tmp/journal",
        apply: |builder, given| {
            not_an_option(given.value.as_ref())?;
            if given.value.is_empty() {
                return Err("a directory is missing".to_owned());
            }
            builder.options.journal.get_or_insert_default().dir = Some(given.value.into());
            Ok(())
        },
        ..OWN
    },
    OptionRow {
        name: "--journal-here",
        group: Group::Durability,
        short: "let --journal use a directory on the storage of the targets",
        long: "The map and the logs are then lost if that storage fails, and writing them adds to its load.",
        example: "--journal-here",
        apply: |builder, _| {
            builder.options.journal.get_or_insert_default().may_be_here = true;
            Ok(())
        },
        ..OWN
    },
    OptionRow {
        name: "--probe-host-cache",
        group: Group::Caching,
        short: "before the run, test whether a cache below each target, such as the host's, serves repeated reads",
        long: "Reads 256 blocks of 4 KiB in the range that the run accesses, past the page cache, then up to 1 GiB of \
               other data in it, then the same blocks again in turn with new ones. The host-cache finding compares the \
               latencies of both. Takes at most 6 s per target and writes nothing. Targets that this run creates or \
               only writes to are not tested. If the whole target is already in a cache, the test proves nothing, and \
               the finding says so.",
        example: "--probe-host-cache",
        apply: |builder, _| {
            builder.options.probe_host_cache = true;
            Ok(())
        },
        ..OWN
    },
    OptionRow {
        name: "--require",
        group: Group::Acceptance,
        value: "=<metric><operator><bound>",
        kind: Kind::Value,
        repeat: Repeat::Accumulates,
        short: "exit with status 4 unless every timespan meets this bound, as in p99<10ms",
        long: "Metrics: iops, bandwidth (MiB/s), mean, p50, p90, p95, p99, p99.9, p99.99, p99.999 and max of the \
               latency, and cpu (mean of all CPUs in percent). Before them, read., write., discard., flush., commit. \
               (a write until it is durable), response. (from the intended start, with --rate) or the name of a stream \
               and a colon selects I/Os, as in commit.p99<10ms. A latency alone is what the application waits for: \
               with flushes the commits, with --rate the response times, and reads and commits separately where both \
               are done. Operators: <, <=, > and >=. Latencies need a unit (ns, us, ms, s, m, h); iops takes K and M \
               (decimal). Results list each requirement with PASS, FAIL or UNKNOWN. The exit status is 3 if the load \
               cannot have the metric, 6 if it could not be measured. A bound on latency turns on latency measurement, \
               as -L does. Quote the value: < and > are special to shells.",
        example: "--require=p99<10ms",
        apply: |builder, given| {
            let requirement = requirement::parse(given.value)?;
            if requirement.name.metric.needs_latency() {
                builder.overrides.measure_latency();
            }
            builder.options.criteria.requirements.push(requirement);
            Ok(())
        },
        ..OWN
    },
    OptionRow {
        name: "--bands",
        group: Group::Acceptance,
        value: "=<sql|sql-log>",
        kind: Kind::Value,
        short: "rate latencies against SQL Server's guidelines; exit with status 4 if the upper limit is exceeded",
        long: "sql: the mean latency of data files is ideal up to 10 ms, has some impact up to 20 ms, and is impacted \
               above. sql-log: the same of commits (durable writes or, with --fdatasync-every, writes plus their share \
               of the flushes) with 1 and 5 ms on flash, 5 and 10 ms on devices that the kernel reports as rotational; \
               in virtual machines, where such a device may be flash, both are applied. Results list the rating with \
               PASS or FAIL, or with UNKNOWN if it depends on the kind of disk or the run is INVALID. Turns on latency \
               measurement, as -L does.",
        example: "--bands=sql",
        apply: |builder, given| {
            builder.options.criteria.bands = Some(match given.value {
                "sql" => BandKind::Data,
                "sql-log" => BandKind::Log,
                other => return Err(format!("unknown bands '{other}' (expected: sql, sql-log)")),
            });
            builder.overrides.measure_latency();
            Ok(())
        },
        ..OWN
    },
    OptionRow {
        name: "--strict",
        group: Group::Acceptance,
        short: "exit with status 4 if the verdict is INVALID",
        long: "A run that fails still exits with 1, and the report is written in any case. A preset of which a load \
               passes with a WARN finding exits with status 6. A new file whose directory does not exist, as of a file \
               system that is not mounted, is refused with status 3.",
        example: "--strict",
        apply: |builder, _| {
            builder.options.strict = true;
            Ok(())
        },
        ..OWN
    },
    OptionRow {
        name: "--plan",
        short: "print the plan of the run and the reasons for its choices, and exit",
        long: "Threads, CPUs, ranges, queue depths, memory and engine. Writes nothing.",
        example: "--plan",
        apply: |builder, _| {
            builder.options.plan_only = true;
            Ok(())
        },
        ..OWN
    },
    OptionRow {
        name: "--help",
        value: "[=<option|word>]",
        kind: Kind::OptionalValue,
        short: "print this help, details of one option (--help -rd), or what a word finds (--help iops)",
        long: "Alone, it lists all options, one line each. A word such as iops, fsync or fio's iodepth finds options, \
               subcommands and pages of the guide. 'diskspd help WORD' does the same.",
        example: "--help",
        ..OWN
    },
    OptionRow {
        name: "--man",
        value: "[=<subcommand>]",
        kind: Kind::OptionalValue,
        short: "print the man page of diskspd, or of a subcommand, and exit",
        long: "For man(1): diskspd --man >diskspd.1. Packages include all of these pages.",
        example: "--man=sweep",
        ..OWN
    },
    OptionRow {
        name: "--completions",
        value: "=<bash|zsh|fish>",
        kind: Kind::Value,
        short: "print a completion script for this shell, and exit",
        long: "It completes options, their values and subcommands. For the current shell: source <(diskspd \
               --completions=bash). Packages include the scripts for all three shells.",
        example: "--completions=bash",
        ..OWN
    },
    OptionRow {
        name: "--version",
        short: "print version, commit, build and supported kernel features, and exit",
        long: "The first line also has the version of DiskSpd that it matches.",
        example: "--version",
        ..OWN
    },
];

fn destroy(builder: &mut Builder, given: &GivenOption<'_>) -> Result<(), String> {
    if given.value.is_empty() {
        return Err("the name of a block device is missing; run without --destroy to see the name to give".to_owned());
    }
    builder.options.destroy.push(given.value.to_owned());
    Ok(())
}

fn stream(builder: &mut Builder, given: &GivenOption<'_>) -> Result<(), String> {
    add_stream(builder, TypedStream::parse(given.value)?)
}

fn mix(builder: &mut Builder, given: &GivenOption<'_>) -> Result<(), String> {
    add_stream(builder, TypedStream::parse_mix(given.value)?)
}

fn add_stream(builder: &mut Builder, stream: TypedStream) -> Result<(), String> {
    if let Some(conflict) = stream.conflict_with(&builder.streams) {
        return Err(conflict);
    }
    builder.streams.push(stream);
    Ok(())
}
