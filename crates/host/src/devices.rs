//! The table of block devices.

use crate::block::{self, members, place};
use crate::mounts::{self, Mount};
use crate::root::Root;
use crate::syntax::unescape;
use crate::{storage, zpool};
use model::block_device::{BlockDevice, DeviceKind, DeviceRow, DeviceUse};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// All block devices, by name, partitions after their disk. Free loop devices and drives without a medium are included:
/// their size is 0.
pub fn devices(root: &Root) -> Vec<DeviceRow> {
    let mounted = mounted(root, &mounts::read(root));
    let used = used(root);
    let row = |name: String| {
        let directory = place::directory(root, &name)?;
        let device = block::describe(root, &name, &directory);
        let mut used_by = used_as_part(root, &directory, &device);
        used_by.extend(used.get(&name).cloned().unwrap_or_default());
        used_by.sort_unstable();
        used_by.dedup();
        let disk_queue = match device.kind {
            DeviceKind::Partition { .. } => block::queue::read(root, directory.parent()?),
            _ => device.queue.clone(),
        };
        Some(DeviceRow {
            number: device.number,
            size_bytes: device.size_bytes,
            model: model(&device),
            identity: identity(root, &directory, &device),
            transport: device.connection.transport.clone(),
            rotational: disk_queue.rotational,
            scheduler: disk_queue.scheduler,
            mounted: mounted.get(&name).cloned().unwrap_or_default(),
            used_by,
            kind: device.kind,
            name,
        })
    };
    place::all(root).into_iter().filter_map(row).collect()
}

fn model(device: &BlockDevice) -> Option<String> {
    // Disks behind a SATA adapter have "ATA" there, which is no vendor.
    let vendor = device.identity.vendor.as_deref().filter(|vendor| *vendor != "ATA");
    match (vendor, device.identity.model.as_deref()) {
        (Some(vendor), Some(model)) => Some(format!("{vendor} {model}")),
        (vendor, model) => vendor.or(model).map(str::to_owned),
    }
}

fn identity(root: &Root, directory: &Path, device: &BlockDevice) -> Option<String> {
    let made = match &device.kind {
        DeviceKind::Mapper { name, uuid, .. } => name.clone().or_else(|| uuid.clone()),
        DeviceKind::Raid(_) => root.word(directory.join("md/uuid")),
        DeviceKind::Loop { file, .. } => file.clone(),
        _ => None,
    };
    made.or_else(|| device.identity.wwid.clone()).or_else(|| device.identity.serial.clone())
}

/// The mount points of each device. The members of a file system on several devices have those of the file system.
fn mounted(root: &Root, mounts: &[Mount]) -> BTreeMap<String, Vec<PathBuf>> {
    let mut places: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for mount in mounts {
        for name in storage::device_names(root, mount) {
            let points = places.entry(name).or_default();
            if !points.contains(&mount.point) {
                points.push(mount.point.clone());
            }
        }
    }
    places
}

/// Uses that are not listed at the device.
fn used(root: &Root) -> BTreeMap<String, Vec<DeviceUse>> {
    let mut uses: BTreeMap<String, Vec<DeviceUse>> = BTreeMap::new();
    for path in swaps(&root.text("/proc/swaps").unwrap_or_default()) {
        if let Some(name) = place::by_path(root, &path) {
            uses.entry(name).or_default().push(DeviceUse::Swap);
        }
    }
    for (pool, paths) in zpool::all(root) {
        for name in paths.iter().filter_map(|path| place::by_path(root, path)) {
            uses.entry(name).or_default().push(DeviceUse::ZfsPool { pool: pool.clone() });
        }
    }
    for (uuid, names) in storage::btrfs_devices(root) {
        for name in names {
            uses.entry(name).or_default().push(DeviceUse::Btrfs { uuid: uuid.clone() });
        }
    }
    uses
}

/// Devices and files with active swap, from /proc/swaps, whose first line is a heading.
fn swaps(text: &str) -> Vec<PathBuf> {
    let names = text.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    names.map(|name| PathBuf::from(OsString::from_vec(unescape(name)))).collect()
}

/// Devices of which this one is a part.
fn used_as_part(root: &Root, directory: &Path, device: &BlockDevice) -> Vec<DeviceUse> {
    let mut above = members::holders(root, directory);
    above.extend(members::nvme_head_of_path(&device.name));
    let part_of = |name: String| {
        let kind = place::directory(root, &name).map(|place| block::kind::detect(root, &name, &place).word());
        DeviceUse::Device { kind: kind.unwrap_or_else(|| DeviceKind::Other.word()), name }
    };
    let mut uses: Vec<DeviceUse> = above.into_iter().map(part_of).collect();
    uses.extend(members::bcache_set(root, directory).map(|uuid| DeviceUse::BcacheSet { uuid }));
    uses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swap_is_listed_under_a_heading_with_names_escaped() {
        let text = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
                    /dev/sda2                               partition\t8388604\t\t0\t\t-2\n\
                    /swap\\040file                          file\t\t1024\t\t0\t\t-3\n";
        assert_eq!(swaps(text), [Path::new("/dev/sda2"), Path::new("/swap file")]);
        assert!(swaps("").is_empty());
    }
}
