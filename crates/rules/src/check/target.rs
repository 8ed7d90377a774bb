//! Usability of targets, and space for files that `-c` creates.

use super::checklist::{ALL_TARGETS, Checklist, answers};
use super::{CheckDocumentation, CheckRule};
use model::check::{CheckFacts, CheckedTarget};
use model::facts::{FileSystem, MissingFacts, TargetKind};
use model::finding::Severity;
use model::units::Bytes;
use plan::{NewFile, quoted_path, shortages};

pub(super) const RULES: &[CheckRule] = &[
    CheckRule {
        name: "target",
        severity: Severity::Fail,
        unit: "",
        computed_from: CheckDocumentation {
            looks_at: "type and access rights of the target",
            warns_if: "the target can only be read, or a run would create its directory",
            fails_if: "the target cannot be used, or does not exist and `-c` is not given",
        },
        advice: "only reads are possible; if that is unexpected, check the kernel log",
        evaluate: |facts| answers(facts, usable_targets),
    },
    CheckRule {
        name: "space",
        severity: Severity::Fail,
        unit: "",
        computed_from: CheckDocumentation {
            looks_at: "free space of the file systems",
            warns_if: "",
            fails_if: "the files that `-c` creates do not fit, as many times as `--copies` says",
        },
        advice: "free up space, or test with a smaller -c (but one still larger than every cache)",
        evaluate: |facts| answers(facts, space),
    },
];

fn usable_targets(facts: &CheckFacts, list: &mut Checklist) {
    for target in &facts.targets {
        usable(facts, target, list);
    }
}

fn usable(facts: &CheckFacts, target: &CheckedTarget, list: &mut Checklist) {
    let subject = target.path.display().to_string();
    let mut fail = |found: &str, advice: &str| list.fail_with(&subject, found, advice);
    let read_only = |file_system: &FileSystem| file_system.read_only;
    match &target.facts.kind {
        TargetKind::Unusable { what } => fail(&format!("the target is {what}"), "give a file or a block device"),
        TargetKind::Inaccessible { reason } => fail(reason, "make the target readable for this user, or run as root"),
        TargetKind::Character(_) => list.pass(&subject, "a character device, not storage"),
        TargetKind::Missing(missing) if !missing.parent_exists && !target.path.is_absolute() => fail(
            "its directory does not exist",
            "create the directory first: missing directories are created only for absolute paths",
        ),
        TargetKind::Missing(missing) if read_only(&missing.file_system) => {
            fail("its file system is mounted read-only", "check the kernel log for the cause, then remount it");
        }
        TargetKind::Missing(_) if facts.create_bytes.is_none() => {
            fail(
                "it does not exist",
                "give the size of the file to create with -c, both to 'diskspd check' and to the run itself",
            );
        }
        TargetKind::Missing(MissingFacts { existing_parent, not_writable: Some(reason), .. }) => fail(
            &format!("this user may not create files in '{}': {reason}", existing_parent.display()),
            "give a file in a directory that this user may write to, or run as root",
        ),
        TargetKind::Missing(missing) if !missing.parent_exists => {
            let disks = target.environment.disks().into_iter().map(|disk| disk.name.as_str());
            let place = target.facts.resolved.as_deref().unwrap_or(&target.path);
            let directory = missing.new_directory(place, disks).map(|directory| directory.to_string());
            list.warn_with(
                &subject,
                format!("its directory does not exist: a run creates {}", directory.unwrap_or_default()),
                "mount the file system to be measured, or create the directory; with --strict, a run refuses",
            );
        }
        TargetKind::Missing(missing) => {
            list.pass(&subject, format!("can be created on {}", missing.file_system.name));
        }
        TargetKind::Regular(file) if read_only(&file.file_system) => {
            list.warn(&subject, "its file system is mounted read-only");
        }
        TargetKind::Regular(file) => {
            let size = Bytes(file.size_bytes);
            list.pass(&subject, format!("a file of {size} on {}", file.file_system.name));
        }
        TargetKind::Block(device) => match &device.not_readable {
            Some(reason) => fail(reason, "run as root, or make the device readable for this user"),
            None if target.environment.devices().iter().any(|device| device.read_only == Some(true)) => list.warn_with(
                &subject,
                "the kernel refuses writes to the device",
                "only reads are possible; blockdev --setrw allows writes where the hardware does",
            ),
            None => {
                list.pass(&subject, format!("a block device, {}", Bytes(device.size_bytes)));
            }
        },
    }
}

fn space(facts: &CheckFacts, list: &mut Checklist) {
    let mut files = Vec::new();
    let mut too_small = Vec::new();
    let mut enough = Vec::new();
    for target in &facts.targets {
        let subject = target.path.display().to_string();
        let name = quoted_path(&target.path, &target.facts);
        let (device, file_system, allocated_bytes) = match &target.facts.kind {
            TargetKind::Missing(missing) => (missing.device, &missing.file_system, 0),
            TargetKind::Regular(file) => (file.identity.device, &file.file_system, file.allocated_bytes),
            TargetKind::Block(device) => {
                let size = Bytes(device.size_bytes);
                match facts.create_bytes {
                    Some(wanted) if wanted > device.size_bytes => {
                        too_small.push(format!("{name} is {size}, smaller than the {} given with -c", Bytes(wanted)));
                    }
                    _ => enough.push((subject, format!("{size} on the device"))),
                }
                continue;
            }
            TargetKind::Character(_) | TargetKind::Unusable { .. } | TargetKind::Inaccessible { .. } => {
                list.unknown(&subject, "not an accessible file or block device");
                continue;
            }
        };
        enough.push((subject, format!("{} free on {}", Bytes(file_system.free_bytes), file_system.name)));
        let all = |bytes: u64| bytes.saturating_mul(facts.copies.into());
        let name = if facts.copies > 1 { format!("{name} ({} copies)", facts.copies) } else { name };
        let (size_bytes, allocated_bytes) = (all(facts.create_bytes.unwrap_or(0)), all(allocated_bytes));
        files.push(NewFile { device, file_system, name, size_bytes, allocated_bytes });
    }
    too_small.extend(shortages(files));
    if too_small.is_empty() {
        for (subject, found) in enough {
            list.pass(&subject, found);
        }
    }
    // Insufficient space never counts in favour of a run.
    for shortage in too_small {
        list.fail(ALL_TARGETS, shortage);
    }
}

#[cfg(test)]
mod tests {
    use crate::check::fixture::{answers, facts, outcomes};
    use model::facts::{FileSystem, MissingFacts, TargetKind};
    use model::finding::Severity;

    #[test]
    fn a_good_file_has_nothing_against_it() {
        assert_eq!(outcomes(&facts(), "target"), [Severity::Pass]);
        assert_eq!(answers(&facts(), "space"), ["pass a.dat: 100GiB free on ext4"]);
    }

    // Shows check: space
    #[test]
    fn a_file_that_does_not_fit_fails_by_what_is_short() {
        let mut facts = facts();
        // One of them is there already.
        facts.create_bytes = Some(102 << 30);
        let answers = answers(&facts, "space");
        assert_eq!(answers.len(), 1, "{answers:?}");
        assert!(
            answers[0].starts_with("fail targets: no space for 'a.dat': 101GiB needed, 100GiB free"),
            "{answers:?}"
        );
    }

    // Shows check: space
    #[test]
    fn every_copy_of_a_file_needs_room() {
        let mut facts = facts();
        // 1 GiB of it is there, and 100 GiB are free.
        (facts.create_bytes, facts.copies) = (Some(51 << 30), 2);
        assert_eq!(outcomes(&facts, "space"), [Severity::Pass]);
        facts.create_bytes = Some(52 << 30);
        let answers = answers(&facts, "space");
        assert!(
            answers[0].starts_with("fail targets: no space for 'a.dat' (2 copies): 102GiB needed, 100GiB free"),
            "{answers:?}"
        );
    }

    // Shows check: target
    #[test]
    fn a_missing_file_needs_a_size_and_a_directory() {
        let mut facts = facts();
        let file_system = FileSystem { name: "ext4".to_owned(), ..FileSystem::default() };
        let mount_point = Some("/".into());
        let missing = MissingFacts { parent_exists: true, file_system, mount_point, ..MissingFacts::default() };
        facts.targets[0].facts.kind = TargetKind::Missing(missing.clone());
        assert_eq!(answers(&facts, "target"), ["fail a.dat: it does not exist"]);
        facts.create_bytes = Some(0);
        assert_eq!(outcomes(&facts, "target"), [Severity::Pass]);
        facts.targets[0].facts.kind = TargetKind::Missing(MissingFacts { parent_exists: false, ..missing });
        assert_eq!(answers(&facts, "target"), ["fail a.dat: its directory does not exist"]);
        facts.targets[0].path = "/mnt/data/a.dat".into();
        let created = "a run creates '/mnt/data' on ext4 on nvme0n1, the root file system";
        let warning = format!("warn /mnt/data/a.dat: its directory does not exist: {created}");
        assert_eq!(answers(&facts, "target"), [warning]);
        let TargetKind::Missing(missing) = &mut facts.targets[0].facts.kind else { panic!() };
        missing.existing_parent = "/mnt".into();
        missing.not_writable = Some("Permission denied".to_owned());
        let refusal = "fail /mnt/data/a.dat: this user may not create files in '/mnt': Permission denied";
        assert_eq!(answers(&facts, "target"), [refusal]);
        facts.targets[0].path = "a.dat".into();
        facts.targets[0].facts.kind = TargetKind::Unusable { what: "a directory".into() };
        assert_eq!(answers(&facts, "target"), ["fail a.dat: the target is a directory"]);
        assert_eq!(outcomes(&facts, "space"), [Severity::Unknown]);
    }

    #[test]
    fn a_read_only_file_system_takes_no_new_file() {
        let mut facts = facts();
        let TargetKind::Regular(file) = &mut facts.targets[0].facts.kind else { panic!() };
        file.file_system.read_only = true;
        let file_system = file.file_system.clone();
        assert_eq!(answers(&facts, "target"), ["warn a.dat: its file system is mounted read-only"]);
        let missing = MissingFacts { parent_exists: true, file_system, ..MissingFacts::default() };
        facts.targets[0].facts.kind = TargetKind::Missing(missing);
        facts.create_bytes = Some(1);
        assert_eq!(answers(&facts, "target"), ["fail a.dat: its file system is mounted read-only"]);
    }
}
