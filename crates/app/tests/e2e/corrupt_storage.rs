//! `--verify` on storage that corrupts data on demand, and on sound file systems of several kinds; and `diskspd verify`
//! after it.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use testkit::{
    Corrupting, Corruption, LoopDevice, Mounted, Occasion, Workplace, Zram, or_skip, say_skipped, tool, workplace,
};

const UNIT: u64 = 4096;
const SIZE: u64 = 1 << 20;

/// The verification part of the result in `r.json`.
fn verification(place: &Workplace) -> Value {
    place.span_result("r.json")["verification"].take()
}

/// Offsets of the listed corrupt units, with their classes.
fn listed(found: &Value) -> BTreeMap<u64, BTreeSet<String>> {
    let mut listed: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
    for unit in found["first"].as_array().expect("a list") {
        let offset = unit["offset_bytes"].as_u64().expect("an offset");
        listed.entry(offset).or_default().insert(unit["class"].as_str().expect("a class").to_owned());
    }
    listed
}

fn classes(listed: &BTreeMap<u64, BTreeSet<String>>) -> BTreeSet<&str> {
    listed.values().flatten().map(String::as_str).collect()
}

/// A disk on which each unit was written by an earlier run.
fn written_disk(place: &Workplace, name: &str) -> Result<Corrupting, String> {
    let disk = Corrupting::mounted(place, name, SIZE)?;
    let words = "-b64K -s -w100 -o1 -t1 -d60 -W0 -Su --max-bytes=1M --verify --overwrite";
    place.diskspd(words).arg(&disk.file).run().expect_status(0);
    Ok(disk)
}

/// Each fault, the classes that it may be reported as, and the one of them that must occur.
const FAULTS: [(Corruption, &[&str]); 9] = [
    (Corruption::Lost, &["lost"]),
    (Corruption::Torn { stored_bytes: 1024 }, &["torn"]),
    // The place of the write lacks it, the other one has it.
    (Corruption::Misdirected { distance_bytes: 400 << 10 }, &["misdirected", "lost"]),
    // A later write may have changed its own place in the meantime.
    (Corruption::Duplicated { distance_bytes: 400 << 10 }, &["duplicated", "misdirected"]),
    (Corruption::Late, &["lost"]),
    (Corruption::Rotten { bit: 8 * 2000 }, &["rot"]),
    // The second read may be another faulty one.
    (Corruption::Stale, &["stale", "lost"]),
    (Corruption::Flipped { bit: 8 * 2000 }, &["rot"]),
    (Corruption::Zeros, &["zeros"]),
];

#[test]
fn faults_are_found_and_named_while_the_load_runs() {
    let place = workplace!();
    for (number, (fault, names)) in FAULTS.into_iter().enumerate() {
        for (way, load) in [("one", "-o1 -t1"), ("deep", "-o32 -t2"), ("aio", "-o8 -t2 --engine=aio")] {
            let disk = or_skip!(written_disk(&place, &format!("{way}{number}")));
            // The rare faults are those of the load, and not all those of the reads that search for more.
            disk.order(fault, Occasion::every(101).at_most(20));
            let words = format!("-b4K -r -w50 -d60 -W0 -Su --max-ios=6000 {load} --verify --overwrite --json=r.json");
            let run = place.diskspd(&words).arg(&disk.file).run();
            assert!(!disk.injected().is_empty(), "{way}, {fault:?}\n{run}");
            run.expect_status(5).expect_stdout(&["INVALID data-corruption"]);
            let found = listed(&verification(&place));
            let wrong: BTreeSet<u64> = disk.read_wrong().iter().map(|wrong| wrong.offset / UNIT * UNIT).collect();
            let accused: BTreeSet<u64> = found.keys().copied().collect();
            assert!(accused.is_subset(&wrong), "{way}, {fault:?}: {accused:?} are not all of {wrong:?}\n{run}");
            let classes = classes(&found);
            assert!(classes.contains(names[0]), "{way}, {fault:?}: {classes:?}\n{run}");
            let is_named = classes.iter().all(|class| names.contains(class));
            assert!(is_named, "{way}, {fault:?}: {classes:?}\n{run}");
            // Without other I/Os in flight, each read of the load that returned wrong data is reported.
            if way == "one" && matches!(fault, Corruption::Lost | Corruption::Torn { .. } | Corruption::Rotten { .. }) {
                assert_eq!(accused, wrong_for_the_load(&disk), "{fault:?}\n{run}");
            }
        }
    }
}

/// Units for which a read of just that unit returned wrong data.
fn wrong_for_the_load(disk: &Corrupting) -> BTreeSet<u64> {
    disk.wrong_reads().into_iter().filter(|read| read.end - read.start == UNIT).map(|read| read.start).collect()
}

#[test]
fn reads_that_fail_are_counted_and_do_not_end_the_run() {
    let place = workplace!();
    for (number, options) in ["-Su -w20", "-Su -w20 --engine=sync", "-Su -w20 --engine=aio", "-w0", "-Su -w20 -L -D100"]
        .into_iter()
        .enumerate()
    {
        let disk = or_skip!(written_disk(&place, &format!("disk{number}")));
        disk.order(Corruption::Unreadable, Occasion::at(512 << 10));
        let words = format!("-b4K -r -o4 -t1 -d60 -W0 --max-ios=4000 {options} --verify --overwrite --json=r.json");
        let run = place.diskspd(&words).arg(&disk.file).run();
        run.expect_status(5)
            .expect_stdout(&["INVALID data-corruption", "\n failed reads (not in rates and latencies) "]);
        let found = verification(&place);
        assert!(found["unreadable_ios"].as_u64() > Some(0), "{options}: {found}");
        assert_eq!(listed(&found).keys().copied().collect::<Vec<_>>(), [512 << 10], "{options}: {found}");
        assert_eq!(classes(&listed(&found)), BTreeSet::from(["unreadable"]), "{options}");
        let document: Value = place.json("r.json");
        assert_eq!(document["time_spans"][0]["errors"], Value::Array(vec![]), "{options}");
        let ios = document["time_spans"][0]["measured"]["total"]["total"]["ios"].as_u64();
        assert_eq!(ios, found["unreadable_ios"].as_u64().map(|failed| 4000 - failed), "{options}: {found}");
    }
    // Without --verify an error ends the run.
    let disk = or_skip!(written_disk(&place, "without"));
    disk.order(Corruption::Unreadable, Occasion::at(0));
    place.diskspd("-b4K -s -o1 -d60 -W0 -Su").arg(&disk.file).run().expect_status(1);
}

#[test]
fn mixtures_of_sizes_discards_and_overwrites_accuse_only_what_is_wrong() {
    let place = workplace!();
    let disk = or_skip!(written_disk(&place, "disk"));
    for (every, fault) in [
        (211, Corruption::Lost),
        (223, Corruption::Torn { stored_bytes: 1536 }),
        (227, Corruption::Misdirected { distance_bytes: 96 << 10 }),
        (229, Corruption::Rotten { bit: 8 * 333 }),
    ] {
        disk.order(fault, Occasion::every(every).at_most(10));
    }
    let words = "-b4K -r -w40 --discard=10 --read-sizes=4K/60:64K/40 --write-sizes=4K/50:8K/30:32K/20 -d60 -W0 -Su -o16 \
                 -t2 --max-ios=10000 --verify --overwrite --json=r.json";
    let run = place.diskspd(words).arg(&disk.file).run();
    run.expect_status(5);
    let wrong: BTreeSet<u64> = disk.read_wrong().iter().map(|wrong| wrong.offset / UNIT * UNIT).collect();
    let accused: BTreeSet<u64> = listed(&verification(&place)).into_keys().collect();
    assert!(!accused.is_empty() && accused.is_subset(&wrong), "{accused:?} are not all of {wrong:?}\n{run}");
}

#[test]
fn damage_after_a_run_is_found_by_reading_back() {
    let place = workplace!();
    let disk = or_skip!(written_disk(&place, "disk"));
    place.diskspd("verify").arg(&disk.file).run().expect_status(0).expect_stdout(&["256 units, 100.0 % of the target"]);
    // One fault at a time: both places may be in the same read.
    for (fault, words) in [
        (
            Corruption::Flipped { bit: 8 * 5000 },
            ["rot       1 unit: bytes of the right data changed", "rot at offset "],
        ),
        (Corruption::Unreadable, ["unreadable 1 unit: the read failed", "unreadable at offset 524288"]),
    ] {
        disk.order(fault, Occasion::at(512 << 10));
        place.diskspd("verify").arg(&disk.file).run().expect_status(5).expect_stdout(&words);
        disk.behave();
    }
}

#[test]
fn what_is_lost_at_the_end_of_a_run_is_found_with_its_map() {
    let place = workplace!();
    let disk = or_skip!(written_disk(&place, "disk"));
    std::fs::create_dir(place.path("journal")).expect("a folder");
    for (every, fault) in [
        (97, Corruption::Lost),
        (101, Corruption::Torn { stored_bytes: 1024 }),
        (103, Corruption::Rotten { bit: 8 * 2000 }),
        (107, Corruption::Misdirected { distance_bytes: 400 << 10 }),
    ] {
        disk.order(fault, Occasion::every(every));
    }
    // Nothing is read during the run.
    let words = "-b4K -r -w100 -o8 -t2 -d60 -W0 -Su --max-ios=2000 --verify --overwrite --journal=journal";
    place.diskspd(words).arg(&disk.file).run().expect_status(0);
    disk.behave();
    let wrong: BTreeSet<u64> = disk.wrong().iter().map(|wrong| wrong.offset / UNIT * UNIT).collect();
    assert!(!wrong.is_empty());
    let run = place.diskspd("verify --json --journal journal").arg(&disk.file).run();
    run.expect_status(5);
    let report: Value = serde_json::from_str(&run.stdout).expect("it is JSON");
    let target = &report["targets"][0];
    let found: BTreeSet<u64> = listed(target).into_keys().collect();
    assert_eq!(found, wrong, "{run}");
    assert_eq!(target["compared_with_map"], true, "{run}");
}

/// Runs a load with many overwrites that checks a million units, on a file or device, and reads it back.
fn expect_a_million_sound(place: &Workplace, path: &Path, options: &str) {
    // 127 units of 512 bytes in each I/O.
    let words = format!("{options} -b65024 -r512 -w40 -o4 -t2 -d600 -W0 --max-ios=20000 --verify --json=r.json");
    place.diskspd(&words).arg(path).run().expect_status(0);
    let found = verification(place);
    assert!(found["checked_units"].as_u64() >= Some(1_000_000), "{found}");
    assert_eq!(found["first"], Value::Array(vec![]), "{}", path.display());
    place.diskspd("verify").arg(path).run().expect_status(0).expect_stdout(&["corrupt   0 units"]);
}

#[test]
fn a_million_units_on_each_storage_are_not_accused() {
    let place = workplace!();
    expect_a_million_sound(&place, &place.path("a.dat"), "-c32M");
    let image = place.sparse("device.img", 32 << 20).expect("a sparse file");
    for device in [LoopDevice::over(&place, &image).map(Device::Loop), Zram::create(32 << 20).map(Device::Zram)] {
        match device {
            Ok(device) => {
                let refused = place.short_run("-b4K -w100").arg(device.path()).run();
                let named = refused.stderr.split_once("--destroy=").unwrap_or_else(|| panic!("no name\n{refused}")).1;
                let name = named.split([' ', '\n', '\'', ',', ';', ')']).next().unwrap_or_default();
                expect_a_million_sound(&place, device.path(), &format!("--destroy={name}"));
            }
            Err(reason) => say_skipped(format_args!("{reason}")),
        }
    }
    for mounted in file_systems(&place) {
        match mounted {
            Ok(mounted) => expect_a_million_sound(&place, &mounted.path.join("a.dat"), "-c32M"),
            Err(reason) => say_skipped(format_args!("{reason}")),
        }
    }
}

/// A device of the test.
enum Device<'a> {
    Loop(LoopDevice<'a>),
    Zram(Zram),
}

impl Device<'_> {
    fn path(&self) -> &Path {
        match self {
            Self::Loop(device) => &device.path,
            Self::Zram(device) => &device.path,
        }
    }
}

/// A tmpfs, an ext4, an XFS and a btrfs.
fn file_systems(place: &Workplace) -> Vec<Result<Mounted<'_>, String>> {
    let mut all = vec![Mounted::tmpfs(place, "memory", "64M")];
    for (kind, size) in [("ext4", 64_u64 << 20), ("xfs", 320 << 20), ("btrfs", 256 << 20)] {
        let image = place.sparse(&format!("{kind}.img"), size).expect("a sparse file");
        all.push(tool(&format!("mkfs.{kind}")).and_then(|mkfs| {
            let made = place.tool(mkfs).arg(&image).run();
            if made.code() != Some(0) {
                return Err(format!("mkfs.{kind} cannot make one here: {}", made.stderr.trim()));
            }
            Mounted::device(place, kind, LoopDevice::over(place, &image)?)
        }));
    }
    all
}

/// Runs a load with many overwrites on a file of a file system, and reads it back.
fn expect_sound(place: &Workplace, path: &Path) {
    let words =
        "-c16M -b4K -r -w50 -o32 -t2 -d60 -W0 --max-ios=10000 --write-sizes=4K/70:16K/30 --verify --json=r.json";
    place.diskspd(words).arg(path).run().expect_status(0);
    let found = verification(place);
    assert!(found["checked_units"].as_u64().is_some_and(|units| units > 0), "{found}");
    assert_eq!(found["first"], Value::Array(vec![]), "{}", path.display());
    place.diskspd("verify").arg(path).run().expect_status(0).expect_stdout(&["corrupt   0 units"]);
}

#[test]
fn sound_file_systems_are_not_accused() {
    let place = workplace!();
    expect_sound(&place, &place.path("a.dat"));
    for mounted in file_systems(&place) {
        match mounted {
            Ok(mounted) => expect_sound(&place, &mounted.path.join("a.dat")),
            Err(reason) => say_skipped(format_args!("{reason}")),
        }
    }
}
