//! Bytes transferred and CPU time used by other programs of this machine.

use crate::kernel_counters::device_counters;
use crate::mounts;
use crate::root::Root;
use crate::syntax::{labelled, words_behind_name};
use model::kernel_counters::{OtherBytes, OtherCpuTime};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The maximum number of processes that are read: more would take too long at the start of a measurement.
const PROCESSES_MAX: usize = 2000;

/// Flag of the kernel's own threads (`PF_KTHREAD`): they work for others, us included.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// Milliseconds of a clock tick of /proc.
const TICK_MS: u64 = 10;

/// File systems whose bytes are counted for a process, but are not those of a block device. FUSE has no such counters
/// since Linux 5.8.
const WITHOUT_DEVICE: [&str; 13] =
    ["nfs", "nfs4", "cifs", "smb3", "smbfs", "ceph", "9p", "zfs", "ubifs", "lustre", "afs", "orangefs", "vboxsf"];

/// The bytes of all other programs so far. `targets` are the devices of the run; other devices are elsewhere.
///
/// `None` if some are unknown: this process may not read them all (it needs root), there are too many, a device has no
/// counters, or a file system is mounted whose bytes are those of no block device.
pub fn other_bytes(root: &Root, targets: &BTreeSet<String>) -> Option<OtherBytes> {
    if mounts::read(root).iter().any(|mount| WITHOUT_DEVICE.contains(&mount.file_system.as_str())) {
        return None;
    }
    let mut ids: Vec<u32> = root.names("/proc").iter().filter_map(|name| name.parse().ok()).collect();
    if ids.len() > PROCESSES_MAX {
        return None;
    }
    // A parent that waits for a child inherits its bytes. If the parent was read before, they are missing and not
    // counted twice.
    ids.sort_unstable();
    let before = read_bytes(root, targets)?;
    let of_programs = ids.iter().filter(|id| **id != std::process::id()).map(|id| of_program(root, *id, &ids));
    let mut sum = OtherBytes::default();
    for [read_bytes, write_bytes] in of_programs.collect::<Option<Vec<_>>>()? {
        sum.read_bytes = sum.read_bytes.saturating_add(read_bytes);
        sum.write_bytes = sum.write_bytes.saturating_add(write_bytes);
    }
    let after = read_bytes(root, targets)?;
    let meanwhile = |(name, bytes): (&String, &u64)| bytes.checked_sub(*before.get(name)?);
    let meanwhile: Vec<u64> = after.iter().map(meanwhile).collect::<Option<_>>()?;
    sum.meanwhile_read_bytes = meanwhile.into_iter().fold(0, u64::saturating_add);
    sum.elsewhere_read_bytes = after.into_iter().filter(|(name, _)| !targets.contains(name)).collect();
    Some(sum)
}

/// CPU time outside this process so far; `None` if there are too many processes.
///
/// A process that ended counts with the parent that waited for it, as its own children do.
pub fn other_cpu_time(root: &Root) -> Option<OtherCpuTime> {
    let ids: Vec<u32> = root.names("/proc").iter().filter_map(|name| name.parse().ok()).collect();
    if ids.is_empty() || ids.len() > PROCESSES_MAX {
        return None;
    }
    let mut sum = OtherCpuTime { interrupts_ms: interrupts_ms(&root.text("/proc/stat")?)?, ..OtherCpuTime::default() };
    for id in ids.into_iter().filter(|id| *id != std::process::id()) {
        // A process that has ended meanwhile is counted by its parent.
        let Some(stat) = root.text(format!("/proc/{id}/stat")) else { continue };
        let (_, flags) = parent_and_flags(&stat)?;
        let of = if flags & KERNEL_THREAD == 0 { &mut sum.programs_ms } else { &mut sum.kernel_threads_ms };
        *of = of.saturating_add(cpu_time_ms(&stat)?);
    }
    Some(sum)
}

/// In a line of /proc/PID/stat: user and system time, and those of children that ended, in the hundredths of a second
/// (`USER_HZ`) of every supported machine.
fn cpu_time_ms(stat: &str) -> Option<u64> {
    let words = words_behind_name(stat)?.skip(11).take(4);
    let ticks: Vec<u64> = words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
    (ticks.len() == 4).then(|| ticks.into_iter().fold(0, u64::saturating_add).saturating_mul(TICK_MS))
}

/// In the first line of /proc/stat: `cpu user nice system idle iowait irq softirq ...`
fn interrupts_ms(stat: &str) -> Option<u64> {
    let mut words = stat.lines().next()?.strip_prefix("cpu ")?.split_ascii_whitespace().skip(5);
    let mut ticks = || words.next()?.parse::<u64>().ok();
    Some(ticks()?.saturating_add(ticks()?).saturating_mul(TICK_MS))
}

/// Read and written bytes of a process: none of one that has ended, or of a kernel thread; `None` = unknown. `ids` are
/// those of all processes, in ascending order.
fn of_program(root: &Root, id: u32, ids: &[u32]) -> Option<[u64; 2]> {
    const NONE: [u64; 2] = [0; 2];
    let directory = Path::new("/proc").join(id.to_string());
    let Some(stat) = root.text(directory.join("stat")) else { return Some(NONE) };
    let (parent, flags) = parent_and_flags(&stat)?;
    if flags & KERNEL_THREAD != 0 {
        return Some(NONE);
    }
    match root.text(directory.join("io")).and_then(|text| bytes(&text)) {
        // Its parent may inherit its bytes before it is read.
        Some(_) if parent > id && ids.binary_search(&parent).is_ok() => None,
        None if root.exists(&directory) => None,
        bytes => Some(bytes.unwrap_or(NONE)),
    }
}

/// Bytes read so far from each device of the targets, and each without a device below it; `None` if one has no
/// counters.
fn read_bytes(root: &Root, targets: &BTreeSet<String>) -> Option<BTreeMap<String, u64>> {
    let names = root.names("/sys/block").into_iter().filter_map(|name| {
        let shown = name.replace('!', "/");
        let counts = targets.contains(&shown) || root.names(format!("/sys/block/{name}/slaves")).is_empty();
        counts.then_some(shown)
    });
    let names: Vec<String> = names.collect();
    let counters = device_counters(root, names.iter().map(String::as_str));
    let of_device = |name: String| counters.get(&name).map(|counters| (name, counters.read.bytes));
    names.into_iter().map(of_device).collect()
}

/// In a line of /proc/PID/stat: the parent and the flags are the second and the seventh word after the name.
fn parent_and_flags(stat: &str) -> Option<(u32, u64)> {
    let mut words = words_behind_name(stat)?;
    Some((words.nth(1)?.parse().ok()?, words.nth(4)?.parse().ok()?))
}

/// Read and written bytes in the lines of /proc/PID/io.
fn bytes(text: &str) -> Option<[u64; 2]> {
    let value = |label: &str| labelled(text, label)?.parse::<u64>().ok();
    Some([value("read_bytes")?, value("write_bytes")?.saturating_sub(value("cancelled_write_bytes")?)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A process with these flags and this text of its `io`.
    fn process(root: &Path, id: u32, flags: u64, io: &str) {
        child(root, id, 1, flags, io);
    }

    fn child(root: &Path, id: u32, parent: u32, flags: u64, io: &str) {
        let directory = root.join(format!("proc/{id}"));
        fs::create_dir_all(&directory).expect("a new folder");
        fs::write(directory.join("stat"), format!("{id} (a b) c) S {parent} 1 1 0 -1 {flags} 0\n"))
            .expect("a new file");
        fs::write(directory.join("io"), io).expect("a new file");
    }

    fn io(read: u64, write: u64, cancelled: u64) -> String {
        format!("rchar: 9\nread_bytes: {read}\nwrite_bytes: {write}\ncancelled_write_bytes: {cancelled}\n")
    }

    fn device(root: &Path, name: &str, sectors: u64) {
        fs::create_dir_all(root.join("sys/block").join(name)).expect("a new folder");
        let directory = root.join("sys/class/block").join(name);
        fs::create_dir_all(&directory).expect("a new folder");
        fs::write(directory.join("stat"), format!("1 0 {sectors} 0 0 0 0 0 0 0 0")).expect("a new file");
    }

    #[test]
    fn all_programs_but_this_one_and_the_kernel_are_added_up() {
        let place = tempfile::tempdir().expect("a folder");
        process(place.path(), 7, 0x40, &io(1000, 700, 200));
        process(place.path(), 8, 0x40, &io(24, 0, 0));
        process(place.path(), 9, KERNEL_THREAD | 0x40, &io(1 << 40, 1 << 40, 0));
        process(place.path(), std::process::id(), 0x40, &io(1 << 40, 1 << 40, 0));
        device(place.path(), "sda", 8);
        device(place.path(), "sdb", 2);
        let root = Root::recorded(place.path());
        let found = other_bytes(&root, &["sda".to_owned()].into());
        let expected = OtherBytes {
            read_bytes: 1024,
            write_bytes: 500,
            elsewhere_read_bytes: [("sdb".to_owned(), 1024)].into(),
            meanwhile_read_bytes: 0,
        };
        assert_eq!(found, Some(expected));
    }

    #[test]
    fn cpu_time_is_that_of_programs_with_their_children_of_kernel_threads_and_of_interrupts() {
        let place = tempfile::tempdir().expect("a folder");
        let root = Root::recorded(place.path());
        assert_eq!(other_cpu_time(&root), None, "nothing is known there");
        let process = |id: u32, flags: u64, times: &str| {
            let directory = place.path().join(format!("proc/{id}"));
            fs::create_dir_all(&directory).expect("a new folder");
            let line = format!("{id} (a b) c) S 1 1 1 0 -1 {flags} 0 0 0 0 {times} 20 0 1 0\n");
            fs::write(directory.join("stat"), line).expect("a new file");
        };
        process(7, 0x40, "1 2 30 400");
        process(8, 0x40, "0 0 0 7");
        process(9, KERNEL_THREAD | 0x40, "0 50 0 0");
        process(std::process::id(), 0x40, "9 9 9 9");
        fs::write(place.path().join("proc/stat"), "cpu  1 2 3 4 5 60 700 8 0 0\ncpu0 1 2 3 4 5 60 700 8 0 0\n")
            .expect("a new file");
        let expected = OtherCpuTime { programs_ms: 4400, kernel_threads_ms: 500, interrupts_ms: 7600 };
        assert_eq!(other_cpu_time(&root), Some(expected));
    }

    #[test]
    fn they_are_unknown_where_one_is_or_where_bytes_are_of_no_device() {
        let place = tempfile::tempdir().expect("a folder");
        let root = Root::recorded(place.path());
        process(place.path(), 7, 0x40, "");
        assert_eq!(other_bytes(&root, &BTreeSet::new()), None);
        process(place.path(), 7, 0x40, &io(1, 1, 0));
        assert!(other_bytes(&root, &BTreeSet::new()).is_some());
        let mounts = place.path().join("proc/self");
        fs::create_dir_all(&mounts).expect("a new folder");
        fs::write(mounts.join("mountinfo"), "20 1 0:45 / /nas rw - nfs4 nas:/a rw\n").expect("a new file");
        assert_eq!(other_bytes(&root, &BTreeSet::new()), None);
    }

    #[test]
    fn they_are_unknown_where_a_device_counts_nothing_or_a_parent_may_take_over_bytes() {
        let place = tempfile::tempdir().expect("a folder");
        let root = Root::recorded(place.path());
        let is_known = || other_bytes(&root, &BTreeSet::new()).is_some();
        process(place.path(), 7, 0x40, &io(1, 1, 0));
        device(place.path(), "sda", 8);
        assert!(is_known());
        let queue = place.path().join("sys/class/block/sda/queue");
        fs::create_dir_all(&queue).expect("a new folder");
        fs::write(queue.join("iostats"), "0\n").expect("a new file");
        assert!(!is_known());
        fs::write(queue.join("iostats"), "1\n").expect("a file");
        child(place.path(), 8, 9, 0x40, &io(1, 1, 0));
        assert!(is_known(), "the parent is not there");
        process(place.path(), 9, 0x40, &io(1, 1, 0));
        assert!(!is_known());
    }
}
