//! Mechanisms that not every target, file system or CPU supports.

use crate::files::TargetState;
use crate::findings::{Findings, RefusalKind};
use model::facts::{SystemFacts, TargetKind};
use model::note::Note;
use model::operation::Operation;
use model::plan::Expected;
use model::profile::{BypassIo, CacheMode, FlushMode, Target};
use model::rw_flags::RwFlags;
use std::path::Path;

/// File systems whose servers have a cache of their own, by the names of their statfs numbers.
const NETWORK_FILE_SYSTEMS: [&str; 8] = ["nfs", "nfs4", "cifs", "smb2", "smb3", "ceph", "9p", "afs"];

/// False after a refusal.
pub(crate) fn check(target: &Target, standing: &TargetState, system: &SystemFacts, findings: &mut Findings) -> bool {
    let name = target.path.display();
    let mut sound = true;
    let mut refuse = |message: String| {
        findings.refuse_file(RefusalKind::Impossible, message);
        sound = false;
    };
    let is_file = matches!(standing.expect, Expected::File(_) | Expected::Prepared);
    if target.memory_mapped && !is_file {
        refuse(format!("'{name}' is not a regular file; -Sm maps only regular files"));
    }
    let lines = matches!(target.flush, Some(FlushMode::NonVolatileMemory | FlushMode::NonVolatileMemoryNoDrain));
    if lines && !system.cache_line_write_back {
        refuse(
            "-Nn and -Ni need a CPU with CLWB, CLFLUSHOPT or DC CVAP, and this one has none of them; -Nv works \
             everywhere"
                .into(),
        );
    }
    if target.cache_mode == CacheMode::NoLocalCache && !NETWORK_FILE_SYSTEMS.contains(&standing.place.as_str()) {
        refuse(format!(
            "-Sr turns off the client's cache of a network file system (NFS, CIFS, Ceph, 9p), but '{name}' is on {}; \
             for a local file system, use -Su",
            standing.place
        ));
    }
    match target.bypass_io {
        Some(BypassIo::Full) => refuse(format!(
            "-SY needs full BypassIO between '{name}' and its device, but Linux has no BypassIO; use \
             -Sy (O_DIRECT) instead"
        )),
        Some(BypassIo::Partial) => findings.note(Note::OptionWithoutEffect {
            option: "-Sy".to_owned(),
            reason: format!(
                "Linux has no file system filters to bypass; '{name}' is opened with O_DIRECT, as with \
                             -Su"
            ),
        }),
        None => {}
    }
    sound
}

/// File systems that do not support holes in files.
const WITHOUT_HOLES: [&str; 8] = ["vfat", "msdos", "exfat", "ramfs", "9p", "hfsplus", "udf", "ntfs"];

/// Others that cannot zero a range.
const WITHOUT_ZERO_RANGE: [&str; 3] = ["tmpfs", "gfs2", "ceph"];

/// False, with a refusal, if a target does not support the discards or write-zeroes of the load.
pub(crate) fn may_change_without_data(
    target: &Target,
    standing: &TargetState,
    kind: Option<&TargetKind>,
    findings: &mut Findings,
) -> bool {
    let (name, place, shares) = (target.path.display(), standing.place.as_str(), target.shares());
    let mut refused = Vec::new();
    for (option, operation) in [("--discard", Operation::Discard), ("--write-zeroes", Operation::WriteZeroes)] {
        let discards = operation == Operation::Discard;
        let reason = match kind {
            _ if !shares.does(operation) => continue,
            Some(TargetKind::Block(device)) if discards && device.discard_bytes_max == Some(0) => {
                "the device does not support discards".to_owned()
            }
            Some(TargetKind::Block(_)) => continue,
            Some(TargetKind::Character(_)) => "it is a character device".to_owned(),
            _ if WITHOUT_HOLES.contains(&place) || (!discards && WITHOUT_ZERO_RANGE.contains(&place)) => {
                let what = if discards { "make holes in files" } else { "zero a range of a file" };
                format!("{place} cannot {what}")
            }
            _ => continue,
        };
        refused.push(format!("{option} cannot be used on '{name}': {reason}"));
    }
    let may = refused.is_empty();
    for message in refused {
        findings.refuse_file(RefusalKind::Impossible, message);
    }
    may
}

/// False, with a refusal, if the kernel or the target's file system does not support flags of its reads and writes.
pub(crate) fn may_set_flags(
    target: &Target,
    standing: &TargetState,
    refused: RwFlags,
    system: &SystemFacts,
    findings: &mut Findings,
) -> bool {
    let refused = refused & RwFlags::from_target(target);
    for flag in refused.iter() {
        findings.refuse_file(
            RefusalKind::Impossible,
            format!(
                "{} cannot be used on '{}': {} of Linux {} has no {}; it needs {}",
                flag.option,
                target.path.display(),
                standing.place,
                system.kernel_release,
                flag.name,
                flag.needs
            ),
        );
    }
    refused.is_empty()
}

/// False, with a refusal, if completions cannot be polled for at a target's device. `polling` is the kernel's report.
pub(crate) fn may_poll(path: &Path, polling: Option<bool>, findings: &mut Findings) -> bool {
    if polling == Some(false) {
        findings.refuse_file(
            RefusalKind::Impossible,
            format!(
                "'{}' cannot be polled for completions: the kernel has no poll queues for its device. --iopoll needs \
                 a device with poll queues, such as NVMe with nvme.poll_queues set",
                path.display()
            ),
        );
    }
    polling != Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::facts::{BlockFacts, DirectIo, FileStamp};
    use model::plan::{Plan, Preparation};

    fn standing(place: &str) -> TargetState {
        TargetState {
            size_bytes: 1 << 20,
            expect: Expected::File(FileStamp::default()),
            direct_io: DirectIo::Unknown,
            place: place.to_owned(),
            preparation: Preparation::Keep,
        }
    }

    fn refusals(target: &Target, standing: &TargetState, write_back: bool) -> Vec<String> {
        let mut findings = Findings::default();
        let system = SystemFacts { cache_line_write_back: write_back, ..SystemFacts::default() };
        let sound = check(target, standing, &system, &mut findings);
        let refusals = findings.into_result(|_| Plan::default()).err().unwrap_or_default();
        assert_eq!(sound, refusals.is_empty());
        refusals.into_iter().map(|refusal| refusal.message).collect()
    }

    #[test]
    fn what_cannot_be_discarded_or_zeroed_is_refused() {
        let refused = |target: &Target, place: &str, kind: Option<&TargetKind>| {
            let mut findings = Findings::default();
            let may = may_change_without_data(target, &standing(place), kind, &mut findings);
            let messages: Vec<String> = findings.refusals().iter().map(|refusal| refusal.message.clone()).collect();
            assert_eq!(may, messages.is_empty());
            messages.join("; ")
        };
        let both = Target { discard_percent: Some(1), write_zeroes_percent: Some(1), ..Target::new("f") };
        let device = |discard_bytes_max| TargetKind::Block(BlockFacts { discard_bytes_max, ..BlockFacts::default() });
        assert_eq!(refused(&both, "ext4", None), "");
        assert_eq!(refused(&both, "this block device", Some(&device(None))), "");
        assert_eq!(refused(&Target::new("f"), "vfat", None), "");
        insta::assert_snapshot!(refused(&both, "tmpfs", None), @"--write-zeroes cannot be used on 'f': tmpfs cannot zero a range of a file");
        insta::assert_snapshot!(refused(&both, "vfat", None), @"--discard cannot be used on 'f': vfat cannot make holes in files; --write-zeroes cannot be used on 'f': vfat cannot zero a range of a file");
        insta::assert_snapshot!(refused(&both, "this block device", Some(&device(Some(0)))), @"--discard cannot be used on 'f': the device does not support discards");
    }

    // Shows switches: -Sr
    #[test]
    fn a_local_file_has_no_local_cache_to_turn_off() {
        let target = Target { cache_mode: CacheMode::NoLocalCache, ..Target::new("f") };
        assert_eq!(refusals(&target, &standing("nfs"), true), Vec::<String>::new());
        insta::assert_snapshot!(refusals(&target, &standing("ext4"), true).join("\n"), @"-Sr turns off the client's cache of a network file system (NFS, CIFS, Ceph, 9p), but 'f' is on ext4; for a local file system, use -Su");
    }

    #[test]
    fn only_files_are_mapped() {
        let target = Target { memory_mapped: true, ..Target::new("d") };
        let device = TargetState {
            expect: Expected::Block { device: 1, disk_sequence: None, backing: None, below: Vec::new() },
            ..standing("this block device")
        };
        assert_eq!(refusals(&target, &standing("ext4"), true), Vec::<String>::new());
        insta::assert_snapshot!(refusals(&target, &device, true).join("\n"), @
            "'d' is not a regular file; -Sm maps only regular files");
    }

    #[test]
    fn cache_lines_need_a_cpu_that_writes_them_back() {
        for flush in [FlushMode::NonVolatileMemory, FlushMode::NonVolatileMemoryNoDrain] {
            let target = Target { memory_mapped: true, flush: Some(flush), ..Target::new("f") };
            assert_eq!(refusals(&target, &standing("ext4"), true).len(), 0);
            assert_eq!(refusals(&target, &standing("ext4"), false).len(), 1);
        }
    }

    #[test]
    fn completions_are_polled_for_unless_the_kernel_says_that_they_cannot_be() {
        for (polling, allowed) in [(Some(true), true), (None, true), (Some(false), false)] {
            let mut findings = Findings::default();
            assert_eq!(may_poll(Path::new("d"), polling, &mut findings), allowed);
            assert_eq!(findings.refusals().is_empty(), allowed);
        }
    }

    #[test]
    fn a_full_bypass_is_refused_and_a_partial_one_noted() {
        let target = |bypass| Target { bypass_io: Some(bypass), ..Target::new("f") };
        assert_eq!(refusals(&target(BypassIo::Full), &standing("ext4"), true).len(), 1);
        assert_eq!(refusals(&target(BypassIo::Partial), &standing("ext4"), true).len(), 0);
    }
}
