//! One block device, from /sys.

mod connection;
mod identity;
mod interrupts;
pub(crate) mod kind;
pub(crate) mod members;
pub(crate) mod place;
pub(crate) mod queue;

use crate::root::Root;
use model::block_device::{BlockDevice, Connection, DeviceKind, Identity};
use std::path::Path;

/// The unit of sizes in /sys, whatever the sector size of the device.
const SECTOR_BYTES: u64 = 512;

/// The device at `directory`, a real one, without those below it.
pub(crate) fn describe(root: &Root, name: &str, directory: &Path) -> BlockDevice {
    let at = |file: &str| directory.join(file);
    let kind = kind::detect(root, name, directory);
    let is_hardware = matches!(
        kind,
        DeviceKind::Disk | DeviceKind::NvmeMultipath { .. } | DeviceKind::NvmePath { .. } | DeviceKind::Optical
    );
    BlockDevice {
        name: name.to_owned(),
        number: place::number(root, directory),
        role: None,
        size_bytes: root.number(at("size")).and_then(|sectors| sectors.checked_mul(SECTOR_BYTES)),
        removable: root.switch(at("removable")),
        read_only: root.switch(at("ro")),
        identity: if is_hardware { identity::read(root, directory) } else { Identity::default() },
        queue: queue::read(root, directory),
        connection: if is_hardware { connection::read(root, name, directory) } else { Connection::default() },
        kind,
        below: Vec::new(),
    }
}
