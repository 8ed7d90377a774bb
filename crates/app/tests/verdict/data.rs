//! Data that is missing, or not where it seems to be.

use super::{counted_disk, document, found, is_found, with_disk};
use std::fs;
use std::fs::File;
use std::time::Duration;
use testkit::{Faulty, LoopDevice, Mounted, Service, Workplace, Zram, memory_events, or_skip, skip, tool, workplace};

// Shows verdict: unwritten-target
#[test]
fn a_sparse_file_makes_it_invalid_and_a_written_one_does_not() {
    let place = workplace!();
    place.sparse("sparse.dat", 8 << 20).expect("a sparse file");
    let run = place.diskspd("-d1 -W0 -r -b4K --json r.json sparse.dat").run();
    run.expect_status(0).expect_stdout(&["\nVerdict: INVALID\n"]);
    let finding = found(&place, &run, "unwritten-target");
    assert_eq!((&finding["severity"], &finding["value"]), (&"invalid".into(), &100.0.into()));
    assert_eq!(finding["figure"], "100.0 % of the accessed part of 'sparse.dat' was never written");
    // Only the used part of it counts.
    place.file("half.dat", &vec![1; 4 << 20]);
    File::options().write(true).open(place.path("half.dat")).and_then(|file| file.set_len(8 << 20)).expect("longer");
    let run = place.diskspd("-d1 -W0 -r -b4K --json r.json half.dat").run();
    assert_eq!(found(&place, &run, "unwritten-target")["value"], 50.0, "{run}");
    place.diskspd("-d1 -W0 -r -b4K -f4M --json r.json half.dat").run().expect_status(0);
    assert!(!is_found(&place, "unwritten-target"));
    // The same for a file just written by another program, and for one that the run creates.
    place.file("written.dat", &vec![1; 8 << 20]);
    for words in ["written.dat", "-c8M made.dat"] {
        place.diskspd("-d1 -W0 -r -b4K --json r.json").args(words).run().expect_status(0);
        assert!(!is_found(&place, "unwritten-target"), "{words}");
    }
}

// Shows verdict: unwritten-target
#[test]
fn room_that_is_only_reserved_makes_it_invalid() {
    let place = workplace!();
    let fallocate = or_skip!(tool("fallocate"));
    let reserved = place.tool(fallocate).args("-l 8M reserved.dat").run();
    if reserved.code() != Some(0) {
        skip!("this file system cannot reserve room: {reserved}");
    }
    let run = place.diskspd("-d1 -W0 -r -b4K --json r.json reserved.dat").run();
    run.expect_status(0);
    assert_eq!(found(&place, &run, "unwritten-target")["value"], 100.0, "{run}");
}

// Shows verdict: unwritten-target
#[test]
fn a_device_that_was_never_written_makes_it_invalid_and_a_written_one_does_not() {
    let place = workplace!();
    or_skip!(place.direct_io());
    let image = place.sparse("own.img", 16 << 20).expect("a sparse file");
    let device = or_skip!(LoopDevice::over(&place, &image));
    let measure = |words: &str| {
        let run = place.diskspd("-d1 -W0 -r -b4K -Su --json r.json").args(words).arg(&device.path).run();
        run.expect_status(0);
        run
    };
    let never_written = |words: &str| {
        // Nothing is reported where a hundred blocks cannot be read in a second.
        for _ in 0..5 {
            let run = measure(words);
            if is_found(&place, "unwritten-target") || !is_found(&place, "cpu-contention") {
                return Ok(found(&place, &run, "unwritten-target"));
            }
        }
        Err("the machine is too busy to look at what a device holds")
    };
    let finding = or_skip!(never_written(""));
    assert_eq!((&finding["severity"], &finding["value"]), (&"invalid".into(), &100.0.into()));
    // Half of it holds data now, and only the used part counts.
    place
        .tool("dd")
        .args("if=/dev/urandom bs=1M count=8 conv=notrunc")
        .arg(format!("of={}", device.path.display()))
        .run();
    let half = or_skip!(never_written(""));
    // Of 1000 blocks, or of at least 100 on a busy machine.
    assert!(half["value"].as_f64().is_some_and(|percent| (45.0..55.0).contains(&percent)), "{half}");
    measure("-f8M");
    assert!(!is_found(&place, "unwritten-target"));
    // A target that is only written needs no data.
    measure(&format!("-w100 --destroy={}", image.display()));
    assert!(!is_found(&place, "unwritten-target"));
}

// Shows verdict: allocating-writes
#[test]
fn first_writes_to_a_sparse_file_are_warned_of() {
    let place = workplace!();
    place.sparse("sparse.dat", 8 << 20).expect("a sparse file");
    let run = place.diskspd("-d1 -W0 -r -b4K -w100 --overwrite --json r.json sparse.dat").run();
    run.expect_status(0);
    assert_eq!(found(&place, &run, "allocating-writes")["severity"], "warn");
    assert!(!is_found(&place, "unwritten-target"));
}

// Shows verdict: served-from-cache
#[test]
fn a_loop_device_over_a_cached_file_makes_it_invalid() {
    let _disk = with_disk();
    let place = workplace!();
    or_skip!(place.direct_io());
    let image = place.file("own.img", &vec![1; 8 << 20]);
    let device = or_skip!(LoopDevice::over(&place, &image));
    let measure = || place.diskspd("-d2 -W1 -r -b4K -o4 -Su --json r.json").arg(&device.path).run();
    let most = |place: &Workplace| {
        let findings = super::findings(place);
        let finding = findings.iter().find(|finding| finding["name"] == "served-from-cache");
        finding.and_then(|finding| finding["value"].as_f64()).is_some_and(|percent| percent > 90.0)
    };
    let mut run = measure();
    // Reads of other programs from the same disk are indistinguishable from reads of the device below.
    for _ in 0..6 {
        if most(&place) {
            break;
        }
        run = measure();
    }
    run.expect_status(0);
    let document = document(&place);
    let below = &document["targets"][0]["environment"]["backing"]["devices"][0]["below"];
    if below[0]["kind"] != "disk" && below[0]["below"][0]["kind"] != "disk" {
        skip!("the file system of the build is on no single disk: {below}");
    }
    let finding = found(&place, &run, "served-from-cache");
    assert_eq!(finding["severity"], "invalid");
    if !most(&place) && is_found(&place, "cpu-contention") {
        skip!("the machine is too busy: {}", finding["figure"]);
    }
    assert!(most(&place), "{finding}");
}

// Shows verdict: served-from-memory
#[test]
fn reads_that_come_from_the_page_cache_are_warned_of_and_those_past_it_are_not() {
    let place = workplace!();
    place.file("a.dat", &vec![1; 8 << 20]);
    for words in ["-r -o2", "-r -o1 -g100i", "-r -o2 --rate=500", "-s -o1 -Sm"] {
        let run = place.diskspd("-d1 -W0 -b4K --json r.json").args(words).arg("a.dat").run();
        run.expect_status(0);
        or_skip!(counted_disk(&place));
        let finding = found(&place, &run, "served-from-memory");
        assert_eq!(finding["severity"], "warn");
        assert!(finding["value"].as_f64().is_some_and(|percent| percent > 90.0), "{finding}");
        assert!(!is_found(&place, "fits-in-memory"), "one cause");
    }
    or_skip!(place.direct_io());
    place.diskspd("-d1 -W0 -b4K -r -o2 -Su --json r.json a.dat").run().expect_status(0);
    assert!(!is_found(&place, "served-from-memory"));
}

// Shows verdict: wrong-tier
// Shows verdict: unknown-tier
// Shows switches: --expect-tier=<nvme|ssd|hdd>
#[test]
fn files_on_other_media_than_expected_are_warned_of_and_with_strict_not_touched() {
    let place = workplace!();
    // A disk whose media are known on any machine: memory.
    let memory = or_skip!(Mounted::tmpfs(&place, "memory", "64M"));
    let image = memory.path.join("disk.img");
    File::create(&image).and_then(|file| file.set_len(48 << 20)).expect("a sparse file");
    place.tool("mkfs.ext4").args("-q -F").arg(&image).run().expect_status(0);
    let device = or_skip!(LoopDevice::over(&place, &image));
    let _mounted = or_skip!(Mounted::device(&place, "mounted", device));
    let words = "-c4M -Zr -d1 -W0 -b64K -o1 -w100 -Sh --max-ios=10 --json r.json --expect-tier=nvme";
    place.diskspd(words).arg("mounted/file").run().expect_status(0);
    place.tool("sync").run();
    let run = place.diskspd(words).arg("mounted/file").run();
    run.expect_status(0);
    let finding = found(&place, &run, "wrong-tier");
    assert_eq!((&finding["severity"], &finding["value"]), (&"warn".into(), &100.0.into()), "{finding}");
    let figure = "'mounted/file' is not wholly on nvme: 4MiB on memory";
    assert_eq!(finding["figure"], figure);
    let refused = place.diskspd(words).args("--strict").arg("mounted/file").run();
    refused.expect_status(3).expect_stderr(&["is not wholly on nvme (--expect-tier, --strict): 4MiB on memory"]);
    let new = place.diskspd(words).args("--strict").arg("mounted/new").run();
    new.expect_status(3).expect_stderr(&["is not wholly on nvme (--expect-tier, --strict): on memory"]);
    assert!(!place.path("mounted/new").exists(), "refused before it is created");
    // The storage of a process is unknown.
    let served = or_skip!(Faulty::mounted(&place, "served"));
    served.resize(1 << 20);
    let run =
        place.diskspd("-d1 -W0 -b4K -o1 --max-ios=5 --strict --json r.json --expect-tier=ssd").arg(&served.file).run();
    run.expect_status(0);
    let finding = found(&place, &run, "unknown-tier");
    assert_eq!(finding["severity"], "note", "{finding}");
    place.diskspd("-d1 --expect-tier=tape a.dat").run().expect_status(3).expect_stderr(&["--expect-tier", "nvme, ssd"]);
}

// Shows verdict: loop-cached-writes
#[test]
fn direct_writes_that_the_cache_below_a_loop_device_takes_are_warned_of() {
    let place = workplace!();
    or_skip!(place.direct_io());
    let image = place.file("own.img", &vec![1; 8 << 20]);
    let words = format!("-d1 -W0 -r -b4K -o4 -w100 --json r.json --destroy={}", image.display());
    let cached = or_skip!(LoopDevice::over(&place, &image));
    let run = place.diskspd(&words).args("-Su").arg(&cached.path).run();
    run.expect_status(0);
    let finding = found(&place, &run, "loop-cached-writes");
    assert_eq!(finding["value"], 100.0);
    // INVALID if more than a tenth did not reach the disk; writes of other programs hide that, so they decide which it
    // is.
    let account = document(&place)["time_spans"][0]["ledger"]["accounts"][0].clone();
    let severity = match account["reached_percent"].as_f64() {
        Some(..85.0) => &["invalid"][..],
        Some(85.0..90.0) => &["warn", "invalid"],
        _ => &["warn"],
    };
    assert!(severity.iter().any(|severity| finding["severity"] == *severity), "{finding}: {account}");
    assert_eq!(finding["subject"], cached.name().as_str());
    place.diskspd(&words).args("-Sh").arg(&cached.path).run().expect_status(0);
    assert!(!is_found(&place, "loop-cached-writes"));
    drop(cached);
    let direct = or_skip!(LoopDevice::direct(&place, &image));
    place.diskspd(&words).args("-Su").arg(&direct.path).run().expect_status(0);
    assert!(!is_found(&place, "loop-cached-writes"));
}

// Shows verdict: host-cache
// Shows switches: --probe-host-cache
#[test]
fn a_cache_below_the_target_is_found_by_its_second_reads() {
    let place = workplace!();
    let faulty = or_skip!(Faulty::mounted(&place, "served"));
    faulty.resize(64 << 20);
    let words = "-d1 -W0 -r -b4K -o1 -Su --probe-host-cache --json r.json";
    // Far longer than a thread waits for a CPU on a busy machine.
    let slow = Duration::from_millis(8);
    faulty.serve(Service::Cached(slow, Duration::ZERO));
    let run = place.diskspd(words).arg(&faulty.file).run();
    run.expect_status(0);
    let finding = found(&place, &run, "host-cache");
    assert_eq!(finding["severity"], "warn", "{finding}");
    assert!(finding["value"].as_f64().is_some_and(|times| times > 4.0 / 3.0), "{finding}");
    faulty.serve(Service::Each(slow));
    let run = place.diskspd(words).arg(&faulty.file).run();
    assert_eq!(found(&place, &run, "host-cache")["severity"], "note", "{run}");
    // A missing file has nothing to be read.
    let run = place.diskspd("-d1 -W0 -c1M -b4K --probe-host-cache --json r.json new.dat").run();
    run.expect_status(0).expect_stdout(&["--probe-host-cache has no effect: 'new.dat': this run creates it"]);
    assert!(!is_found(&place, "host-cache"));
}

// Shows verdict: small-for-host
#[test]
fn a_small_target_of_a_virtual_machine_is_noted() {
    let place = workplace!();
    or_skip!(place.direct_io());
    let run = place.diskspd("-d1 -W0 -c1M -b4K -Su --json r.json new.dat").run();
    run.expect_status(0);
    let document = document(&place);
    let hypervisor = &document["environment"]["hypervisor"];
    if hypervisor.is_null() || hypervisor == "none" {
        skip!("this is no virtual machine that says so");
    }
    if document["targets"][0]["environment"]["backing"]["devices"].is_null() {
        skip!("the file system of the build is on no device that can be seen");
    }
    let finding = found(&place, &run, "small-for-host");
    assert_eq!((&finding["severity"], &finding["value"]), (&"note".into(), &1_048_576.0.into()));
    assert!(
        finding["figure"].as_str().is_some_and(|figure| figure.ends_with(", some or all of it written just before")),
        "{finding}"
    );
}

// Shows verdict: writes-in-memory
#[test]
fn buffered_writes_that_memory_still_holds_are_warned_of() {
    let place = workplace!();
    place.create_file("a.dat", "-c64M");
    let written_early = |name: &str| fs::read_to_string(name).ok().and_then(|text| text.trim().parse::<u64>().ok());
    if written_early("/proc/sys/vm/dirty_expire_centisecs").is_none_or(|centiseconds| centiseconds < 1000) {
        skip!("this machine writes dirty pages at once, or does not say when");
    }
    // Each block once: less than the amount at which the kernel starts writeback, unless other programs write much.
    let written_pages = || memory_events("nr_written").expect("the kernel's counters");
    for _ in 0..5 {
        let before = written_pages();
        let run = place.diskspd("-d60 -W0 -s -b64K -w100 --max-bytes=64M --json r.json a.dat").run();
        run.expect_status(0);
        if is_found(&place, "writes-in-memory") || written_pages() < before + 4096 {
            assert_eq!(found(&place, &run, "writes-in-memory")["severity"], "warn");
            return;
        }
    }
    skip!("the machine is too busy: the kernel writes dirty pages at once");
}

// Shows verdict: shrinking-data
#[test]
fn a_pattern_on_compressed_memory_is_warned_of() {
    let place = workplace!();
    let zram = or_skip!(Zram::create(8 << 20));
    let measure = |words: &str| {
        let run = place.diskspd("-d1 -W0 -b4K -w100 -Su --json r.json").args(words).arg(&zram.path).run();
        run.expect_status(0);
        run
    };
    let destroy = format!("--destroy={}", zram.name());
    let run = measure(&destroy);
    let finding = found(&place, &run, "shrinking-data");
    assert_eq!(finding["severity"], "warn");
    let figure = finding["figure"].as_str().unwrap_or_default();
    assert!(figure.ends_with(&format!("which is on {} (zram)", zram.name())), "{figure}");
    // It stores random data unchanged.
    measure(&format!("-Zr {destroy}"));
    assert!(!is_found(&place, "shrinking-data"));
}

// Shows verdict: repeating-data
#[test]
fn the_default_pattern_is_noted_on_a_virtual_disk_and_random_data_is_not() {
    let place = workplace!();
    let measure = |words: &str| {
        let run = place.diskspd("-c1M -d1 -W0 -b4K -w100 -Su --json r.json").args(words).arg("a.dat").run();
        run.expect_status(0);
        run
    };
    let run = measure("");
    let device = document(&place)["targets"][0]["environment"]["backing"].to_string();
    let is_virtual = ["virtio", "vmbus", "xen"].iter().any(|bus| device.contains(&format!("\"transport\":\"{bus}\"")));
    if !is_virtual {
        skip!("the build is on no virtual disk");
    }
    let finding = found(&place, &run, "repeating-data");
    assert_eq!(finding["severity"], "note");
    let figure = finding["figure"].as_str().unwrap_or_default();
    let start = "a pattern that repeats every 256 bytes was written to 'a.dat', which is on the virtual disk ";
    assert!(figure.starts_with(start), "{figure}");
    measure("-Zr");
    assert!(!is_found(&place, "repeating-data"));
}

// Shows verdict: shared-extents
#[test]
fn writes_to_what_a_copy_shares_are_warned_of_until_all_is_written() {
    let place = workplace!();
    let mounted = or_skip!(Mounted::xfs(&place, "own", 320 << 20));
    let [file, copy] = ["a.dat", "b.dat"].map(|name| mounted.path.join(name));
    place.diskspd("-c8M -d1 -W0 -o1 --max-ios=1").arg(&file).run().expect_status(0);
    let copied = place.tool("cp").arg("--reflink=always").arg(&file).arg(&copy).run();
    if copied.code() != Some(0) {
        skip!("this file system cannot share extents: {copied}");
    }
    place.tool("sync").run().expect_status(0);
    let load = |words: &str| {
        let run = place.diskspd("-b64K -W0 -o1 --json r.json").args(words).arg(&file).run();
        run.expect_status(0);
        run
    };
    load("-d1 -r -Su");
    assert!(!is_found(&place, "shared-extents"), "reads share without harm");
    let run = load("-d10 -s -w100 -Su --max-bytes=8M");
    let finding = found(&place, &run, "shared-extents");
    assert!(finding["severity"] == "warn" && finding["value"] == 100.0, "{finding}");
    load("-d1 -r -w100 -Su");
    assert!(!is_found(&place, "shared-extents"), "every block has its own room now");
}
