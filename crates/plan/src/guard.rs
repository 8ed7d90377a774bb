//! Protection of foreign files: creation, replacement and writes.
//!
//! `DiskSpd` overwrites silently. Here an existing file is changed only if this program made it and it has not been
//! written to since, or with `--overwrite`; and never while another visible process has it open.

use crate::findings::{Findings, RefusalKind};
use crate::words;
use model::facts::{
    CharacterDevice, MissingFacts, NewDirectory, Openers, Origin, RegularFacts, TargetFacts, TargetKind,
};
use model::note::Note;
use model::operation::Operation;
use std::path::Path;

/// The planned change of an existing file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touch {
    /// This option rewrites it.
    Replace(&'static str),
    /// I/Os of this kind change it.
    Change(Operation),
}

/// Refuses names that only Windows understands.
pub(crate) fn check_name(path: &Path, facts: &TargetFacts, findings: &mut Findings) -> bool {
    let is_missing = matches!(facts.kind, TargetKind::Missing(_) | TargetKind::Inaccessible { .. });
    let what = match path.as_os_str().as_encoded_bytes() {
        [b'#', _, ..] => "a physical drive",
        [letter, b':'] if letter.is_ascii_alphabetic() && is_missing => "a volume",
        [letter, b':', ..] if letter.is_ascii_alphabetic() && is_missing => "a path with a drive letter",
        [b'\\', b'\\', b'.' | b'?', b'\\', ..] if is_missing => "a device",
        [b'\\', b'\\', ..] if is_missing => "a file on a network share",
        [b'\\', ..] if is_missing => "a path",
        _ => return true,
    };
    let path = path.display();
    findings.refuse_file(
        RefusalKind::Invalid,
        format!(
            "'{path}' is the Windows name of {what}: give a Linux file (/mnt/test.dat) or a block device (/dev/sdb, \
             /dev/nvme0n1p1; lsblk lists them), or write './{path}' for a file of that name"
        ),
    );
    false
}

/// True if a new file may be created there.
pub(crate) fn may_make(name: &str, path: &Path, place: &MissingFacts, findings: &mut Findings) -> bool {
    let file_system = &place.file_system;
    if file_system.is_pseudo {
        refuse_pseudo(name, &file_system.name, findings);
        return false;
    }
    let mut allowed = true;
    let mut impossible = |message: String| {
        findings.refuse_file(RefusalKind::Impossible, message);
        allowed = false;
    };
    if file_system.read_only {
        impossible(format!("{name} cannot be created: its file system ({}) is mounted read-only", file_system.name));
    } else if let Some(reason) = &place.not_writable {
        let directory = place.existing_parent.display();
        impossible(format!("{name} cannot be created: this user may not create files in '{directory}': {reason}"));
    }
    if !place.parent_exists && !path.is_absolute() {
        impossible(format!(
            "{name} cannot be created: its directory does not exist (missing directories are created only for absolute \
             paths)"
        ));
    }
    allowed
}

/// True if a directory may be created with a file.
pub(crate) fn may_make_directory(name: &str, directory: &NewDirectory, strict: bool, findings: &mut Findings) -> bool {
    if strict {
        let (path, place) = (directory.path.display(), directory.place());
        findings.refuse_file(
            RefusalKind::Invalid,
            format!(
                "{name} cannot be created with --strict: the directory '{path}' does not exist and would be created on \
                 {place}; mount the file system to be measured, or create the directory"
            ),
        );
    } else {
        findings.note(Note::DirectoryCreated { directory: directory.clone() });
    }
    !strict
}

/// True if an existing regular file may be changed.
pub(crate) fn may_touch(
    name: &str,
    path: &Path,
    file: &RegularFacts,
    touch: Touch,
    overwrite: bool,
    findings: &mut Findings,
) -> bool {
    if file.file_system.is_pseudo {
        refuse_pseudo(name, &file.file_system.name, findings);
        return false;
    }
    let foreign = foreign(&file.origin).filter(|_| !overwrite);
    let users = users(path, &file.openers, findings);
    let obstacle = obstacle(file);
    if let Some(evidence) = &foreign {
        let harm = match touch {
            Touch::Replace(option) => format!("{option} would replace its contents"),
            Touch::Change(by) => format!("{} would destroy its contents", words::changing(by)),
        };
        findings.refuse_file(
            RefusalKind::Invalid,
            format!("{name} may hold data that diskspd did not write: {evidence}. {harm}; --overwrite allows it"),
        );
    }
    if let Some(users) = &users {
        findings.refuse_file(
            RefusalKind::Invalid,
            format!(
                "{name} is in use: {users}. A file that others have open is never written to, even with --overwrite"
            ),
        );
    }
    if let Some(obstacle) = &obstacle {
        findings.refuse_file(RefusalKind::Impossible, format!("{name} cannot be written to: {obstacle}"));
    }
    foreign.is_none() && users.is_none() && obstacle.is_none()
}

/// Reason why a file may contain foreign data; `None` = it does not.
pub(crate) fn foreign(origin: &Origin) -> Option<String> {
    match origin {
        Origin::Ours { .. } | Origin::Empty => None,
        Origin::Foreign { evidence } => Some(evidence.clone()),
        Origin::NotAsked => Some("the target was not checked".to_owned()),
    }
}

/// Other processes that have the file open; notes the limits of the search.
fn users(path: &Path, openers: &Openers, findings: &mut Findings) -> Option<String> {
    match openers {
        Openers::None => None,
        Openers::NoneFoundInProc { reason } => {
            findings.note(Note::OpenersSearchedInProc { path: path.to_owned(), reason: reason.clone() });
            None
        }
        Openers::Some { who } => Some(format!("open in {}", words::list(who))),
        Openers::NotAsked => Some("whether other processes have it open was not checked".to_owned()),
    }
}

/// Reason why the kernel would refuse to open it for writing.
fn obstacle(file: &RegularFacts) -> Option<String> {
    if file.file_system.read_only {
        return Some(format!("its file system ({}) is mounted read-only", file.file_system.name));
    }
    file.not_writable.clone()
}

fn refuse_pseudo(name: &str, file_system: &str, findings: &mut Findings) {
    findings.refuse_file(
        RefusalKind::Invalid,
        format!("{name} is on {file_system}, a pseudo file system: nothing is created or written there"),
    );
}

/// True if a character device may be used with this maximum offset, which is its size.
pub(crate) fn may_use_character(
    name: &str,
    device: CharacterDevice,
    writes: bool,
    max_offset_bytes: u64,
    findings: &mut Findings,
) -> bool {
    if writes && device == CharacterDevice::Other {
        findings.refuse_file(
            RefusalKind::Invalid,
            format!("{name} is a character device; only /dev/zero and /dev/null can be written to"),
        );
        return false;
    }
    if max_offset_bytes == 0 {
        findings.refuse_file(
            RefusalKind::Invalid,
            format!("{name} is a character device without a size; give one with -f<size>"),
        );
        return false;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::facts::{FileSystem, Fill};

    fn ours() -> Origin {
        Origin::Ours { size_bytes: 1, fill: Fill::Ramp }
    }

    fn theirs() -> Origin {
        Origin::Foreign { evidence: "it has no diskspd mark".to_owned() }
    }

    fn opened() -> Openers {
        Openers::Some { who: vec!["process 7 (postgres)".to_owned(), "active swap".to_owned()] }
    }

    fn searched() -> Openers {
        Openers::NoneFoundInProc { reason: "no leases on NFS".to_owned() }
    }

    /// Kinds of the refusals, empty = allowed.
    fn verdict(file: &RegularFacts, touch: Touch, overwrite: bool) -> Vec<RefusalKind> {
        let mut findings = Findings::default();
        let allowed = may_touch("'a'", Path::new("a"), file, touch, overwrite, &mut findings);
        assert_eq!(allowed, findings.refusals().is_empty());
        findings.refusals().iter().map(|refusal| refusal.kind).collect()
    }

    #[test]
    fn existing_files_are_touched_only_if_they_are_ours_or_overwrite_is_given_and_nobody_has_them_open() {
        let invalid = || vec![RefusalKind::Invalid];
        for (origin, openers, without, with) in [
            (ours(), Openers::None, vec![], vec![]),
            (Origin::Empty, Openers::None, vec![], vec![]),
            (theirs(), Openers::None, invalid(), vec![]),
            (Origin::NotAsked, Openers::None, invalid(), vec![]),
            (ours(), searched(), vec![], vec![]),
            (theirs(), searched(), invalid(), vec![]),
            (ours(), opened(), invalid(), invalid()),
            (theirs(), opened(), [invalid(), invalid()].concat(), invalid()),
            (ours(), Openers::NotAsked, invalid(), invalid()),
        ] {
            let file = RegularFacts { origin, openers, ..RegularFacts::default() };
            for touch in [Touch::Replace("-c"), Touch::Change(Operation::Write)] {
                assert_eq!(verdict(&file, touch, false), without, "{touch:?} {file:?}");
                assert_eq!(verdict(&file, touch, true), with, "--overwrite {touch:?} {file:?}");
            }
        }
    }

    #[test]
    fn what_the_kernel_would_refuse_is_impossible_even_with_overwrite() {
        let base = RegularFacts { origin: ours(), openers: Openers::None, ..RegularFacts::default() };
        let file_system = FileSystem { read_only: true, ..FileSystem::default() };
        let read_only = RegularFacts { file_system, ..base.clone() };
        let denied = RegularFacts { not_writable: Some("Permission denied".to_owned()), ..base.clone() };
        for file in [read_only, denied] {
            assert_eq!(verdict(&file, Touch::Change(Operation::Write), true), [RefusalKind::Impossible]);
        }
        let file_system = FileSystem { name: "proc".to_owned(), is_pseudo: true, ..FileSystem::default() };
        assert_eq!(
            verdict(&RegularFacts { file_system, ..base }, Touch::Change(Operation::Write), true),
            [RefusalKind::Invalid]
        );
    }

    #[test]
    fn a_refusal_says_which_file_why_and_what_would_allow_it() {
        let file = RegularFacts { origin: theirs(), openers: opened(), ..RegularFacts::default() };
        let mut findings = Findings::default();
        for touch in [Touch::Replace("-c"), Touch::Change(Operation::Write), Touch::Change(Operation::Discard)] {
            may_touch("'a'", Path::new("a"), &file, touch, false, &mut findings);
        }
        let text: Vec<String> = findings.refusals().iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(text.join("\n"), @r#"
            'a' may hold data that diskspd did not write: it has no diskspd mark. -c would replace its contents; --overwrite allows it
            'a' is in use: open in process 7 (postgres) and active swap. A file that others have open is never written to, even with --overwrite
            'a' may hold data that diskspd did not write: it has no diskspd mark. Writing (-w) would destroy its contents; --overwrite allows it
            'a' may hold data that diskspd did not write: it has no diskspd mark. Discarding (--discard) would destroy its contents; --overwrite allows it
            "#);
    }

    #[test]
    fn a_search_that_may_have_missed_somebody_is_noted() {
        let file = RegularFacts { origin: ours(), openers: searched(), ..RegularFacts::default() };
        let mut findings = Findings::default();
        assert!(may_touch("'a'", Path::new("a"), &file, Touch::Change(Operation::Write), false, &mut findings));
        let note = Note::OpenersSearchedInProc { path: "a".into(), reason: "no leases on NFS".to_owned() };
        assert_eq!(findings.notes(), [note]);
    }

    fn refusal_kinds(path: &str, place: &MissingFacts) -> Vec<RefusalKind> {
        let mut findings = Findings::default();
        let allowed = may_make("'a'", Path::new(path), place, &mut findings);
        assert_eq!(allowed, findings.refusals().is_empty());
        findings.refusals().iter().map(|refusal| refusal.kind).collect()
    }

    #[test]
    fn new_files_go_where_storage_is() {
        let place = |file_system, parent_exists| MissingFacts { file_system, parent_exists, ..MissingFacts::default() };
        let plain = FileSystem::default();
        let read_only = FileSystem { read_only: true, ..plain.clone() };
        let pseudo = FileSystem { is_pseudo: true, ..plain.clone() };
        assert_eq!(refusal_kinds("a", &place(plain.clone(), true)), []);
        assert_eq!(refusal_kinds("/x/y/a", &place(plain.clone(), false)), []);
        assert_eq!(refusal_kinds("x/y/a", &place(plain.clone(), false)), [RefusalKind::Impossible]);
        assert_eq!(refusal_kinds("a", &place(read_only.clone(), true)), [RefusalKind::Impossible]);
        assert_eq!(refusal_kinds("x/a", &place(read_only, false)).len(), 2);
        assert_eq!(refusal_kinds("/proc/a", &place(pseudo, true)), [RefusalKind::Invalid]);
        let not_writable = Some("Permission denied".to_owned());
        assert_eq!(refusal_kinds("a", &MissingFacts { not_writable, ..place(plain, true) }), [RefusalKind::Impossible]);
    }

    #[test]
    fn character_devices_have_the_size_that_is_given_and_most_are_only_read() {
        let verdict = |device, writes, max| may_use_character("'x'", device, writes, max, &mut Findings::default());
        for writes in [false, true] {
            assert!(verdict(CharacterDevice::Null, writes, 1));
            assert!(verdict(CharacterDevice::Zero, writes, 1));
            assert!(!verdict(CharacterDevice::Zero, writes, 0));
            assert!(!verdict(CharacterDevice::Other, writes, 0));
        }
        assert!(verdict(CharacterDevice::Other, false, 1));
        assert!(!verdict(CharacterDevice::Other, true, 1));
    }

    #[test]
    fn names_of_windows_are_answered_with_those_of_linux() {
        let missing = TargetFacts::new(TargetKind::Missing(MissingFacts::default()));
        let there = TargetFacts::new(TargetKind::Regular(RegularFacts::default()));
        let accepted = |path: &str, facts| check_name(Path::new(path), facts, &mut Findings::default());
        assert!(!accepted("#1", &missing) && !accepted("#1", &there));
        let windows =
            ["C:", "F:testfile.dat", r"c:\test.dat", "d:/test.dat", r"\\host\share\x", r"\\.\F:", r"\.PhysicalDrive0"];
        for path in windows {
            assert!(!accepted(path, &missing) && accepted(path, &there), "{path}");
        }
        for path in ["#", "./#1", "./C:", r"./\x", "dir/C:", "1:", r"a\b", "ab:c"] {
            assert!(accepted(path, &missing), "{path}");
        }
    }
}
