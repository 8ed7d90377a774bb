//! Whether targets can be used, and whether there is room for what `-c` makes.

use super::checklist::Checklist;
use crate::findings::{Findings, RefusalKind};
use crate::space::Space;
use crate::words;
use model::check::{Check, CheckFacts, CheckedTarget};
use model::facts::{FileSystem, TargetKind};
use model::units::Bytes;

pub(super) fn check(facts: &CheckFacts, list: &mut Checklist) {
    for target in &facts.targets {
        usable(facts, target, list);
    }
    space(facts, list);
}

fn usable(facts: &CheckFacts, target: &CheckedTarget, list: &mut Checklist) {
    let subject = target.path.display().to_string();
    let mut fail = |found: &str, advice: &str| list.fail(Check::Target, &subject, found, advice);
    let read_only = |file_system: &FileSystem| file_system.read_only;
    match &target.facts.kind {
        TargetKind::Unusable { what } => fail(&format!("the target is {what}"), "give a file or a block device"),
        TargetKind::Inaccessible { reason } => fail(reason, "make the target readable for this user, or run as root"),
        TargetKind::Character(_) => list.pass(Check::Target, &subject, "a character device, not storage"),
        TargetKind::Missing(missing) if !missing.parent_exists => {
            fail("its directory does not exist", "create the directory first: diskspd creates only files");
        }
        TargetKind::Missing(missing) if read_only(&missing.file_system) => {
            fail("its file system is mounted read-only", "check the kernel log for the cause, then remount it");
        }
        TargetKind::Missing(_) if facts.create_bytes.is_none() => {
            fail(
                "it does not exist",
                "give the size of the file to create with -c, both to 'diskspd check' and to \
                                       the run itself",
            );
        }
        TargetKind::Missing(missing) => {
            list.pass(Check::Target, &subject, format!("can be created on {}", missing.file_system.name));
        }
        TargetKind::Regular(file) if read_only(&file.file_system) => {
            list.warn(
                Check::Target,
                &subject,
                "its file system is mounted read-only",
                "only reads are possible; if that is unexpected, check the kernel log",
            );
        }
        TargetKind::Regular(file) => {
            let size = Bytes(file.size_bytes);
            list.pass(Check::Target, &subject, format!("a file of {size} on {}", file.file_system.name));
        }
        TargetKind::Block(device) => match &device.not_readable {
            Some(reason) => fail(reason, "run as root, or make the device readable for this user"),
            None if target.environment.devices().iter().any(|device| device.read_only == Some(true)) => list.warn(
                Check::Target,
                &subject,
                "the kernel refuses writes to the device",
                "only reads are possible; blockdev --setrw allows writes where the hardware does",
            ),
            None => {
                list.pass(Check::Target, &subject, format!("a block device of {}", Bytes(device.size_bytes)));
            }
        },
    }
}

fn space(facts: &CheckFacts, list: &mut Checklist) {
    let mut space = Space::default();
    let mut findings = Findings::default();
    for target in &facts.targets {
        let subject = target.path.display().to_string();
        let name = words::path(&target.path, &target.facts);
        let (device, file_system, allocated_bytes) = match &target.facts.kind {
            TargetKind::Missing(missing) => (missing.device, &missing.file_system, 0),
            TargetKind::Regular(file) => (file.identity.device, &file.file_system, file.allocated_bytes),
            TargetKind::Block(device) => {
                match facts.create_bytes {
                    Some(wanted) if wanted > device.size_bytes => findings.refuse_file(
                        RefusalKind::Impossible,
                        format!("{name} has {}, less than the {} of -c", Bytes(device.size_bytes), Bytes(wanted)),
                    ),
                    _ => list.pass(Check::Space, &subject, format!("{} on the device", Bytes(device.size_bytes))),
                }
                continue;
            }
            TargetKind::Character(_) | TargetKind::Unusable { .. } | TargetKind::Inaccessible { .. } => {
                list.unknown(Check::Space, &subject, "not an accessible file or block device");
                continue;
            }
        };
        space.add(device, file_system, name, facts.create_bytes.unwrap_or(0), allocated_bytes);
        list.pass(Check::Space, &subject, format!("{} free on {}", Bytes(file_system.free_bytes), file_system.name));
    }
    space.check(&mut findings);
    let shortages = findings.into_refusals();
    if !shortages.is_empty() {
        // Room that is not enough is nothing in favour of a run.
        list.withdraw(Check::Space);
    }
    for shortage in shortages {
        let advice = "free space, or test with a smaller -c that is still larger than every cache";
        list.fail(Check::Space, super::checklist::ALL_TARGETS, shortage.message, advice);
    }
}

#[cfg(test)]
mod tests {
    use crate::check::fixture::{answers, facts, outcomes};
    use model::check::{Check, Outcome};
    use model::facts::{MissingFacts, TargetKind};

    #[test]
    fn a_good_file_has_nothing_against_it() {
        assert_eq!(outcomes(&facts(), Check::Target), [Outcome::Pass]);
        assert_eq!(answers(&facts(), Check::Space), ["pass a.dat: 100GiB free on ext4"]);
    }

    // Shows check: space
    #[test]
    fn a_file_that_does_not_fit_fails_by_what_is_short() {
        let mut facts = facts();
        // One of them is there already.
        facts.create_bytes = Some(102 << 30);
        let answers = answers(&facts, Check::Space);
        assert_eq!(answers.len(), 1, "{answers:?}");
        assert!(
            answers[0].starts_with("fail targets: no space for 'a.dat': 101GiB needed, 100GiB free"),
            "{answers:?}"
        );
    }

    // Shows check: target
    #[test]
    fn a_missing_file_needs_a_size_and_a_directory() {
        let mut facts = facts();
        let missing = MissingFacts { parent_exists: true, ..MissingFacts::default() };
        facts.targets[0].facts.kind = TargetKind::Missing(missing.clone());
        assert_eq!(answers(&facts, Check::Target), ["fail a.dat: it does not exist"]);
        facts.create_bytes = Some(0);
        assert_eq!(outcomes(&facts, Check::Target), [Outcome::Pass]);
        facts.targets[0].facts.kind = TargetKind::Missing(MissingFacts { parent_exists: false, ..missing });
        assert_eq!(answers(&facts, Check::Target), ["fail a.dat: its directory does not exist"]);
        facts.targets[0].facts.kind = TargetKind::Unusable { what: "a directory".into() };
        assert_eq!(answers(&facts, Check::Target), ["fail a.dat: the target is a directory"]);
        assert_eq!(outcomes(&facts, Check::Space), [Outcome::Unknown]);
    }

    #[test]
    fn a_read_only_file_system_takes_no_new_file() {
        let mut facts = facts();
        let TargetKind::Regular(file) = &mut facts.targets[0].facts.kind else { panic!() };
        file.file_system.read_only = true;
        let file_system = file.file_system.clone();
        assert_eq!(answers(&facts, Check::Target), ["warn a.dat: its file system is mounted read-only"]);
        let missing = MissingFacts { parent_exists: true, file_system, ..MissingFacts::default() };
        facts.targets[0].facts.kind = TargetKind::Missing(missing);
        facts.create_bytes = Some(1);
        assert_eq!(answers(&facts, Check::Target), ["fail a.dat: its file system is mounted read-only"]);
    }
}
