//! Test files against the caches of the storage, and the number of LUNs behind a target.

use super::checklist::{Checklist, answers};
use super::{CheckDocumentation, CheckRule};
use model::block_device::{BlockDevice, DeviceKind, MapperMaker, Transport};
use model::check::{CheckFacts, CheckedTarget};
use model::environment::Backing;
use model::facts::TargetKind;
use model::finding::Severity;
use model::units::Bytes;

pub(super) const RULES: &[CheckRule] = &[CheckRule {
    name: "cache-size",
    severity: Severity::Warn,
    unit: "",
    computed_from: CheckDocumentation {
        looks_at: "the size of all targets on a LUN, bcache devices, loop devices that use the page cache, the kind of \
                   storage",
        warns_if: "the targets are not larger than a cache that the kernel reports; note: they are smaller than 100 GB, on \
                   an array, a RAID controller, a share, a network or virtual disk, whose cache cannot be seen",
        fails_if: "",
    },
    advice: "test with files of 2 to 4 times the storage's cache (-c): caches of 40 to 100 GB are common",
    evaluate: |facts| answers(facts, caches),
}];

/// `--for sql`: number of LUNs of a volume.
pub(super) const LUN_COUNT: CheckRule = CheckRule {
    name: "lun-count",
    severity: Severity::Note,
    unit: "",
    computed_from: CheckDocumentation {
        looks_at: "the LUNs or virtual disks of the volume",
        warns_if: "never; note: fewer than 4",
        fails_if: "",
    },
    advice: "guides for databases advise a volume striped over 4 to 8 LUNs, as each has its own queue",
    evaluate: |facts| answers(facts, lun_counts),
};

/// Size in bytes below which targets may fit into the cache of an array.
const CACHE_BYTES: u64 = 100_000_000_000;
/// LUNs that a database volume should have at least.
const LUNS_MIN: usize = 4;
/// Parts of the vendor or model name of disks behind a RAID controller.
const CONTROLLER_NAMES: [&str; 6] = ["PERC", "RAID", "LOGICAL VOLUME", "MR9", "LSI", "SMART ARRAY"];

/// The kind of storage with a cache that the kernel does not report.
fn hidden_cache(device: &BlockDevice, is_virtual_machine: bool) -> Option<&'static str> {
    let identity = [&device.identity.vendor, &device.identity.model].map(|name| name.as_deref().unwrap_or_default());
    let has_controller_name = || {
        let identity = identity.join(" ").to_uppercase();
        CONTROLLER_NAMES.iter().any(|name| identity.contains(name))
    };
    match (&device.kind, &device.connection.transport) {
        (DeviceKind::Network, _) => Some("network disk"),
        (_, Some(Transport::Virtio | Transport::Vmbus | Transport::Xen)) => Some("virtual disk"),
        (_, Some(Transport::Iscsi | Transport::FibreChannel | Transport::NvmeOver(_))) => Some("LUN of an array"),
        (DeviceKind::Mapper { maker: Some(MapperMaker::Multipath), .. } | DeviceKind::NvmeMultipath { .. }, _) => {
            Some("LUN of an array")
        }
        (DeviceKind::Disk, _) if has_controller_name() => Some("disk of a RAID controller"),
        (DeviceKind::Disk, _) if is_virtual_machine => Some("virtual disk"),
        _ => None,
    }
}

/// The devices of a volume, as the storage provides them: all paths of a multipath device are one.
fn luns(target: &CheckedTarget) -> Vec<&BlockDevice> {
    fn collect<'a>(device: &'a BlockDevice, found: &mut Vec<&'a BlockDevice>) {
        let is_multipath = matches!(
            device.kind,
            DeviceKind::Mapper { maker: Some(MapperMaker::Multipath), .. } | DeviceKind::NvmeMultipath { .. }
        );
        if is_multipath || device.below.is_empty() {
            found.push(device);
        } else {
            device.below.iter().for_each(|below| collect(below, found));
        }
    }
    let mut found = Vec::new();
    target.environment.devices().into_iter().for_each(|device| collect(device, &mut found));
    super::each_once(found.into_iter())
}

fn caches(facts: &CheckFacts, list: &mut Checklist) {
    // All targets on one LUN or share share its cache.
    let mut places: Vec<(String, &CheckedTarget, Option<u64>)> = Vec::new();
    for target in &facts.targets {
        let names: Vec<&str> = luns(target).iter().map(|device| device.name.as_str()).collect();
        let place = match &target.environment.backing {
            Backing::Remote { address } => address.clone(),
            _ if names.is_empty() => target.path.display().to_string(),
            _ => names.join(", "),
        };
        let bytes = size_bytes(facts, target);
        match places.iter_mut().find(|(known, ..)| *known == place) {
            Some((.., sum)) => *sum = sum.zip(bytes).map(|(sum, bytes)| sum.saturating_add(bytes)),
            None => places.push((place, target, bytes)),
        }
    }
    for (place, target, bytes) in places {
        match bytes {
            Some(bytes) => cache(facts, target, &place, bytes, list),
            None => list.unknown(&place, "the size of the target is unknown"),
        }
    }
}

fn size_bytes(facts: &CheckFacts, target: &CheckedTarget) -> Option<u64> {
    match &target.facts.kind {
        TargetKind::Block(device) => Some(device.size_bytes),
        TargetKind::Regular(file) => Some(facts.create_bytes.unwrap_or(file.size_bytes)),
        TargetKind::Missing(_) => facts.create_bytes,
        TargetKind::Character(_) | TargetKind::Unusable { .. } | TargetKind::Inaccessible { .. } => None,
    }
}

fn cache(facts: &CheckFacts, target: &CheckedTarget, place: &str, bytes: u64, list: &mut Checklist) {
    let size = Bytes(bytes);
    let known = target.environment.devices().into_iter().flat_map(BlockDevice::walk);
    let known = known.filter_map(|device| known_cache(facts, device)).max_by_key(|(_, cache_bytes)| *cache_bytes);
    if let Some((name, cache_bytes)) = known.filter(|(_, cache_bytes)| bytes <= *cache_bytes) {
        let advice =
            format!("test with files of at least {} (-c): twice that cache", Bytes(cache_bytes.saturating_mul(2)));
        return list.warn_with(place, format!("{size} of targets fit into {name} ({})", Bytes(cache_bytes)), advice);
    }
    let is_virtual_machine = facts.environment.virtual_machine().is_some();
    let luns = luns(target);
    let hidden = match &target.environment.backing {
        Backing::Remote { .. } => Some("share"),
        Backing::Unknown => return list.unknown(place, "the underlying block device is unknown"),
        _ => luns.iter().find_map(|device| hidden_cache(device, is_virtual_machine)),
    };
    match hidden {
        Some(kind) if bytes < CACHE_BYTES => {
            list.note(place, format!("{size} of targets may fit into the cache of this {kind}, which cannot be seen"));
        }
        Some(kind) => list.pass(place, format!("{size} of targets on a {kind}: more than most caches")),
        None => list.pass(place, format!("{size} of targets; no cache of an array or controller is known")),
    }
}

/// A cache that the kernel reports, and its size in bytes.
fn known_cache(facts: &CheckFacts, device: &BlockDevice) -> Option<(&'static str, u64)> {
    match &device.kind {
        DeviceKind::Bcache { .. } => {
            let cache = device.below.iter().find(|below| below.role.as_deref() == Some("cache"))?;
            Some(("the bcache device", cache.size_bytes?))
        }
        DeviceKind::Loop { direct: Some(false), .. } => {
            Some(("the page cache below the loop device", facts.environment.memory_bytes?))
        }
        _ => None,
    }
}

fn lun_counts(facts: &CheckFacts, list: &mut Checklist) {
    let is_virtual_machine = facts.environment.virtual_machine().is_some();
    for target in &facts.targets {
        let subject = target.path.display().to_string();
        let luns = luns(target);
        let kind = luns.first().and_then(|device| hidden_cache(device, is_virtual_machine));
        let names = || luns.iter().map(|device| device.name.as_str()).collect::<Vec<_>>().join(", ");
        match (&target.environment.backing, kind) {
            (Backing::Remote { .. }, _) => list.pass(&subject, "a share: it has no LUNs"),
            _ if luns.is_empty() => list.unknown(&subject, "the underlying block device is unknown"),
            (_, None) => list.pass(&subject, format!("local drives: {}", names())),
            (_, Some(kind)) if luns.len() < LUNS_MIN => {
                list.note(&subject, format!("{} ({}, a {kind})", counted_luns(luns.len()), names()));
            }
            (_, Some(_)) => list.pass(&subject, counted_luns(luns.len())),
        }
    }
}

fn counted_luns(count: usize) -> String {
    if count == 1 { "one LUN".to_owned() } else { format!("{count} LUNs") }
}

#[cfg(test)]
mod tests {
    use crate::check::fixture::{answers, below, facts, outcomes};
    use model::block_device::{BlockDevice, DeviceKind, MapperMaker, Transport};
    use model::check::Workload;
    use model::environment::{Backing, Hypervisor};
    use model::finding::Severity;

    // Shows check: cache-size
    #[test]
    fn small_files_on_storage_with_a_hidden_cache_are_a_note() {
        let mut facts = facts();
        let found = "pass nvme0n1: 1GiB of targets; no cache of an array or controller is known";
        assert_eq!(answers(&facts, "cache-size"), [found]);
        for transport in [Transport::Iscsi, Transport::FibreChannel, Transport::NvmeOver("tcp".to_owned())] {
            below(&mut facts).connection.transport = Some(transport);
            let found =
                "note nvme0n1: 1GiB of targets may fit into the cache of this LUN of an array, which cannot be seen";
            assert_eq!(answers(&facts, "cache-size"), [found]);
        }
        facts.create_bytes = Some(100 << 30);
        let found = "pass nvme0n1: 100GiB of targets on a LUN of an array: more than most caches";
        assert_eq!(answers(&facts, "cache-size"), [found]);
        // Two files on one LUN count together.
        facts.create_bytes = Some(50 << 30);
        assert_eq!(outcomes(&facts, "cache-size"), [Severity::Note]);
        facts.targets.push(facts.targets[0].clone());
        assert_eq!(answers(&facts, "cache-size"), [found]);
        facts.targets.pop();
        facts.targets[0].environment.backing = Backing::Remote { address: "nas:/a".to_owned() };
        let found = "note nas:/a: 50GiB of targets may fit into the cache of this share, which cannot be seen";
        assert_eq!(answers(&facts, "cache-size"), [found]);
    }

    // Shows check: cache-size
    #[test]
    fn disks_of_controllers_and_virtual_machines_have_hidden_caches() {
        let mut facts = facts();
        facts.environment.hypervisor = Some(Hypervisor::Named("kvm".to_owned()));
        assert_eq!(outcomes(&facts, "cache-size"), [Severity::Note]);
        facts.environment.hypervisor = Some(Hypervisor::None);
        assert_eq!(outcomes(&facts, "cache-size"), [Severity::Pass]);
        below(&mut facts).identity.model = Some("PERC H740P Mini".to_owned());
        assert_eq!(outcomes(&facts, "cache-size"), [Severity::Note]);
    }

    // Shows check: cache-size
    #[test]
    fn files_that_fit_into_a_known_cache_warn() {
        let mut facts = facts();
        let part = |role: &str, bytes| BlockDevice {
            name: role.to_owned(),
            role: Some(role.to_owned()),
            size_bytes: Some(bytes),
            kind: DeviceKind::Disk,
            ..BlockDevice::default()
        };
        let device = below(&mut facts);
        device.kind = DeviceKind::Bcache { cache_mode: None, state: None };
        device.below = vec![part("backing", 1 << 40), part("cache", 1 << 30)];
        assert_eq!(
            answers(&facts, "cache-size"),
            ["warn backing, cache: 1GiB of targets fit into the bcache device (1GiB)"]
        );
        facts.create_bytes = Some(2 << 30);
        assert_eq!(outcomes(&facts, "cache-size"), [Severity::Pass]);
        facts.environment.memory_bytes = Some(16 << 30);
        let (file, offset_bytes, file_system) = (None, None, None);
        below(&mut facts).kind = DeviceKind::Loop { file, offset_bytes, direct: Some(false), file_system };
        assert_eq!(outcomes(&facts, "cache-size"), [Severity::Warn]);
    }

    // Shows check: lun-count
    #[test]
    fn fewer_than_four_luns_are_a_note_for_a_database() {
        let mut facts = facts();
        facts.workload = Workload::Sql;
        assert_eq!(answers(&facts, "lun-count"), ["pass a.dat: local drives: nvme0n1"]);
        below(&mut facts).connection.transport = Some(Transport::Virtio);
        assert_eq!(answers(&facts, "lun-count"), ["note a.dat: one LUN (nvme0n1, a virtual disk)"]);
        let path = BlockDevice { name: "sda".to_owned(), kind: DeviceKind::Disk, ..BlockDevice::default() };
        let lun = |number: u32| BlockDevice {
            name: format!("dm-{number}"),
            kind: DeviceKind::Mapper { maker: Some(MapperMaker::Multipath), name: None, uuid: None },
            below: vec![path.clone(), path.clone()],
            ..BlockDevice::default()
        };
        let device = below(&mut facts);
        device.kind = DeviceKind::Mapper { maker: Some(MapperMaker::Lvm), name: None, uuid: None };
        for (count, found) in [(2, "note a.dat: 2 LUNs (dm-0, dm-1, a LUN of an array)"), (4, "pass a.dat: 4 LUNs")] {
            below(&mut facts).below = (0..count).map(lun).collect();
            assert_eq!(answers(&facts, "lun-count"), [found]);
        }
    }
}
