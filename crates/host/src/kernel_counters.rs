//! The kernel's counters of I/O.

use crate::block::place;
use crate::root::Root;
use crate::syntax::labelled;
use model::kernel_counters::{DeviceCounters, FlushCounters, KernelCounters, ProcessCounters, RequestCounters};

/// The unit of sizes in /sys, whatever the sector size of the device.
const SECTOR_BYTES: u64 = 512;

/// Reads the counters of `devices`, by the kernel's names, and those of this process. Devices
/// that keep none are left out.
pub fn io_counters<'a>(root: &Root, devices: impl IntoIterator<Item = &'a str>) -> KernelCounters {
    let counters = |name: &str| {
        let text = root.text(place::directory(root, name)?.join("stat"))?;
        Some((name.to_owned(), device(&text)?))
    };
    KernelCounters {
        devices: devices.into_iter().filter_map(counters).collect(),
        process: root.text("/proc/self/io").and_then(|text| process(&text)),
        machine: None,
    }
}

/// The line of a `stat` file: 11 numbers, since Linux 4.18 four more for discards, since 5.5 two
/// more for flushes. Numbers that later kernels may add are passed over.
fn device(text: &str) -> Option<DeviceCounters> {
    let numbers: Vec<u64> = text.split_whitespace().map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let requests = |at: usize| match numbers.get(at..at + 4)? {
        [count, merged_count, sectors, time_ms] => Some(RequestCounters {
            count: *count,
            merged_count: *merged_count,
            bytes: sectors.saturating_mul(SECTOR_BYTES),
            time_ms: *time_ms,
        }),
        _ => None,
    };
    let flush = || Some(FlushCounters { count: *numbers.get(15)?, time_ms: *numbers.get(16)? });
    Some(DeviceCounters {
        read: requests(0)?,
        write: requests(4)?,
        in_flight_count: *numbers.get(8)?,
        busy_ms: *numbers.get(9)?,
        queue_time_ms: *numbers.get(10)?,
        discard: requests(11),
        flush: flush(),
    })
}

/// The lines of /proc/self/io.
fn process(text: &str) -> Option<ProcessCounters> {
    let value = |label: &str| labelled(text, label)?.parse().ok();
    Some(ProcessCounters {
        read_call_bytes: value("rchar")?,
        write_call_bytes: value("wchar")?,
        read_call_count: value("syscr")?,
        write_call_count: value("syscw")?,
        storage_read_bytes: value("read_bytes")?,
        storage_write_bytes: value("write_bytes")?,
        cancelled_write_bytes: value("cancelled_write_bytes")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ELEVEN: &str = "  100 2 800 30 50 4 400 60 7 80 90";

    #[test]
    fn the_line_grew_twice() {
        let old = device(ELEVEN).expect("the oldest form");
        assert_eq!(old.read, RequestCounters { count: 100, merged_count: 2, bytes: 409_600, time_ms: 30 });
        assert_eq!(old.write, RequestCounters { count: 50, merged_count: 4, bytes: 204_800, time_ms: 60 });
        assert_eq!((old.in_flight_count, old.busy_ms, old.queue_time_ms), (7, 80, 90));
        assert_eq!((old.discard, old.flush), (None, None));
        let middle = device(&format!("{ELEVEN} 1 2 3 4\n")).expect("with discards");
        assert_eq!(middle.discard, Some(RequestCounters { count: 1, merged_count: 2, bytes: 1536, time_ms: 4 }));
        assert_eq!(middle.flush, None);
        let new = device(&format!("{ELEVEN} 1 2 3 4 5 6 77\n")).expect("with flushes, and what may come");
        assert_eq!(new.flush, Some(FlushCounters { count: 5, time_ms: 6 }));
    }

    #[test]
    fn less_than_a_line_is_none() {
        for text in ["", "1 2 3", "1 2 3 4 5 6 7 8 9 10", "1 2 3 4 5 6 7 8 9 10 x", "1 2 3 4 5 6 7 8 9 10 -1"] {
            assert_eq!(device(text), None, "{text:?}");
        }
    }

    #[test]
    fn the_process_has_seven_counters() {
        let text = "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\ncancelled_write_bytes: 7\n";
        let expected = ProcessCounters {
            read_call_bytes: 1,
            write_call_bytes: 2,
            read_call_count: 3,
            write_call_count: 4,
            storage_read_bytes: 5,
            storage_write_bytes: 6,
            cancelled_write_bytes: 7,
        };
        assert_eq!(process(text), Some(expected));
        assert_eq!(process(&text[..40]), None);
    }

    proptest! {
        #[test]
        fn no_text_makes_them_panic(text in "\\PC*", numbers in proptest::collection::vec(any::<u64>(), 0..20)) {
            let _ = (device(&text), process(&text));
            let line: Vec<String> = numbers.iter().map(u64::to_string).collect();
            prop_assert_eq!(device(&line.join(" ")).is_some(), numbers.len() >= 11);
        }
    }
}
