//! Facts about one device by itself: its names, its disk, its claim, and its state in the device mapper.

use crate::block::{self, place};
use crate::root::Root;
use model::block_device::{DeviceKind, DeviceRow};
use model::device_guard::Claim;
use std::io;
use std::path::{Path, PathBuf};
use sys::device_mapper::MappedDevice;

/// Kinds of device-mapper targets whose blocks are shared with others.
const SHARING: [&str; 6] = ["thin", "thin-pool", "snapshot", "snapshot-origin", "snapshot-merge", "era"];

/// Identities for users, the best first; none if nothing distinguishes the device from others.
pub(crate) fn identities(root: &Root, row: &DeviceRow, rows: &[DeviceRow]) -> Vec<String> {
    if let DeviceKind::Partition { number } = row.kind {
        let disk = disk_of(root, row).and_then(|name| rows.iter().find(|row| row.name == name));
        let (Some(number), Some(disk)) = (number, disk) else { return Vec::new() };
        return whole(root, disk).into_iter().map(|disk| format!("{disk}-part{number}")).collect();
    }
    whole(root, row)
}

fn whole(root: &Root, row: &DeviceRow) -> Vec<String> {
    let Some(directory) = place::directory(root, &row.name) else { return Vec::new() };
    let at = |file: &str| root.word(directory.join(file));
    match &row.kind {
        DeviceKind::Mapper { name, uuid, .. } => uuid.iter().chain(name).cloned().collect(),
        DeviceKind::Raid(_) => at("md/uuid").into_iter().collect(),
        DeviceKind::Loop { file, .. } => file.iter().cloned().collect(),
        // They exist as long as their name does, and are meant to be overwritten.
        DeviceKind::Zram { .. } | DeviceKind::Ram => vec![row.name.clone()],
        DeviceKind::Other if row.name.starts_with("nullb") => vec![row.name.clone()],
        _ => {
            let identity = block::describe(root, &row.name, &directory).identity;
            let serial = identity.serial.map(|serial| match at("nsid") {
                Some(namespace) => format!("{serial}-n{namespace}"),
                None => serial,
            });
            let plain = |name: String| name.replace([' ', '-'], "");
            let is_number = |name: &String| name.bytes().any(|byte| !matches!(byte, b'0' | b'-'));
            let others = ["nguid", "eui"].into_iter().filter_map(at).map(plain).filter(is_number);
            identity.wwid.into_iter().chain(others).chain(serial).collect()
        }
    }
}

/// The device mapper's description of the device, if it is one of its own.
pub(super) fn mapped(row: &DeviceRow) -> Option<io::Result<MappedDevice>> {
    let number = row.number.filter(|_| matches!(row.kind, DeviceKind::Mapper { .. }))?;
    Some(sys::device_mapper::describe(number.major, number.minor))
}

/// Path of the device's node.
pub(super) fn node(row: &DeviceRow) -> PathBuf {
    let usual = Path::new("/dev").join(&row.name);
    match &row.kind {
        DeviceKind::Mapper { name: Some(name), .. } if !usual.exists() => Path::new("/dev/mapper").join(name),
        _ => usual,
    }
}

pub(super) fn claim(path: &Path) -> Claim {
    match sys::block::claim(path) {
        Ok(_) => Claim::Granted,
        Err(error) if error.kind() == io::ErrorKind::ResourceBusy => Claim::Busy,
        Err(error) => Claim::Failed { reason: error.to_string() },
    }
}

pub(super) fn disk_sequence(path: &Path) -> Option<u64> {
    sys::file::open_to_look(path).and_then(|file| sys::block::disk_sequence(&file)).ok()
}

pub(super) fn shares_blocks(answer: &io::Result<MappedDevice>) -> Option<String> {
    match answer {
        Ok(mapped) => {
            let kind = mapped.targets.iter().find(|kind| SHARING.contains(&kind.as_str()))?;
            Some(format!("is a thin volume, a snapshot or a snapshot origin (device-mapper target {kind})"))
        }
        Err(error) => Some(format!("may be a snapshot: the device mapper cannot be queried: {error}")),
    }
}

/// The disk of a partition.
pub(crate) fn disk_of(root: &Root, row: &DeviceRow) -> Option<String> {
    let DeviceKind::Partition { .. } = row.kind else { return None };
    place::name(place::directory(root, &row.name)?.parent()?)
}
