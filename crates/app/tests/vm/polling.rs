//! `--iopoll`: completions fetched from the device's queue instead of announced by its interrupts.

use crate::disks::Disk;
use crate::machine;
use crate::tools::Driver;
use std::fs;
use testkit::{Report, or_skip};

/// Interrupts so far of the I/O queues of all `NVMe` controllers. Their queue 0 is the admin queue.
fn interrupts() -> u64 {
    let text = fs::read_to_string("/proc/interrupts").expect("a table");
    let is_of_queue = |line: &&str| {
        let name = line.split_whitespace().last().unwrap_or_default();
        name.starts_with("nvme") && name.contains('q') && !name.ends_with("q0")
    };
    let counts = text.lines().filter(is_of_queue).flat_map(|line| line.split_whitespace().skip(1));
    counts.map_while(|word| word.parse::<u64>().ok().or(Some(0))).sum()
}

// Shows switches: --iopoll
#[test]
fn a_device_with_poll_queues_sends_no_interrupts() {
    let place = machine!();
    let _polled = or_skip!(Driver::with(&place, "nvme", "poll_queues=2"));
    let disk = Disk::plain(0).blank();
    // I/Os and the interrupts in the meantime.
    let read = |words: &str| {
        let before = interrupts();
        let run = place.diskspd("-d60 -W0 -b4K -Su --max-ios=400").args(words).arg(&disk.path).run();
        run.expect_status(0);
        (Report::parse(&run.stdout).total.sum.ios, interrupts() - before)
    };
    // Checks of the disk beforehand read samples of it, with interrupts.
    let few = 200;
    let (ios, announced) = read("-r -o1");
    assert!(announced > few, "they are counted: {announced} for {ios} I/Os");
    for words in ["--iopoll -r -o1", "--iopoll -r -o32", "--iopoll -si -t2 -o8"] {
        let (ios, announced) = read(words);
        assert!(ios > few && announced < few, "{words}: {announced} interrupts for {ios} I/Os");
    }
    let flag = disk.flag(&place);
    place.write_to(&["-Su", "--iopoll", &flag], &disk.path).expect_status(0);
}

// Shows switches: --iopoll
#[test]
fn a_device_without_them_is_refused_with_what_is_missing() {
    let place = machine!();
    let disk = Disk::plain(0);
    for words in ["-Su", "-Su -o8", "-Sh -t2"] {
        let run = place.diskspd("-d1 -W0 -b4K -r --iopoll").args(words).arg(&disk.path).run();
        run.expect_status(1).expect_stderr(&["cannot be polled for completions", "--iopoll", "nvme.poll_queues"]);
    }
}
