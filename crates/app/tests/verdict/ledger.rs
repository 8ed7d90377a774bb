//! Requested bytes against bytes that reached storage.

use super::{counted_disk, document, found, is_found, with_busy_disk};
use serde_json::Value;
use std::path::Path;
use testkit::{Faulty, Finished, LoopDevice, Mounted, Workplace, Zram, or_skip, skip, workplace};

/// The one account of a run of one kind of I/O on one target.
fn account(place: &Workplace) -> Value {
    let accounts = document(place)["time_spans"][0]["ledger"]["accounts"].clone();
    assert_eq!(accounts.as_array().map(Vec::len), Some(1), "{accounts}");
    accounts[0].clone()
}

/// Checks that a finding makes the result invalid: none of the bytes arrived, except for those that may have been
/// outstanding.
fn expect_invalid(place: &Workplace, run: &Finished, name: &str) {
    let (severity, percent) = severity(place, run, name);
    assert!(severity == "invalid" && percent > 99.0, "{name}: {severity} {percent}");
}

/// The severity and the value of a finding.
fn severity(place: &Workplace, run: &Finished, name: &str) -> (String, f64) {
    let finding = found(place, run, name);
    let value = finding["value"].as_f64().unwrap_or_default();
    (finding["severity"].as_str().unwrap_or_default().to_owned(), value)
}

// Shows verdict: writes-in-memory
#[test]
fn data_that_is_written_over_in_memory_is_warned_of_and_what_is_written_through_is_not() {
    let place = workplace!();
    place.create_file("a.dat", "-c4M");
    for words in ["-Sb", "-Sm -o1"] {
        let run = place.diskspd("-d2 -W1 -r -b4K -w100 -v --json r.json").args(words).arg("a.dat").run();
        run.expect_status(0).expect_stdout(&["\nbytes asked and bytes at storage, in MiB", "\ncached writes: "]);
        or_skip!(counted_disk(&place));
        let (severity, percent) = severity(&place, &run, "writes-in-memory");
        assert!(severity == "warn" && percent > 90.0, "{words}: {severity} {percent}");
        let account = account(&place);
        assert!(account["reached_percent"].as_f64().is_some_and(|percent| percent < 10.0), "{account}");
    }
    place.diskspd("-d1 -W0 -r -b4K -w100 -Sw --json r.json a.dat").run().expect_status(0);
    assert!(!is_found(&place, "writes-in-memory"));
    assert_eq!(account(&place)["cache_use"], "write_through");
}

// Shows verdict: writes-in-memory
#[test]
fn the_cache_above_an_overlay_is_no_disk() {
    let place = workplace!();
    std::fs::create_dir(place.path("lower")).expect("a new folder");
    let overlay = or_skip!(Mounted::overlay(&place, "lower", "upper", "merged"));
    let file = overlay.path.join("a.dat");
    let run = place.diskspd("-d2 -W1 -c4M -r -b4K -w100 --json r.json").arg(&file).run();
    run.expect_status(0);
    let backing = &document(&place)["targets"][0]["environment"]["backing"]["overlay"];
    if backing["file_system"] != "ext4" && backing["file_system"] != "xfs" {
        skip!("the file system of the build is {}", backing["file_system"]);
    }
    let (severity, percent) = severity(&place, &run, "writes-in-memory");
    assert!(severity == "warn" && percent > 90.0, "{severity} {percent}");
}

// Shows verdict: served-from-cache
// Shows verdict: loop-cached-writes
#[test]
fn a_loop_device_over_a_file_in_memory_makes_it_invalid() {
    let place = workplace!();
    let memory = or_skip!(Mounted::tmpfs(&place, "memory", "32m"));
    let image = memory.path.join("own.img");
    std::fs::write(&image, vec![1; 8 << 20]).expect("it fits");
    let device = or_skip!(LoopDevice::over(&place, &image));
    let words = format!("-d1 -W0 -r -b4K -Su --json r.json --destroy={}", image.display());
    let run = place.diskspd(&words).arg(&device.path).run();
    run.expect_status(0);
    expect_invalid(&place, &run, "served-from-cache");
    assert_eq!(account(&place)["reached_bytes"], 0);
    let run = place.diskspd(&words).args("-w100").arg(&device.path).run();
    run.expect_status(0);
    expect_invalid(&place, &run, "loop-cached-writes");
    let run = place.diskspd(&words.replace("-Su", "-Sh")).args("-w100 --strict").arg(&device.path).run();
    run.expect_status(4);
    expect_invalid(&place, &run, "writes-in-memory");
}

// Shows verdict: writes-in-memory
#[test]
fn compressed_memory_is_no_disk() {
    let place = workplace!();
    let zram = or_skip!(Zram::create(8 << 20));
    let words = format!("-d1 -W0 -b4K -w100 -Zr -Su --json r.json --destroy={}", zram.name());
    let run = place.diskspd(&words).arg(&zram.path).run();
    run.expect_status(0);
    expect_invalid(&place, &run, "writes-in-memory");
}

// Shows verdict: tmpfs-target
#[test]
fn direct_io_on_a_file_in_memory_makes_it_invalid() {
    let place = workplace!();
    let memory = or_skip!(Mounted::tmpfs(&place, "memory", "32m"));
    let run = place.diskspd("-d1 -W0 -c1M -r -b4K -Su --json r.json").arg(memory.path.join("a.dat")).run();
    if run.code() != Some(0) {
        skip!("tmpfs refuses direct I/O before Linux 6.6");
    }
    expect_invalid(&place, &run, "tmpfs-target");
}

#[test]
fn series_and_comparisons_say_which_runs_measured_memory() {
    let place = workplace!();
    place.create_file("a.dat", "-c4M");
    let load = "-d1 -W0 -r -b4K -w100";
    for (name, words) in [("first.json", "-Sb"), ("second.json", "-Sw")] {
        place.diskspd(load).args(words).args("--json").arg(name).arg("a.dat").run().expect_status(0);
    }
    let compared = place.diskspd("compare --anyway first.json second.json").run();
    let cached: Value = place.json("first.json");
    let is_counted = cached["time_spans"][0]["ledger"]["accounts"][0]["reached_bytes"].is_number();
    if !is_counted {
        skip!("the build is on no file system whose bytes are counted");
    }
    let expect_finding = |run: &Finished, runs: &str| {
        let report = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        let finding = report.split("WARN writes-in-memory: ").nth(1).unwrap_or_else(|| panic!("no finding: {run}"));
        assert!(finding.split(" WARN ").next().is_some_and(|finding| finding.contains(runs)), "{runs}: {run}");
    };
    expect_finding(&compared, "in 1 of 2 runs: first.json");
    for series in ["repeat --runs 2 --", "sweep --vary o=1,2 --"] {
        expect_finding(&place.diskspd(series).args(load).args("-Sb a.dat").run(), "in both runs");
    }
    let pairs = place.diskspd("ab --pairs 3 --a=-Sb --b=-Sw --").args(load).arg("a.dat").run();
    expect_finding(&pairs, "in 3 of 6 runs: pair ");
}

// Shows verdict: served-from-cache
#[test]
fn what_a_neighbour_reads_from_the_same_disk_hides_no_shortfall() {
    let _disk = with_busy_disk();
    let place = workplace!();
    or_skip!(place.direct_io());
    let large = place.file("large.dat", &vec![1; 64 << 20]);
    let image = place.file("own.img", &vec![1; 8 << 20]);
    let device = or_skip!(LoopDevice::over(&place, &image));
    // Fills the cache of the loop device.
    place.diskspd("-d1 -W0 -s -b64K -Su").arg(&device.path).run().expect_status(0);
    let script = format!("while :; do dd if={} of=/dev/null bs=1M iflag=direct 2>/dev/null; done", large.display());
    let neighbour = place.tool("sh").arg("-c").arg(script).start();
    // 4 MiB per second: less than the neighbour reads.
    let measure = || place.diskspd("-d3 -W0 -r -b4K -o1 -g4096 -Su --json r.json").arg(&device.path).run();
    let is_plain = |run: &Finished| {
        let levels = &document(&place)["time_spans"][0]["ledger"]["levels"];
        let levels = levels.as_array().unwrap_or_else(|| panic!("no levels: {run}"));
        levels.iter().any(|level| level["other_read_bytes"].as_u64().is_some_and(|bytes| bytes > 64 << 20))
    };
    // The kernel reads for other loop devices of this machine: these bytes belong to no process.
    let most = || {
        let account = account(&place);
        account["reached_percent"].as_f64().is_some_and(|percent| percent < 50.0)
    };
    let mut run = measure();
    for _ in 0..6 {
        if most() {
            break;
        }
        run = measure();
    }
    neighbour.kill_hard();
    run.expect_status(0);
    if !is_plain(&run) {
        skip!("what others read from the disk is not known here, or the disk is too slow");
    }
    if !most() {
        skip!("others read too much from the disk through loop devices: {}", account(&place));
    }
    assert_eq!(found(&place, &run, "served-from-cache")["severity"], "invalid");
    assert_eq!(account(&place)["without_others"], true);
}

// Shows verdict: uncounted-bytes
#[test]
fn where_nothing_counts_the_bytes_that_is_noted() {
    let place = workplace!();
    let faulty = or_skip!(Faulty::mounted(&place, "served"));
    let run = place.diskspd("-d1 -W0 -r -b4K -Su -v --json r.json").arg(&faulty.file).run();
    run.expect_status(0).expect_stdout(&["direct reads: unknown how much reached a device below fuse"]);
    assert_eq!(found(&place, &run, "uncounted-bytes")["severity"], "note");
    assert_eq!(account(&place)["reached_bytes"], Value::Null);
}

/// btrfs reads compressed extents through the page cache, regardless of the open flags.
// Shows verdict: served-from-cache
#[test]
fn direct_reads_of_compressed_extents_come_from_memory() {
    let place = workplace!();
    let mounted = or_skip!(Mounted::btrfs(&place, "own", 128 << 20, "compress=zstd"));
    let file = mounted.path.join("a.dat");
    std::fs::write(&file, vec![1; 4 << 20]).expect("it fits");
    sync(&file);
    let run = place.diskspd("-d2 -W1 -r -b4K -Su --json r.json").arg(&file).run();
    run.expect_status(0);
    let (severity, percent) = severity(&place, &run, "served-from-cache");
    assert!(severity == "invalid" && percent > 50.0, "{severity} {percent}");
}

fn sync(path: &Path) {
    let file = std::fs::File::open(path).expect("it is there");
    file.sync_all().expect("its data is written");
}
