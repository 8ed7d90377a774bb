//! `diskspd verify --journal` after a cut: a killed load, a disk whose volatile cache was lost, and torn journals.

use serde_json::Value;
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::Duration;
use testkit::{
    Cgroup, Flushing, LoopDevice, Mounted, Program, Random, Running, Volatile, Workplace, or_skip, workplace,
};
use verify::generation::Generation;
use verify::unit::{Header, Pool};

const HEAD_BYTES: u64 = 64 << 10;

/// An empty directory for the journal, so that records of an earlier run are not waited for.
fn empty_journal(place: &Workplace) {
    let _ = fs::remove_dir_all(place.path("journal"));
    fs::create_dir(place.path("journal")).expect("a new directory");
}

/// Waits until the log of the first thread has this many bytes of records.
fn wait_for_records(run: &mut Running, journal: &Path, bytes: u64) {
    wait_for_records_in(run, &journal.join("log.0"), bytes);
}

fn wait_for_records_in(run: &mut Running, log: &Path, bytes: u64) {
    run.wait_until("records in the journal", |_| {
        // One word of a record may be 0, and bytes of two may be; not all words of the longest.
        let mut words = [0; 32];
        let file = File::open(log);
        file.and_then(|file| file.read_exact_at(&mut words, HEAD_BYTES + bytes / 8 * 8)).is_ok() && words != [0; 32]
    });
}

/// Verifies a target with the logs of its run.
fn verify(place: &Workplace, target: &Path, status: i32) -> Value {
    let run = place.diskspd("verify --json --journal journal").arg(target).run();
    run.expect_status(status);
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}\n{run}"))
}

fn number(report: &Value, name: &str) -> u64 {
    report["targets"][0][name].as_u64().unwrap_or_else(|| panic!("{name}: {report}"))
}

/// Number of rounds: the usual one, or the value of this variable.
fn rounds(variable: &str, usual: u64) -> u64 {
    let set = std::env::var(variable);
    set.map_or(usual, |rounds| rounds.parse().unwrap_or_else(|_| panic!("{variable} is a number of rounds")))
}

// Shows data-safety: the files run and log.N in the directory of --journal, which stay if the run is killed or fails
#[test]
fn a_load_that_is_killed_loses_nothing_that_was_flushed() {
    let place = workplace!();
    let mut random = Random::new(7);
    let loads = [
        "-b4K -r -w80 -o8 -t2 --fdatasync-every=16",
        "-b4K -r -w100 -o4 -t3 --write-sizes=4K/50:16K/50 --discard=5 --write-zeroes=5 --fsync-every=20",
        "-b8K -si -w100 -o4 -t2 -Sw",
        "-b4K -r -w100 -o8 -t2 -Sb --fdatasync-every=64",
        "-b4K -r -w100 -t2 -Sm -Nv",
        "-b64K -r -w100 -o4 -t1 --engine=aio -Suw",
    ];
    let mut durable = 0;
    for round in 0..rounds("DISKSPD_TEST_KILLS", 18) {
        let load = loads[round as usize % loads.len()];
        let cache = if load.contains("-S") { "" } else { "-Su" };
        let words = format!("-c4M {load} {cache} -d60 -W0 --verify --overwrite --journal=journal --journal-here a.dat");
        empty_journal(&place);
        let mut run = place.diskspd(&words).start();
        wait_for_records(&mut run, &place.path("journal"), 64);
        std::thread::sleep(Duration::from_millis(random.below(300)));
        run.kill_hard();
        let report = verify(&place, &place.path("a.dat"), 0);
        assert_eq!((number(&report, "corrupt_units"), &report["outcome"]), (0, &"good".into()), "{words}: {report}");
        assert_eq!(report["journal_ends_early"], false, "{words}: {report}");
        durable += number(&report, "durable_units");
    }
    assert!(durable > 0);
    // The next run replaces the logs, and one that ends normally leaves only the map.
    place
        .diskspd(
            "-c4M -b4K -r -w50 -d60 -W0 --max-ios=2000 --verify --overwrite --journal=journal --journal-here a.dat",
        )
        .run()
        .expect_status(0);
    let names: Vec<_> = fs::read_dir(place.path("journal"))
        .expect("the journal")
        .map(|entry| entry.expect("a name").file_name())
        .collect();
    assert_eq!(names, ["map"]);
    place
        .diskspd("verify --journal journal a.dat")
        .run()
        .expect_status(0)
        .expect_stdout(&["the map of the run (--journal)"]);
}

/// Cuts the power of a disk during a load, after this many bytes of records, and restores it.
fn cut(place: &Workplace, name: &str, flushing: Flushing, load: &str, bytes: u64) -> Result<Volatile, String> {
    let disk = Volatile::mounted(place, name, 4 << 20, flushing)?;
    empty_journal(place);
    let words = format!("{load} -Su -d600 -W0 --verify --overwrite --journal=journal");
    let mut run = place.diskspd(&words).arg(&disk.file).start();
    wait_for_records(&mut run, &place.path("journal"), bytes);
    disk.cut();
    let run = run.finish();
    disk.back();
    run.expect_status(1).expect_stderr(&["the logs of the run are kept in 'journal' (--journal)"]);
    Ok(disk)
}

#[test]
fn an_honest_disk_loses_only_what_was_not_flushed() {
    let place = workplace!();
    for (number, load) in
        ["-b4K -r -w100 -o8 -t2 --fdatasync-every=200", "-b8K -r -w100 -o4 -t1 -Sw"].iter().enumerate()
    {
        let disk = or_skip!(cut(&place, &format!("disk{number}"), Flushing::Honest, load, 30_000));
        let report = verify(&place, &disk.file, 0);
        let count = |name| self::number(&report, name);
        assert_eq!((count("corrupt_units"), disk.counts().1), (0, 1), "{report}");
        assert!(count("durable_units") > 100 && count("right_units") > 100, "{report}");
        // A cut right after a flush loses nothing.
        let is_seen = count("unflushed_units") + count("torn_units") > 0;
        assert!(is_seen || disk.counts().2 < 200, "{report}");
    }
    let text = place.diskspd("verify --journal journal").arg(place.path("disk1/a.dat")).run();
    assert_eq!(text.code(), Some(1), "the disk is no longer mounted");
}

#[test]
fn each_answer_after_a_cut_equals_the_disks_own_log() {
    let place = workplace!();
    let mut random = Random::new(3);
    for round in 0..rounds("DISKSPD_TEST_CUTS", 2) {
        let flushing = [Flushing::Ignored, Flushing::Partial, Flushing::Honest][round as usize % 3];
        // The outcome of writes in flight when a flush begins depends on the disk. Units of a sector are present or
        // not.
        let is_alone = round % 2 == 1;
        let load = if is_alone { "-b512 -o1 -t1" } else { "-b4K -o8 -t2" };
        let every = if round < 2 { 20 } else { 5 + random.below(100) };
        let bytes = if round < 2 { 30_000 } else { 4_000 + random.below(60_000) };
        let words = format!("{load} -r -w100 --fdatasync-every={every}");
        let disk = or_skip!(cut(&place, &format!("disk{round}"), flushing, &words, bytes));
        let known = disk.after_cut();
        let run = place.diskspd("verify --json --journal journal").arg(&disk.file).run();
        let report: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}\n{run}"));
        let count = |name| self::number(&report, name);
        let about = format!("{flushing:?} {words}: {report}");
        assert!(flushing != Flushing::Honest || known.lost.is_empty(), "{known:?}");
        let listed = report["targets"][0]["first"].as_array().expect("a list");
        let (unit_bytes, offset) =
            (count("unit_bytes"), |unit: &Value| unit["offset_bytes"].as_u64().expect("a number"));
        for at in listed.iter().map(offset) {
            assert!(known.lost.range(at / 512..(at + unit_bytes) / 512).next().is_some(), "{at}: {about}");
        }
        if is_alone {
            let counts = (count("corrupt_units"), count("unflushed_units"));
            assert_eq!(counts, (known.lost.len() as u64, known.unflushed.len() as u64), "{about}");
            // Also a unit whose first write failed.
            let right = known.right.len() as u64;
            assert!((right..=right + 1).contains(&count("right_units")), "{right}: {about}");
        }
        let Some(first) = listed.first() else {
            // A write in flight may have torn the only units that are lost.
            assert!(known.lost.is_empty() || !is_alone && round >= 2, "{about}");
            run.expect_status(0);
            continue;
        };
        run.expect_status(5);
        assert!(first["durable"]["change"].is_u64() && first["durable"]["flush"].is_u64(), "{about}");
        let run = place.diskspd("verify --journal journal").arg(&disk.file).run();
        run.expect_status(5)
            .expect_stdout(&["Verification after a cut (experimental): CORRUPT", "\ndurable   change "]);
        if round == 1 {
            // Reordered: later writes are present.
            assert!(self::number(&report, "lost_before_last") > 0, "{report}");
            run.expect_told(&["a flush was not honoured, or writes were reordered across it"]);
        }
    }
}

#[test]
fn a_torn_journal_is_recognised_and_accuses_nobody() {
    let place = workplace!();
    fs::create_dir(place.path("journal")).expect("a new directory");
    let words =
        "-c2M -b4K -r -w100 -o8 -t2 -Su --fdatasync-every=16 -d600 -W0 --verify --journal=journal --journal-here a.dat";
    let mut run = place.diskspd(words).start();
    wait_for_records(&mut run, &place.path("journal"), 30_000);
    // The other thread may have started late.
    wait_for_records_in(&mut run, &place.path("journal/log.1"), 4000);
    run.kill_hard();
    let log = place.path("journal/log.0");
    let other_log = place.path("journal/log.1");
    let (whole, other_whole) = (fs::read(&log).expect("the log"), fs::read(&other_log).expect("the other log"));
    let file = || File::options().write(true).open(&log).expect("the log");
    let restore = || {
        fs::write(&log, &whole).expect("room");
        fs::write(&other_log, &other_whole).expect("room");
    };
    let check = |what: &str, is_early: bool| {
        let report = verify(&place, &place.path("a.dat"), 0);
        assert_eq!(
            (&report["journal_ends_early"], number(&report, "corrupt_units")),
            (&is_early.into(), 0),
            "{what}: {report}"
        );
        restore();
    };
    check("whole", false);
    file().set_len(HEAD_BYTES + 12_345).expect("shorter");
    check("truncated", true);
    file().write_all_at(&[0; 4096], HEAD_BYTES + 8192).expect("room");
    check("a page of zeros", true);
    file().write_all_at(&[0xA5; 4096], HEAD_BYTES + 8192).expect("room");
    check("garbage", true);
    file().write_all_at(b"x", 3).expect("room");
    check("another head", true);
    fs::remove_file(&log).expect("ours");
    check("missing", true);
    // As if nothing more had been logged: revealed by the tickets of the other log, or by the changes on the target.
    let zeros_after = |path: &Path, whole: &[u8], bytes: usize| {
        let kept = &whole[..HEAD_BYTES as usize + bytes];
        fs::write(path, [kept, &vec![0; whole.len() - kept.len()]].concat()).expect("room");
    };
    zeros_after(&log, &whole, 40 * 100);
    check("a log without its end", true);
    // The first record alone.
    zeros_after(&log, &whole, 32);
    zeros_after(&other_log, &other_whole, 0);
    check("logs without their ends", true);
    // The machine was started again.
    let run_file = place.path("journal/run");
    let content = fs::read(&run_file).expect("the file");
    let known = verify::log::RunFile::from_bytes(&content).expect("it is whole");
    let mut run = known.clone();
    run.boot = "another".to_owned();
    fs::write(&run_file, run.to_bytes()).expect("room");
    check("another start", true);
    // The file system of the logs was mounted again.
    if known.mount != 0 {
        let run = verify::log::RunFile { mount: known.mount + 1, ..known };
        fs::write(&run_file, run.to_bytes()).expect("room");
        check("another mount", true);
    }
    let refused = |reason: &str| {
        place.diskspd("verify --journal journal a.dat").run().expect_status(3).expect_stderr(&["ERROR: ", reason]);
    };
    fs::write(&run_file, &content[..content.len() - 1]).expect("room");
    refused("is incomplete or damaged");
    fs::write(&run_file, &content).expect("room");
    place.file("b.dat", &[0; 4096]);
    place.diskspd("verify --journal journal b.dat").run().expect_status(3).expect_stderr(&["did not verify 'b.dat'"]);
    // Files of other programs are not replaced.
    fs::write(&log, "somebody's").expect("room");
    place.diskspd(words).run().expect_status(3).expect_stderr(&["is not a log of diskspd, and is never replaced"]);
    assert_eq!(fs::read(&log).expect("still there"), b"somebody's");
}

#[test]
fn a_run_that_goes_on_is_not_verified_and_its_journal_is_not_taken() {
    let place = workplace!();
    fs::create_dir(place.path("journal")).expect("a new directory");
    let words = "-c1M -b4K -r -w50 -d600 -W0 --verify --journal=journal --journal-here";
    let mut run = place.diskspd(words).arg("a.dat").start();
    wait_for_records(&mut run, &place.path("journal"), 64);
    place.diskspd("verify --journal journal a.dat").run().expect_status(3).expect_stderr(&["is still under way"]);
    place.diskspd(words).arg("b.dat").run().expect_status(3).expect_stderr(&["another run writes its logs there"]);
    run.end();
    place.diskspd("verify --journal journal a.dat").run().expect_status(0);
}

/// Kills a load that writes the 256 units of `a.dat` one after the other, each several times; returns the ticket of its
/// last write.
fn last_change_of_killed_load(place: &Workplace) -> u64 {
    fs::create_dir(place.path("journal")).expect("a new directory");
    let words = "-c1M -b4K -s -w100 -o1 -t1 -Sw -d600 -W0 --verify --journal=journal --journal-here a.dat";
    let mut run = place.diskspd(words).start();
    wait_for_records(&mut run, &place.path("journal"), 40 * 300);
    run.kill_hard();
    number(&verify(place, &place.path("a.dat"), 0), "last_change_there")
}

#[test]
fn what_is_damaged_after_a_cut_is_found() {
    let place = workplace!();
    let last = last_change_of_killed_load(&place);
    let file = || File::options().read(true).write(true).open(place.path("a.dat")).expect("the target");
    // Far from the write that was in flight.
    let at = |unit: u64| 4096 * (unit + if last % 256 < 128 { 130 } else { 0 });
    let mut unit = [0; 4096];
    file().read_exact_at(&mut unit, at(10)).expect("inside");
    file().write_all_at(&unit, at(40)).expect("room");
    file().write_all_at(&[0; 4096], at(50)).expect("room");
    file().write_all_at(&[0xA5; 4096], at(60)).expect("room");
    let mut byte = [0];
    file().read_exact_at(&mut byte, at(70) + 2000).expect("inside");
    // A byte of the unit could equal the existing one.
    file().write_all_at(&[!byte[0]], at(70) + 2000).expect("room");
    // Misdirected writes of a later load to another file.
    let later = "-c1M -b4K -s -w100 -o1 -t1 -d60 -W0 --max-bytes=1M --verify --overwrite";
    place.diskspd(&format!("{later} b.dat")).run().expect_status(0);
    let others = place.content("b.dat");
    let misdirected = at(80)..at(100);
    file()
        .write_all_at(&others[misdirected.start as usize..misdirected.end as usize], misdirected.start)
        .expect("room");
    file().set_len(255 * 4096).expect("shorter");
    let report = verify(&place, &place.path("a.dat"), 5);
    let by_class = &report["targets"][0]["corrupt_by_class"];
    // The last unit is beyond the end.
    let expected = serde_json::json!({"duplicated": 1, "foreign": 21, "rot": 1, "zeros": 2});
    assert_eq!(by_class, &expected, "{report}");
    // A later load to the same file.
    place.diskspd(&format!("{later} a.dat")).run().expect_status(0);
    let report = verify(&place, &place.path("a.dat"), 6);
    assert_eq!((number(&report, "corrupt_units"), number(&report, "later_units")), (0, 256), "{report}");
}

/// The record of a write that tore a unit was lost: the unit is the only trace of it.
#[test]
fn a_write_in_flight_whose_record_is_lost_accuses_nobody() {
    let place = workplace!();
    let last = last_change_of_killed_load(&place);
    let file = || File::options().read(true).write(true).open(place.path("a.dat")).expect("the target");
    // Far from the write that was in flight.
    let at = 4096 * if last % 256 < 128 { 200 } else { 50 };
    let mut whole = [0; 4096];
    file().read_exact_at(&mut whole, at).expect("inside");
    let header = Header::read(&whole).expect("a unit of the run");
    let generation = Generation::new(header.generation.number() + 1, header.generation.time_us() + 100_000_000);
    let mut later = [0; 4096];
    Pool::new(header.run).write(&mut later, &Header { generation, sequence: last + 1, ..header });
    for (from, to, allowed) in [(0, 512, 1), (0, 2048, 1), (2048, 4096, 1), (0, 4096, 0)] {
        let mut unit = whole;
        unit[from..to].copy_from_slice(&later[from..to]);
        file().write_all_at(&unit, at).expect("room");
        let report = verify(&place, &place.path("a.dat"), 0);
        let found = (number(&report, "torn_units"), &report["journal_ends_early"]);
        assert!(found.0 >= allowed && found.1 == true, "{from}: {report}");
    }
    // Changed bits are corruption, whatever records are lost.
    let mut unit = whole;
    unit[24] ^= 1;
    unit[32] ^= 2;
    file().write_all_at(&unit, at).expect("room");
    let report = verify(&place, &place.path("a.dat"), 5);
    assert_eq!(report["targets"][0]["corrupt_by_class"], serde_json::json!({"rot": 1}), "{report}");
}

/// Runs a series of cuts of a disk.
fn series(place: &Workplace, disk: &Volatile, cycles: u32, status: i32) -> Value {
    fs::create_dir_all(place.path("journal")).expect("a directory");
    let (off, on) = (format!("echo off > {}", disk.power.display()), format!("echo on > {}", disk.power.display()));
    let cycles = cycles.to_string();
    let words = ["verify", "--json", "--cycles", &cycles, "--cut", &off, "--back", &on, "--journal", "journal", "--"];
    // The cut falls into the three seconds; if it comes late, the load still goes on.
    let load = "-b4K -r -w100 -o8 -t2 -Su --fdatasync-every=50 -d3 -W0 -C600 --overwrite";
    let program = words.into_iter().fold(place.diskspd(""), Program::arg);
    let run = program.args(load).arg(&disk.file).run();
    run.expect_status(status);
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}\n{run}"))
}

#[test]
fn a_series_of_cuts_judges_the_disk() {
    let place = workplace!();
    let disk = or_skip!(Volatile::mounted(&place, "honest", 2 << 20, Flushing::Honest));
    let report = series(&place, &disk, 3, 0);
    let cycles = report["cycles"].as_array().expect("a list");
    assert_eq!((cycles.len(), &report["outcome"], disk.counts().1), (3, &"good".into(), 3), "{report}");
    for cycle in cycles {
        assert_eq!((&cycle["was_cut_off"], &cycle["corrupt_units"]), (&true.into(), &0.into()), "{report}");
        assert!(cycle["logged_changes"].as_u64() > Some(0), "{report}");
    }
    let disk = or_skip!(Volatile::mounted(&place, "lying", 2 << 20, Flushing::Partial));
    let report = series(&place, &disk, 20, 5);
    let cycles = report["cycles"].as_array().expect("a list");
    assert!(cycles.len() < 20 && report["outcome"] == "corrupt", "{report}");
    let found: Value = place.json(&format!("journal/cycle-{}/verify.json", cycles.len()));
    assert_eq!(found["outcome"], "corrupt", "{found}");
}

// Shows data-safety: files load.txt and verify.json in DIR/cycle-N
#[test]
fn presets_are_killed_again_and_again_without_a_finding() {
    let place = workplace!();
    for preset in ["power-cut", "wal"] {
        fs::create_dir(place.path(preset)).expect("a new directory");
        let words = ["verify", "--cycles", "3", "--cut", "kill -KILL $DISKSPD_PID", "--journal", preset, "--"];
        let program = words.into_iter().fold(place.diskspd(""), Program::arg);
        let load = format!("preset run {preset} -c4M -d2 -C600 --overwrite --journal-here {preset}.dat");
        let run = program.args(&load).run();
        run.expect_status(0).expect_stdout(&[
            "cycle 1: cut after ",
            ", 0 corrupt: good",
            "3 of 3 cycles, 3 of them cut off: 3 good, 0 corrupt",
        ]);
        assert!(place.path(preset).join("cycle-3/load.txt").exists());
    }
}

#[test]
fn the_storage_comes_back_whatever_ends_a_series() {
    let place = workplace!();
    fs::create_dir(place.path("journal")).expect("a new directory");
    let load = "-c1M -b4K -r -w100 -d2 -W0 -C600 -g2000i --overwrite --journal-here";
    let series = |cycles: &str, cut: &str, target: &str| {
        let words = ["verify", "--cycles", cycles, "--cut", cut, "--back", "touch back", "--journal", "journal", "--"];
        words.into_iter().fold(place.diskspd(""), Program::arg).args(load).arg(target)
    };
    let run = series("2", "kill -KILL $DISKSPD_PID; exit 3", "a.dat").run();
    run.expect_status(1).expect_stderr(&["cycle 1: the command of --cut failed"]);
    fs::remove_file(place.path("back")).expect("the storage came back");
    // Ctrl+C in a terminal also reaches the load and the commands.
    let cut = "kill -KILL $DISKSPD_PID; touch cut; while ! test -e go; do sleep 0.05; done";
    let mut run = series("2", cut, "a.dat").start();
    run.wait_until("the cut", |_| place.path("cut").exists());
    run.interrupt_all();
    place.file("go", b"");
    let run = run.finish();
    run.expect_status(130).expect_stderr(&["the series was interrupted"]);
    run.expect_stdout(&["0 of 2 cycles", "incomplete"]);
    fs::remove_file(place.path("back")).expect("the storage came back");
    fs::remove_file(place.path("cut")).expect("it was made above");
    // After a cycle there is something to report. The load also ends, before it is cut off again.
    let mut run = series("90", "kill -KILL $DISKSPD_PID", "a.dat").start();
    run.wait_for_stdout("cycle 1: cut after ");
    run.interrupt_all();
    let run = run.finish();
    run.expect_status(6).expect_stdout(&[" of 90 cycles", "incomplete"]).expect_stderr(&["the series was interrupted"]);
    let _ = fs::remove_file(place.path("cut"));
    // A load that ends before the cut is no cycle.
    let run = series("2", "touch cut", "missing/a.dat").run();
    run.expect_status(1).expect_stderr(&["the load ended before the cut"]);
    for (words, reason) in [
        ("verify --cycles 2 --cut x --journal journal", "the workload is missing"),
        ("verify --cycles 2 --journal journal -- a.dat", "--cut"),
        ("verify --cycles 2 --cut x --journal missing -- a.dat", "create it first"),
        ("verify --cycles 2 --cut x --journal journal -- --journal=x a.dat", "leave --journal out of the load"),
        ("verify --cycles 2 --cut x --journal journal -- --version", "needs a load after --"),
        ("verify --cycles 2 --cut x --journal journal a.dat -- a.dat", "--cycles"),
        ("verify --cut x a.dat", "--cycles"),
    ] {
        place.diskspd(words).run().expect_status(3).expect_stderr(&["ERROR: ", reason]);
    }
}

#[test]
fn a_file_that_is_shorter_than_the_logs_know_has_lost_what_was_flushed() {
    let place = workplace!();
    let path = place.path("a.dat");
    empty_journal(&place);
    let words = "-c8M -Su -b4K -r -w100 -d600 -W0 --fdatasync-every=8 --verify --journal=journal --journal-here a.dat";
    let mut run = place.diskspd(words).start();
    wait_for_records(&mut run, &place.path("journal"), 30_000);
    run.kill_hard();
    let file = File::options().write(true).open(&path).expect("it opens");
    // Also within a unit.
    for bytes in [4_100_000, (1 << 20) + 2500, 0] {
        file.set_len(bytes).expect("cut short");
        let report = verify(&place, &path, 5);
        let by_class = report["targets"][0]["corrupt_by_class"].as_object().expect("classes");
        assert!(by_class.keys().eq(["zeros"]), "{report}");
    }
}

#[test]
fn files_that_are_appended_to_are_verified_after_a_kill_and_after_a_good_end() {
    let place = workplace!();
    for kind in ["--append=2M", "--append=2M,preallocate", "--append=2M,recycle"] {
        let load = format!(
            "{kind} -Su -o2 -b64K -W0 --fdatasync-every=8 --verify --overwrite --journal=journal --journal-here w"
        );
        empty_journal(&place);
        let mut run = place.diskspd(&format!("-d600 {load}")).start();
        wait_for_records(&mut run, &place.path("journal"), 30_000);
        run.kill_hard();
        verify(&place, &place.path("w.0"), 0);
        empty_journal(&place);
        place.diskspd(&format!("-d60 --max-ios=100 {load}")).run().expect_status(0);
        place.diskspd("verify --journal journal w.0").run().expect_status(0).expect_stdout(&["corrupt   0 units"]);
    }
}

#[test]
fn a_journal_is_of_one_timespan() {
    let place = workplace!();
    empty_journal(&place);
    let span =
        "[[time_spans]]\nduration_s = 1\nverify = true\n[[time_spans.targets]]\npath = \"*1\"\ncreate_size = \"1M\"\n";
    place.file("job.toml", format!("form = \"diskspd-job/1\"\n{span}{span}").as_bytes());
    let run = place.diskspd("run job.toml --journal=journal --journal-here a.dat").run();
    run.expect_status(3).expect_stderr(&["--journal needs a run of one timespan, not of 2"]);
    assert!(!place.path("a.dat").exists());
}

#[test]
fn a_map_beside_the_logs_of_another_run_is_not_used() {
    let place = workplace!();
    empty_journal(&place);
    let load = "-c1M -b4K -r -w100 -Su -W0 --verify --overwrite --journal=journal --journal-here a.dat";
    place.diskspd(&format!("-d60 --max-ios=100 {load}")).run().expect_status(0);
    fs::rename(place.path("journal/map"), place.path("older map")).expect("kept");
    let mut run = place.diskspd(&format!("-d600 {load}")).start();
    wait_for_records(&mut run, &place.path("journal"), 1000);
    run.kill_hard();
    fs::remove_file(place.path("journal/run")).expect("removed");
    fs::rename(place.path("older map"), place.path("journal/map")).expect("beside the logs");
    let run = place.diskspd("verify --journal journal a.dat").run();
    run.expect_status(3).expect_stderr(&["has no 'run' beside it"]);
}

#[test]
fn logs_that_need_more_memory_than_there_is_are_refused() {
    let place = workplace!();
    let group = or_skip!(Cgroup::of_memory(48 << 20));
    or_skip!(place.sparse("a.dat", 64 << 30).map_err(|error| error.to_string()));
    empty_journal(&place);
    // Units that take no space.
    let words = "-b1M -s -w100 -t1 --discard=100 -d600 -W0 --verify --overwrite --journal=journal --journal-here a.dat";
    let mut run = place.diskspd(words).limit(Duration::from_mins(10)).start();
    wait_for_records(&mut run, &place.path("journal"), 40 * 6000);
    run.kill_hard();
    let inside = format!("echo $$ > {} || exit 99; exec \"$0\" \"$@\"", group.door().display());
    let run = place.tool("sh").arg("-c").arg(inside).arg(place.program()).args("verify --journal journal a.dat").run();
    run.expect_status(3)
        .expect_stderr(&["the logs (--journal) need up to ", "40 bytes for each unit that was written"]);
    assert_eq!(run.stdout, "");
}

#[test]
fn logs_that_cannot_all_be_made_are_removed() {
    let place = workplace!();
    let small = or_skip!(Mounted::tmpfs(&place, "small", "20M"));
    let words = "-c1M -b4K -r -w50 -t6 -d60 -W0 --verify --journal=small --journal-here a.dat";
    let run = place.diskspd(words).run();
    run.expect_status(1).expect_stderr(&["cannot make the logs in", "No space left on device"]);
    let left: Vec<_> = fs::read_dir(&small.path).expect("it is there").collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Verifies a target with less address space than a list of all units of 15 TiB takes.
fn verify_in_4_gb(place: &Workplace) -> Value {
    let inside = "ulimit -v 4000000; exec \"$0\" \"$@\"";
    let run = place.tool("sh").arg("-c").arg(inside).arg(place.program());
    let run = run.args("verify --json --journal journal a.dat").limit(Duration::from_mins(10)).run();
    run.expect_status(0);
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}\n{run}"))
}

#[test]
fn a_large_sparse_target_takes_memory_for_what_was_written_only() {
    let place = workplace!();
    let size_bytes = 15 << 40;
    or_skip!(place.sparse("a.dat", size_bytes).map_err(|error| error.to_string()));
    let load = "-b4K -r -w100 -o4 -Su -W0 --verify --overwrite --journal=journal --journal-here a.dat";
    let start = |words: &str| place.diskspd(&format!("{words} {load}")).limit(Duration::from_mins(10));
    empty_journal(&place);
    start("-d60 --max-ios=300").run().expect_status(0);
    let map = fs::metadata(place.path("journal/map")).expect("a map").len();
    assert!(map < 100_000, "{map} bytes for 300 units");
    let report = verify_in_4_gb(&place);
    let count = |name| number(&report, name);
    assert_eq!((count("size_bytes"), count("read_bytes"), count("corrupt_units")), (size_bytes, size_bytes, 0));
    assert!((100..=300).contains(&count("checked_units")), "{report}");
    assert_eq!(count("checked_units") + count("unchecked_units"), size_bytes / 4096, "{report}");
    empty_journal(&place);
    let mut run = start("-d600").start();
    wait_for_records(&mut run, &place.path("journal"), 40 * 300);
    run.kill_hard();
    let report = verify_in_4_gb(&place);
    let count = |name| number(&report, name);
    assert_eq!((count("planned_bytes"), count("read_bytes"), count("corrupt_units")), (size_bytes, size_bytes, 0));
    let sum = ["right_units", "unflushed_units", "torn_units", "unchecked_units"].map(count).iter().sum::<u64>();
    assert!(count("known_units") >= 250 && sum == size_bytes / 4096, "{report}");
}

/// The file with these bytes replaced, and the checksum at its end adjusted.
fn with_checksum(mut file: Vec<u8>, at: usize, bytes: &[u8]) -> Vec<u8> {
    file[at..at + bytes.len()].copy_from_slice(bytes);
    let content = file.len() - 4;
    let crc = file[..content].iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| crc >> 1 ^ (0x82F6_3B78 & (crc & 1).wrapping_neg()))
    });
    file[content..].copy_from_slice(&(!crc).to_le_bytes());
    file
}

#[test]
fn counts_that_no_run_has_are_refused_at_once() {
    let place = workplace!();
    let load = "-c1M -b4K -r -w100 -Su -W0 --verify --overwrite --journal=journal --journal-here a.dat";
    let refused = |reason: &str| {
        let run = place.diskspd("verify --journal journal a.dat").run();
        run.expect_status(3).expect_stderr(&["ERROR: 'journal/", "(--journal) is not of a run: it names ", reason]);
    };
    // A map: magic, run, boot, count; target, path, names, device, inode, size, size of a unit, exact, units.
    empty_journal(&place);
    place.diskspd(&format!("-d60 --max-ios=100 {load}")).run().expect_status(0);
    let map = place.content("journal/map");
    let path_at = 24 + u32::from_le_bytes(map[16..20].try_into().expect("4 bytes")) as usize;
    let whole = verify::saved::read(&mut map.as_slice()).expect("it is whole");
    let names: usize = whole.targets[0].0.names.iter().map(|name| 4 + name.len()).sum();
    let units_at = path_at + 8 + "a.dat".len() + 4 + names + 24 + 8;
    assert_eq!(map[units_at..units_at + 8], 256_u64.to_le_bytes());
    let check = |at: usize, bytes: &[u8], reason: &str| {
        place.file("journal/map", &with_checksum(map.clone(), at, bytes));
        refused(reason);
    };
    check(units_at, &(1_u64 << 60).to_le_bytes(), "a target of 1152921504606846976 units");
    check(units_at - 8, &5_u32.to_le_bytes(), "units of 5 bytes");
    check(path_at + 4, &u32::MAX.to_le_bytes(), "a path of 4294967295 bytes");
    // Many units without known contents at the end.
    place.file("journal/map", &with_checksum(map.clone(), units_at, &(25_u64 << 30).to_le_bytes()));
    place.diskspd("verify --journal journal a.dat").run().expect_status(0);
    // A file as long as a large disk.
    if File::options().write(true).open(place.path("journal/map")).and_then(|map| map.set_len(14 << 40)).is_ok() {
        let run = place.diskspd("verify --journal journal a.dat").run();
        run.expect_status(3).expect_stderr(&["the units of 'journal/map' (--journal) need up to "]);
    }
    // The same of logs.
    empty_journal(&place);
    let mut run = place.diskspd(&format!("-d600 {load}")).start();
    wait_for_records(&mut run, &place.path("journal"), 1000);
    run.kill_hard();
    let whole = verify::log::RunFile::from_bytes(&place.content("journal/run")).expect("it is whole");
    let write = |change: fn(&mut verify::log::RunFile)| {
        let mut run = whole.clone();
        change(&mut run);
        place.file("journal/run", &run.to_bytes());
    };
    write(|run| run.threads = 1 << 31);
    refused("2147483648 threads");
    write(|run| run.targets[0].target.size_bytes = u64::MAX);
    refused("a target of 4503599627370495 units");
    // Missing logs and a file that became shorter are possible effects of a cut.
    write(|run| run.threads = 65_536);
    assert_eq!(verify(&place, &place.path("a.dat"), 0)["journal_ends_early"], true);
    write(|run| run.targets[0].target.size_bytes = 100 << 40);
    assert_eq!(number(&verify(&place, &place.path("a.dat"), 0), "planned_bytes"), 100 << 40);
}

/// Runs a load to its end, or kills it.
fn load_and_end(place: &Workplace, is_killed: bool, load: &str) {
    empty_journal(place);
    let load = format!("-b4K -r -w100 -o2 -t1 -Suw -W0 --verify --overwrite --journal=journal --journal-here {load}");
    if is_killed {
        let mut run = place.diskspd(&format!("-d600 {load}")).start();
        wait_for_records(&mut run, &place.path("journal"), 10_000);
        // The thread of the other target may have started late.
        wait_for_records_in(&mut run, &place.path("journal/log.1"), 4000);
        run.kill_hard();
    } else {
        place.diskspd(&format!("-d60 --max-ios=400 {load}")).run().expect_status(0);
    }
}

#[test]
fn targets_are_known_by_what_they_are_not_by_their_paths() {
    let place = workplace!();
    let verify = |path: &str, status: i32| {
        let run = place.diskspd(&format!("verify --journal journal {path}")).run();
        run.expect_status(status);
        run
    };
    for is_killed in [false, true] {
        load_and_end(&place, is_killed, "-c1M a.dat b.dat");
        let rename = |from: &str, to: &str| fs::rename(place.path(from), place.path(to)).expect("the same folder");
        rename("a.dat", "c.dat");
        rename("b.dat", "a.dat");
        verify("a.dat", 0);
        verify("c.dat", 0);
        // A copy at its path is another file, whatever its contents.
        fs::copy(place.path("c.dat"), place.path("d.dat")).expect("room");
        rename("d.dat", "b.dat");
        let run = verify("b.dat", 3);
        let parts = [
            "ERROR: 'b.dat' is another target than in the run (--journal): this is inode=",
            ", the run wrote to inode=",
        ];
        run.expect_stderr(&parts);
        verify("c.dat", 0);
    }
    // Without an identity the path decides, and nothing is reported on a target without units of the run.
    let run_file = place.path("journal/run");
    let mut run = verify::log::RunFile::from_bytes(&fs::read(&run_file).expect("the file")).expect("it is whole");
    run.boot = "another".to_owned();
    run.targets.iter_mut().for_each(|target| target.target.names.clear());
    fs::write(&run_file, run.to_bytes()).expect("room");
    place.file("b.dat", &vec![0xA5; 1 << 20]);
    verify("b.dat", 6).expect_stdout(&["no unit of the run is on it", "may be another one", "corrupt   0 units"]);
    fs::rename(place.path("a.dat"), place.path("b.dat")).expect("the same folder");
    verify("b.dat", 0);
}

#[test]
fn disks_that_were_renamed_are_known_by_what_is_below() {
    let place = workplace!();
    let device = |name: &str| -> Result<LoopDevice, String> {
        LoopDevice::over(&place, &place.sparse(name, 1 << 20).map_err(|error| error.to_string())?)
    };
    let (one, two, other) = (or_skip!(device("1.img")), or_skip!(device("2.img")), or_skip!(device("3.img")));
    let name = |link: &str, device: &LoopDevice| {
        let _ = fs::remove_file(place.path(link));
        std::os::unix::fs::symlink(&device.path, place.path(link)).expect("a link");
    };
    let verify = |link: &str, status: i32| {
        let run = place.diskspd(&format!("verify --journal journal {link}")).run();
        run.expect_status(status);
        run
    };
    for is_killed in [false, true] {
        name("sda", &one);
        name("sdb", &two);
        let destroy = |image: &str| format!("--destroy={}", place.path(image).display());
        let load = format!("{} {} sda sdb", destroy("1.img"), destroy("2.img"));
        load_and_end(&place, is_killed, &load);
        name("sda", &two);
        name("sdb", &one);
        verify("sda", 0);
        verify("sdb", 0);
        name("sda", &other);
        verify("sda", 3).expect_stderr(&["'sda' is another target than in the run", "this is loop device over inode="]);
    }
}

#[test]
fn logs_that_a_killed_load_left_beside_its_map_do_not_hide_it() {
    let place = workplace!();
    empty_journal(&place);
    let load = "-c1M -b4K -r -w100 -t2 -Su -d600 -W0 --verify --journal=journal --journal-here a.dat";
    let mut run = place.diskspd(load).start();
    wait_for_records(&mut run, &place.path("journal"), 1000);
    let log = place.content("journal/log.1");
    run.end();
    // Logs are removed one after another, once the map is there.
    place.file("journal/log.1", &log);
    let verified = place.diskspd("verify --journal journal a.dat").run();
    verified.expect_status(0).expect_stdout(&["the map of the run (--journal)"]);
    let mut other = log;
    other[8] ^= 1;
    place.file("journal/log.1", &other);
    place.diskspd("verify --journal journal a.dat").run().expect_status(3).expect_stderr(&["has no 'run' beside it"]);
}

#[test]
fn a_unit_that_is_gone_is_named_on_the_devices_below() {
    let place = workplace!();
    let image = place.sparse("disk.img", 4 << 20).expect("a sparse file");
    let device = or_skip!(LoopDevice::over(&place, &image));
    empty_journal(&place);
    let words = "-b4K -r -w100 -o4 -Su -d600 -W0 --fdatasync-every=8 --verify --journal=journal --journal-here";
    let destroy = format!("--destroy={}", image.display());
    let mut run = place.diskspd(words).arg(destroy).arg(&device.path).start();
    wait_for_records(&mut run, &place.path("journal"), 30_000);
    run.kill_hard();
    let disk = File::options().write(true).open(&device.path).expect("root may open it");
    disk.write_all_at(&vec![0xA5; 4 << 20], 0).and_then(|()| disk.sync_all()).expect("room");
    let report = verify(&place, &device.path, 5);
    let first = &report["targets"][0]["first"][0];
    let found = &first["places"][0];
    assert_eq!((&found["device"], &found["offset_bytes"]), (&device.name().into(), &first["offset_bytes"]), "{first}");
    assert!(first["kernel_messages"].is_array(), "{first}");
    let run = place.diskspd("verify --journal journal").arg(&device.path).run();
    run.expect_status(5).expect_stdout(&[&format!("on        {} at {}", device.name(), first["offset_bytes"])]);
}
