//! Quality of the paths to a disk: `NVMe` ANA and SCSI ALUA.

use super::checklist::{ALL_TARGETS, Checklist, answers};
use super::{CheckDocumentation, CheckRule, devices};
use model::block_device::{BlockDevice, DeviceKind, MapperMaker};
use model::check::CheckFacts;
use model::finding::Severity;
use model::units::counted;

pub(super) const RULES: &[CheckRule] = &[CheckRule {
    name: "paths",
    severity: Severity::Fail,
    unit: "",
    computed_from: CheckDocumentation {
        looks_at: "NVMe ANA states, SCSI ALUA states of multipath disks",
        warns_if: "a path is unusable",
        fails_if: "no path is optimized",
    },
    advice: "see multipath -ll or nvme list-subsys; a non-optimized path goes through the other controller",
    evaluate: |facts| answers(facts, paths),
}];

/// Quality of a path, common to both protocols.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quality {
    Optimized,
    NonOptimized,
    Useless,
    Untold,
}

fn paths(facts: &CheckFacts, list: &mut Checklist) {
    let mut count = 0;
    for device in devices(facts) {
        let is_multipath = matches!(
            device.kind,
            DeviceKind::NvmeMultipath { .. } | DeviceKind::Mapper { maker: Some(MapperMaker::Multipath), .. }
        );
        if is_multipath {
            count += 1;
            judge(&device.name, &qualities(facts, device), list);
        }
    }
    if count == 0 {
        list.pass(ALL_TARGETS, "no multipath disks in use");
    }
}

fn qualities(facts: &CheckFacts, device: &BlockDevice) -> Vec<Quality> {
    device.below.iter().map(|path| quality(facts, path)).collect()
}

fn quality(facts: &CheckFacts, path: &BlockDevice) -> Quality {
    if let DeviceKind::NvmePath { state: Some(state), .. } = &path.kind
        && state != "live"
    {
        return Quality::Useless;
    }
    let access = facts.devices.get(&path.name).and_then(|state| state.path_access.as_deref());
    match path.role.as_deref().or(access) {
        Some("optimized" | "active/optimized") => Quality::Optimized,
        Some("non-optimized" | "active/non-optimized") => Quality::NonOptimized,
        None => Quality::Untold,
        Some(_) => Quality::Useless,
    }
}

fn judge(name: &str, paths: &[Quality], list: &mut Checklist) {
    let count = |quality| paths.iter().filter(|path| **path == quality).count();
    let (best, second, useless) = (count(Quality::Optimized), count(Quality::NonOptimized), count(Quality::Useless));
    let found =
        format!("{best} of {} optimized, {second} non-optimized, {useless} unusable", counted(paths.len(), "path"));
    match (best, useless) {
        _ if count(Quality::Untold) == paths.len() => {
            list.unknown(name, "no path reports its access state");
        }
        (0, _) => list.fail(name, found),
        (_, 0) => list.pass(name, found),
        _ => list.warn(name, found),
    }
}

#[cfg(test)]
mod tests {
    use crate::check::fixture::{answers, below, facts, outcomes, state_of};
    use model::block_device::{BlockDevice, DeviceKind, MapperMaker};
    use model::finding::Severity;

    fn path(name: &str, role: Option<&str>, state: &str) -> BlockDevice {
        let kind = DeviceKind::NvmePath { controller: None, state: Some(state.to_owned()), address: None };
        BlockDevice { name: name.to_owned(), kind, role: role.map(str::to_owned), ..BlockDevice::default() }
    }

    // Shows check: paths
    #[test]
    fn nvme_paths_are_judged_by_ana_and_state() {
        let mut facts = facts();
        assert_eq!(outcomes(&facts, "paths"), [Severity::Pass]);
        below(&mut facts).kind = DeviceKind::NvmeMultipath { policy: None, subsystem: None };
        let (good, second) = (Some("optimized"), Some("non-optimized"));
        for (paths, outcome) in [
            (vec![path("a", good, "live"), path("b", second, "live")], Severity::Pass),
            (vec![path("a", good, "live"), path("b", good, "connecting")], Severity::Warn),
            (vec![path("a", second, "live"), path("b", good, "connecting")], Severity::Fail),
            (vec![path("a", None, "live")], Severity::Unknown),
        ] {
            below(&mut facts).below = paths;
            assert_eq!(outcomes(&facts, "paths"), [outcome], "{:?}", answers(&facts, "paths"));
        }
    }

    // Shows check: paths
    #[test]
    fn scsi_paths_are_judged_by_alua() {
        let mut facts = facts();
        let maker = Some(MapperMaker::Multipath);
        below(&mut facts).kind = DeviceKind::Mapper { maker, name: None, uuid: None };
        let disk = |name: &str| BlockDevice { name: name.to_owned(), kind: DeviceKind::Disk, ..BlockDevice::default() };
        below(&mut facts).below = vec![disk("sda"), disk("sdb")];
        for (name, access) in [("sda", "active/optimized"), ("sdb", "active/non-optimized")] {
            let mut state = state_of(&mut facts).clone();
            state.path_access = Some(access.to_owned());
            facts.devices.insert(name.to_owned(), state);
        }
        assert_eq!(answers(&facts, "paths"), ["pass nvme0n1: 1 of 2 paths optimized, 1 non-optimized, 0 unusable"]);
        facts.devices.get_mut("sda").expect("a device").path_access = Some("standby".to_owned());
        assert_eq!(answers(&facts, "paths"), ["fail nvme0n1: 0 of 2 paths optimized, 1 non-optimized, 1 unusable"]);
    }
}
