//! `--append`: offsets of the writes, lengths of the files, their rotation, and files that are refused.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use testkit::{Mounted, Program, Snapshot, Workplace, or_skip, workplace};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("a number: {value}"))
}

/// Files that have no name yet.
const UNNAMED: &str = "unnamed";

/// One call on a log.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Call {
    Write { offset: u64, length: u64 },
    Truncate { length: u64 },
    Reserve { length: u64 },
    Flush,
}

/// The calls on each log `log.dat.N` of a run, in order, and reservations for files without a name.
fn calls(place: &Workplace, words: &str) -> Result<BTreeMap<String, Vec<Call>>, String> {
    let options = "-y -s 0 -e trace=pwrite64,ftruncate,fallocate,fdatasync,fsync";
    let text = place.system_calls(options, words)?;
    let mut open = BTreeMap::new();
    let mut calls = BTreeMap::<String, Vec<Call>>::new();
    for line in text.lines() {
        // A call that another thread's call interrupted is printed in two parts.
        let Some((thread, rest)) = line.split_once(' ') else { continue };
        let rest = rest.trim_start();
        let whole = if let Some(begin) = rest.strip_suffix("<unfinished ...>") {
            open.insert(thread.to_owned(), begin.trim_end().to_owned());
            continue;
        } else if rest.starts_with("<...") {
            let Some(begin) = open.remove(thread) else { continue };
            format!("{begin}{}", rest.split_once("resumed>").map_or("", |(_, end)| end))
        } else {
            rest.to_owned()
        };
        let Some((name, arguments)) = whole.split_once('(') else { continue };
        let Some((path, arguments)) = arguments.split_once('<').and_then(|(_, rest)| rest.split_once('>')) else {
            continue;
        };
        let name_of_log = path.rsplit_once('/').map(|(_, log)| log).filter(|log| log.starts_with("log.dat."));
        let log = match name_of_log {
            Some(log) => log,
            // A new file gets its name when it is complete.
            None if name == "fallocate" => UNNAMED,
            None => continue,
        };
        let arguments = arguments.rsplit_once(')').map_or(arguments, |(arguments, _)| arguments);
        let mut numbers = arguments.rsplit(", ").map(|text| text.trim().parse::<u64>());
        let mut next = || numbers.next().and_then(Result::ok).unwrap_or_else(|| panic!("a number: {line}"));
        calls.entry(log.to_owned()).or_default().push(match name {
            "pwrite64" => Call::Write { offset: next(), length: next() },
            "ftruncate" => Call::Truncate { length: next() },
            "fallocate" => Call::Reserve { length: next() },
            _ => Call::Flush,
        });
    }
    Ok(calls)
}

/// From the first write to the last: creation and end of the run flush and mark too.
fn of_load(calls: &[Call]) -> &[Call] {
    let is_write = |call: &Call| matches!(call, Call::Write { .. });
    let (first, last) = (calls.iter().position(is_write), calls.iter().rposition(is_write));
    first.zip(last).map_or(&[], |(first, last)| &calls[first..=last])
}

// Shows switches: --append[=<size>[KMGT][,preallocate|,recycle][,single]]
#[test]
fn each_thread_writes_at_the_end_of_its_own_file_and_truncates_it_when_it_is_full() {
    let place = workplace!();
    let words = "-d600 -W0 -b4K -o1 -t2 --append=64K --max-ios=200 --json r.json --text r.txt log.dat";
    let calls = or_skip!(calls(&place, words));
    assert_eq!(calls.keys().collect::<Vec<_>>(), ["log.dat.0", "log.dat.1"]);
    let (mut writes, mut rotations) = (0, 0);
    for (log, calls) in &calls {
        let mut end = 0;
        for call in of_load(calls) {
            match call {
                Call::Write { offset, length } => {
                    assert_eq!((*offset, *length), (end, 4 * KIB), "{log}");
                    end += length;
                    writes += 1;
                }
                Call::Truncate { length } => {
                    assert_eq!((*length, end), (0, 64 * KIB), "{log}");
                    end = 0;
                    rotations += 1;
                }
                other => panic!("{log}: {other:?}"),
            }
        }
        let length = fs::metadata(place.path(log)).expect("it stays").len();
        // A full file is started again for the next write, even if no more writes follow.
        assert!(length == end || (end == 64 * KIB && length == 0), "{log}: {length}, not {end}");
    }
    let measured = &place.span_result("r.json")["measured"];
    assert_eq!((number(&measured["total"]["write"]["ios"]), writes), (200, 200));
    let told = &measured["rotations"];
    assert!((rotations..=rotations + 2).contains(&number(&told["count"])), "{told}, not {rotations}");
    assert!(number(&told["total_ns"]) >= number(&told["max_ns"]) && number(&told["max_ns"]) > 0, "{told}");
    let text = String::from_utf8(place.content("r.txt")).expect("text");
    for part in ["log.dat.0'", "log.dat.1'", "appending to a file per thread: 64K", "\nLog rotations\n"] {
        assert!(text.contains(part), "no {part}: {text}");
    }
    assert!(!place.path("log.dat").exists());
}

// Shows switches: --append[=<size>[KMGT][,preallocate|,recycle][,single]]
#[test]
fn preallocated_files_are_reserved_before_each_first_write_and_keep_their_length() {
    let place = workplace!();
    let words = "-d600 -W0 -b4K -o1 --append=64K,preallocate --max-ios=40 --json r.json log.dat";
    let calls = or_skip!(calls(&place, words));
    assert_eq!(calls[UNNAMED], [Call::Reserve { length: 64 * KIB }]);
    let calls = &calls["log.dat.0"];
    let mut reserved = 64 * KIB;
    let mut end = 0;
    for call in calls {
        match call {
            Call::Reserve { length } => reserved = *length,
            Call::Truncate { .. } => (reserved, end) = (0, 0),
            Call::Write { offset, length } => {
                assert_eq!((*offset, reserved), (end, 64 * KIB), "{calls:?}");
                end += length;
            }
            Call::Flush => {}
        }
    }
    let rotations = of_load(calls).iter().filter(|call| matches!(call, Call::Truncate { .. })).count();
    assert_eq!((rotations, number(&place.span_result("r.json")["measured"]["rotations"]["count"])), (2, 2));
    let metadata = fs::metadata(place.path("log.dat.0")).expect("it stays");
    assert_eq!(metadata.len(), 64 * KIB);
    assert!(metadata.blocks() * 512 >= 64 * KIB, "{} blocks", metadata.blocks());
}

// Shows switches: --append[=<size>[KMGT][,preallocate|,recycle][,single]]
#[test]
fn recycled_files_are_overwritten_and_never_truncated() {
    let place = workplace!();
    let path = place.path("log.dat");
    let words = format!("-d600 -W0 -b4K -o1 --append=64K,recycle,single --max-ios=40 --json r.json {}", path.display());
    place.create_file("log.dat", "-c64K");
    let before = Snapshot::take(&path);
    let ios = or_skip!(place.traced(&words));
    let offsets: Vec<u64> = ios.iter().filter(|io| io.write && io.path == "log.dat").map(|io| io.offset).collect();
    assert_eq!(offsets, (0..40).map(|io| io % 16 * 4 * KIB).collect::<Vec<_>>());
    let after = Snapshot::take(&path);
    assert_eq!((after.inode, fs::metadata(&path).expect("it stays").len()), (before.inode, 64 * KIB));
    assert_eq!(place.span_result("r.json")["measured"]["rotations"], Value::Null);
}

#[test]
fn every_nth_write_is_followed_by_a_flush_of_its_own_file() {
    let place = workplace!();
    let words = "-d600 -W0 -b4K -o1 -t2 --append=1M --fdatasync-every=8 --max-ios=160 --json r.json log.dat";
    let calls = or_skip!(calls(&place, words));
    for (log, calls) in &calls {
        let mut unflushed = 0;
        for call in of_load(calls) {
            match call {
                Call::Write { .. } => unflushed += 1,
                Call::Flush => {
                    assert_eq!(unflushed, 8, "{log}: {calls:?}");
                    unflushed = 0;
                }
                other => panic!("{log}: {other:?}"),
            }
            assert!(unflushed <= 8, "{log}: {calls:?}");
        }
    }
    assert_eq!(calls.len(), 2);
}

/// Appended bytes are counted modulo the file: nothing is lost or written twice, whatever engine issues the writes.
#[test]
fn every_engine_keeps_files_whole_with_many_writes_outstanding() {
    let place = workplace!();
    let loads = [
        "--engine=sync -o4",
        "--engine=io_uring -o8",
        "--engine=io_uring -o4 -u",
        "--engine=aio -o8",
        "--engine=io_uring -o8 --fdatasync-every=3",
        "--engine=aio -o8 --fdatasync-every=7",
    ];
    for words in loads {
        // Not a multiple of the file: its last part exists in the end.
        let words = format!("-d600 -W0 -b4K {words} --append=80K --max-ios=70 --json r.json log.dat");
        let run = place.diskspd(&words).run();
        if run.code() != Some(0) && run.stderr.contains("not available") {
            continue;
        }
        run.expect_status(0);
        let measured = &place.span_result("r.json")["measured"];
        assert_eq!(number(&measured["rotations"]["count"]), 3, "{words}");
        let content = place.content("log.dat.0");
        assert_eq!(content.len() as u64, 10 * 4 * KIB, "{words}");
        assert!(content.iter().enumerate().all(|(at, byte)| *byte == at as u8), "{words}");
    }
}

#[test]
fn drawn_sizes_follow_each_other_until_the_largest_does_not_fit() {
    let place = workplace!();
    let words = "-d600 -W0 -o1 --sizes=4K/50:12K/50 --append=64K --max-ios=200 --json r.json log.dat";
    let calls = or_skip!(calls(&place, words));
    let mut end = 0;
    let mut lengths = BTreeMap::<u64, u32>::new();
    for call in of_load(&calls["log.dat.0"]) {
        match call {
            Call::Write { offset, length } => {
                assert_eq!(*offset, end);
                end += length;
                *lengths.entry(*length).or_default() += 1;
            }
            Call::Truncate { .. } => {
                assert!((52 * KIB + 1..=64 * KIB).contains(&end), "{end}");
                end = 0;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(lengths.keys().copied().collect::<Vec<_>>(), [4 * KIB, 12 * KIB]);
}

// Shows data-safety: a file that a thread appends to, truncated and written
#[test]
fn somebodys_file_is_refused_and_stays_as_it_is() {
    let place = workplace!();
    let theirs = place.somebodys("log.dat.1");
    for words in ["--append=64K", "--append=64K,preallocate", "--append=64K,recycle"] {
        let before = Snapshot::take(&theirs);
        let run = place.short_run("-b4K -t2").args(words).arg(place.path("log.dat")).run();
        run.expect_status(3).expect_stderr(&["log.dat.1", "may hold data that diskspd did not write", "--overwrite"]);
        assert_eq!((Snapshot::take(&theirs), &*run.stdout), (before, ""), "{words}");
        assert!(!place.path("log.dat.0").exists(), "{words}");
    }
    let run = place.briefly("-b4K -t2 --append=64K --overwrite").arg(place.path("log.dat")).run_until_measuring();
    run.expect_status(0);
    assert!(fs::metadata(&theirs).expect("it stays").len() <= 64 * KIB);
}

// Shows data-safety: a file that a thread appends to, truncated and written
#[test]
fn files_of_ours_are_appended_to_again_and_bear_their_mark() {
    let place = workplace!();
    or_skip!(place.attributes());
    for _ in 0..2 {
        place.diskspd("-d600 -W0 -b4K -o1 --append=64K --max-ios=20 log.dat").run().expect_status(0);
        let mark = place.mark(&place.path("log.dat.0")).expect("a mark");
        assert!(mark.contains("state=closed size=16384 fill=mixed"), "{mark}");
    }
}

#[test]
fn files_that_do_not_fit_together_are_refused_before_any_is_made() {
    let place = workplace!();
    let memory = or_skip!(Mounted::tmpfs(&place, "memory", "4m"));
    let path = memory.path.join("log.dat");
    let run = place.short_run("-b4K -t4 --append=1536K").arg(&path).run();
    assert!(matches!(run.code(), Some(1 | 3)), "{run:?}");
    run.expect_stderr(&["no space for", "6MiB needed", "log.dat.3"]);
    assert_eq!(fs::read_dir(&memory.path).expect("a folder").count(), 0);
    place.diskspd("-d1 -W0 -b4K -t2 --append=1536K --max-ios=2000").arg(&path).run().expect_status(0);
    let length = |thread: u32| fs::metadata(format!("{}.{thread}", path.display())).expect("a file").len();
    assert!(length(0) <= 3 * MIB / 2 && length(1) <= 3 * MIB / 2);
}

#[test]
fn an_interrupted_run_leaves_files_that_the_next_may_use() {
    let place = workplace!();
    or_skip!(place.attributes());
    let mut run = place.diskspd("-d60 -W0 -v -b4K -o1 --append=64K log.dat").start();
    run.wait_for_stderr("starting measurements");
    run.interrupt();
    run.finish().expect_status(0);
    let path = place.path("log.dat.0");
    let length = fs::metadata(&path).expect("it stays").len();
    assert!(length <= 64 * KIB && length.is_multiple_of(4 * KIB), "{length}");
    assert!(place.mark(&path).expect("a mark").contains("state=closed"));
    place.diskspd("-d600 -W0 -b4K --append=64K --max-ios=4 --delete-after log.dat").run().expect_status(0);
    assert!(!path.exists());
}

#[test]
fn what_is_no_log_is_refused_and_touches_nothing() {
    let place = workplace!();
    let path = place.path("log.dat");
    for (words, parts) in [
        ("--append=x", &["--append=x", "'x'", "64M"][..]),
        ("--append=64K,often", &["64K,often", "preallocate"]),
        ("--append=2K", &["2048 bytes", "4096 bytes"]),
        ("--append -r", &["--append cannot be used with -r:"]),
        ("--append -s8K", &["--append cannot be used with -s<stride>:"]),
        ("--append -si -t2", &["--append cannot be used with -si:"]),
        ("--append -p", &["--append cannot be used with -p:"]),
        ("--append -T64K -t2", &["--append cannot be used with -T:"]),
        ("--append -B4K", &["--append cannot be used with -B:"]),
        ("--append -f1M", &["--append cannot be used with -f<size>:", "--append=64M"]),
        ("--append -c1M", &["--append cannot be used with -c:"]),
        ("--append -F2", &["--append cannot be used with -F:", "-t"]),
        ("--append -Sm", &["--append cannot be used with -Sm:"]),
        ("--append --discard=5", &["--append cannot be used with --discard:"]),
        ("--append -w30", &["--append cannot be used with -w30"]),
        ("--append -w0", &["--append writes", "-w0"]),
        ("--append=1M,single -t2", &["single", "one thread"]),
    ] {
        let run = place.short_run("-b4K").args(words).arg(&path).run();
        run.expect_status(3).expect_stderr(parts);
        assert_eq!(run.stdout, "", "{words}");
        let names: Vec<_> = fs::read_dir(place.folder()).expect("a folder").flatten().map(|e| e.file_name()).collect();
        assert!(names.iter().all(|name| !name.to_string_lossy().contains("log.dat")), "{words}: {names:?}");
    }
    let run = place.short_run("-b4K --append /dev/null").run();
    run.expect_status(3).expect_stderr(&["/dev/null", "is a device", "--append needs files"]);
    assert!(!Path::new("/dev/null.0").exists());
    let run = place.short_run("-b4K --append").arg(&path).arg(&path).run();
    run.expect_status(3).expect_stderr(&["used by 2 targets"]);
}

#[test]
fn a_file_under_two_names_is_not_appended_to_twice() {
    let place = workplace!();
    symlink("log.0", place.path("log.1")).expect("a symbolic link");
    for words in [
        &["--append=64K", "log", "./log"][..],
        &["--append=64K", "-t2", "log"],
        &["--stream", "a: --append=64K log", "--stream", "b: -r ./log.0"],
        &["--stream", "a: -c1M new", "--stream", "b: -w3 -c2M ./new"],
    ] {
        let run = words.iter().fold(place.short_run("-b8K"), Program::arg).run();
        run.expect_status(3).expect_stderr(&["are the same file"]);
        for name in ["log.0", "new"] {
            assert!(!place.path(name).exists(), "{words:?} made {name}");
        }
    }
    fs::remove_file(place.path("log.1")).expect("it was made above");
    place.short_run("-b8K --append=64K log").run().expect_status(0);
    fs::hard_link(place.path("log.0"), place.path("log.1")).expect("a second name");
    let before = Snapshot::take(place.path("log.0"));
    let run = place.short_run("-b8K --append=64K -t2 log").run();
    run.expect_status(3).expect_stderr(&["'log.0' and 'log.1' are the same file"]);
    assert_eq!(Snapshot::take(place.path("log.0")), before);
}

#[test]
fn a_job_that_is_a_log_file_is_not_destroyed() {
    let place = workplace!();
    let job = place.diskspd("-d1 -W0 -Rptoml -b8K --append=64K log").run();
    job.expect_status(0);
    fs::write(place.path("log.0"), &job.stdout).expect("a small file");
    let run = place.diskspd("run log.0 --overwrite").run();
    run.expect_status(3).expect_stderr(&["holds the description of this run"]);
    assert_eq!(fs::read_to_string(place.path("log.0")).expect("it is there"), job.stdout);
}

#[test]
fn a_profile_a_job_and_the_plan_say_the_same() {
    let place = workplace!();
    let profile = place.diskspd("-d1 -W0 -Rpxml -b4K -t2 --append=64K,preallocate *1").run();
    profile.expect_status(0).expect_stdout(&["<Append>64K,preallocate</Append>", "<WriteRatio>100</WriteRatio>"]);
    fs::write(place.path("p.xml"), &profile.stdout).expect("a small file");
    let job = place.diskspd("-d1 -W0 -Rptoml -b4K -t2 --append=64K,preallocate log.dat").run();
    job.expect_status(0).expect_stdout(&["append = \"64K,preallocate\""]);
    fs::write(place.path("job.toml"), &job.stdout).expect("a small file");
    for words in
        ["-Xp.xml --plan log.dat", "run job.toml --plan", "-d1 -W0 -b4K -t2 --append=64K,preallocate --plan log.dat"]
    {
        let run = place.diskspd(words).run();
        run.expect_status(0).expect_stdout(&[
            "'log.dat.0'",
            "'log.dat.1'",
            "creates an empty file and reserves 64KiB for it",
            "at the end of the file, which is truncated and reserved again once 64KiB have been written to it",
        ]);
        assert!(!place.path("log.dat.0").exists(), "{words}");
    }
}

#[test]
fn a_stream_appends_beside_another_load() {
    let place = workplace!();
    let words = "-d1 -W0 -c1M -b4K -L --json r.json --stream=data:-r --stream=wal:--append=64K,recycle a.dat";
    place.diskspd(words).run().expect_status(0);
    let measured = &place.span_result("r.json")["measured"];
    let streams = measured["streams"].as_array().expect("a list");
    let names: Vec<&str> = streams.iter().filter_map(|stream| stream["name"].as_str()).collect();
    assert_eq!(names, ["data", "wal"], "{measured}");
    assert_eq!((place.content("a.dat").len() as u64, place.content("a.dat.0").len() as u64), (MIB, 64 * KIB));
}

#[test]
fn directories_and_data_to_be_written_are_no_targets() {
    let place = workplace!();
    std::fs::create_dir(place.path("logs")).expect("our folder");
    for path in ["logs", "logs/", "missing/", "/"] {
        let run = place.short_run("--append=1M").arg(path).run();
        run.expect_status(3).expect_stderr(&[&format!("'{path}' is a directory: give the name of a log file in it")]);
    }
    assert_eq!(std::fs::read_dir(place.path("logs")).expect("our folder").count(), 0);
    place.file("data", &vec![7; 1 << 20]);
    let run = place.short_run("-w100 -Z64K,data --overwrite ./data").run();
    run.expect_status(3).expect_stderr(&["'./data' holds the data to be written (-Z) ('data')"]);
    assert!(place.content("data") == vec![7; 1 << 20]);
}
