//! Names that stay with a device, whatever the kernel calls it today.

use super::disk_of;
use crate::block::{self, place};
use crate::root::Root;
use model::block_device::{DeviceKind, DeviceRow};

/// What a user may call the device, the best name first; none if nothing tells it from another.
pub(super) fn of(root: &Root, row: &DeviceRow, rows: &[DeviceRow]) -> Vec<String> {
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
        // They live as long as their name does, and are made for being written over.
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
