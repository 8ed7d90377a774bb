//! Programs that work on whole disks or file systems.

use crate::root::Root;
use model::check::BACKUP_PROGRAMS;

/// Names as in /proc/PID/comm, which cuts them after 15 bytes. Backup programs are [`BACKUP_PROGRAMS`].
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

/// The names of those that are running, each once.
pub fn housekeeping(root: &Root) -> Vec<String> {
    let running = root.numbered("/proc", "").into_iter();
    let mut found: Vec<String> = running.filter_map(|id| heavy_program(root, id)).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The listed name of the program of this process.
fn heavy_program(root: &Root, id: u32) -> Option<String> {
    let name = root.word(format!("/proc/{id}/comm"))?;
    let arguments = || root.text(format!("/proc/{id}/cmdline")).unwrap_or_default();
    let has_argument = |argument: &str| arguments().split('\0').skip(1).any(|word| word == argument);
    let is_backup = |listed: &str| match listed.split_once(' ') {
        Some((program, argument)) => name == program && has_argument(argument),
        // The server, from which others copy.
        None => name == listed && !(name == "rsync" && has_argument("--daemon")),
    };
    let backup = BACKUP_PROGRAMS.iter().find(|program| is_backup(program.name));
    let listed = || PROGRAMS.into_iter().find(|program| *program == name);
    backup.map(|program| program.name).or_else(listed).map(str::to_owned)
}
