//! Which devices a target's I/O passes, where that is plain.

use super::Case;
use model::block_device::{BlockDevice, DeviceKind};
use model::environment::Backing;
use std::path::Path;

/// File systems whose reads and writes past the cache are those of the device, byte by byte: no
/// compression, no copies, no checksums that are stored elsewhere.
const PLAIN: [&str; 5] = ["ext2", "ext3", "ext4", "xfs", "vfat"];

/// The device that a target stands on and those below it, each the only one of the device above;
/// `None` where more than one disk, or a layer that keeps or changes data, is in the way.
pub(super) fn chain<'a>(case: &Case<'a>, path: &Path) -> Option<Vec<&'a BlockDevice>> {
    let environment = case.result.target_environments.get(path)?;
    if environment.mount.as_ref().is_some_and(|mount| !PLAIN.contains(&mount.file_system.as_str())) {
        return None;
    }
    let Backing::Devices(devices) = &environment.backing else { return None };
    let [top] = devices.as_slice() else { return None };
    let mut chain = vec![top];
    let mut device = top;
    while !matches!(device.kind, DeviceKind::Disk) {
        let passes_on = matches!(device.kind, DeviceKind::Partition { .. } | DeviceKind::Loop { .. });
        let [below] = device.below.as_slice() else { return None };
        if !passes_on {
            return None;
        }
        chain.push(below);
        device = below;
    }
    Some(chain)
}
