//! Devices that fail, stand still, are slow or vanish in the middle of a run, and those with limits of their own: larger
//! sectors, zones.

use crate::disks::Disk;
use crate::machine;
use crate::tools::{DeviceSetup, Driver, run};
use serde_json::Value;
use std::time::Duration;
use testkit::{Finished, Report, Workplace, or_skip};

/// The device mapper's device `row` with this table.
fn mapped<'a>(place: &'a Workplace, table: &str) -> Result<(DeviceSetup<'a>, Disk), String> {
    let made = DeviceSetup::by(place, &format!("dmsetup create row --table '{table}'"), "dmsetup remove --retry row")?;
    Ok((made, Disk::named("dm-0")))
}

fn sectors(disk: &Disk) -> u64 {
    disk.file("size").expect("a size").parse().expect("a number")
}

fn load(place: &Workplace, words: &str, device: &Disk) -> Finished {
    place.diskspd("-d60 -W0 -b4K -r --max-ios=200 --json=r.json --replace-output").args(words).arg(&device.path).run()
}

#[test]
fn an_unreadable_range_is_an_error_with_its_offset() {
    let place = machine!();
    let disk = Disk::plain(0).blank();
    let half = sectors(&disk) / 2;
    let table = format!("0 {half} linear {path} 0\n{half} {half} error", path = disk.path.display());
    let (_made, device) = or_skip!(mapped(&place, &table));
    load(&place, "-Su -f4M", &device).expect_status(0);
    for engine in ["sync", "io_uring", "aio"] {
        let run = load(&place, &format!("-Su -B4M -o4 --engine={engine}"), &device);
        run.expect_status(1).expect_stderr(&["Input/output error", &device.path.display().to_string()]);
    }
}

#[test]
fn a_slow_device_is_seen_as_slow() {
    let place = machine!();
    let disk = Disk::plain(0).blank();
    let table = format!("0 {} delay {path} 0 20 {path} 0 40", sectors(&disk), path = disk.path.display());
    let (_made, device) = or_skip!(mapped(&place, &table));
    let run = load(&place, "-Su -o1 -L -w50 --max-ios=60 --destroy=row", &device);
    run.expect_status(0);
    let report = Report::parse(&run.stdout);
    for (row, least_ms) in [(&report.read, 20.0), (&report.write, 40.0)] {
        let mean: f64 = row.sum_of("AvgLat").and_then(|cell| cell.parse().ok()).expect("a mean");
        // The timer of dm-delay counts whole ticks.
        assert!(mean >= least_ms - 4.0, "{mean} of {least_ms} ms\n{run}");
    }
}

#[test]
fn a_suspended_device_holds_a_run_up_and_it_goes_on() {
    let place = machine!();
    let disk = Disk::plain(0).blank();
    let table = format!("0 {} linear {} 0", sectors(&disk), disk.path.display());
    let (_made, device) = or_skip!(mapped(&place, &table));
    let words = "-v -d600 -W0 -b4K -r -w50 -o4 -Su --destroy=row --json=r.json --replace-output";
    let mut running = place.diskspd(words).arg(&device.path).start();
    running.wait_for_stderr("starting measurements");
    running.wait_for_ios();
    or_skip!(run(&place, "dmsetup suspend --nolockfs row"));
    std::thread::sleep(Duration::from_secs(3));
    or_skip!(run(&place, "dmsetup resume row"));
    running.wait_for_ios();
    running.interrupt();
    running.finish().expect_status(0);
    let longest = place.span_result("r.json")["measured"]["series"].clone();
    assert!(longest.is_object(), "{longest}");
}

#[test]
fn a_disk_that_is_removed_ends_the_run_with_an_error() {
    let place = machine!();
    let disk = Disk::plain(0).blank();
    let flag = disk.flag(&place);
    let words = "-v -d600 -W0 -b4K -r -w50 -o4 -Su --json=r.json --replace-output";
    let mut running = place.diskspd(words).arg(&flag).arg(&disk.path).start();
    running.wait_for_stderr("starting measurements");
    running.wait_for_ios();
    let remove = format!("echo 1 > /sys/block/{}/device/device/remove", disk.name);
    // The driver was bound by hand, so that a rescan needs it again.
    let _removed = or_skip!(DeviceSetup::by(&place, &remove, "echo 1 > /sys/bus/pci/rescan"));
    let run = running.finish();
    println!("{run}");
    assert_eq!(run.code(), Some(1), "{run}");
    run.expect_stderr(&[&disk.path.display().to_string()]);
    // Reads of a device that is gone end at once; writes fail.
    let is_told =
        ["its device was removed", "Input/output error", "No such device"].iter().any(|part| run.stderr.contains(part));
    assert!(is_told, "{run}");
}

#[test]
fn sectors_of_four_kibibytes_refuse_smaller_ios() {
    let place = machine!();
    let disk = Disk::with_sectors(4096).blank();
    let flag = disk.flag(&place);
    assert_eq!(disk.file("queue/logical_block_size").as_deref(), Some("4096"));
    for words in ["-b512 -Su", "-b4K -r512 -Su", "-b6K -Su"] {
        let run = place.diskspd("-d1 -W0").args(words).arg(&disk.path).run();
        run.expect_status(3).expect_stderr(&["4096"]);
    }
    for words in ["-Su -w50", "-Su -o8 -w50", "-Sh -w50", "-w50 -o4"] {
        load(&place, &format!("{words} {flag}"), &disk).expect_status(0);
    }
    load(&place, &format!("-Su -o4 -w50 --verify {flag}"), &disk).expect_status(0);
    place.diskspd("verify").arg(&disk.path).run().expect_status(0);
    let facts = place.json::<Value>("r.json")["targets"][0]["facts"]["kind"]["block"].clone();
    assert_eq!(facts["logical_block_bytes"], 4096);
    let small = Disk::plain(0);
    assert_eq!(small.file("queue/logical_block_size").as_deref(), Some("512"));
    load(&place, "-b512 -Su", &small).expect_status(0);
}

/// Writes at arbitrary offsets failed on it one by one, as errors of the device.
#[test]
fn zones_that_take_sequential_writes_only_are_refused_for_writes() {
    let place = machine!();
    let options = "nr_devices=1 gb=1 zoned=1 zone_size=64 queue_mode=2 irqmode=0";
    let _loaded = or_skip!(Driver::with(&place, "null_blk", options));
    let disk = Disk::named("nullb0");
    assert_eq!(disk.file("queue/zoned").as_deref(), Some("host-managed"));
    for words in ["-w100", "-w50 -Su", "-w0 --discard=50 -Su"] {
        let run = load(&place, &format!("{words} --destroy=nullb0"), &disk);
        run.expect_status(3).expect_stderr(&["zoned device (host-managed)", "can be read"]);
    }
    load(&place, "-Su -o4", &disk).expect_status(0);
}

#[test]
fn arrays_write_to_their_members_what_their_level_asks_for() {
    let place = machine!();
    // Members, the level's words, and how many members' bytes there are for each of the array, in halves.
    for (level, halves) in [("1", 2), ("10 --layout=n2", 2), ("5 --chunk=64", 2)] {
        let disks = [Disk::plain(0).blank(), Disk::plain(1).blank()];
        let [first, second] = disks.each_ref().map(|disk| disk.path.display());
        let make = format!(
            "mdadm --create /dev/md0 --quiet --run --assume-clean --level={level} --raid-devices=2 --metadata=1.2 {first} {second}"
        );
        let _raid = or_skip!(DeviceSetup::by(&place, &make, "mdadm --quiet --stop /dev/md0"));
        let raid = Disk::named("md0");
        for disk in &disks {
            place.write_refused(&[&disk.flag(&place)], &disk.path, &disk.path, &["in use", "part of md0"]);
        }
        let flag = raid.flag(&place);
        let before: u64 = disks.iter().map(Disk::written_bytes).sum();
        let run = load(&place, &format!("-Su -w100 -o4 {flag}"), &raid);
        run.expect_status(0);
        let bytes = Report::parse(&run.stdout).write.sum.bytes;
        let reached = disks.iter().map(Disk::written_bytes).sum::<u64>() - before;
        assert!(bytes > 0 && reached >= bytes * halves, "level {level}: {reached} of {bytes} bytes");
        load(&place, &format!("-Su -b64K --write-zeroes=50 {flag}"), &raid).expect_status(0);
        // The driver of RAID 5 takes no discards unless it is told that those of its members leave zeros.
        let run = load(&place, &format!("-Su -b64K --discard=50 --engine=sync {flag}"), &raid);
        if level.starts_with('5') {
            run.expect_status(1).expect_stderr(&["does not support discards"]);
        } else {
            run.expect_status(0);
        }
    }
}

#[test]
fn discards_and_zeroes_pass_through_stacks_or_are_refused() {
    let place = machine!();
    let disk = Disk::plain(0).blank();
    let table = format!("0 {} linear {} 0", sectors(&disk), disk.path.display());
    let (_made, device) = or_skip!(mapped(&place, &table));
    for words in
        ["--discard=50 --engine=sync", "--write-zeroes=50", "--discard=30 --write-zeroes=30 -w50 --engine=sync"]
    {
        let run = load(&place, &format!("-Su -b64K {words} --destroy=row"), &device);
        run.expect_status(0);
    }
    let (_second, encrypted) = {
        let table = format!("0 4096 crypt aes-xts-plain64 {} 0 {} 0", "0".repeat(64), device.path.display());
        let made = or_skip!(DeviceSetup::by(
            &place,
            &format!("dmsetup create top --table '{table}'"),
            "dmsetup remove --retry top"
        ));
        (made, Disk::named("dm-1"))
    };
    // Without allow_discards it takes none.
    let run = load(&place, "-Su -b64K --discard=50 --engine=sync --destroy=top", &encrypted);
    println!("{run}");
    assert!([1, 3].contains(&run.code().unwrap_or(-1)), "{run}");
    run.expect_stderr(&["discard"]);
}
