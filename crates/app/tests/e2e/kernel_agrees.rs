//! The tool's own figures against the kernel's: bytes of a run, as the process's account and the
//! device's statistics have them.
//!
//! With direct I/O in blocks of at most 64 KiB each request becomes one request of the device, so
//! all three count the same transfers. Without warm-up and cool-down the whole run is measured. The
//! allowed difference of 1 % covers what only the kernel counts: requests that were in flight at the
//! end (a few in 20,000) and, on the device, the file system's own blocks.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use testkit::{Finished, Mounted, Report, Workplace, or_skip, say_skipped, skip, workplace};

/// With fewer, I/Os counted only by the kernel would weigh too much.
const IOS: u64 = 20_000;

/// Sectors of 512 bytes that a block device has read and written.
#[derive(Clone, Copy, Debug)]
struct Sectors {
    read: u64,
    written: u64,
}

impl Sectors {
    fn from_statistics(statistics: &Path) -> Self {
        let text = fs::read_to_string(statistics).expect("the device's statistics");
        let fields: Vec<u64> = text.split_whitespace().filter_map(|field| field.parse().ok()).collect();
        Self { read: fields[2], written: fields[6] }
    }
}

/// The statistics of the device below a directory, if it is a separate block device.
fn statistics(folder: &Path) -> Result<PathBuf, String> {
    let device = fs::metadata(folder).expect("our folder").dev();
    // As the kernel's `makedev` splits it.
    let (major, minor) = ((device >> 8) & 0xfff | (device >> 32) & !0xfff, device & 0xff | (device >> 12) & !0xff);
    let path = PathBuf::from(format!("/sys/dev/block/{major}:{minor}/stat"));
    if path.exists() { Ok(path) } else { Err("the build's file system is on no block device of its own".to_owned()) }
}

/// A run of one of the loads, and the bytes that the device read and wrote in the meantime.
struct Counted {
    load: &'static str,
    run: Finished,
    report: Report,
    device_bytes: [u64; 2],
}

impl Counted {
    /// A run of this many I/Os, if the device completes them in time.
    fn measure(place: &Workplace, load: &'static str, target: &Path) -> Result<Self, String> {
        let statistics = statistics(target.parent().expect("a folder"))?;
        let before = Sectors::from_statistics(&statistics);
        let options = format!("-d12 --max-ios={IOS} -W0 -C0 -L -D -Su {load}");
        let run = place.diskspd(&options).arg(target).run_counted();
        let after = Sectors::from_statistics(&statistics);
        run.expect_status(0);
        let report = Report::parse(&run.stdout);
        if report.total.sum.ios < IOS {
            return Err(format!("this device makes only {} I/Os in 12 s", report.total.sum.ios));
        }
        let device_bytes = [after.read - before.read, after.written - before.written].map(|sectors| sectors * 512);
        Ok(Self { load, run, report, device_bytes })
    }

    /// Runs of all loads, without those that the device is too slow for.
    fn of_all_loads(place: &Workplace, target: &Path) -> impl Iterator<Item = Self> {
        LOADS.into_iter().filter_map(|load| {
            Self::measure(place, load, target).map_err(|reason| say_skipped(format_args!("{load}: {reason}"))).ok()
        })
    }

    /// Bytes read and written, according to the report.
    fn bytes(&self) -> [u64; 2] {
        [self.report.read.sum.bytes, self.report.write.sum.bytes]
    }

    /// Checks that another counter agrees.
    fn expect(&self, who: &str, their_bytes: [u64; 2]) {
        for (what, (ours, theirs)) in ["read", "written"].into_iter().zip(self.bytes().into_iter().zip(their_bytes)) {
            let is_none = ours == 0 && theirs < 1 << 20;
            let is_within_one_percent = ours.abs_diff(theirs) * 100 <= theirs;
            let Self { load, run, .. } = self;
            assert!(is_none || is_within_one_percent, "{load}: {ours} bytes {what}, {who}: {theirs}\n{run}");
        }
    }
}

/// Loads that differ in direction, size, depth and engine. Without `-Sw`: a flush would count too.
const LOADS: [&str; 5] =
    ["-b4K -r -o8 -t2", "-b64K -o4", "-b16K -w100 -r -o8", "-b8K -w50 -r -o8 -t2", "-b4K -r -o1 -t4"];

// Shows switches: -w[<percent>]
#[test]
fn bytes_agree_with_the_account_of_the_process() {
    let place = workplace!();
    or_skip!(place.direct_io());
    let target = place.create_file("a.dat", "-c256M");
    // Once without counting, in both directions, so that the program's own pages are in memory: a
    // run that only writes reads nothing but them.
    place.diskspd("-d1 -W0 -Su -b4K -w50 -r -o8 -L -D").arg(&target).run().expect_status(0);
    for counted in Counted::of_all_loads(&place, &target) {
        let Some(kernel) = counted.run.kernel_io else {
            skip!("the kernel's account of the process cannot be read here")
        };
        counted.expect("kernel", [kernel.read_bytes, kernel.write_bytes]);
        // Other processes use the device too, so its counts may be larger; see below for a private one.
        let Counted { load, run, device_bytes, .. } = &counted;
        for (ours, theirs) in counted.bytes().into_iter().zip(device_bytes) {
            assert!(theirs * 101 >= ours * 100, "{load}: {ours} bytes, device: {theirs}\n{run}");
        }
    }
}

#[test]
fn bytes_agree_with_the_statistics_of_a_device_that_nobody_else_uses() {
    let place = workplace!();
    let mounted = or_skip!(Mounted::ext4(&place, "own", 320 << 20));
    let target = mounted.path.join("a.dat");
    place.briefly("-c256M").arg(&target).run_until_measuring().expect_status(0);
    place.tool("sync").run().expect_status(0);
    for counted in Counted::of_all_loads(&place, &target) {
        counted.expect("device", counted.device_bytes);
    }
}

#[test]
fn figures_agree_with_each_other() {
    let place = workplace!();
    place.create_file("a.dat", "-c16M");
    for words in ["-b4K -r -o8 -t2 -w30", "-b64K -o1 -t3 -si", "-b8K -F2 -O4 -r -w50 -L -D100"] {
        let run = place.diskspd("-d1 -W0").args(words).args("a.dat").run();
        run.expect_status(0);
        let report = Report::parse(&run.stdout);
        let block = if words.contains("-b64K") {
            65_536
        } else if words.contains("-b8K") {
            8192
        } else {
            4096
        };
        for table in [&report.total, &report.read, &report.write] {
            let (bytes, ios) = table.rows.iter().fold((0, 0), |sum, row| (sum.0 + row.bytes, sum.1 + row.ios));
            assert_eq!((bytes, ios), (table.sum.bytes, table.sum.ios), "{run}");
            assert_eq!(bytes, ios * block, "{run}");
        }
        let [total, read, write] = [&report.total.sum, &report.read.sum, &report.write.sum];
        assert_eq!((total.bytes, total.ios), (read.bytes + write.bytes, read.ios + write.ios), "{run}");
        let mib = total.ios_per_s * block as f64 / f64::from(1 << 20);
        assert!((mib - total.mib_per_s).abs() < 0.02, "{run}");
    }
}
