//! Instructions of this program per I/O, which callgrind counts alike on quiet and on
//! busy machines.
//!
//! The difference of two runs of different length leaves out start and end.

use crate::stop::Stop;
use crate::surroundings::{installed, target_directory};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A load, and how many instructions in user space an I/O of it may take.
struct Row {
    name: &'static str,
    options: &'static str,
    bound: u64,
}

/// All with `-t1 -b4K -L -D`: full statistics. The bounds of random reads by `io_uring` and by synchronous calls are what
/// the project promises, the others about a tenth above what was measured: counts of operations of the kernel vary with
/// how its completions arrive.
const ROWS: [Row; 23] = [
    Row { name: "io_uring, random reads, -o32", options: "--engine=io_uring -Su -r -o32", bound: 150 },
    Row { name: "io_uring, random reads, -o1", options: "--engine=io_uring -Su -r -o1", bound: 260 },
    Row { name: "null engine, random reads, -o32", options: "--engine=null -r -o32", bound: 149 },
    Row { name: "synchronous, random reads, -o1", options: "--engine=sync -Su -r -o1", bound: 165 },
    Row { name: "null engine, sequential reads", options: "--engine=null -o32", bound: 156 },
    Row { name: "null engine, 30 % writes", options: "--engine=null -r -o32 -w30 --overwrite", bound: 190 },
    Row { name: "null engine, 50 % random (-rs50)", options: "--engine=null -rs50 -o32", bound: 193 },
    Row { name: "null engine, 90 % on 10 % (-rd)", options: "--engine=null -r -rdpct90/10:10/90 -o32", bound: 224 },
    Row { name: "null engine, interlocked (-si)", options: "--engine=null -si -o32", bound: 158 },
    Row { name: "null engine, rate limited (-g)", options: "--engine=null -r -o32 -g4000000i", bound: 292 },
    // At most 60 more than one size, and than offsets that are all equally likely.
    Row {
        name: "null engine, three sizes (--sizes)",
        options: "--engine=null -r -o32 --sizes=4K/60:8K/30:64K/10",
        bound: 167,
    },
    Row { name: "null engine, scattered --skew", options: "--engine=null -r -o32 --skew=zipf:1.1", bound: 191 },
    Row {
        name: "null engine, contiguous --skew",
        options: "--engine=null -r -o32 --skew=zipf:1.1,contiguous",
        bound: 180,
    },
    Row { name: "null engine, two targets", options: "--engine=null -r -o32 second", bound: 149 },
    Row { name: "null engine, drawn targets (-F -O)", options: "--engine=null -r -F1 -O32 second", bound: 431 },
    Row { name: "null engine, open loop (--rate)", options: "--engine=null -r -o32 --rate=4000000", bound: 438 },
    // Flushes of a real file take so long that fewer writes between them would leave too few to count.
    Row {
        name: "null engine, --fdatasync-every=256",
        options: "--engine=null -r -o32 -w100 --overwrite --fdatasync-every=256",
        bound: 430,
    },
    Row { name: "null engine, --append", options: "--engine=null -o32 --append=64M", bound: 313 },
    Row { name: "Linux AIO, random reads, -o32", options: "-x -Su -r -o32", bound: 170 },
    Row { name: "synchronous, sequential reads, -o1", options: "--engine=sync -Su -o1", bound: 510 },
    // Of an area that is soon mapped as a whole: page faults would leave too few I/Os to count.
    Row { name: "memory mapped, random reads, -o32", options: "-Sm -r -o32 -f16M", bound: 1056 },
    // Between 521 and 539, as completions arrive.
    Row { name: "io_uring, batches of 8 (-u8)", options: "-u8 -Su -r -o32", bound: 580 },
    // Between 8,416 and 8,684: the turns of a slow machine have fewer of these I/Os than any others. Of an area that is
    // soon written as a whole, as only what was written before is checked.
    Row {
        name: "--verify, 50 % writes, -o1",
        options: "--engine=sync -Su -r -o1 -w50 -f4M --overwrite --verify",
        bound: 9150,
    },
];

/// Seconds of the two runs that are subtracted.
const SECONDS: [u32; 2] = [1, 3];

/// Bytes of the targets of a row.
const TARGET_BYTES: u64 = 1 << 30;

/// Targets of the two runs of which the difference is what each costs from start to report; valgrind has room for no
/// more than some thousand mappings.
const TARGETS: [u64; 2] = [500, 5000];

/// How many instructions in user space a target with a short name may take, beside its I/Os: some percent above what was
/// measured, as mounts differ. Paths are compared as often as there are questions about a target, so a long one costs more.
const TARGET_BOUND: u64 = 290_000;

/// Builds the program as it is released, measures all rows and prints them.
///
/// # Errors
///
/// [`Stop::Skipped`] without valgrind; [`Stop::Failed`] if a row is above its bound or could not be
/// measured.
pub fn check(root: &Path) -> Result<(), Stop> {
    if installed("valgrind").is_none() {
        return Err(Stop::Skipped("valgrind is not installed".to_owned()));
    }
    let program = build(root)?;
    // Beside the program, where direct I/O works.
    let folder =
        tempfile::tempdir_in(program.parent().unwrap_or(root)).map_err(|error| Stop::Failed(error.to_string()))?;
    println!("{:36} {:>16} {:>6}", "instructions per I/O, -t1 -b4K -L -D", "measured", "bound");
    let mut above = Vec::new();
    for row in &ROWS {
        let measured = lowest(&program, row, folder.path())?;
        println!("{:36} {measured:>16} {:>6}", row.name, row.bound);
        if measured > row.bound {
            above.push(row.name);
        }
    }
    let [few, many] =
        [many_targets(&program, folder.path(), TARGETS[0])?, many_targets(&program, folder.path(), TARGETS[1])?];
    let measured = many.saturating_sub(few) / (TARGETS[1] - TARGETS[0]);
    println!("{:36} {measured:>16} {TARGET_BOUND:>6}", "each of many targets, no I/O");
    if measured > TARGET_BOUND {
        above.push("each of many targets");
    }
    if above.is_empty() { Ok(()) } else { Err(Stop::Failed(format!("above the bound: {}", above.join("; ")))) }
}

/// Instructions per I/O of a row, measured again if they are above its bound: a machine that is slow for a moment makes
/// fewer I/Os in a turn, and each then takes a larger part of the turn's own instructions.
fn lowest(program: &Path, row: &Row, folder: &Path) -> Result<u64, Stop> {
    let mut lowest = measure(program, row, folder)?;
    for _ in 0..2 {
        if lowest > row.bound {
            lowest = lowest.min(measure(program, row, folder)?);
        }
    }
    Ok(lowest)
}

/// Instructions per I/O of a row: of the I/Os that a longer run makes more than a short one.
fn measure(program: &Path, row: &Row, folder: &Path) -> Result<u64, Stop> {
    // A busy machine may leave the longer run less than the short one.
    for _ in 0..5 {
        let [short, long] = [run(program, row, folder, SECONDS[0])?, run(program, row, folder, SECONDS[1])?];
        if let Some(measured) = per_io(short, long) {
            return Ok(measured);
        }
    }
    Err(failed(row.name, "the longer run did not make more I/Os"))
}

/// The program as it is released.
fn build(root: &Path) -> Result<PathBuf, Stop> {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(root).args(["build", "--release", "--locked", "-p", "app"]);
    // Those that cargo has set for this program would make build scripts that look at them build again.
    let of_this_package = |name: &[u8]| name.starts_with(b"CARGO_PKG_") || name.starts_with(b"CARGO_MANIFEST_");
    for (name, _) in std::env::vars_os().filter(|(name, _)| of_this_package(name.as_encoded_bytes())) {
        cargo.env_remove(name);
    }
    let status = cargo.status();
    if status.is_ok_and(|status| status.success()) {
        Ok(target_directory(root).join("release/diskspd"))
    } else {
        Err(Stop::Failed("cargo build --release failed".to_owned()))
    }
}

/// I/Os and instructions of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counted {
    ios: u64,
    instructions: u64,
}

/// A run over new targets: what an earlier one wrote costs `--verify` more.
fn run(program: &Path, row: &Row, folder: &Path, seconds: u32) -> Result<Counted, Stop> {
    let failed = |error: &str| failed(row.name, error);
    let folder = tempfile::tempdir_in(folder).map_err(|error| failed(&error.to_string()))?;
    for name in ["first", "second"] {
        make_target(&folder.path().join(name), TARGET_BYTES).map_err(|error| failed(&error))?;
    }
    let seconds = format!("-d{seconds}");
    let mut arguments = vec!["-t1", "-b4K", "-L", "-D", "-W0", &seconds];
    arguments.extend(row.options.split_whitespace().chain(["first"]));
    let (report, said) = callgrind(program, folder.path(), &arguments).map_err(|error| failed(&error))?;
    counted(&report, &said).ok_or_else(|| failed(&said))
}

/// Instructions of a whole run that does next to nothing to so many targets.
fn many_targets(program: &Path, folder: &Path, count: u64) -> Result<u64, Stop> {
    let failed = |reason: &str| failed("each of many targets", reason);
    let names: Vec<String> = (0..count).map(|number| format!("f{number}")).collect();
    for name in &names {
        make_target(&folder.join(name), 1 << 16).map_err(|error| failed(&error))?;
    }
    let mut arguments = vec!["-b4K", "-r", "-F1", "-O1", "-W0", "-d10", "--max-ios=1"];
    arguments.extend(names.iter().map(String::as_str));
    let (_, said) = callgrind(program, folder, &arguments).map_err(|error| failed(&error))?;
    collected(&said).ok_or_else(|| failed(&said))
}

/// A sparse file.
fn make_target(path: &Path, bytes: u64) -> Result<(), String> {
    let made = File::create(path).and_then(|file| file.set_len(bytes));
    made.map_err(|error| format!("cannot make '{}': {error}", path.display()))
}

/// A run of the program in a folder under callgrind: what it reports, and what callgrind says.
fn callgrind(program: &Path, folder: &Path, arguments: &[&str]) -> Result<(String, String), String> {
    let command = ["--tool=callgrind", "--callgrind-out-file=/dev/null"];
    let output = Command::new("valgrind").current_dir(folder).args(command).arg(program).args(arguments).output();
    let output = output.map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok((text(&output.stdout), text(&output.stderr))) } else { Err(text(&output.stderr)) }
}

fn failed(name: &str, reason: &str) -> Stop {
    Stop::Failed(format!("'{name}' could not be measured: {}", reason.trim_end()))
}

/// The I/Os of a report and what callgrind says of the run.
fn counted(report: &str, said: &str) -> Option<Counted> {
    let total = report.lines().find_map(|line| line.strip_prefix("total:"))?;
    Some(Counted { ios: total.split('|').nth(1)?.trim().parse().ok()?, instructions: collected(said)? })
}

/// The instructions that callgrind counted.
fn collected(said: &str) -> Option<u64> {
    said.lines().find_map(|line| line.split_once("Collected : "))?.1.trim().parse().ok()
}

fn per_io(short: Counted, long: Counted) -> Option<u64> {
    let ios = long.ios.checked_sub(short.ios).filter(|ios| *ios > 0)?;
    Some(long.instructions.checked_sub(short.instructions)?.div_ceil(ios))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_read_and_starts_are_left_out() {
        let report = "thread | ...\ntotal:        4096000 |         1000 |    1269.98 |  325113.81\n";
        let said = "==1== Events    : Ir\n==1== Collected : 345678\n";
        let short = counted(report, said).expect("both are there");
        assert_eq!(short, Counted { ios: 1000, instructions: 345_678 });
        let long = Counted { ios: 3000, instructions: 345_678 + 2000 * 150 };
        assert_eq!(per_io(short, long), Some(150));
        assert_eq!(per_io(long, short), None);
        assert_eq!(counted("", said), None);
    }
}
