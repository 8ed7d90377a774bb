//! The kernel's device without a medium: its counts and service times are known.

use crate::disks::Disk;
use crate::machine;
use crate::tools::Driver;
use testkit::{Report, or_skip};

/// Operations that the kernel has counted: reads, writes.
fn counted(disk: &Disk) -> [u64; 2] {
    let stat = disk.file("stat").expect("counters");
    let fields: Vec<u64> = stat.split_whitespace().map(|field| field.parse().expect("a count")).collect();
    [fields[0], fields[4]]
}

#[test]
fn the_kernel_counts_what_is_reported() {
    let place = machine!();
    // One hardware queue without merging: an operation stays one.
    let _loaded = or_skip!(Driver::with(&place, "null_blk", "nr_devices=1 gb=1 queue_mode=2 irqmode=0"));
    let disk = Disk::named("nullb0");
    let flag = "--destroy=nullb0";
    for (words, outstanding) in [("-o1 -w0", 1), ("-o32 -w50", 32), ("-t2 -o16 -w100", 32), ("-o8 -x -w50", 8)] {
        let before = counted(&disk);
        let run = place.diskspd("-d1 -W0 -b4K -r -Su").args(words).arg(flag).arg(&disk.path).run();
        run.expect_status(0);
        let after = counted(&disk);
        let report = Report::parse(&run.stdout);
        // Checks of the disk beforehand read samples of it, for marks and for zeros; at the end some operations are
        // still in flight.
        let looks = 4000;
        for (kind, reported, beyond) in [(0, report.read.sum.ios, looks), (1, report.write.sum.ios, 0)] {
            let done = after[kind] - before[kind];
            let most = reported + outstanding + beyond;
            assert!((reported..=most).contains(&done), "{words}: {reported} reported, {done} counted\n{run}");
        }
    }
}

// Shows switches: -L
#[test]
fn an_operation_takes_at_least_as_long_as_the_device_takes() {
    let place = machine!();
    let options = "nr_devices=1 gb=1 queue_mode=2 irqmode=2 completion_nsec=10000000";
    let _loaded = or_skip!(Driver::with(&place, "null_blk", options));
    let disk = Disk::named("nullb0");
    for (words, outstanding) in [("-o1", 1.0), ("-o8", 8.0), ("-o4 -x", 4.0)] {
        let run = place.diskspd("-d2 -W0 -b4K -r -Su -L").args(words).arg(&disk.path).run();
        run.expect_status(0);
        let report = Report::parse(&run.stdout);
        let mean_ms: f64 = report.total.sum_of("AvgLat").and_then(|cell| cell.parse().ok()).expect("a mean");
        assert!(mean_ms >= 10.0, "{words}: the device takes 10 ms, not {mean_ms}\n{run}");
        let per_s = report.total.sum.ios_per_s;
        assert!(per_s > 0.0 && per_s <= outstanding * 100.0 * 1.05, "{words}: {per_s}\n{run}");
    }
}

/// Maximum time in microseconds that this program and the path to the device may add, on a real CPU.
const ADDED_US_MAX: f64 = 30.0;

/// Mean time of a read at the device since `before`, in microseconds: reads and their milliseconds.
fn mean_at_device_us(disk: &Disk, before: [u64; 2]) -> f64 {
    let [reads, ms] = reads_and_ms(disk);
    (ms - before[1]) as f64 * 1e3 / (reads - before[0]) as f64
}

fn reads_and_ms(disk: &Disk) -> [u64; 2] {
    let stat = disk.file("stat").expect("counters");
    let fields: Vec<u64> = stat.split_whitespace().map(|field| field.parse().expect("a count")).collect();
    [fields[0], fields[3]]
}

/// True if the machine runs under KVM, false if its CPU is emulated.
fn is_on_real_cpu() -> bool {
    let clocks = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    std::fs::read_to_string(clocks).is_ok_and(|clocks| clocks.contains("kvm-clock"))
}

#[test]
fn a_device_of_known_microseconds_takes_these_and_little_more() {
    let place = machine!();
    for device_us in [10_u32, 30, 100] {
        let options = format!("nr_devices=1 gb=1 queue_mode=2 irqmode=2 completion_nsec={}", device_us * 1000);
        let _loaded = or_skip!(Driver::with(&place, "null_blk", &options));
        let disk = Disk::named("nullb0");
        for engine in ["sync", "io_uring"] {
            let words = format!("-d2 -W0 -b4K -r -Su -L -o1 -t1 --engine={engine}");
            let before = reads_and_ms(&disk);
            let run = place.diskspd(&words).arg(&disk.path).run();
            let at_device_us = mean_at_device_us(&disk, before);
            run.expect_status(0);
            let report = Report::parse(&run.stdout);
            let mean_us: f64 =
                report.total.sum_of("AvgLat").and_then(|ms| ms.parse().ok()).map_or(0.0, |ms: f64| ms * 1e3);
            assert!(mean_us >= f64::from(device_us), "{words}: the device takes {device_us} µs\n{run}");
            // An emulated CPU takes a hundred times as long for the path there and back, and that varies; other programs'
            // reads of the device have their part in its mean.
            let added_us = mean_us - at_device_us;
            let is_little = !is_on_real_cpu() || (-1.0..=ADDED_US_MAX).contains(&added_us);
            assert!(is_little, "{words}: {at_device_us} µs at the device\n{run}");
        }
    }
}
