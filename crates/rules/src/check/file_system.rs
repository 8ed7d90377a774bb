//! Write behaviour of the file system, and errors that it recorded.

use super::checklist::{Checklist, answers};
use super::{CheckDocumentation, CheckRule};
use model::check::{CheckFacts, CheckedTarget};
use model::environment::{Backing, MountedFileSystem};
use model::finding::Severity;
use model::units::counted;

pub(super) const RULES: &[CheckRule] = &[
    CheckRule {
        name: "file-system-errors",
        severity: Severity::Fail,
        unit: "",
        computed_from: CheckDocumentation {
            looks_at: "`errors_count` of ext4, `error_stats` of btrfs",
            warns_if: "",
            fails_if: "the file system has recorded errors",
        },
        advice: "find the cause (dmesg, btrfs device stats), then check it offline (e2fsck -f, btrfs scrub)",
        evaluate: |facts| answers(facts, errors),
    },
    CheckRule {
        name: "copy-on-write",
        severity: Severity::Warn,
        unit: "",
        computed_from: CheckDocumentation {
            looks_at: "mount options and file attributes",
            warns_if: "the file system is copy-on-write, compresses data, or is an overlay that copies a file when it \
                       is first written",
            fails_if: "",
        },
        advice: "chattr +C on the empty directory disables copy-on-write for new files; otherwise the results include the \
                 cost of copy-on-write",
        evaluate: |facts| answers(facts, writing),
    },
];

/// File systems that write changed data to a new place.
const COPY_ON_WRITE: [&str; 3] = ["btrfs", "zfs", "bcachefs"];
/// Options of a mount, and of f2fs, for compression.
const COMPRESSION: [&str; 3] = ["compress=", "compress-force", "compress_algorithm="];

fn errors(facts: &CheckFacts, list: &mut Checklist) {
    on_each_mount(facts, list, |target, _, subject, list| match &target.file_system.error_count {
        Ok(0) => list.pass(subject, "none counted"),
        Ok(count) => list.fail(subject, format!("the file system has recorded {}", counted(*count, "error"))),
        Err(reason) => list.unknown(subject, reason),
    });
}

fn writing(facts: &CheckFacts, list: &mut Checklist) {
    on_each_mount(facts, list, rewriting);
}

/// Runs a check on the mount of each target.
fn on_each_mount(
    facts: &CheckFacts,
    list: &mut Checklist,
    ask: fn(&CheckedTarget, &MountedFileSystem, &str, &mut Checklist),
) {
    for target in &facts.targets {
        let subject = target.path.display().to_string();
        match (&target.environment.mount, &target.environment.backing) {
            (Some(mount), _) => ask(target, mount, &subject, list),
            (None, Backing::Devices(devices)) if !devices.is_empty() => {
                list.pass(&subject, "a block device: no file system");
            }
            (None, _) => list.unknown(&subject, "its mount is not visible in this mount namespace"),
        }
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
        list.warn_with(
            subject,
            "zfs is copy-on-write and may compress data",
            "check compression and recordsize with zfs get; write random data (-Zr) and match -b to recordsize",
        );
    } else if is_compressed && !is_in_place {
        list.warn_with(
            subject,
            format!("{name} compresses its data"),
            "write incompressible data (-Zr), or the test measures the CPU instead of the disk",
        );
    } else if COPY_ON_WRITE.contains(&name) && !is_in_place {
        list.warn(subject, format!("{name} is copy-on-write"));
    } else if matches!(target.environment.backing, Backing::Overlay { .. }) {
        list.warn_with(
            subject,
            "overlay: the first write to a file in a lower layer copies the whole file",
            "use a container volume, or create the file with -c",
        );
    } else {
        list.pass(subject, format!("{name} writes in place, uncompressed"));
    }
}

#[cfg(test)]
mod tests {
    use crate::check::fixture::{answers, facts, mount_of, outcomes};
    use model::check::FileAttributes;
    use model::finding::Severity;

    // Shows check: file-system-errors
    #[test]
    fn counted_errors_fail_and_no_count_is_unknown() {
        let mut facts = facts();
        assert_eq!(outcomes(&facts, "file-system-errors"), [Severity::Pass]);
        facts.targets[0].file_system.error_count = Ok(3);
        assert_eq!(answers(&facts, "file-system-errors"), ["fail a.dat: the file system has recorded 3 errors"]);
        facts.targets[0].file_system.error_count = Err("xfs keeps no count".to_owned());
        assert_eq!(answers(&facts, "file-system-errors"), ["unknown a.dat: xfs keeps no count"]);
    }

    // Shows check: copy-on-write
    #[test]
    fn copies_and_compression_are_told_unless_a_file_is_written_in_place() {
        let mut facts = facts();
        assert_eq!(answers(&facts, "copy-on-write"), ["pass a.dat: ext4 writes in place, uncompressed"]);
        mount_of(&mut facts).file_system = "btrfs".to_owned();
        assert_eq!(answers(&facts, "copy-on-write"), ["warn a.dat: btrfs is copy-on-write"]);
        mount_of(&mut facts).file_system_options = vec!["compress=zstd:3".to_owned()];
        assert_eq!(answers(&facts, "copy-on-write"), ["warn a.dat: btrfs compresses its data"]);
        facts.targets[0].file_system.attributes =
            Ok(FileAttributes { is_written_in_place: true, ..FileAttributes::default() });
        assert_eq!(outcomes(&facts, "copy-on-write"), [Severity::Pass]);
        mount_of(&mut facts).file_system = "zfs".to_owned();
        assert_eq!(outcomes(&facts, "copy-on-write"), [Severity::Warn]);
    }
}
