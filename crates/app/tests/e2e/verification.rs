//! `--verify`: no false alarm on sound storage, self-describing data, and detection of foreign changes.

use serde_json::Value;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt as _;
use std::time::Duration;
use testkit::{LoopDevice, or_skip, workplace};

const MIB: usize = 1 << 20;
const UNIT: usize = 4096;

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("a number: {value}"))
}

// Shows switches: --verify
#[test]
fn no_load_on_sound_storage_has_corrupt_units() {
    let place = workplace!();
    for load in [
        "-r -o64 -t4 -w50 --read-sizes=4K/60:64K/40 --write-sizes=4K/50:8K/30:32K/20",
        "-r -o16 -t2 -w50 --engine=aio",
        "-r -o8 -t4 -w50 --engine=sync",
        "-r -o8 -t2 -w50 -Sm",
        "-r -o1 -t1 -w50",
        "-r -o16 -t2 -w50 --skew=zipf:1.1",
        "-s -o8 -t2 -w60 -u4 -L",
        "-si -o8 -t2 -w50 -b8K",
        "-r -o8 -t2 -w40 --discard=10 --write-zeroes=10",
        "-r -o8 -t2 -w60 --compress=2",
        "-r -o8 -F2 -w50 --rate=20000",
        "-r -b1536 -o8 -t2 -w50",
    ] {
        let words = format!("-c8M -b4K -d60 -W0 --max-ios=20000 --verify --json=r.json {load} a.dat ./a.dat");
        place.diskspd(&words).run().expect_status(0);
        let result = place.span_result("r.json");
        let found = &result["verification"];
        assert_eq!((&found["corrupt"], &found["first"]), (&Value::Array(vec![]), &Value::Array(vec![])), "{load}");
        assert!(number(&found["checked_units"]) > 0, "{load}: {found}");
        assert_eq!(found["is_exact"], Value::Bool(true), "{load}");
    }
}

#[test]
fn each_unit_says_what_it_is() {
    let place = workplace!();
    place.diskspd("-c1M -b16K -s -d60 -W0 -o4 -w100 --max-bytes=1M --verify a.dat").run().expect_status(0);
    let content = place.content("a.dat");
    assert_eq!(content.len(), MIB);
    for (number, unit) in (0_u64..).zip(content.chunks(UNIT)) {
        assert_eq!(&unit[..8], b"DSKSPDV1", "unit {number}");
        assert_eq!(unit[16..24], number.to_le_bytes(), "unit {number}");
        // Of 4 units in each I/O.
        assert_eq!(unit[48..56], [&((number % 4) as u32).to_le_bytes()[..], &4_u32.to_le_bytes()[..]].concat());
    }
}

// Shows switches: --verify-stop=<n>
// Shows verdict: data-corruption
#[test]
fn what_another_program_changes_during_the_run_is_found() {
    let place = workplace!();
    place.diskspd("-c8M -b4K -s -d1 -W0 --max-ios=1 a.dat").run().expect_status(0);
    let path = place.path("a.dat");
    let intruder = std::thread::spawn(move || {
        // Not opened before the run has begun to write to it: that is refused.
        let modified = || std::fs::metadata(&path).and_then(|status| status.modified()).expect("it was made above");
        let before = modified();
        while modified() == before {
            std::thread::sleep(Duration::from_millis(5));
        }
        let file = OpenOptions::new().write(true).open(&path).expect("it was made above");
        // The run overwrites some of it at once, so it is repeated.
        for round in 0..200_u64 {
            for number in 0..16 {
                let other = (round * 16 + number) * 61 % 2048;
                file.write_all_at(&[0xA5; UNIT], other * UNIT as u64).expect("it takes it");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    let done = place.diskspd("-b4K -r -d60 -W0 -o8 -t2 -w20 --verify --verify-stop=3 --json=r.json a.dat").run();
    done.expect_status(5);
    intruder.join().expect("the intruder has ended");
    let result = place.span_result("r.json");
    let found = &result["verification"];
    let units: u64 = found["corrupt"].as_array().expect("a list").iter().map(|class| number(&class["units"])).sum();
    assert!(units >= 3, "{found}");
    let foreign = found["corrupt"].as_array().expect("a list").iter().find(|class| class["class"] == "foreign");
    assert!(foreign.is_some(), "{found}");
    let first = &found["first"][0];
    assert_eq!(number(&first["offset_bytes"]) % UNIT as u64, 0);
    assert!(first["first_bytes"].as_str().is_some_and(|bytes| bytes.len() == 128), "{first}");
    let text = result["verdict"].to_string();
    assert!(text.contains("data-corruption") && text.contains("invalid"), "{text}");
    let notes = result["notes"].to_string();
    assert!(notes.contains("ended_by_verification"), "{notes}");
}

#[test]
fn a_corrupt_unit_of_a_run_is_named_on_the_devices_below() {
    let place = workplace!();
    let image = place.sparse("disk.img", 8 << 20).expect("a sparse file");
    let device = or_skip!(LoopDevice::over(&place, &image));
    let words = "-b4K -r -w20 -d60 -W0 -o8 -t2 -Su -v --verify --verify-stop=1 --json=r.json";
    let allowed = format!("--destroy={}", image.display());
    let mut run = place.diskspd(words).arg(allowed).arg(&device.path).start();
    run.wait_for_stderr("starting measurements");
    let file = OpenOptions::new().write(true).open(&image).expect("it was made above");
    for number in 0..3200_u64 {
        file.write_all_at(&[0xA5; UNIT], number * 61 % 2048 * UNIT as u64).expect("it takes it");
        if number % 16 == 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    let run = run.finish();
    let name = device.name();
    run.expect_status(5).expect_stdout(&[&format!("\non        {name} at ")]);
    let first = &place.span_result("r.json")["verification"]["first"][0];
    let found = &first["places"][0];
    assert_eq!((&found["device"], &found["offset_bytes"]), (&name.clone().into(), &first["offset_bytes"]), "{first}");
    place.diskspd("report r.json -o r.html").run().expect_status(0);
    let page = String::from_utf8_lossy(&place.content("r.html")).into_owned();
    assert!(page.contains("<dt>on</dt>") && page.contains(&format!("{name} at ")), "the page names it");
}

#[test]
fn what_cannot_be_verified_is_refused_and_nothing_is_touched() {
    let place = workplace!();
    for (load, reason) in [
        ("--engine=null", "the null engine stores nothing"),
        ("-Zr", "-Zr"),
        ("-Z", "-Z"),
        ("-Z1M", "-Z<size>"),
        ("--dedupe=30", "--dedupe"),
        ("-b1000", "multiples of 512"),
    ] {
        let done = place.diskspd(&format!("-c8M -b4K -d1 -w50 --verify {load} new.dat")).run();
        done.expect_status(3);
        assert!(done.stderr.contains(reason), "{load}: {}", done.stderr);
        assert!(!place.path("new.dat").exists(), "{load}");
    }
    let done = place.diskspd("-c8M -b4K -d1 --verify-stop=1 new.dat").run();
    done.expect_status(3);
    assert!(done.stderr.contains("--verify-stop needs --verify"), "{}", done.stderr);
}

#[test]
fn the_plan_has_the_memory_of_the_map() {
    let place = workplace!();
    let done = place.diskspd("--plan -c1G -b4K -d1 -w50 --verify new.dat").run();
    done.expect_status(0);
    assert!(done.stdout.contains("map of verified units: 512KiB"), "{}", done.stdout);
}

/// A directory on storage other than that of the tests' files: in memory.
fn directory_in_memory() -> Option<tempfile::TempDir> {
    tempfile::tempdir_in("/dev/shm").ok()
}

// Shows switches: --journal=<dir>
// Shows switches: --journal-here
// Shows data-safety: the files map and, during the run, map.new in the directory of --journal
#[test]
fn the_map_is_saved_on_other_storage_and_replaces_nothing_else() {
    let place = workplace!();
    let load = "-c1M -b8K -s -d60 -W0 -o4 -w100 --max-bytes=512K --verify";
    std::fs::create_dir(place.path("here")).expect("a new directory");
    let done = place.diskspd(&format!("{load} --journal=here a.dat")).run();
    done.expect_status(3);
    assert!(done.stderr.contains("on the storage of 'a.dat'") && !place.path("a.dat").exists(), "{}", done.stderr);
    place.diskspd(&format!("{load} --journal=here --journal-here a.dat")).run().expect_status(0);
    let read = || {
        let content = place.content("here/map");
        verify::saved::read(&mut content.as_slice()).expect("a whole map")
    };
    let first = read();
    let (target, states) = &first.targets[0];
    assert_eq!((target.path.as_slice(), target.size_bytes, target.unit_bytes), (&b"a.dat"[..], MIB as u64, 4096));
    assert_eq!((states.units(), states.known()), (256, 128));
    // It describes the current data.
    let content = place.content("a.dat");
    for number in 0..128_usize {
        let unit = &content[number * UNIT..][..UNIT];
        let at = verify::check::Place { run: first.run, target: 0, unit: number as u64 };
        let expected = verify::check::Expected::State(states.state(number as u64));
        assert_eq!(verify::check::check_unit(unit, &at, expected, u64::MAX), verify::check::Verdict::Right, "{number}");
    }
    // Another run replaces it; a file that is not a map remains.
    place.diskspd(&format!("{load} --journal=here --journal-here a.dat")).run().expect_status(0);
    assert_ne!(read().run, first.run);
    place.file("here/map", b"somebody's");
    let done = place.diskspd(&format!("{load} --journal=here --journal-here a.dat")).run();
    done.expect_status(3);
    assert!(done.stderr.contains("is not a saved map"), "{}", done.stderr);
    assert_eq!(place.content("here/map"), b"somebody's");
    for (options, reason) in [
        ("--journal=missing", "create the directory first"),
        ("--journal=a.dat", "not a directory"),
        ("--journal-here", "--journal-here needs --journal"),
    ] {
        let done = place.diskspd(&format!("{load} {options} a.dat")).run();
        done.expect_status(3);
        assert!(done.stderr.contains(reason), "{options}: {}", done.stderr);
    }
    let done = place.diskspd("-d1 -b8K --journal=here a.dat").run();
    done.expect_status(3);
    assert!(done.stderr.contains("--journal needs --verify"), "{}", done.stderr);
    if let Some(memory) = directory_in_memory() {
        let words = format!("{load} --journal={} a.dat", memory.path().display());
        place.diskspd(&words).run().expect_status(0);
        assert!(memory.path().join("map").exists());
    }
}
