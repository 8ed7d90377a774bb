//! The counters of all block devices at once.

use crate::block::place;
use crate::kernel_counters;
use crate::root::Root;
use crate::system_reading;
use model::block_device::DeviceNumber;
use model::device_interval::{CountedDevice, DeviceReading};
use model::units::UnixTime;
use std::collections::BTreeMap;

/// Reads the counters of all block devices, partitions among them, with the time of the reading; `None` if the kernel
/// shows none.
///
/// One read of /proc/diskstats returns them all, so they are of one moment; where that file is hidden, each device's
/// own is read.
pub fn device_reading(root: &Root) -> Option<DeviceReading> {
    let begin_ns = sys::clock::monotonic_ns();
    let at = UnixTime(sys::clock::realtime_ns());
    let devices = match root.text("/proc/diskstats") {
        Some(text) => table(&text),
        None => one_by_one(root),
    };
    // The middle: the kernel may have read them at any time in between.
    let monotonic_ns = begin_ns.midpoint(sys::clock::monotonic_ns());
    let system = system_reading::read(root, devices.keys().map(String::as_str));
    (!devices.is_empty()).then_some(DeviceReading { monotonic_ns, at, devices, system })
}

/// The lines of /proc/diskstats. Invalid lines are skipped.
fn table(text: &str) -> BTreeMap<String, CountedDevice> {
    text.lines().filter_map(line).collect()
}

/// Major and minor number, name, and the fields of the device's `stat` file.
fn line(line: &str) -> Option<(String, CountedDevice)> {
    let (major, rest) = line.trim_start().split_once(char::is_whitespace)?;
    let (minor, rest) = rest.trim_start().split_once(char::is_whitespace)?;
    let (name, rest) = rest.trim_start().split_once(char::is_whitespace)?;
    let number = DeviceNumber { major: major.parse().ok()?, minor: minor.parse().ok()? };
    Some((name.to_owned(), CountedDevice { number, counters: kernel_counters::device(rest)? }))
}

fn one_by_one(root: &Root) -> BTreeMap<String, CountedDevice> {
    let counted = |name: String| {
        let directory = place::directory(root, &name)?;
        let counters = kernel_counters::device(&root.text(directory.join("stat"))?)?;
        Some((name, CountedDevice { number: place::number(root, &directory)?, counters }))
    };
    place::all(root).into_iter().filter_map(counted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;

    #[test]
    fn lines_are_those_of_the_kernel() {
        let text = "   7       0 loop0 11 0 28 5 0 0 0 0 0 12 5 0 0 0 0 0 0\n\
                    \x20 259       1 nvme0n1p1 1 2 3 4 5 6 7 8 9 10 11\n\
                    \x20 104       0 cciss/c0d0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n\
                    no line\n 8 0 sda 1 2 3\n";
        let devices = table(text);
        assert_eq!(devices.keys().collect::<Vec<_>>(), ["cciss/c0d0", "loop0", "nvme0n1p1"]);
        let partition = &devices["nvme0n1p1"];
        assert_eq!(partition.number, DeviceNumber { major: 259, minor: 1 });
        assert_eq!((partition.counters.read.count, partition.counters.read.bytes), (1, 3 * 512));
        assert_eq!((partition.counters.in_flight_count, partition.counters.queue_time_ms), (9, 11));
        assert!(partition.counters.discard.is_none() && devices["loop0"].counters.flush.is_some());
    }

    #[test]
    fn devices_have_files_of_their_own_where_the_table_is_hidden() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = Root::recorded(folder.path());
        assert_eq!(device_reading(&root), None);
        let device = folder.path().join("sys/class/block/sda");
        fs::create_dir_all(&device).expect("a folder");
        fs::write(device.join("stat"), "1 2 3 4 5 6 7 8 9 10 11\n").expect("written");
        fs::write(device.join("dev"), "8:0\n").expect("written");
        let reading = device_reading(&root).expect("one device");
        assert_eq!(reading.devices["sda"].counters.write.count, 5);
        fs::create_dir_all(folder.path().join("proc")).expect("a folder");
        fs::write(folder.path().join("proc/diskstats"), " 8 16 sdb 1 2 3 4 5 6 7 8 9 10 11\n").expect("written");
        let reading = device_reading(&root).expect("one device");
        assert_eq!(reading.devices.keys().collect::<Vec<_>>(), ["sdb"]);
    }

    #[test]
    fn this_machine_has_devices_or_none() {
        if let Some(reading) = device_reading(&Root::machine()) {
            assert!(reading.monotonic_ns > 0 && reading.at > UnixTime(0));
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "[ 0-9a-z\n!/-]{0,400}|\\PC*") {
            let _ = table(&text);
        }
    }
}
