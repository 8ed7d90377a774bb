//! The disk that gets the requests to a device or a file, and their place on it.

use crate::named_device::{NamedDevice, disks_below, named_device};
use crate::root::Root;
use std::fs::File;
use std::ops::{ControlFlow, Range};
use std::path::Path;
use sys::extents;

const SECTOR_BYTES: u64 = 512;

/// A disk, and the part of it that belongs to a device or a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestPlace {
    /// Major and minor number of the disk.
    pub disk: (u32, u32),
    /// The disk, as the kernel names it.
    pub disk_name: String,
    /// Size of the disk in bytes.
    pub disk_bytes: u64,
    /// Bytes of the disk, ascending; empty = all.
    pub ranges: Vec<Range<u64>>,
    /// It is a file: the ranges are its extents at this moment.
    pub is_file: bool,
}

impl RequestPlace {
    /// True if a request of these bytes is in the part; `length` is 0 of flushes, which are of the whole disk.
    pub fn contains(&self, offset: u64, length: u64) -> bool {
        let end = offset.saturating_add(length);
        let first = self.ranges.partition_point(|range| range.end <= offset);
        length == 0 || self.ranges.is_empty() || self.ranges.get(first).is_some_and(|range| range.start < end)
    }
}

/// Finds the disk of a device, by name or path, or of a file.
///
/// # Errors
///
/// A sentence with the cause and, if there is one, the remedy.
pub fn request_place(root: &Root, word: &Path) -> Result<RequestPlace, String> {
    match named_device(root, word) {
        NamedDevice::Device(name) => on_device(root, &name),
        NamedDevice::Missing => Err(format!("'{}' does not exist", word.display())),
        NamedDevice::NoDevice { stands_on } => {
            let [device] = &stands_on[..] else {
                return Err(format!(
                    "the file system of '{}' is on {}: name the device to be recorded",
                    word.display(),
                    if stands_on.is_empty() { "no block device".to_owned() } else { stands_on.join(" and ") }
                ));
            };
            let mut place = on_device(root, device)?;
            let start = place.ranges.first().map_or(0, |range| range.start);
            place.ranges = file_ranges(word, start)?;
            place.is_file = true;
            Ok(place)
        }
    }
}

/// True if a process has this id.
pub fn process_exists(root: &Root, pid: u32) -> bool {
    root.exists(format!("/proc/{pid}"))
}

/// The process of a thread; the thread itself if it has ended.
pub fn process_of_thread(root: &Root, thread: u32) -> u32 {
    let status = root.text(format!("/proc/{thread}/status")).unwrap_or_default();
    let process = status.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok());
    process.unwrap_or(thread)
}

fn on_device(root: &Root, name: &str) -> Result<RequestPlace, String> {
    let class = format!("/sys/class/block/{name}");
    let unknown = || format!("'{name}' is not in /sys/class/block");
    let number = |file: &str| root.number(format!("{class}/{file}"));
    let partition = root.exists(format!("{class}/partition"));
    let directory = root.real(&class).ok_or_else(unknown)?;
    let disk = if partition { directory.parent().ok_or_else(unknown)? } else { &directory };
    let disk_name = disk.file_name().and_then(|name| name.to_str()).ok_or_else(unknown)?.to_owned();
    let class_of_disk = format!("/sys/class/block/{disk_name}");
    // Drivers without requests of their own have no queues for them.
    if !root.exists(format!("{class_of_disk}/mq")) {
        let below: Vec<String> = disks_below(root, &disk_name).into_iter().filter(|name| *name != disk_name).collect();
        let advice = match &below[..] {
            [] => "the kernel reports none of its I/O one by one".to_owned(),
            below => format!("record {} below it", below.join(" or ")),
        };
        return Err(format!("'{disk_name}' passes I/O on without requests of its own: {advice}"));
    }
    let numbers = root.word(format!("{class_of_disk}/dev")).ok_or_else(unknown)?;
    let (major, minor) = numbers.split_once(':').ok_or_else(unknown)?;
    let disk = (major.parse().map_err(|_| unknown())?, minor.parse().map_err(|_| unknown())?);
    let ranges = if partition {
        let (start, sectors) = (number("start").ok_or_else(unknown)?, number("size").ok_or_else(unknown)?);
        let bytes = start * SECTOR_BYTES..(start + sectors) * SECTOR_BYTES;
        vec![bytes]
    } else {
        Vec::new()
    };
    let disk_bytes = root.number(format!("{class_of_disk}/size")).unwrap_or(0) * SECTOR_BYTES;
    Ok(RequestPlace { disk, disk_name, disk_bytes, ranges, is_file: false })
}

/// The places of a file's extents, behind the `start` of its device.
fn file_ranges(path: &Path, start: u64) -> Result<Vec<Range<u64>>, String> {
    let failed = |error| format!("cannot find the extents of '{}': {error}", path.display());
    let file = File::open(path).map_err(failed)?;
    let mut ranges = Vec::new();
    let visit = |extent: extents::Extent| {
        ranges.extend(extent.place_bytes.map(|place| start + place..start + place + extent.length_bytes));
        ControlFlow::Continue(())
    };
    extents::for_each(&file, visit).map_err(failed)?;
    if ranges.is_empty() {
        return Err(format!("'{}' has no extents on a device", path.display()));
    }
    Ok(merged(ranges))
}

/// Sorted, and without those that touch.
fn merged(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn machine() -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |path: &str| folder.path().join(path);
        for directory in ["sys/devices/sda/sda1", "sys/devices/sda/mq", "sys/devices/zram0", "sys/class/block"] {
            fs::create_dir_all(at(directory)).expect("a folder");
        }
        for (file, content) in [
            ("sys/devices/sda/dev", "8:0"),
            ("sys/devices/sda/size", "4096"),
            ("sys/devices/sda/sda1/partition", "1"),
            ("sys/devices/sda/sda1/start", "64"),
            ("sys/devices/sda/sda1/size", "128"),
            ("sys/devices/sda/sda1/dev", "8:1"),
            ("sys/devices/zram0/dev", "252:0"),
        ] {
            fs::write(at(file), content).expect("written");
        }
        for (name, device) in [("sda", "sda"), ("sda1", "sda/sda1"), ("zram0", "zram0")] {
            symlink(format!("../../devices/{device}"), at("sys/class/block").join(name)).expect("a link");
        }
        let root = Root::recorded(folder.path());
        (folder, root)
    }

    #[test]
    fn a_partition_is_a_range_of_its_disk() {
        let (_folder, root) = machine();
        let disk = request_place(&root, Path::new("sda")).expect("a disk");
        assert_eq!((disk.disk, disk.disk_bytes, disk.ranges.len()), ((8, 0), 2 << 20, 0));
        let part = request_place(&root, Path::new("sda1")).expect("a partition");
        assert_eq!((part.disk, part.disk_name.as_str()), ((8, 0), "sda"));
        let bytes = 64 * 512..192 * 512;
        assert_eq!(part.ranges, std::slice::from_ref(&bytes));
        let inside = |offset, length| part.contains(offset, length);
        assert_eq!([inside(64 * 512, 512), inside(63 * 512, 512), inside(192 * 512, 512)], [true, false, false]);
        assert!(inside(0, 0), "a flush");
    }

    #[test]
    fn devices_without_requests_are_refused() {
        let (_folder, root) = machine();
        let refused = request_place(&root, Path::new("zram0")).expect_err("no requests");
        assert!(refused.contains("'zram0' passes I/O on without requests"), "{refused}");
    }

    #[test]
    fn extents_that_touch_are_one_range() {
        assert_eq!(merged(vec![8..9, 0..4, 4..6, 5..7]), [0..7, 8..9]);
    }
}
