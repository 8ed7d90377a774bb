//! Programs that work on whole disks or file systems.

use crate::root::Root;

/// As /proc/PID/comm shows them, which cuts names after 15 bytes.
const PROGRAMS: [&str; 14] = [
    "fstrim",
    "e2scrub",
    "e2scrub_all",
    "e2fsck",
    "xfs_scrub",
    "xfs_scrub_all",
    "xfs_fsr",
    "btrfs",
    "mdcheck",
    "raid-check",
    "updatedb",
    "updatedb.plocat",
    "duperemove",
    "badblocks",
];

/// The names of those that run now, each once.
pub fn housekeeping(root: &Root) -> Vec<String> {
    let running = root.numbered("/proc", "").into_iter().filter_map(|id| root.word(format!("/proc/{id}/comm")));
    let mut found: Vec<String> = running.filter(|name| PROGRAMS.contains(&name.as_str())).collect();
    found.sort_unstable();
    found.dedup();
    found
}
