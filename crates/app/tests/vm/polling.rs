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
    let interrupts_of = |words: &str, ios: u64| {
        let before = interrupts();
        let load = format!("-d600 -W0 -b4K -Su {words} --max-ios={ios}");
        let run = place.diskspd(&load).arg(&disk.path).run();
        run.expect_status(0);
        assert_eq!(Report::parse(&run.stdout).total.sum.ios, ios, "{run}");
        interrupts() - before
    };
    // Checks of the disk beforehand read samples of it, with interrupts: what more I/Os add is compared.
    let added_by = |words: &str| {
        let few = interrupts_of(words, 400);
        interrupts_of(words, 4400).saturating_sub(few)
    };
    let announced = added_by("-r -o1");
    assert!(announced > 1000, "they are counted: {announced} for 4000 I/Os");
    for words in ["--iopoll -r -o1", "--iopoll -r -o32", "--iopoll -si -t2 -o8"] {
        let announced = added_by(words);
        assert!(announced < 100, "{words}: {announced} interrupts for 4000 I/Os");
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
