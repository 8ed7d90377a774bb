//! Protection of foreign disks: the block devices that may be written to.
//!
//! The device must be unused and named: by `--destroy`, or by this machine's list of scratch disks if the disk is
//! empty. Reading needs no permission.

use crate::findings::{Findings, RefusalKind};
use crate::words;
use model::device_guard::{Claim, DeviceContent, DeviceGuard, SCRATCH_LIST, Scratch};
use model::facts::{BlockFacts, TargetFacts, TargetKind};
use model::note::Note;
use model::operation::Operation;
use model::shell;
use model::suggest::near;
use std::path::Path;

/// True if a block device may be used for this. `destroy` are the devices that the user has released.
pub(crate) fn may_use(
    name: &str,
    path: &Path,
    device: &BlockFacts,
    change: Option<Operation>,
    destroy: &[String],
    findings: &mut Findings,
) -> bool {
    if let Some(reason) = &device.not_readable {
        findings.refuse_file(RefusalKind::Impossible, format!("{name} cannot be opened for reading: {reason}"));
        return false;
    }
    let Some(change) = change else { return true };
    let Some(guard) = &device.guard else {
        findings.refuse_file(RefusalKind::Invalid, format!("{name} is a block device that was not checked for use"));
        return false;
    };
    let is_free = is_free(name, guard, findings);
    let allowed_by = allowed_by(name, guard, change, destroy, findings);
    if let Some(reason) = &guard.not_writable {
        findings.refuse_file(RefusalKind::Impossible, format!("{name} cannot be written to: {reason}"));
    }
    let (true, Some(allowed_by), None) = (is_free, allowed_by, &guard.not_writable) else { return false };
    if !guard.unseen.is_empty() {
        findings.note(Note::OpenersSearchedInProc { path: path.to_owned(), reason: guard.unseen.join("; ") });
    }
    findings.note(Note::DeviceWritten {
        path: path.to_owned(),
        identity: guard.identities.first().unwrap_or(&guard.name).clone(),
        allowed_by,
        content: content(&guard.content),
        network: guard.network.clone(),
    });
    true
}

/// The name for a block device in the list of scratch disks, or every reason against it: those against writing to it,
/// and any content found on it.
pub fn scratch_name<'a>(path: &Path, target: &'a TargetFacts) -> Result<&'a str, Vec<String>> {
    let name = words::path(path, target);
    let TargetKind::Block(BlockFacts { guard: Some(guard), .. }) = &target.kind else {
        return Err(vec![format!("{name} is not a block device")]);
    };
    let mut findings = Findings::default();
    let is_free = is_free(&name, guard, &mut findings);
    let mut reasons = findings.into_messages(RefusalKind::Invalid);
    match &guard.content {
        DeviceContent::Blank | DeviceContent::Unsigned { .. } => {}
        DeviceContent::Signed { what } => {
            // Erasing a disk is no advice while it is in use.
            let advice = if is_free { "; wipefs -a (util-linux) erases the signatures" } else { "" };
            reasons.push(format!("{name} is not empty: {}{advice}", words::list(what)));
        }
        DeviceContent::NotAsked | DeviceContent::Unknown { .. } => {
            reasons.push(format!("cannot determine whether {name} is empty: {}", content(&guard.content)));
        }
    }
    match guard.identities.first() {
        Some(identity) if reasons.is_empty() => return Ok(identity),
        Some(_) => {}
        None => reasons.push(format!("{name} has no persistent identifier")),
    }
    Err(reasons)
}

/// True if the device is not in use; adds all reasons otherwise.
fn is_free(name: &str, guard: &DeviceGuard, findings: &mut Findings) -> bool {
    let mut reasons = guard.users.clone();
    let mut unknown = None;
    match &guard.claim {
        Claim::Busy if reasons.is_empty() => {
            let failed = "exclusive open (O_EXCL) failed: the device is used by a file system, swap, another device \
                          or a process not visible from here";
            let phrases: Vec<&str> = std::iter::once(failed).chain(guard.unseen.iter().map(String::as_str)).collect();
            reasons.push(phrases.join("; "));
        }
        Claim::Granted | Claim::Busy => {}
        Claim::Failed { reason } => unknown = Some(format!("this cannot be determined: {reason}")),
        Claim::NotAsked => unknown = Some("this was not checked".to_owned()),
    }
    if let Some(unknown) = &unknown {
        findings.refuse_file(
            RefusalKind::Invalid,
            format!(
                "{name} may be in use: {unknown}. A block device is written to only if it is known not to be in use"
            ),
        );
    }
    if !reasons.is_empty() {
        let reasons = words::list(&reasons);
        findings.refuse_file(
            RefusalKind::Invalid,
            format!("{name} is in use: {reasons}. A block device in use is never written to, even with --destroy"),
        );
    }
    if let Some(sharing) = &guard.shares_blocks {
        findings.refuse_file(
            RefusalKind::Invalid,
            format!(
                "{name} must not be written to: {sharing}, and writes could fill its pool or corrupt other volumes"
            ),
        );
    }
    if guard.is_sequential {
        findings.refuse_file(
            RefusalKind::Invalid,
            format!(
                "{name} is a zoned device (host-managed): each of its zones takes writes in sequence only, from where \
                 the last one ended, and fails all others. It can be read; for writes, use a file on a file system for \
                 zoned devices"
            ),
        );
    }
    reasons.is_empty() && unknown.is_none() && guard.shares_blocks.is_none() && !guard.is_sequential
}

/// The option or list that allows overwriting the device; refuses with the required option if there is none.
fn allowed_by(
    name: &str,
    guard: &DeviceGuard,
    change: Operation,
    destroy: &[String],
    findings: &mut Findings,
) -> Option<String> {
    if let Some(identity) = destroy.iter().find(|given| guard.identities.contains(given)) {
        return Some(flag(identity));
    }
    let is_empty = matches!(guard.content, DeviceContent::Blank | DeviceContent::Unsigned { .. });
    if guard.scratch == Scratch::Listed && is_empty {
        return Some(SCRATCH_LIST.to_owned());
    }
    let content = content(&guard.content);
    let way = match guard.identities.first() {
        Some(identity) => format!("To allow this: {}", flag(identity)),
        None => "It has no wwid or serial number, which --destroy needs, so it cannot be written to; use \
             a file on it instead"
            .to_owned(),
    };
    let harm = words::changing(change).to_lowercase();
    let mut remarks =
        vec![format!("{name} is a block device, and {harm} would destroy its contents: {content}. {way}")];
    remarks.extend(destroy.iter().filter_map(|given| wrong_name(given, guard)));
    match &guard.scratch {
        Scratch::Listed => remarks.push(format!(
            "{SCRATCH_LIST} lists it, but the list allows writes only to empty \
                                                 disks"
        )),
        Scratch::Untrusted { reason } => remarks.push(reason.clone()),
        Scratch::NotListed => {}
    }
    if let Some(network) = &guard.network {
        remarks.push(format!("use by other hosts over {network} cannot be detected from here"));
    }
    findings.refuse_file(RefusalKind::Invalid, remarks.join("; "));
    None
}

/// The error in a name given to `--destroy` that is not the device's; `None` if it may be that of another target.
fn wrong_name(given: &str, guard: &DeviceGuard) -> Option<String> {
    if given.strip_prefix("/dev/").unwrap_or(given) == guard.name {
        return Some(format!("{given} is a kernel name, which can change"));
    }
    let meant = *near(given, guard.identities.iter().map(String::as_str)).first()?;
    Some(format!("{given} is not its ID: did you mean {meant}?"))
}

/// The option as it can be pasted into a shell.
fn flag(identity: &str) -> String {
    format!("--destroy={}", shell::quoted(identity))
}

fn content(content: &DeviceContent) -> String {
    match content {
        DeviceContent::NotAsked => "not checked".to_owned(),
        DeviceContent::Unknown { reason } => format!("unknown: it could not be read ({reason})"),
        DeviceContent::Blank => "the sampled blocks contain only zeros or diskspd's fill pattern".to_owned(),
        DeviceContent::Unsigned { offset_bytes } => {
            format!("data without a known signature (for example at offset {offset_bytes})")
        }
        DeviceContent::Signed { what } => words::list(what),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free() -> DeviceGuard {
        DeviceGuard {
            name: "sdb".to_owned(),
            identities: vec!["naa.5000".to_owned(), "WD-1".to_owned()],
            claim: Claim::Granted,
            content: DeviceContent::Signed { what: vec!["an XFS file system".to_owned()] },
            ..DeviceGuard::default()
        }
    }

    fn judge(guard: DeviceGuard, destroy: &[&str]) -> Findings {
        let guard = Some(Box::new(guard));
        let device = BlockFacts { device: 1, size_bytes: 1, logical_block_bytes: 512, guard, ..BlockFacts::default() };
        let destroy: Vec<String> = destroy.iter().map(|&name| name.to_owned()).collect();
        let mut findings = Findings::default();
        let allowed =
            may_use("'/dev/sdb'", Path::new("/dev/sdb"), &device, Some(Operation::Write), &destroy, &mut findings);
        assert_eq!(allowed, findings.refusals().is_empty());
        assert_eq!(allowed, findings.notes().len() == 1, "writing is noted");
        findings
    }

    fn allowed(guard: &DeviceGuard, destroy: &[&str]) -> bool {
        let findings = judge(guard.clone(), destroy);
        assert!(findings.refusals().iter().all(|refusal| refusal.kind == RefusalKind::Invalid));
        findings.refusals().is_empty()
    }

    #[test]
    fn a_free_device_is_written_to_if_it_is_named_by_what_stays_with_it() {
        for (destroy, expected) in [
            (&[][..], false),
            (&["naa.5000"], true),
            (&["WD-1"], true),
            (&["naa.9", "naa.5000"], true),
            (&["naa.500"], false),
            (&["sdb"], false),
            (&["/dev/sdb"], false),
            (&[""], false),
        ] {
            assert_eq!(allowed(&free(), destroy), expected, "{destroy:?}");
        }
        assert!(!allowed(&DeviceGuard { identities: Vec::new(), ..free() }, &["naa.5000", "sdb", ""]));
    }

    #[test]
    fn whoever_uses_it_forbids_it_whatever_is_named() {
        let scratch = DeviceGuard { scratch: Scratch::Listed, content: DeviceContent::Blank, ..free() };
        for base in [free(), scratch] {
            for guard in [
                DeviceGuard { users: vec!["active swap".to_owned()], ..base.clone() },
                DeviceGuard { claim: Claim::Busy, ..base.clone() },
                DeviceGuard { claim: Claim::NotAsked, ..base.clone() },
                DeviceGuard { claim: Claim::Failed { reason: "EIO".to_owned() }, ..base.clone() },
                DeviceGuard { shares_blocks: Some("it is a thin volume".to_owned()), ..base.clone() },
                DeviceGuard { is_sequential: true, ..base.clone() },
            ] {
                assert!(!allowed(&guard, &["naa.5000"]), "{guard:?}");
            }
        }
    }

    #[test]
    fn a_scratch_disk_needs_no_naming_as_long_as_nothing_is_found_on_it() {
        let with = |scratch: Scratch, content| DeviceGuard { scratch, content, ..free() };
        let unsigned = DeviceContent::Unsigned { offset_bytes: 0 };
        let signed = free().content;
        let unknown = DeviceContent::Unknown { reason: "EIO".to_owned() };
        for (content, expected) in [
            (DeviceContent::Blank, true),
            (unsigned, true),
            (signed, false),
            (unknown, false),
            (DeviceContent::NotAsked, false),
        ] {
            assert_eq!(allowed(&with(Scratch::Listed, content.clone()), &[]), expected, "{content:?}");
            assert!(!allowed(&with(Scratch::NotListed, content.clone()), &[]));
            let reason = "anybody may write it".to_owned();
            assert!(!allowed(&with(Scratch::Untrusted { reason }, content), &[]));
        }
    }

    #[test]
    fn a_refusal_gives_all_reasons_and_the_flag_to_paste() {
        let guard = DeviceGuard {
            identities: vec!["/srv/o'ne image".to_owned()],
            users: vec!["mounted at '/mnt'".to_owned(), "open in process 7 (qemu)".to_owned()],
            claim: Claim::Busy,
            network: Some("iSCSI".to_owned()),
            not_writable: Some("the kernel marks the device read-only".to_owned()),
            scratch: Scratch::Listed,
            ..free()
        };
        let unseen = DeviceGuard { claim: Claim::Busy, identities: Vec::new(), ..free() };
        let texts = [judge(guard, &["sdb"]), judge(unseen, &[])];
        let lines: Vec<String> =
            texts.iter().flat_map(|findings| findings.refusals().iter().map(ToString::to_string)).collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        '/dev/sdb' is in use: mounted at '/mnt' and open in process 7 (qemu). A block device in use is never written to, even with --destroy
        '/dev/sdb' is a block device, and writing (-w) would destroy its contents: an XFS file system. To allow this: --destroy='/srv/o'\''ne image'; sdb is a kernel name, which can change; /etc/diskspd/scratch lists it, but the list allows writes only to empty disks; use by other hosts over iSCSI cannot be detected from here
        '/dev/sdb' cannot be written to: the kernel marks the device read-only
        '/dev/sdb' is in use: exclusive open (O_EXCL) failed: the device is used by a file system, swap, another device or a process not visible from here. A block device in use is never written to, even with --destroy
        '/dev/sdb' is a block device, and writing (-w) would destroy its contents: an XFS file system. It has no wwid or serial number, which --destroy needs, so it cannot be written to; use a file on it instead
        ");
    }

    #[test]
    fn a_misspelt_name_is_answered_with_the_right_one() {
        for (given, expected) in [
            ("naa.500", Some("naa.500 is not its ID: did you mean naa.5000?")),
            ("naa.5001", Some("naa.5001 is not its ID: did you mean naa.5000?")),
            ("WD-", Some("WD- is not its ID: did you mean WD-1?")),
            ("sdb", Some("sdb is a kernel name, which can change")),
            ("/dev/sdb", Some("/dev/sdb is a kernel name, which can change")),
            ("nvme.144d-533457", None),
        ] {
            assert_eq!(wrong_name(given, &free()).as_deref(), expected);
            let refusal = judge(free(), &[given]).refusals()[0].to_string();
            let allows = refusal.find("To allow this: --destroy=naa.5000").expect("what to give");
            assert_eq!(expected.map(|text| refusal.find(text) > Some(allows)), expected.map(|_| true), "{refusal}");
        }
    }

    #[test]
    fn only_a_free_disk_that_can_be_read_is_to_be_emptied() {
        let reasons = |guard: DeviceGuard| {
            let device = BlockFacts { guard: Some(Box::new(guard)), ..BlockFacts::default() };
            let target = TargetFacts::new(TargetKind::Block(device));
            scratch_name(Path::new("/dev/sdb"), &target).map(str::to_owned).map_err(|reasons| reasons.join("\n"))
        };
        let refused = |guard| reasons(guard).expect_err("not empty");
        assert!(refused(free()).contains("is not empty: an XFS file system; wipefs -a"));
        for guard in [
            DeviceGuard { users: vec!["mounted at '/'".to_owned()], claim: Claim::Busy, ..free() },
            DeviceGuard { claim: Claim::Busy, ..free() },
            DeviceGuard { claim: Claim::NotAsked, ..free() },
            DeviceGuard { shares_blocks: Some("it is a thin volume".to_owned()), ..free() },
            DeviceGuard { content: DeviceContent::Unknown { reason: "EIO".to_owned() }, ..free() },
            DeviceGuard { content: DeviceContent::NotAsked, ..free() },
        ] {
            let text = refused(guard.clone());
            assert!(!text.contains("wipefs"), "{text}");
            assert_eq!(text.contains("is not empty"), matches!(guard.content, DeviceContent::Signed { .. }), "{text}");
        }
        assert_eq!(reasons(DeviceGuard { content: DeviceContent::Blank, ..free() }), Ok("naa.5000".to_owned()));
    }

    #[test]
    fn processes_that_cannot_be_seen_are_listed() {
        let unseen = vec!["2 processes of other users could not be inspected".to_owned()];
        let judged = |guard: DeviceGuard| {
            let device = BlockFacts { guard: Some(Box::new(guard)), ..BlockFacts::default() };
            let mut findings = Findings::default();
            let destroy = ["naa.5000".to_owned()];
            let change = Some(Operation::Write);
            may_use("'/dev/sdb'", Path::new("/dev/sdb"), &device, change, &destroy, &mut findings);
            (findings.notes().len(), findings.refusals().iter().map(ToString::to_string).collect::<String>())
        };
        assert_eq!(judged(free()).0, 1);
        assert_eq!(judged(DeviceGuard { unseen: unseen.clone(), ..free() }).0, 2);
        let refused = judged(DeviceGuard { unseen: unseen.clone(), claim: Claim::Busy, ..free() }).1;
        assert!(refused.contains(&unseen[0]), "{refused}");
    }

    #[test]
    fn reading_needs_nothing() {
        let use_it = |not_readable: Option<&str>, change| {
            let not_readable = not_readable.map(str::to_owned);
            let device = BlockFacts { not_readable, ..BlockFacts::default() };
            let mut findings = Findings::default();
            may_use("'/dev/sdb'", Path::new("/dev/sdb"), &device, change, &[], &mut findings);
            findings.refusals().iter().map(|refusal| refusal.kind).collect::<Vec<_>>()
        };
        assert_eq!(use_it(None, None), []);
        assert_eq!(use_it(Some("Permission denied"), None), [RefusalKind::Impossible]);
        assert_eq!(use_it(None, Some(Operation::Discard)), [RefusalKind::Invalid], "nobody looked");
    }
}
