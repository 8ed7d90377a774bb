//! Memory: available on the machine and within the limits of our cgroups, and dirty in the page cache of files and
//! devices.

use crate::cgroups::{self, Version};
use crate::root::Root;
use crate::syntax::labelled_kib;
use crate::{kernel, mounts};
use model::facts::Memory;
use model::kernel_counters::DirtyMemory;
use std::ops::Range;
use std::path::Path;

/// Assumed available memory if the kernel reports none: enough to accept any request.
const UNKNOWN_BYTES: u64 = 1 << 50;

/// Limits of cgroup version 1 from here on mean "none" (it has no other value for it).
pub(crate) const LIMIT_BYTES_MAX: u64 = 1 << 60;

/// Reads all memory facts; `lock_limit_bytes` is this process's `RLIMIT_MEMLOCK`.
pub(crate) fn read(root: &Root, lock_limit_bytes: Option<u64>) -> Memory {
    Memory {
        available_bytes: available_bytes(root).unwrap_or(UNKNOWN_BYTES),
        cgroup_left_bytes: cgroup_left_bytes(root),
        lock_limit_bytes: lock_limit_bytes.filter(|_| !kernel::locks_any_memory(root)),
    }
}

/// Bytes of memory available to this process.
pub fn free_memory_bytes(root: &Root) -> u64 {
    read(root, None).free_bytes()
}

/// The default size of huge pages; `None` = there are none.
pub fn huge_page_bytes(root: &Root) -> Option<u64> {
    labelled_kib(&root.text("/proc/meminfo")?, "Hugepagesize")
}

fn available_bytes(root: &Root) -> Option<u64> {
    let meminfo = root.text("/proc/meminfo")?;
    // Kernels before 3.14 and some emulations of /proc have no MemAvailable.
    let free_and_cached = || {
        let parts = ["MemFree", "Buffers", "Cached"].map(|label| labelled_kib(&meminfo, label));
        parts[0].map(|free| parts[1..].iter().flatten().fold(free, |sum, part| sum.saturating_add(*part)))
    };
    labelled_kib(&meminfo, "MemAvailable").or_else(free_and_cached)
}

/// File names of the two versions of cgroups.
struct Files {
    limit: &'static str,
    used: &'static str,
    cache: [&'static str; 2],
}

const VERSION_1: Files = Files {
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    cache: ["total_inactive_file", "total_active_file"],
};
const VERSION_2: Files = Files { limit: "memory.max", used: "memory.current", cache: ["inactive_file", "active_file"] };

/// The minimum left in any of our cgroups, up to the top; `None` = no limit.
fn cgroup_left_bytes(root: &Root) -> Option<u64> {
    let mounts = mounts::read(root);
    let mut left = Vec::new();
    for hierarchy in cgroups::hierarchies(root, &mounts) {
        let files = match hierarchy.version {
            Version::Two => &VERSION_2,
            Version::One if hierarchy.has("memory") => &VERSION_1,
            Version::One => continue,
        };
        left.extend(hierarchy.groups.iter().filter_map(|group| left_in(root, &group.directory, files)));
    }
    left.into_iter().min()
}

/// Limit minus use, without cached files, which the kernel reclaims first.
fn left_in(root: &Root, directory: &Path, files: &Files) -> Option<u64> {
    let limit = root.number(directory.join(files.limit)).filter(|limit| *limit < LIMIT_BYTES_MAX)?;
    let used = root.number(directory.join(files.used)).unwrap_or(0);
    let stat = root.text(directory.join("memory.stat")).unwrap_or_default();
    let value = |label: &str| {
        let mut lines = stat.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(name, _)| *name == label).and_then(|(_, value)| value.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    let cache = files.cache.iter().fold(0, |sum: u64, label| sum.saturating_add(value(label)));
    Some(limit.saturating_sub(used.saturating_sub(cache)))
}

/// Dirty memory of parts of the files or devices at these paths, in total. `None` if there are none, or the kernel does
/// not report it for each.
pub fn dirty_parts<'a>(parts: impl IntoIterator<Item = (&'a Path, Range<u64>)>) -> Option<DirtyMemory> {
    let dirty = |(path, part): (&Path, Range<u64>)| {
        let file = sys::file::open_to_look(path).ok()?;
        let unwritten = sys::page_cache::unwritten(&file, &part).ok()?;
        Some(DirtyMemory { dirty_bytes: unwritten.dirty_bytes, writeback_bytes: unwritten.writeback_bytes })
    };
    let parts: Vec<DirtyMemory> = parts.into_iter().map(dirty).collect::<Option<_>>()?;
    parts.into_iter().reduce(|a, b| DirtyMemory {
        dirty_bytes: a.dirty_bytes.saturating_add(b.dirty_bytes),
        writeback_bytes: a.writeback_bytes.saturating_add(b.writeback_bytes),
    })
}
