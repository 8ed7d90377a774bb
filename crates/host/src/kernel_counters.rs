//! The kernel's counters of I/O.

use crate::block::place;
use crate::cache_counters;
use crate::cgroups::{self, Version};
use crate::mounts;
use crate::root::Root;
use crate::syntax::{labelled, labelled_kib, words_behind_name};
use model::kernel_counters::{
    CpuLimitCounters, DeviceCounters, DirtyMemory, FlushCounters, KernelCounters, ProcessCounters, RequestCounters,
};
use std::collections::BTreeMap;
use std::path::Path;

/// The unit of sizes in /sys, whatever the sector size of the device.
const SECTOR_BYTES: u64 = 512;

/// Reads the counters of `devices`, by the kernel's names; those without counters are left out.
pub fn device_counters<'a>(
    root: &Root,
    devices: impl IntoIterator<Item = &'a str>,
) -> BTreeMap<String, DeviceCounters> {
    let counters = |name: &str| {
        let directory = place::directory(root, name)?;
        let text = root.text(directory.join("stat"))?;
        (!is_switched_off(root, &directory)).then_some((name.to_owned(), device(&text)?))
    };
    devices.into_iter().filter_map(counters).collect()
}

/// True if accounting of the device, or of the disk of a partition, is switched off (`queue/iostats`).
fn is_switched_off(root: &Root, directory: &Path) -> bool {
    let switch = |directory: &Path| root.switch(directory.join("queue/iostats"));
    switch(directory).or_else(|| switch(directory.parent()?)) == Some(false)
}

/// Reads the counters of `devices`, by the kernel's names, of caches, and those of this process. Devices without
/// counters are left out.
pub fn io_counters<'a>(root: &Root, devices: impl IntoIterator<Item = &'a str> + Clone) -> KernelCounters {
    KernelCounters {
        devices: device_counters(root, devices.clone()),
        caches: cache_counters::read(root, devices),
        process: root.text("/proc/self/io").and_then(|text| process(&text)).map(|counters| {
            let times = root.text("/proc/self/stat").and_then(|text| cpu_times_ms(&text));
            let (cpu_time_ms, user_time_ms) = (times.map(|(user, system)| user + system), times.map(|times| times.0));
            ProcessCounters { cpu_time_ms, user_time_ms, ..counters }
        }),
        dirty: root.text("/proc/meminfo").and_then(|text| dirty(&text)),
        cpu_limit: cpu_limit(root),
        ..KernelCounters::default()
    }
}

/// The line of a `stat` file: 11 numbers, since Linux 4.18 four more for discards, since 5.5 two more for flushes.
/// Further numbers of later kernels are ignored.
pub(crate) fn device(text: &str) -> Option<DeviceCounters> {
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
        cpu_time_ms: None,
        user_time_ms: None,
    })
}

/// User and system time in a line of /proc/PID/stat, in hundredths of a second (`USER_HZ`) on every supported machine.
fn cpu_times_ms(text: &str) -> Option<(u64, u64)> {
    const TICK_MS: u64 = 10;
    let numbers: Vec<&str> = words_behind_name(text)?.collect();
    let ticks = |at: usize| numbers.get(at)?.parse::<u64>().ok();
    // Limited so that sums do not overflow.
    let ms = |ticks: u64| ticks.saturating_mul(TICK_MS).min(u64::MAX / 2);
    Some((ms(ticks(11)?), ms(ticks(12)?)))
}

/// The lines of /proc/meminfo.
fn dirty(text: &str) -> Option<DirtyMemory> {
    Some(DirtyMemory { dirty_bytes: labelled_kib(text, "Dirty")?, writeback_bytes: labelled_kib(text, "Writeback")? })
}

/// Throttling counters of the tightest of our cgroups.
fn cpu_limit(root: &Root) -> Option<CpuLimitCounters> {
    let mounts = mounts::read(root);
    let mut counters = Vec::new();
    for hierarchy in cgroups::hierarchies(root, &mounts) {
        if hierarchy.version == Version::Two || hierarchy.has("cpu") {
            let texts = hierarchy.groups.iter().filter_map(|group| root.text(group.directory.join("cpu.stat")));
            counters.extend(texts.filter_map(|text| throttled(&text)));
        }
    }
    counters.into_iter().max_by_key(|counters| counters.throttled_us)
}

/// The lines of a `cpu.stat` file; those of throttling are present where limits are possible.
fn throttled(text: &str) -> Option<CpuLimitCounters> {
    let value = |label: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(name, _)| *name == label)?.1.trim().parse::<u64>().ok()
    };
    Some(CpuLimitCounters {
        throttled_count: value("nr_throttled")?,
        // Version 1 counts in nanoseconds.
        throttled_us: value("throttled_usec").or_else(|| Some(value("throttled_time")? / 1000))?,
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
            cpu_time_ms: None,
            user_time_ms: None,
        };
        assert_eq!(process(text), Some(expected));
        assert_eq!(process(&text[..40]), None);
    }

    #[test]
    fn the_process_name_may_hold_anything() {
        let rest = "S 1 2 3 4 5 6 7 8 9 10 250 150 0 0";
        assert_eq!(cpu_times_ms(&format!("42 (a) b) {rest}")), Some((2500, 1500)));
        assert_eq!(cpu_times_ms("42 (a"), None);
        assert_eq!(cpu_times_ms("42 (a) S 1 2"), None);
    }

    #[test]
    fn what_is_not_on_storage_yet_is_counted_in_kib() {
        let text = "MemTotal: 8 kB\nDirty:      12 kB\nWriteback:   3 kB\nWritebackTmp: 9 kB\n";
        assert_eq!(dirty(text), Some(DirtyMemory { dirty_bytes: 12 << 10, writeback_bytes: 3 << 10 }));
        assert_eq!(dirty("MemTotal: 8 kB\n"), None);
    }

    #[test]
    fn both_versions_of_cgroups_tell_of_throttling() {
        let expected = Some(CpuLimitCounters { throttled_count: 7, throttled_us: 5000 });
        assert_eq!(throttled("usage_usec 1\nnr_periods 9\nnr_throttled 7\nthrottled_usec 5000\n"), expected);
        assert_eq!(throttled("nr_periods 9\nnr_throttled 7\nthrottled_time 5000999\n"), expected);
        assert_eq!(throttled("usage_usec 1\nuser_usec 1\n"), None);
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
