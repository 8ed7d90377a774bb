//! `diskspd verify`: its findings on storage that corrupts data, and none on sound storage.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;
use std::sync::atomic::AtomicU64;
use testkit::{
    Corrupting, Corruption, Finished, Injected, LoopDevice, Mounted, Occasion, Random, Workplace, or_skip, workplace,
};
use verify::map::GenerationMap;
use verify::saved::{self, SavedTarget};
use verify::target::{Change, TargetCounters, VerifiedTarget, WriteIo};
use verify::unit::{Pool, Traits, UnitSize};

const RUN: u64 = 0x1234_5678_9ABC_DEF0;
const SIZE: u64 = 1 << 20;

/// Writes units like a run, and records its writes.
struct Writer {
    file: File,
    path: Vec<u8>,
    size_bytes: u64,
    target: VerifiedTarget,
    pool: Pool,
    io: WriteIo,
}

impl Writer {
    fn open(path: &Path, size_bytes: u64, unit_bytes: u64) -> Self {
        let file = File::options().write(true).create(true).truncate(false).open(path).expect("a target");
        let units = size_bytes / unit_bytes;
        let cells = (0..GenerationMap::cell_count(units, u64::MAX)).map(|_| AtomicU64::new(0)).collect();
        let unit = UnitSize::new(unit_bytes).expect("a size of units");
        let target = VerifiedTarget {
            run: RUN,
            target: 0,
            unit,
            map: GenerationMap::new(cells, units),
            discards_to_zeros: true,
            traits: Traits::default(),
            counters: TargetCounters::default(),
        };
        let path = path.as_os_str().as_encoded_bytes().to_vec();
        Self { file, path, size_bytes, target, pool: Pool::new(RUN), io: WriteIo { thread: 1, ..WriteIo::default() } }
    }

    fn write(&mut self, offset: u64, bytes: u64) {
        let units = self.target.units(offset, bytes);
        self.io.sequence += 1;
        self.io.time_us += 10;
        (self.io.first, self.io.length) = (units.start, (units.end - units.start) as u32);
        self.io.written_units = self.target.claim_write(units.clone()).expect("nobody else writes");
        let mut data = vec![0; bytes as usize];
        self.target.make(&mut data, units.start, &self.io, Some(&self.pool));
        self.file.write_all_at(&data, offset).expect("room");
        self.target.finish(&self.io, Change::Written);
    }

    fn write_all(&mut self, io_bytes: u64) {
        (0..self.size_bytes).step_by(io_bytes as usize).for_each(|offset| self.write(offset, io_bytes));
    }

    /// The directory for `--journal`.
    fn save(&self, place: &Workplace, name: &str) {
        self.file.sync_all().expect("it can be flushed");
        let folder = place.path(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        let metadata = self.file.metadata().expect("an open file");
        let saved = SavedTarget {
            target: 0,
            path: self.path.clone(),
            names: host::lasting_names(&host::Root::machine(), &self.file),
            identity: (metadata.dev(), metadata.ino()),
            size_bytes: self.size_bytes,
            unit_bytes: self.target.unit.bytes() as u32,
            is_exact: true,
        };
        let mut map = File::create(folder.join(saved::FILE_NAME)).expect("a new file");
        let boot = host::boot_id(&host::Root::machine());
        saved::write(&mut map, RUN, &boot, &[(saved, &self.target.map)]).expect("room");
    }
}

/// The report on the only target.
fn report(run: &Finished) -> Value {
    let report: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}\n{run}"));
    assert_eq!(report["experimental"], true);
    report["targets"][0].clone()
}

/// Offsets of corrupt units, and their classes.
fn found(target: &Value) -> BTreeMap<u64, String> {
    let units = target["first"].as_array().expect("a list");
    assert!(units.len() < 100, "all are listed");
    let unit = |unit: &Value| {
        (unit["offset_bytes"].as_u64().expect("an offset"), unit["class"].as_str().expect("a class").to_owned())
    };
    units.iter().map(unit).collect()
}

/// Units of which a read returned wrong data, with the fault.
fn injected(disk: &Corrupting, unit_bytes: u64) -> BTreeMap<u64, Injected> {
    disk.read_wrong().iter().map(|wrong| (wrong.offset / unit_bytes * unit_bytes, wrong.cause)).collect()
}

/// The class that a unit at `offset` has because of a fault.
fn class_of(cause: &Injected, offset: u64) -> &'static str {
    match cause.corruption {
        Corruption::Lost | Corruption::Late => "lost",
        Corruption::Torn { .. } => "torn",
        Corruption::Misdirected { .. } if (cause.offset..cause.offset + cause.bytes).contains(&offset) => "lost",
        Corruption::Misdirected { .. } => "misdirected",
        Corruption::Duplicated { .. } => "duplicated",
        Corruption::Rotten { .. } | Corruption::Flipped { .. } => "rot",
        Corruption::Stale => "stale",
        Corruption::Zeros => "zeros",
        Corruption::Unreadable => "unreadable",
    }
}

#[test]
fn every_fault_is_found_with_the_map_and_named() {
    let place = workplace!();
    // All units are listed, even if one read of the whole file goes wrong.
    let (size_bytes, distance_bytes) = (320 << 10, 160 << 10);
    let faults = [
        Corruption::Lost,
        Corruption::Torn { stored_bytes: 1024 },
        Corruption::Torn { stored_bytes: 4096 + 512 },
        Corruption::Misdirected { distance_bytes },
        Corruption::Misdirected { distance_bytes: -distance_bytes },
        Corruption::Duplicated { distance_bytes },
        Corruption::Late,
        Corruption::Rotten { bit: 8 * 2000 + 3 },
        Corruption::Stale,
        Corruption::Flipped { bit: 8 * 700 },
        Corruption::Zeros,
        Corruption::Unreadable,
    ];
    for (number, fault) in faults.into_iter().enumerate() {
        let disk = or_skip!(Corrupting::mounted(&place, &format!("disk{number}"), size_bytes));
        let mut writer = Writer::open(&disk.file, size_bytes, 4096);
        // Each unit twice: a stale read gives the first of the two.
        writer.write_all(65_536);
        writer.write_all(8192);
        let is_of_reads = matches!(
            fault,
            Corruption::Stale | Corruption::Flipped { .. } | Corruption::Zeros | Corruption::Unreadable
        );
        // A second read fault would affect the reads that search for more.
        let offsets = [8192, 1 << 16, 3 << 16];
        for offset in offsets.into_iter().take(if is_of_reads { 1 } else { 3 }) {
            // A read that fails once and not again is not a corrupt unit.
            let often = if fault == Corruption::Unreadable { u64::MAX } else { 1 };
            disk.order(fault, Occasion::at(offset).at_most(often));
            writer.write(offset, 8192);
        }
        if fault == Corruption::Late {
            // The late write overwrites this one.
            writer.write(8192, 8192);
        }
        let journal = format!("journal{number}");
        writer.save(&place, &journal);
        let run = place.diskspd(&format!("verify --json --journal {journal}")).arg(&disk.file).run();
        run.expect_status(5);
        let target = report(&run);
        let expected: BTreeMap<u64, String> = injected(&disk, 4096)
            .iter()
            .map(|(offset, cause)| (*offset, class_of(cause, *offset).to_owned()))
            .collect();
        // The first read was larger than the unreadable block.
        let expected =
            if fault == Corruption::Unreadable { [(8192, "unreadable".to_owned())].into() } else { expected };
        assert!(!expected.is_empty(), "{fault:?} took place");
        assert_eq!(found(&target), expected, "{fault:?}\n{run}");
        assert_eq!(target["failed_reads"].as_u64() > Some(0), fault == Corruption::Unreadable, "{run}");
        assert_eq!(target["known_units"], 80, "{run}");
        assert_eq!(target["checked_units"], 80, "{run}");
    }
}

#[test]
fn without_a_map_only_what_units_say_of_themselves_is_found() {
    let place = workplace!();
    for (number, fault, classes) in [
        (1, Corruption::Misdirected { distance_bytes: 160 << 10 }, vec!["misdirected", "misdirected"]),
        (2, Corruption::Duplicated { distance_bytes: 160 << 10 }, vec!["duplicated", "duplicated"]),
        (3, Corruption::Rotten { bit: 8 * 2000 + 3 }, vec!["rot"]),
        (4, Corruption::Unreadable, vec!["unreadable"]),
    ] {
        let disk = or_skip!(Corrupting::mounted(&place, &format!("disk{number}"), SIZE));
        let mut writer = Writer::open(&disk.file, SIZE, 4096);
        writer.write_all(65_536);
        disk.order(fault, Occasion::at(8192));
        writer.write(8192, 8192);
        let run = place.diskspd("verify --json").arg(&disk.file).run();
        run.expect_status(5);
        assert_eq!(found(&report(&run)).into_values().collect::<Vec<_>>(), classes, "{fault:?}\n{run}");
    }
    let disk = or_skip!(Corrupting::mounted(&place, "torn", SIZE));
    let mut writer = Writer::open(&disk.file, SIZE, 4096);
    writer.write_all(65_536);
    disk.order(Corruption::Torn { stored_bytes: 1024 }, Occasion::at(8192));
    writer.write(8192, 8192);
    // A killed run leaves the same state.
    let run = place.diskspd("verify").arg(&disk.file).run();
    run.expect_status(6).expect_stdout(&[
        "torn      1 unit of several writes",
        "torn      at offset 8192\n",
        "corrupt   0 units",
        "unknown: torn units",
    ]);
    let disk = or_skip!(Corrupting::mounted(&place, "lost", SIZE));
    let mut writer = Writer::open(&disk.file, SIZE, 4096);
    writer.write_all(65_536);
    disk.order(Corruption::Lost, Occasion::at(8192));
    writer.write(8192, 8192);
    let run = place.diskspd("verify").arg(&disk.file).run();
    run.expect_status(0).expect_told(&["a write that is missing as a whole is not found"]);
    writer.save(&place, "journal");
    let run = place.diskspd("verify --journal journal").arg(&disk.file).run();
    run.expect_status(5).expect_stdout(&[
        "lost      2 units: an acknowledged write is missing",
        "lost at offset 8192",
        "expected  write ",
        "read again still wrong",
    ]);
    run.expect_told(&["by thread 1 at 0.000010 s", "(65536 bytes at 0)"]);
}

#[test]
fn any_mixture_of_faults_sizes_and_overwrites_is_found_as_a_whole() {
    let place = workplace!();
    for (number, unit_bytes) in [(0, 512), (1, 1024), (2, 4096)] {
        let disk = or_skip!(Corrupting::mounted(&place, &format!("disk{number}"), SIZE));
        let mut writer = Writer::open(&disk.file, SIZE, unit_bytes);
        writer.write_all(65_536);
        for (every, fault) in [
            (37, Corruption::Lost),
            (41, Corruption::Torn { stored_bytes: 1536 }),
            (43, Corruption::Misdirected { distance_bytes: 96 << 10 }),
            (47, Corruption::Duplicated { distance_bytes: -(96 << 10) }),
            (53, Corruption::Late),
            (59, Corruption::Rotten { bit: 8 * 333 }),
        ] {
            disk.order(fault, Occasion::every(every));
        }
        let mut random = Random::new(1);
        for _ in 0..150 {
            let random = random.draw();
            let bytes = unit_bytes * (1 + (random >> 40) % 4);
            let offset = (random >> 20) % ((SIZE - bytes) / unit_bytes) * unit_bytes;
            writer.write(offset, bytes);
        }
        writer.save(&place, &format!("journal{number}"));
        let run = place.diskspd(&format!("verify --json --journal journal{number}")).arg(&disk.file).run();
        run.expect_status(5);
        let expected: BTreeSet<u64> = injected(&disk, unit_bytes).into_keys().collect();
        assert!(expected.len() > 10 && disk.injected().len() > 10, "{expected:?}");
        let found: BTreeSet<u64> = found(&report(&run)).into_keys().collect();
        assert_eq!(found, expected, "units of {unit_bytes} bytes\n{run}");
    }
}

/// Writes sound data at `path` and checks that nothing is reported.
fn expect_sound(place: &Workplace, path: &Path, size_bytes: u64, journal: &str) {
    for unit_bytes in [512, 4096] {
        let mut writer = Writer::open(path, size_bytes, unit_bytes);
        writer.write_all(65_536);
        (0..size_bytes / 2).step_by(3 * 4096).for_each(|offset| writer.write(offset, 4096));
        writer.save(place, journal);
        let units = size_bytes / unit_bytes;
        for words in ["verify --json".to_owned(), format!("verify --json --journal {journal}")] {
            let run = place.diskspd(&words).arg(path).run();
            run.expect_status(0);
            let target = report(&run);
            assert_eq!((&target["checked_units"], &target["corrupt_units"]), (&units.into(), &0.into()), "{run}");
            assert_eq!((&target["checked_percent"], &target["found_units"]), (&100.0.into(), &units.into()), "{run}");
        }
    }
}

#[test]
fn sound_files_are_not_accused_and_not_written_to() {
    let place = workplace!();
    let path = place.path("a.dat");
    expect_sound(&place, &path, 16 << 20, "journal");
    let (before, content) = (path.metadata().expect("a file"), place.content("a.dat"));
    place.diskspd("verify --journal journal a.dat").run().expect_status(0);
    let after = path.metadata().expect("a file");
    assert_eq!((before.mtime_nsec(), before.ctime_nsec()), (after.mtime_nsec(), after.ctime_nsec()));
    assert!(place.content("a.dat") == content, "verification changes nothing");
    // The rest of a larger file is unknown.
    File::options().write(true).open(&path).and_then(|file| file.set_len(32 << 20)).expect("a sparse file");
    let run = place.diskspd("verify --journal journal a.dat").run();
    run.expect_status(0).expect_stdout(&["checked   4096 units, 50.0 % of the target"]);
}

#[test]
fn sound_file_systems_in_memory_and_devices_are_not_accused() {
    let place = workplace!();
    let memory = or_skip!(Mounted::tmpfs(&place, "memory", "64M"));
    expect_sound(&place, &memory.path.join("a.dat"), 8 << 20, "journal");
    let image = place.sparse("disk.img", 8 << 20).expect("a sparse file");
    let device = or_skip!(LoopDevice::over(&place, &image));
    expect_sound(&place, &device.path, 8 << 20, "of-device");
}

#[test]
fn where_nothing_can_be_checked_the_answer_is_unknown() {
    let place = workplace!();
    place.file("zeros.dat", &vec![0; 65_536]);
    place.file("text.dat", &b"DSKSPDV1 as a text. ".repeat(4000));
    place.file("empty.dat", &[]);
    for name in ["zeros.dat", "text.dat", "empty.dat"] {
        let run = place.diskspd("verify").arg(name).run();
        run.expect_status(6).expect_stdout(&["nothing could be checked on a target"]);
    }
}

/// A share of 99.99 % used to be printed as 100.0 %.
#[test]
fn no_share_is_rounded_up_to_all_of_it() {
    let place = workplace!();
    let mut writer = Writer::open(&place.path("a.dat"), SIZE, 512);
    writer.write_all(65_536);
    let percent_checked = |percent: &str| {
        let run = place.diskspd("verify a.dat").run();
        run.expect_stdout(&[&format!(" units, {percent} % of the target")]);
    };
    percent_checked("100.0");
    writer.file.write_all_at(&[0; 512], 8192).expect("room");
    percent_checked("99.9");
}

#[test]
fn what_is_no_map_or_no_target_is_refused() {
    let place = workplace!();
    let mut writer = Writer::open(&place.path("a.dat"), SIZE, 4096);
    writer.write_all(65_536);
    writer.save(&place, "journal");
    place.file("b.dat", &[0; 4096]);
    place.diskspd("verify missing.dat").run().expect_status(1).expect_stderr(&["cannot open 'missing.dat'"]);
    place.diskspd("verify .").run().expect_status(1).expect_stderr(&["neither a file nor a block device"]);
    let refused = |words: &str, reason: &str| {
        place.diskspd(words).run().expect_status(3).expect_stderr(&["ERROR: ", reason]);
    };
    refused("verify", "TARGET");
    refused("verify a.dat --journal nowhere", "cannot open 'nowhere/map' (--journal)");
    refused("verify b.dat --journal journal", "the run of --journal did not verify 'b.dat'");
    let map = place.path("journal").join(saved::FILE_NAME);
    let whole = std::fs::read(&map).expect("the map");
    std::fs::write(&map, &whole[..whole.len() - 1]).expect("room");
    refused("verify a.dat --journal journal", "is incomplete or damaged");
    std::fs::write(&map, "a text").expect("room");
    refused("verify a.dat --journal journal", "'journal/map' (--journal) is ");
}

#[test]
fn a_target_that_was_cut_short_has_lost_what_was_acknowledged() {
    let place = workplace!();
    let mut writer = Writer::open(&place.path("a.dat"), SIZE, 4096);
    writer.write_all(65_536);
    writer.save(&place, "journal");
    for (bytes, missing) in [(SIZE - 1, 1), (512 << 10, 128), (5000, 255), (0, 256)] {
        File::options().write(true).open(place.path("a.dat")).and_then(|file| file.set_len(bytes)).expect("a file");
        let run = place.diskspd("verify --json --journal journal a.dat").run();
        run.expect_status(5);
        let target = report(&run);
        assert_eq!(target["corrupt_by_class"], serde_json::json!({ "zeros": missing }), "{run}");
        assert_eq!((&target["checked_units"], &target["corrupt_units"]), (&256.into(), &missing.into()), "{run}");
        let run = place.diskspd("verify --journal journal a.dat").run();
        run.expect_status(5).expect_stdout(&[&format!("the target ends before it, after {bytes} bytes")]);
        // Without its map, units contain the number of those written before them.
        let run = place.diskspd("verify a.dat").run();
        run.expect_status(if bytes % 65_536 == 0 && bytes > 0 { 0 } else { 6 });
    }
    // Ranges that a run did not write to are not missing.
    let mut writer = Writer::open(&place.path("b.dat"), SIZE, 4096);
    writer.write(0, 65_536);
    writer.file.set_len(SIZE).expect("a sparse file");
    writer.save(&place, "journal");
    File::options().write(true).open(place.path("b.dat")).and_then(|file| file.set_len(65_536)).expect("a file");
    place.diskspd("verify --journal journal b.dat").run().expect_status(0);
}
