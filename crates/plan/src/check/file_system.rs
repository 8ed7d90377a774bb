//! What the file system does with writes, and what errors it has seen.

use super::checklist::Checklist;
use model::check::{Check, CheckFacts, CheckedTarget};
use model::environment::{Backing, MountedFileSystem};

/// File systems that write changed data to a new place.
const COPY_ON_WRITE: [&str; 3] = ["btrfs", "zfs", "bcachefs"];
/// Options of a mount, and of f2fs, that compress.
const COMPRESSION: [&str; 3] = ["compress=", "compress-force", "compress_algorithm="];

pub(super) fn check(facts: &CheckFacts, list: &mut Checklist) {
    for target in &facts.targets {
        let subject = target.path.display().to_string();
        match &target.environment.mount {
            Some(mount) => {
                errors(target, &subject, list);
                rewriting(target, mount, &subject, list);
            }
            None => {
                for check in [Check::FileSystemErrors, Check::CopyOnWrite] {
                    without_mount(check, target, &subject, list);
                }
            }
        }
    }
}

fn without_mount(check: Check, target: &CheckedTarget, subject: &str, list: &mut Checklist) {
    match &target.environment.backing {
        Backing::Devices(devices) if !devices.is_empty() => list.pass(check, subject, "a block device: no file system"),
        _ => list.unknown(check, subject, "its mount is not visible in this mount namespace"),
    }
}

fn errors(target: &CheckedTarget, subject: &str, list: &mut Checklist) {
    match &target.file_system.error_count {
        Ok(0) => list.pass(Check::FileSystemErrors, subject, "none counted"),
        Ok(count) => list.fail(
            Check::FileSystemErrors,
            subject,
            format!("the file system has recorded {count} errors"),
            "find the cause (dmesg, btrfs device stats), then check it offline (e2fsck -f, btrfs scrub)",
        ),
        Err(reason) => list.unknown(Check::FileSystemErrors, subject, reason),
    }
}

fn rewriting(target: &CheckedTarget, mount: &MountedFileSystem, subject: &str, list: &mut Checklist) {
    let attributes = target.file_system.attributes.as_ref().ok().copied().unwrap_or_default();
    let options = || mount.mount_options.iter().chain(&mount.file_system_options);
    let is_compressed = attributes.is_compressed
        || options().any(|option| option == "compress" || COMPRESSION.iter().any(|word| option.starts_with(word)));
    let is_in_place = attributes.is_written_in_place || options().any(|option| option == "nodatacow");
    let name = mount.file_system.as_str();
    if name == "zfs" {
        list.warn(
            Check::CopyOnWrite,
            subject,
            "zfs is copy-on-write and may compress data",
            "check compression and recordsize with zfs get; write random content (-Zr) and match -b to recordsize",
        );
    } else if is_compressed && !is_in_place {
        list.warn(
            Check::CopyOnWrite,
            subject,
            format!("{name} compresses its data"),
            "write incompressible content (-Zr), or the test measures the CPU instead of the disk",
        );
    } else if COPY_ON_WRITE.contains(&name) && !is_in_place {
        list.warn(
            Check::CopyOnWrite,
            subject,
            format!("{name} is copy-on-write"),
            "chattr +C on the empty directory disables copy-on-write for new files; otherwise the results include the \
             cost of copy-on-write",
        );
    } else if matches!(target.environment.backing, Backing::Overlay { .. }) {
        list.warn(
            Check::CopyOnWrite,
            subject,
            "overlay: the first write to a file in a lower layer copies the whole file",
            "use a container volume, or create the file with -c",
        );
    } else {
        list.pass(Check::CopyOnWrite, subject, format!("{name} writes in place, uncompressed"));
    }
}

#[cfg(test)]
mod tests {
    use crate::check::fixture::{answers, facts, mount_of, outcomes};
    use model::check::{Check, FileAttributes, Outcome};

    // Shows check: file-system-errors
    #[test]
    fn counted_errors_fail_and_no_count_is_unknown() {
        let mut facts = facts();
        assert_eq!(outcomes(&facts, Check::FileSystemErrors), [Outcome::Pass]);
        facts.targets[0].file_system.error_count = Ok(3);
        assert_eq!(answers(&facts, Check::FileSystemErrors), ["fail a.dat: the file system has recorded 3 errors"]);
        facts.targets[0].file_system.error_count = Err("xfs keeps no count".to_owned());
        assert_eq!(answers(&facts, Check::FileSystemErrors), ["unknown a.dat: xfs keeps no count"]);
    }

    // Shows check: copy-on-write
    #[test]
    fn copies_and_compression_are_told_unless_a_file_is_written_in_place() {
        let mut facts = facts();
        assert_eq!(answers(&facts, Check::CopyOnWrite), ["pass a.dat: ext4 writes in place, uncompressed"]);
        mount_of(&mut facts).file_system = "btrfs".to_owned();
        assert_eq!(answers(&facts, Check::CopyOnWrite), ["warn a.dat: btrfs is copy-on-write"]);
        mount_of(&mut facts).file_system_options = vec!["compress=zstd:3".to_owned()];
        assert_eq!(answers(&facts, Check::CopyOnWrite), ["warn a.dat: btrfs compresses its data"]);
        facts.targets[0].file_system.attributes =
            Ok(FileAttributes { is_written_in_place: true, ..FileAttributes::default() });
        assert_eq!(outcomes(&facts, Check::CopyOnWrite), [Outcome::Pass]);
        mount_of(&mut facts).file_system = "zfs".to_owned();
        assert_eq!(outcomes(&facts, Check::CopyOnWrite), [Outcome::Warn]);
    }
}
