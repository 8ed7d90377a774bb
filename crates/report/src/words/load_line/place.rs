//! A target and its underlying storage, in words.

use super::{KnownTargets, counted, size};
use model::block_device::{BlockDevice, DeviceKind, Transport};
use model::environment::{Backing, MountedFileSystem, TargetEnvironment};
use model::facts::{CharacterDevice, TargetKind};
use model::profile::{Target, TimeSpan};
use model::units::Bytes;

/// A target and its underlying storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// `file`, `block device`
    noun: &'static str,
    /// `1 GiB`, of the part that is used or of all.
    size: Option<String>,
    /// `on ext4 on vda (virtio, 256 GiB)`
    on: Option<String>,
}

/// The place of the target of a timespan with this index.
pub(crate) fn locate(span: &TimeSpan, index: usize, known: &KnownTargets<'_>) -> Place {
    let target = &span.targets[index];
    let kind = known.facts.get(&target.path).map(|facts| &facts.kind);
    let environment = known.environments.get(&target.path);
    let total_bytes = total_bytes(target, index, known);
    let noun = match kind {
        Some(TargetKind::Regular(_) | TargetKind::Missing(_)) => "file",
        Some(TargetKind::Block(_)) => "block device",
        Some(TargetKind::Character(CharacterDevice::Null)) => "/dev/null",
        Some(TargetKind::Character(CharacterDevice::Zero)) => "/dev/zero",
        Some(TargetKind::Character(CharacterDevice::Other)) => "character device",
        Some(TargetKind::Unusable { .. } | TargetKind::Inaccessible { .. }) | None => "target",
    };
    let is_device = matches!(kind, Some(TargetKind::Block(_)));
    let on = environment.and_then(|environment| if is_device { device(environment) } else { file_system(environment) });
    let total_bytes = total_bytes.filter(|_| !noun.starts_with("/dev/"));
    // The device's own size is among its properties.
    let shown = total_bytes.filter(|_| !(is_device && on.is_some()));
    Place { noun, size: part(target, total_bytes).or_else(|| shown.map(rounded)), on }
}

/// `1 GiB file on ext4`, `2 files of 1 GiB each on ext4`; different ones after each other.
pub(crate) fn joined(places: impl Iterator<Item = Place>, most: usize) -> Option<String> {
    let mut different: Vec<(Place, u64)> = Vec::new();
    for place in places {
        match different.iter_mut().find(|(known, _)| *known == place) {
            Some((_, count)) => *count += 1,
            None => different.push((place, 1)),
        }
    }
    let mut words: Vec<String> = different.iter().take(most).map(|(place, count)| place.words(*count)).collect();
    let others: u64 = different.iter().skip(most).map(|(_, count)| count).sum();
    if others > 0 {
        words.push(counted(others, "other target"));
    }
    let (last, first) = words.split_last()?;
    Some(if first.is_empty() { last.clone() } else { format!("{} and {last}", first.join(", ")) })
}

impl Place {
    fn words(&self, count: u64) -> String {
        let Self { noun, size, on } = self;
        let on = on.as_ref().map(|on| format!(" {on}")).unwrap_or_default();
        match (count, size) {
            (1, Some(size)) => format!("{size} {noun}{on}"),
            (1, None) => format!("{noun}{on}"),
            (_, Some(size)) => format!("{count} {noun}s of {size} each{on}"),
            (_, None) => format!("{count} {noun}s{on}"),
        }
    }
}

fn total_bytes(target: &Target, index: usize, known: &KnownTargets<'_>) -> Option<u64> {
    let planned = known.plan.and_then(|plan| plan.targets.get(index)).map(|planned| planned.size_bytes);
    let rows = known.measured.iter().flat_map(|measured| &measured.rows);
    let measured = || rows.clone().find(|row| row.target == index).map(|row| row.target_size_bytes);
    let created = || target.size_to_create().map(Bytes::get);
    planned.or_else(measured).or_else(created).filter(|bytes| *bytes > 0)
}

/// `first 1 GiB of a 4 GiB`, if only a part of the target is used.
fn part(target: &Target, total_bytes: Option<u64>) -> Option<String> {
    let (base, end) = (target.base_offset.get(), target.max_offset.get());
    let end = Some(end).filter(|end| *end > base && total_bytes.is_none_or(|total| *end < total));
    let of = match total_bytes {
        Some(total) => format!("of a {}", rounded(total)),
        None => "of a".to_owned(),
    };
    match (base, end) {
        (0, None) => None,
        (0, Some(end)) => Some(format!("first {} {of}", size(end))),
        (base, None) => Some(format!("all from {} on {of}", size(base))),
        (base, Some(end)) => Some(format!("{} from {} on {of}", size(end - base), size(base))),
    }
}

/// `on ext4 on vda (virtio, 256 GiB)`
pub(crate) fn file_system(environment: &TargetEnvironment) -> Option<String> {
    let mounted = environment.mount.as_ref();
    let name = mounted.map(|mount: &MountedFileSystem| mount.file_system.clone()).filter(|name| !name.is_empty());
    let on = backing(&environment.backing);
    match (name, on) {
        (Some(name), Some(on)) => Some(format!("on {name} {on}")),
        (Some(name), None) => Some(format!("on {name}")),
        (None, on) => on,
    }
}

fn backing(backing: &Backing) -> Option<String> {
    match backing {
        Backing::Unknown => None,
        Backing::Devices(devices) => devices_in_words(devices).map(|devices| format!("on {devices}")),
        Backing::Memory => Some("in memory".to_owned()),
        Backing::Remote { address } => Some(format!("from {address}")),
        Backing::Process => Some("served by a process (FUSE)".to_owned()),
        Backing::Zfs(dataset) => Some(format!("dataset {}", dataset.dataset)),
        Backing::Overlay { on, .. } => self::backing(on),
    }
}

/// `vda (virtio, 256 GiB)`: a block device that is itself the target.
fn device(environment: &TargetEnvironment) -> Option<String> {
    match &environment.backing {
        Backing::Devices(devices) => devices_in_words(devices),
        _ => None,
    }
}

fn devices_in_words(devices: &[BlockDevice]) -> Option<String> {
    match devices {
        [] => None,
        [device] => Some(device_in_words(device)),
        [first, ..] => {
            Some(format!("{} and {}", device_in_words(first), counted(devices.len() as u64 - 1, "other device")))
        }
    }
}

/// `vda (virtio, 256 GiB)`, `md0 (raid5 of 3 disks, nvme, 5.2 TiB)`
fn device_in_words(device: &BlockDevice) -> String {
    let disks = device.disks();
    let mut transports: Vec<String> =
        disks.iter().filter_map(|disk| disk.connection.transport.as_ref()).map(Transport::word).collect();
    transports.dedup();
    let kind = match (&device.kind, disks.len()) {
        (DeviceKind::Disk | DeviceKind::Partition { .. } | DeviceKind::Other, _) => None,
        (kind, 0 | 1) => Some(kind.word()),
        (kind, disks) => Some(format!("{} of {disks} disks", kind.word())),
    };
    let size = device.size_bytes.filter(|bytes| *bytes > 0).map(rounded);
    let properties: Vec<String> =
        [kind, Some(transports.join(" and ")).filter(|words| !words.is_empty()), size].into_iter().flatten().collect();
    if properties.is_empty() { device.name.clone() } else { format!("{} ({})", device.name, properties.join(", ")) }
}

/// A size with at most two decimals.
fn rounded(bytes: u64) -> String {
    let (number, unit) = Bytes(bytes).parts();
    format!("{number} {unit}")
}
