//! State of a file system.

use crate::root::Root;
use crate::storage::btrfs_devices;
use model::check::{FileAttributes, FileSystemState, KnownFact};
use model::environment::TargetEnvironment;
use model::facts::{TargetFacts, TargetKind};
use std::path::Path;

/// The state of the file system of `path`.
pub fn file_system_state(
    root: &Root,
    path: &Path,
    facts: &TargetFacts,
    environment: &TargetEnvironment,
) -> FileSystemState {
    let Some(mount) = &environment.mount else {
        let none = || "no visible file system".to_owned();
        return FileSystemState { error_count: Err(none()), work: Err(none()), attributes: Err(none()) };
    };
    let device = environment.devices().first().map(|device| device.name.clone()).unwrap_or_default();
    let (error_count, work) = match mount.file_system.as_str() {
        "btrfs" => btrfs(root, &device),
        "ext4" => (ext4_error_count(root, &device), Ok(None)),
        "zfs" => (Err("see zpool status for ZFS errors".to_owned()), Err("see zpool status for a scrub".to_owned())),
        name => (Err(format!("{name} keeps no error count; check the kernel log")), Ok(None)),
    };
    FileSystemState { error_count, work, attributes: attributes(path, &facts.kind) }
}

fn ext4_error_count(root: &Root, device: &str) -> KnownFact<u64> {
    // A device with a slash in its name has an exclamation mark there.
    let file = format!("/sys/fs/ext4/{}/errors_count", device.replace('/', "!"));
    root.number(&file).ok_or_else(|| format!("{file} cannot be read"))
}

/// The sum of its devices' error counters, and its background operation.
fn btrfs(root: &Root, device: &str) -> (KnownFact<u64>, KnownFact<Option<String>>) {
    let found = btrfs_devices(root).into_iter().find(|(_, devices)| devices.iter().any(|name| name == device));
    let Some((uuid, _)) = found else {
        let unknown = || "the file system is not in /sys/fs/btrfs".to_owned();
        return (Err(unknown()), Err(unknown()));
    };
    let folder = format!("/sys/fs/btrfs/{uuid}");
    let members = root.names(format!("{folder}/devinfo"));
    let of_member = |member: &String| {
        let text = root.text(format!("{folder}/devinfo/{member}/error_stats"))?;
        let counts = text.lines().filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
        Some(counts.fold(0, u64::saturating_add))
    };
    let counts: Option<Vec<u64>> = members.iter().map(of_member).collect();
    let error_count = counts.filter(|counts| !counts.is_empty()).map(|counts| counts.into_iter().sum());
    let operation = root.word(format!("{folder}/exclusive_operation"));
    (
        error_count.ok_or_else(|| "not in /sys before Linux 5.14; see btrfs device stats".to_owned()),
        operation
            .map(|word| Some(word).filter(|word| word != "none"))
            .ok_or_else(|| "not in /sys before Linux 5.10; see btrfs balance status".to_owned()),
    )
}

/// Attributes of the file, or of the directory whose files will inherit them.
fn attributes(path: &Path, kind: &TargetKind) -> KnownFact<FileAttributes> {
    let place = match kind {
        TargetKind::Missing(missing) => missing.existing_parent.as_path(),
        _ => path,
    };
    let asked = sys::file::open_to_look(place).and_then(|file| sys::file::attributes(&file));
    let told = asked.map(|found| FileAttributes {
        is_compressed: found.is_compressed,
        is_written_in_place: found.is_written_in_place,
    });
    told.map_err(|error| format!("the attributes of {} cannot be read: {error}", place.display()))
}
