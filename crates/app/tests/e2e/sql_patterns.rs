//! `preset run sql-patterns`: each row of the published tables, in the plan and in the kernel; and the command lines of
//! presets, which have the plan of the preset itself.

use cli::preset::{BUILTIN, Builtin};
use std::collections::BTreeSet;
use testkit::{Finished, Workplace, or_skip, workplace};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// The sockets, NUMA nodes and degree of parallelism of the rows below.
const COUNTS: &str = "--sockets 2 --numa 6 --maxdop 3";

#[derive(Clone, Copy, PartialEq)]
enum Durable {
    /// With the write: `O_DSYNC`, which strace shows within `O_SYNC` too.
    Each,
    /// By a flush after the write.
    Flushed,
    /// Not at all, or nothing is written.
    No,
}
use Durable::{Each, Flushed, No};

/// A published row; sizes are in KiB, 0 threads are those of the machine.
struct Row {
    name: &'static str,
    threads: usize,
    outstanding: u32,
    is_random: bool,
    reads: &'static [f64],
    writes: &'static [f64],
    durable: Durable,
    /// Wording of shares in the plan: of writes, of sizes, of the parts of a mix.
    shares: &'static [&'static str],
}

const fn row(name: &'static str, threads: usize, outstanding: u32, is_random: bool) -> Row {
    Row { name, threads, outstanding, is_random, reads: &[], writes: &[], durable: No, shares: &[] }
}

const CPUS: usize = 0;
const RANDOM: bool = true;
const SEQUENTIAL: bool = false;

#[rustfmt::skip]
const ROWS: &[Row] = &[
    Row { reads: &[8.0], ..row("data reads: 8 KiB", CPUS, 8, RANDOM) },
    Row { writes: &[8.0], durable: Each, ..row("data writes: 8 KiB", CPUS, 8, RANDOM) },
    Row { reads: &[8.0, 16.0, 32.0, 64.0, 128.0], writes: &[8.0, 16.0, 32.0, 64.0, 128.0], durable: Each,
        shares: &["weight 60, blocks of 8KiB, 20% writes", "weight 20, blocks of 64KiB, 10% writes",
            "weight 10, blocks of 16KiB, 50% writes", "weight 6, blocks of 32KiB, 50% writes",
            "weight 4, blocks of 128KiB, 80% writes"],
        ..row("normal activity: 8 to 128 KiB", 3, 8, RANDOM) },
    Row { writes: &[0.5], durable: Each, ..row("log: 512 bytes, 8 outstanding, O_DSYNC", 4, 8, SEQUENTIAL) },
    Row { writes: &[0.5], durable: Flushed, ..row("log: 512 bytes, 1 outstanding, fdatasync", 4, 1, SEQUENTIAL) },
    Row { writes: &[64.0], durable: Each, ..row("log: 64 KiB, 116 outstanding, O_DSYNC", 4, 116, SEQUENTIAL) },
    Row { writes: &[64.0], durable: Flushed, ..row("log: 64 KiB, 1 outstanding, fdatasync", 4, 1, SEQUENTIAL) },
    Row { reads: &[64.0], ..row("log reads: 64 KiB", 4, 8, SEQUENTIAL) },
    Row { reads: &[120.0], ..row("log reads: 120 KiB", 4, 8, SEQUENTIAL) },
    Row { writes: &[64.0, 128.0], durable: Each, shares: &["sizes of writes: 64KiB 50%, 128KiB 50%"],
        ..row("checkpoint: 64 and 128 KiB", 2, 100, RANDOM) },
    Row { writes: &[64.0, 128.0], durable: Each, shares: &["sizes of writes: 64KiB 50%, 128KiB 50%"],
        ..row("lazy writer: 64 and 128 KiB", 6, 16, RANDOM) },
    Row { reads: &[512.0], ..row("read-ahead: 512 KiB", 3, 16, SEQUENTIAL) },
    Row { writes: &[8.0, 128.0], durable: Each, shares: &["sizes of writes: 8KiB 50%, 128KiB 50%"],
        ..row("bulk insert: 8 and 128 KiB", 3, 4, SEQUENTIAL) },
    Row { reads: &[512.0], writes: &[8.0, 128.0], durable: Each,
        shares: &["weight 2, blocks of 512KiB, reads", "weight 1, blocks of 8KiB, writes",
            "weight 1, blocks of 128KiB, writes"],
        ..row("rebuild index: 512 KiB reads, 8 and 128 KiB writes", 3, 8, SEQUENTIAL) },
    Row { reads: &[8.0, 64.0], shares: &["sizes of reads: 8KiB 50%, 64KiB 50%"],
        ..row("DBCC CHECKDB: 8 and 64 KiB reads", 3, 8, SEQUENTIAL) },
    Row { reads: &[1024.0], ..row("backup: 1 MiB reads", 3, 4, SEQUENTIAL) },
    Row { writes: &[1024.0], durable: Each, ..row("backup: 1 MiB writes", 3, 4, SEQUENTIAL) },
    Row { reads: &[64.0], ..row("restore: 64 KiB reads", 3, 16, SEQUENTIAL) },
    Row { writes: &[64.0], durable: Each, ..row("restore: 64 KiB writes", 3, 16, SEQUENTIAL) },
    Row { reads: &[64.0], writes: &[64.0], shares: &["blocks of 64KiB, 50% writes"],
        ..row("tempdb: 64 KiB, 50 % writes", CPUS, 4, RANDOM) },
    Row { reads: &[64.0], writes: &[128.0], durable: Each,
        shares: &["weight 70, blocks of 64KiB, reads", "weight 30, blocks of 128KiB, writes"],
        ..row("data warehouse: 70 % 64 KiB reads, 30 % 128 KiB writes", 3, 8, SEQUENTIAL) },
];

/// The row whose streams are on three files.
const AT_ONCE: &str = "data, log and tempdb at once";

/// Online CPUs, as the kernel lists them.
fn cpus() -> usize {
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").expect("a list of CPUs");
    let count = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        last.parse::<usize>().expect("a CPU") - first.parse::<usize>().expect("a CPU") + 1
    };
    online.trim().split(',').map(count).sum()
}

/// The plan of each timespan's targets and threads, without existing files.
fn plans(run: &Finished) -> Vec<String> {
    run.expect_status(0);
    let is_of_load = |line: &&str| !line.trim_start().starts_with("before:");
    let of_span = |span: &str| {
        let between = |from: &str, to: &str| {
            let rest = &span[span.find(from).unwrap_or_else(|| panic!("{from}: {run}"))..];
            rest[..rest.find(to).unwrap_or(rest.len())].to_owned()
        };
        let text = between("  Targets\n", "\n\n") + "\n" + &between("  Threads: ", "\n\n");
        text.lines().filter(is_of_load).collect::<Vec<_>>().join("\n")
    };
    run.stdout.split("Timespan ").skip(1).map(of_span).collect()
}

fn size(kib: f64) -> String {
    match (kib * 1024.0) as u64 {
        bytes if bytes < KIB => format!("{bytes} bytes"),
        bytes if bytes < MIB => format!("{}KiB", bytes / KIB),
        bytes => format!("{}MiB", bytes / MIB),
    }
}

#[test]
fn each_row_is_planned_as_published() {
    let place = workplace!();
    let run = place.diskspd(&format!("preset run sql-patterns {COUNTS} --plan -c16M a.dat")).run();
    let plans = plans(&run);
    let names: Vec<String> = shown(&place, "sql-patterns").into_iter().map(|line| line.name).collect();
    let expected: BTreeSet<&str> = ROWS.iter().map(|row| row.name).chain([AT_ONCE]).collect();
    assert_eq!(names.iter().map(String::as_str).collect::<BTreeSet<_>>(), expected);
    for (name, plan) in names.iter().zip(&plans).filter(|(name, _)| *name != AT_ONCE) {
        let row = ROWS.iter().find(|row| row.name == name).expect("a row");
        let threads = if row.threads == CPUS { cpus() } else { row.threads };
        let access =
            if row.is_random { "random, multiples of 8KiB" } else { "sequential, one position shared by all threads" };
        let access = if row.name.starts_with("tempdb") { "random, multiples of 64KiB" } else { access };
        let mut parts = vec![
            format!("  Threads: {threads}\n"),
            format!(" {} each", model::units::counted(row.outstanding, "request")),
        ];
        parts.push("bypassing the page cache (O_DIRECT)".to_owned());
        parts.extend(row.shares.iter().map(|share| (*share).to_owned()));
        match (row.reads, row.writes) {
            ([one], []) => parts.push(format!("blocks of {}, reads", size(*one))),
            ([], [one]) => parts.push(format!("blocks of {}, writes", size(*one))),
            _ => {}
        }
        if row.name != "normal activity: 8 to 128 KiB" {
            parts.push(access.to_owned());
        }
        for part in parts {
            assert!(plan.contains(&part), "{name}: no '{part}' in\n{plan}");
        }
        let is_random = plan.contains("        random, ");
        assert_eq!(
            (is_random, plan.contains("        sequential, ")),
            (row.is_random, !row.is_random),
            "{name}: {plan}"
        );
        assert_eq!(plan.contains("(O_DSYNC)"), row.durable == Each, "{name}: {plan}");
    }
}

/// Data, log and tempdb have separate files, if given.
#[test]
fn rows_are_on_the_files_of_data_log_and_tempdb() {
    let place = workplace!();
    let run =
        place.diskspd(&format!("preset run sql-patterns {COUNTS} --plan -c16M data.mdf log.ldf tempdb.mdf")).run();
    let names = shown(&place, "sql-patterns").into_iter().map(|line| line.name);
    for (name, plan) in names.zip(plans(&run)) {
        let files: Vec<&str> =
            ["data.mdf", "log.ldf", "tempdb.mdf"].into_iter().filter(|file| plan.contains(file)).collect();
        let expected: &[&str] = match name.as_str() {
            AT_ONCE => &["data.mdf", "log.ldf", "tempdb.mdf"],
            name if name.starts_with("log") => &["log.ldf"],
            name if name.starts_with("tempdb") => &["tempdb.mdf"],
            _ => &["data.mdf"],
        };
        assert_eq!(files, expected, "{name}: {plan}");
        if name == AT_ONCE {
            let log = "stream log, 'log.ldf': 8 requests, blocks of 64KiB, writes";
            assert!(
                plan.contains(log) && plan.contains("stream data, 'data.mdf': 8 requests, blocks of 8KiB, 30% writes"),
                "{plan}"
            );
            assert!(plan.contains("stream tempdb, 'tempdb.mdf': 4 requests, blocks of 64KiB, 50% writes"), "{plan}");
        }
    }
    let four = place.diskspd("preset run sql-patterns -c16M a b c d").run();
    four.expect_status(3).expect_stderr(&["it takes 1 to 3 targets (data, log, tempdb), not 4"]);
}

/// A load of a preset as printed.
struct PrintedLoad {
    name: String,
    source: String,
    /// The part after `diskspd`.
    command: String,
}

fn shown(place: &Workplace, preset: &str) -> Vec<PrintedLoad> {
    let run = place.diskspd(&format!("preset show {preset}")).run();
    run.expect_status(0);
    assert!(!run.stdout.contains("not expressible"), "{run}");
    let mut found: Vec<PrintedLoad> = Vec::new();
    for line in run.stdout.lines() {
        match (
            line.strip_prefix("# source: "),
            line.strip_prefix("# "),
            line.strip_prefix("diskspd "),
            found.last_mut(),
        ) {
            (Some(source), _, _, Some(last)) => source.clone_into(&mut last.source),
            (_, Some(name), ..) => {
                found.push(PrintedLoad { name: name.to_owned(), source: String::new(), command: String::new() });
            }
            (_, _, Some(command), Some(last)) => command.clone_into(&mut last.command),
            _ => {}
        }
    }
    found
}

/// The words of a line as a shell splits them.
fn words(line: &str) -> Vec<String> {
    line.split('\'')
        .enumerate()
        .flat_map(|(index, text)| match index % 2 {
            0 => text.split_whitespace().map(str::to_owned).collect(),
            _ => vec![text.to_owned()],
        })
        .collect()
}

// Shows switches: --mix=<weight>:<options>
#[test]
fn each_shown_line_has_the_plan_of_its_preset() {
    let place = workplace!();
    let names = ["<data>", "<log>", "<tempdb>", "<target>", "<target 1>"];
    for Builtin { name, .. } in BUILTIN.iter().copied().filter(|builtin| !builtin.text.contains("[[series]]")) {
        let lines = shown(&place, name);
        let files = if name == "file-copy" { "one.dat two.dat" } else { "one.dat" };
        // Some presets have a size of their own.
        let size = if lines.iter().any(|line| line.command.contains("-c")) { "" } else { "-c64M" };
        let of_preset = plans(&place.diskspd(&format!("preset run {name} --plan {size} {files}")).run());
        assert_eq!(of_preset.len() % lines.len(), 0, "{name}");
        let repeats = of_preset.len() / lines.len();
        for (line, plan) in lines.iter().zip(of_preset.chunks(repeats)) {
            let command = line.command.replace("<target 2>", "two.dat");
            let command = names.iter().fold(command, |command, name| command.replace(name, "one.dat"));
            let begin = place.diskspd(&format!("--plan {size}"));
            let run = words(&command).iter().fold(begin, testkit::Program::arg).run();
            assert_eq!(plans(&run), [plan[0].clone()], "{name}, {}: {}", line.name, line.command);
        }
    }
}

#[test]
fn each_row_names_its_source() {
    let place = workplace!();
    for line in shown(&place, "sql-patterns") {
        let known = [
            "Using DiskSpd in SQL Server",
            "SQL Server I/O Basics",
            "TechEd 2006 DAT334",
            "the same, flushed",
            "own choice",
        ];
        assert!(known.iter().any(|source| line.source.starts_with(source)), "{}: {}", line.name, line.source);
    }
}

/// A preset of one row of the table, with its name.
fn of_row(place: &Workplace, row: &Row) -> String {
    let text = Builtin::find("sql-patterns").expect("the preset").text;
    let (head, loads) = text.split_once("[[load]]").expect("loads");
    let name = format!("name = \"{}\"", row.name);
    let load = loads.split("[[load]]").find(|load| load.contains(&name)).expect("a load");
    // The speed of the storage is irrelevant here.
    let text = format!("{head}[[load]]{load}").replace("judge = true", "judge = false");
    place.file("row.toml", text.as_bytes());
    "./row.toml".to_owned()
}

#[test]
fn each_row_is_what_the_kernel_sees() {
    let place = workplace!();
    place.create_file("a.dat", "-c16M");
    for row in ROWS {
        let preset = of_row(&place, row);
        let load = std::fs::read_to_string(place.path("row.toml")).expect("a text");
        let count = |name: &str, option: &'static str| if load.contains(&format!("{{{name}")) { option } else { "" };
        let counts =
            [count("sockets", "--sockets 2"), count("numa", "--numa 6"), count("maxdop", "--maxdop 3")].join(" ");
        // The rarest kind of I/O is one of 125. The synchronous engine has a call for each I/O.
        let words = |ios: u32| {
            format!("preset run {preset} {counts} -d600 -W0 --max-ios={ios} --engine=sync --json r.json a.dat")
        };
        let ios = or_skip!(place.traced(&words(if row.shares.len() > 3 { 3000 } else { 200 })));
        let threads = if row.threads == CPUS { cpus() } else { row.threads };
        assert_eq!(place.measured("r.json")["thread_count"], threads, "{}", row.name);
        let lengths =
            |write: bool| ios.iter().filter(|io| io.write == write).map(|io| io.length).collect::<BTreeSet<u64>>();
        let bytes = |sizes: &[f64]| sizes.iter().map(|kib| (kib * 1024.0) as u64).collect::<BTreeSet<u64>>();
        assert_eq!((lengths(false), lengths(true)), (bytes(row.reads), bytes(row.writes)), "{}", row.name);
        let calls = or_skip!(place.system_calls("-y -e trace=open,openat,fdatasync", &words(40)));
        let file = place.path("a.dat").display().to_string();
        let of_file: Vec<&str> = calls.lines().filter(|line| line.contains(&file)).collect();
        // The result, which has the whole path, is on another line where calls of threads overlap.
        let is_open = |line: &&str| line.contains("a.dat\"") && line.contains("|O_DIRECT|");
        let opened: Vec<&str> = calls.lines().filter(is_open).collect();
        assert!(!opened.is_empty(), "{}: {calls}", row.name);
        assert_eq!(opened.iter().any(|line| line.contains("SYNC|")), row.durable == Each, "{}: {opened:?}", row.name);
        assert_eq!(of_file.iter().any(|line| line.contains(" fdatasync(")), row.durable == Flushed, "{}", row.name);
    }
}

#[test]
fn numbers_that_change_nothing_are_refused() {
    let place = workplace!();
    for (words, reason) in [
        (
            "run sql-log --maxdop 2 -c8M a.dat",
            "--maxdop has no effect: no load of the preset 'sql-log' has {maxdop} or",
        ),
        ("run oltp --sockets 2 -c8M a.dat", "--sockets has no effect: no load of the preset 'oltp' has {sockets}"),
        ("show sql-normal --numa 2", "--numa has no effect: no load of the preset 'sql-normal' has {numa}"),
    ] {
        place.diskspd(&format!("preset {words}")).run().expect_status(3).expect_stderr(&["ERROR: ", reason]);
        assert!(!place.path("a.dat").exists(), "{words}");
    }
}

/// No thread starts 40 million I/Os per second, so the verdict is WARN.
#[test]
fn a_pass_of_a_run_in_doubt_is_unproven_and_limits_are_in_the_table() {
    let place = workplace!();
    let text = "form = \"diskspd-preset/1\"\ntitle = \"Judged\"\njudge = true\nbands = \"data\"\n\
                load = [{ name = \"reads\", options = \"-d1 -W0 -L -b4K -r -o1 --engine=null --rate=40000000\" }]\n";
    place.file("p.toml", text.as_bytes());
    place.create_file("a.dat", "-c8M");
    let words = "preset run p.toml --expect vm-iops=100000000 a.dat";
    let run = place.diskspd(words).run();
    run.expect_status(0).expect_stdout(&["1 load: 1 PASS, unproven", "of the", "% of vm-iops"]);
    run.expect_told(&["WARN starts-not-made"]);
    place.diskspd(&words.replace("p.toml", "p.toml --strict")).run().expect_status(6);
}
