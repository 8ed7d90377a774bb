//! Memory that a run may use: the machine's, and what is left below the limits of our cgroups.

use crate::kernel;
use crate::mounts::{self, Mount};
use crate::root::Root;
use crate::syntax::labelled_kib;
use model::facts::Memory;
use std::path::{Component, Path, PathBuf};

/// Taken for the available memory if the kernel does not tell: too much to refuse anything.
const UNKNOWN_BYTES: u64 = 1 << 50;

/// Limits of cgroup version 1 from here on mean "none" (it has no word for it).
const LIMIT_BYTES_MAX: u64 = 1 << 60;

/// Reads all of it; `lock_limit_bytes` is this process's `RLIMIT_MEMLOCK`.
pub(crate) fn read(root: &Root, lock_limit_bytes: Option<u64>) -> Memory {
    Memory {
        available_bytes: available_bytes(root).unwrap_or(UNKNOWN_BYTES),
        cgroup_left_bytes: cgroup_left_bytes(root),
        lock_limit_bytes: lock_limit_bytes.filter(|_| !kernel::locks_any_memory(root)),
    }
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

/// The names that the two versions of cgroups use.
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

/// The least that is left in any cgroup that we are in, up to the top; `None` = no limit.
fn cgroup_left_bytes(root: &Root) -> Option<u64> {
    let membership = root.text("/proc/self/cgroup")?;
    let mounts = mounts::read(root);
    let mut left = Vec::new();
    for line in membership.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let is_memory = |options: &str| options.split(',').any(|option| option == "memory");
        let (files, mount) = if controllers.is_empty() {
            (&VERSION_2, mounts.iter().find(|mount| mount.file_system == "cgroup2"))
        } else if is_memory(controllers) {
            let is_ours = |mount: &&Mount| mount.file_system == "cgroup" && is_memory(&mount.super_options);
            (&VERSION_1, mounts.iter().find(is_ours))
        } else {
            continue;
        };
        let Some(mount) = mount else { continue };
        left.extend(directories(mount, Path::new(path)).iter().filter_map(|directory| left_in(root, directory, files)));
    }
    left.into_iter().min()
}

/// The cgroup at `path` and those above it, as far as they can be seen through `mount`.
fn directories(mount: &Mount, path: &Path) -> Vec<PathBuf> {
    // In a container the path may be that of the host, of which only a part is mounted; one that
    // leads out of the mount is no help at all.
    let relative = path.strip_prefix(&mount.root).or_else(|_| path.strip_prefix("/")).unwrap_or(path);
    let is_below = relative.components().all(|component| matches!(component, Component::Normal(_)));
    let relative = if is_below { relative } else { Path::new("") };
    relative.ancestors().map(|part| mount.point.join(part)).collect()
}

/// Limit minus use, not counting cached files, which the kernel gives up first.
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
