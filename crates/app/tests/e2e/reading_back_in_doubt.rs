//! `diskspd verify` where the contents of a target have causes other than storage errors: killed runs, later runs,
//! discards, other targets; and its output when it cannot read all.

use serde_json::Value;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::Duration;
use testkit::{Finished, LoopDevice, Workplace, or_skip, workplace};

const UNIT: usize = 4096;

fn first_target(run: &Finished) -> Value {
    let report: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}\n{run}"));
    report["targets"][0].clone()
}

/// Writes all of a file of 4 MiB, in I/Os of 64 KiB.
fn write_all(place: &Workplace, options: &str) {
    let words = format!("-c4M -b64K -s -w100 -o1 -t1 -d60 -W0 --max-bytes=4M --verify --overwrite {options} a.dat");
    place.diskspd(&words).run().expect_status(0);
}

fn change(path: &Path, offset: u64, bytes: &[u8]) {
    File::options().write(true).open(path).and_then(|file| file.write_all_at(bytes, offset)).expect("it takes it");
}

#[test]
fn a_killed_run_leaves_no_damage() {
    let place = workplace!();
    for (number, options) in ["-o16 -t2 -Su", "-o16 -t2", "-o1 -t2 -Sm", "-o4 -t2 --engine=sync", "-o8 -Su -b512"]
        .into_iter()
        .cycle()
        .take(15)
        .enumerate()
    {
        let words = format!("-c4M -b64K -r4K -w90 -d60 -W0 -v --verify --overwrite {options} a.dat");
        let mut run = place.diskspd(&words).start();
        run.wait_for_stderr("starting measurements");
        std::thread::sleep(Duration::from_millis(20 + 13 * number as u64));
        run.kill_hard();
        let run = place.diskspd("verify a.dat").run();
        assert!(matches!(run.code(), Some(0 | 6)), "{options}\n{run}");
        run.expect_stdout(&["corrupt   0 units"]);
    }
}

#[test]
fn a_map_does_not_accuse_what_a_later_run_wrote() {
    let place = workplace!();
    for later in ["-b64K -w100 -r --max-ios=7", "-b512 -w100 -r --max-ios=99", "-b64K -w100 -r -Sm --max-ios=20"] {
        for journal in ["journal", "later"] {
            std::fs::create_dir_all(place.path(journal)).expect("a folder");
        }
        write_all(&place, "--journal=journal --journal-here");
        place.diskspd("verify a.dat --journal journal").run().expect_status(0);
        let words = format!("{later} -o4 -d60 -W0 --verify --overwrite --journal=later --journal-here a.dat");
        place.diskspd(&words).run().expect_status(0);
        let run = place.diskspd("verify a.dat --journal journal").run();
        run.expect_status(6).expect_stdout(&[
            "NOTE      a later run (--verify) wrote to it: ",
            " UTC; ",
            "corrupt   0 units",
        ]);
        run.expect_told(&["unknown: a later run wrote to a target after its map was saved"]);
        place.diskspd("verify a.dat --journal later").run().expect_status(0);
        // The rest of larger units belongs to no unit.
        let is_whole = !later.contains("-b512");
        place.diskspd("verify a.dat").run().expect_status(if is_whole { 0 } else { 6 });
    }
    // A later run that was killed leaves torn units, too.
    write_all(&place, "--journal=journal --journal-here");
    let modified = || std::fs::metadata(place.path("a.dat")).and_then(|file| file.modified()).expect("a time");
    let before = modified();
    let mut run = place.diskspd("-b64K -r4K -w90 -o8 -d60 -W0 -v --verify --overwrite a.dat").start();
    run.wait_for_stderr("starting measurements");
    run.wait_until("a write", |_| modified() != before);
    let first = modified();
    run.wait_until("another one, after the first", |_| modified() != first);
    std::thread::sleep(Duration::from_millis(100));
    run.kill_hard();
    let run = place.diskspd("verify a.dat --journal journal --json").run();
    run.expect_status(6);
    let target = first_target(&run);
    assert!(target["later_run"]["units"].as_u64() > Some(0), "{run}");
    assert_eq!((&target["corrupt_units"], &target["first"]), (&0.into(), &Value::Array(vec![])), "{run}");
}

/// One unit of a later run used to withdraw all other findings.
#[test]
fn a_later_run_explains_only_what_it_wrote_to_this_target() {
    let place = workplace!();
    std::fs::create_dir(place.path("journal")).expect("a folder");
    write_all(&place, "--journal=journal --journal-here");
    let content = place.content("a.dat");
    let path = place.path("a.dat");
    let later = "-c4M -b64K -s -w100 -o1 -t1 -d60 -W0 --max-bytes=4M --verify --overwrite b.dat";
    place.diskspd(later).run().expect_status(0);
    let foreign = &place.content("b.dat")[40 * UNIT..41 * UNIT];
    let mut two_bits = content[3 * UNIT..4 * UNIT].to_vec();
    two_bits[13] ^= 1;
    two_bits[3000] ^= 1;
    let verify = |rest: &str| place.diskspd(&format!("verify a.dat --json {rest}")).run();
    for (offset, bytes, class) in [
        // At the offset that its header names, but from another file.
        (40, foreign, "foreign"),
        (41, foreign, "foreign"),
        // One of the bits is in the number of its run.
        (3, &two_bits, "rot"),
    ] {
        change(&path, (offset * UNIT) as u64, bytes);
        change(&path, 900 * UNIT as u64, &[0; UNIT]);
        let run = verify("--journal journal");
        run.expect_status(5);
        let target = first_target(&run);
        assert_eq!(target["corrupt_by_class"], serde_json::json!({ class: 1, "zeros": 1 }), "{run}");
        assert_eq!(target["later_run"], Value::Null, "{run}");
        change(&path, 0, &content);
    }
    // A later run to this target does not explain errors elsewhere.
    let here = "-b64K -r64K -w100 -o1 -t1 -d60 -W0 --max-ios=5 --verify --overwrite a.dat";
    place.diskspd(here).run().expect_status(0);
    verify("--journal journal").expect_status(6);
    let now = place.content("a.dat");
    let is_as_it_was = |at: &usize| now[*at..*at + UNIT] == content[*at..*at + UNIT];
    let at = (0..content.len()).step_by(UNIT).find(is_as_it_was).expect("most are");
    change(&path, at as u64 + 3000, b"????????");
    let run = verify("--journal journal");
    run.expect_status(5);
    assert_eq!(first_target(&run)["corrupt_by_class"], serde_json::json!({ "rot": 1 }), "{run}");
}

/// Without a map, a file full of units was accepted although some were no longer recognised.
#[test]
fn units_that_are_no_longer_there_are_missing() {
    let place = workplace!();
    write_all(&place, "");
    let content = place.content("a.dat");
    let path = place.path("a.dat");
    let verify = |words: &str| place.diskspd(&format!("verify a.dat {words}")).run();
    verify("").expect_status(0).expect_stdout(&["checked   1024 units, 100.0 % of the target"]);
    for (offset, bytes, missing) in [
        (5 * UNIT, &b"?"[..], 1),
        (5 * UNIT + 512, &[7; 512], 1),
        (5 * UNIT, &[0; UNIT], 1),
        (5 * UNIT, &vec![0; 300 * UNIT], 300),
    ] {
        change(&path, offset as u64, bytes);
        let run = verify("");
        run.expect_status(6).expect_stdout(&[
            &format!("checked   {} units, ", 1024 - missing),
            &format!("missing   {missing} unit"),
            "corrupt   0 units",
            "unknown: units may be missing",
        ]);
        assert!(!run.stdout.contains("100.0 %"), "{run}");
        let run = verify("--from 16K");
        run.expect_status(6).expect_stdout(&["unknown   "]);
        assert!(!run.stdout.contains("missing:"), "{run}");
        change(&path, 0, &content);
    }
    // A run that did not fill the target has written no more than is present.
    let words = "-c8M -b4K -r -w100 -o1 -t1 -d60 -W0 --max-ios=300 --verify --overwrite b.dat";
    place.diskspd(words).run().expect_status(0);
    place.diskspd("verify b.dat").run().expect_status(0);
    let sparse = place.content("b.dat");
    let is_unit = |at: &usize| sparse[*at..].starts_with(b"DSKSPDV1");
    let at = (0..sparse.len()).step_by(UNIT).find(is_unit).expect("some are");
    change(&place.path("b.dat"), at as u64, &[0; UNIT]);
    place.diskspd("verify b.dat").run().expect_status(6).expect_stdout(&["missing   1 unit ", "unknown   "]);
}

#[test]
fn data_of_an_earlier_run_is_a_lost_write_and_other_data_is_foreign() {
    let place = workplace!();
    std::fs::create_dir(place.path("journal")).expect("a folder");
    // Its units may have another size.
    for size in ["-b512 -r --max-ios=2000", "-b64K -s --max-bytes=4M"] {
        let words = format!("-c4M {size} -w100 -o1 -t1 -d60 -W0 --verify --overwrite a.dat");
        place.diskspd(&words).run().expect_status(0);
        let old = place.content("a.dat");
        write_all(&place, "--journal=journal --journal-here");
        let path = place.path("a.dat");
        let mut units = old.chunks(UNIT).enumerate().filter(|(_, unit)| unit.starts_with(b"DSKSPDV1"));
        let (number, unit) = units.nth(1).expect("one was written");
        change(&path, (number * UNIT) as u64, unit);
        change(&path, 3 << 20, &[0xA5; UNIT]);
        let run = place.diskspd("verify a.dat --journal journal --json").run();
        run.expect_status(5);
        let target = first_target(&run);
        assert_eq!(target["corrupt_by_class"], serde_json::json!({ "lost": 1, "foreign": 1 }), "{run}");
    }
}

#[test]
fn discarded_and_zeroed_data_is_not_missing() {
    let place = workplace!();
    std::fs::create_dir(place.path("journal")).expect("a folder");
    let load = "-b16K -r4K -w40 --discard=20 --write-zeroes=20 -Su --engine=sync -o1 -t2 -d60 -W0 --max-ios=2000 --verify --overwrite \
                --journal=journal --journal-here";
    let image = place.sparse("disk.img", 8 << 20).expect("a sparse file");
    let device = LoopDevice::over(&place, &image);
    let mut targets = vec![(place.sparse("a.dat", 4 << 20).expect("a sparse file"), String::new())];
    targets.extend(device.iter().map(|device| (device.path.clone(), format!("--destroy={}", image.display()))));
    for (path, options) in targets {
        place.diskspd(&format!("{options} {load}")).arg(&path).run().expect_status(0);
        for words in ["verify", "verify --journal journal"] {
            let run = place.diskspd(words).arg(&path).run();
            run.expect_status(0).expect_stdout(&["corrupt   0 units"]);
        }
    }
    or_skip!(device.map(drop));
}

#[test]
fn a_file_that_is_part_of_another_target_is_not_misdirected() {
    let place = workplace!();
    write_all(&place, "");
    let mut content = vec![0; 1 << 20];
    content.extend(place.content("a.dat"));
    place.file("disk.img", &content);
    let run = place.diskspd("verify disk.img").run();
    run.expect_status(6).expect_stdout(&[
        "displaced 1024 units of runs on another target",
        "checked   0 units, 0.0 % of the target",
        "corrupt   0 units",
    ]);
    // One unit among many of its run is displaced.
    let path = place.path("a.dat");
    change(&path, 8192, &place.content("a.dat")[UNIT..2 * UNIT]);
    let run = place.diskspd("verify a.dat").run();
    run.expect_status(5).expect_stdout(&["duplicated 1 unit: "]);
}

#[test]
fn the_worst_of_several_targets_decides_the_status() {
    let place = workplace!();
    write_all(&place, "");
    place.file("rot.dat", &place.content("a.dat"));
    change(&place.path("rot.dat"), 5000, b"????????");
    place.file("zeros.dat", &vec![0; 65_536]);
    for (targets, status) in [
        ("a.dat", 0),
        ("a.dat zeros.dat", 6),
        ("a.dat zeros.dat rot.dat", 5),
        ("rot.dat zeros.dat", 5),
        ("a.dat a.dat", 0),
    ] {
        place.diskspd(&format!("verify {targets}")).run().expect_status(status);
    }
    // Nothing is read if a target is missing.
    let run = place.diskspd("verify rot.dat missing.dat").run();
    run.expect_status(1).expect_stderr(&["cannot open 'missing.dat'"]);
    assert_eq!(run.stdout, "");
    // A file truncated in the middle of a unit has none there. Each unit contains the number of those written by then.
    File::options().write(true).open(place.path("a.dat")).and_then(|file| file.set_len(10_000)).expect("a file");
    let run = place.diskspd("verify a.dat").run();
    run.expect_status(6).expect_stdout(&["checked   2 units", "missing   14 units", "units may be missing"]);
}

#[test]
fn a_verification_goes_on_where_it_is_told_to() {
    let place = workplace!();
    write_all(&place, "");
    change(&place.path("a.dat"), 5000, b"????????");
    let run = place.diskspd("verify a.dat --from 2M").run();
    run.expect_status(0).expect_stdout(&[
        "NOTE      read from offset 2097152 on (--from)",
        "checked   512 units, 50.0 % of the target",
    ]);
    place.diskspd("verify a.dat --from 0").run().expect_status(5);
    let run = place.diskspd("verify a.dat --from 100M").run();
    run.expect_status(6).expect_stdout(&["nothing could be checked"]);
    place.diskspd("verify a.dat --from 1000").run().expect_status(3).expect_stderr(&["is not a multiple of 4096"]);
}

#[test]
fn an_interrupted_verification_tells_what_it_found_and_where_to_go_on() {
    let place = workplace!();
    write_all(&place, "");
    // It takes minutes to read all of it.
    File::options()
        .write(true)
        .open(place.path("a.dat"))
        .and_then(|file| file.set_len(1 << 40))
        .expect("a sparse file");
    for (change_byte, status) in [(false, 6), (true, 5)] {
        if change_byte {
            change(&place.path("a.dat"), 5000, b"????????");
        }
        let mut run = place.diskspd("verify a.dat a.dat --json").start();
        run.wait_until("it reads with several threads", |run| run.threads().len() > 1);
        run.wait_until("it has read the first of it", |run| run.transferred_bytes() > 64 << 20);
        run.interrupt();
        let run = run.finish();
        run.expect_status(status);
        let target = first_target(&run);
        let [read, resume] = ["read_bytes", "resume_bytes"].map(|key| target[key].as_u64().expect("a number"));
        assert!(read == resume && read.is_multiple_of(1 << 20) && read < 1 << 40, "{run}");
    }
}

#[test]
fn a_corrupt_unit_is_named_on_the_devices_below() {
    let place = workplace!();
    let image = place.sparse("disk.img", 4 << 20).expect("a sparse file");
    let device = or_skip!(LoopDevice::over(&place, &image));
    let words = format!("-b64K -s -w100 -o1 -t1 -d60 -W0 -Su --max-bytes=4M --verify --destroy={}", image.display());
    place.diskspd(&words).arg(&device.path).run().expect_status(0);
    change(&image, 8192 + 700, b"????????");
    let run = place.diskspd("verify --json").arg(&device.path).run();
    run.expect_status(5);
    let target = first_target(&run);
    let unit = &target["first"][0];
    assert_eq!((&unit["offset_bytes"], &unit["class"]), (&8192.into(), &"rot".into()), "{unit}");
    let places = unit["places"].as_array().expect("a list");
    assert_eq!((&places[0]["device"], &places[0]["offset_bytes"]), (&device.name().into(), &8192.into()), "{unit}");
    assert!(unit["kernel_messages"].is_array(), "{unit}");
    let run = place.diskspd("verify").arg(&device.path).run();
    run.expect_status(5).expect_stdout(&[&format!("on        {} at 8192", device.name()), "read again still wrong"]);
}
