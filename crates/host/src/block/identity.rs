//! Identity of the hardware of a block device.

use crate::root::Root;
use model::block_device::Identity;
use std::path::Path;

/// Bytes before the serial number in the VPD page of a SCSI device.
const PAGE_HEADER_BYTES: usize = 4;
/// The number of that page.
const SERIAL_PAGE: u8 = 0x80;

/// Identity from the device at `directory` and the driver's device behind it.
pub(crate) fn read(root: &Root, directory: &Path) -> Identity {
    let word = |files: &[&str]| files.iter().find_map(|file| text(root, &directory.join(file)));
    Identity {
        // PCI and virtio devices have an ID there.
        vendor: word(&["device/vendor"]).filter(|vendor| !vendor.starts_with("0x")),
        // Memory cards have a name.
        model: word(&["device/model", "device/name"]),
        // virtio disks have it in their own directory.
        serial: word(&["device/serial", "serial"]).or_else(|| scsi_serial(root, directory)),
        firmware: word(&["device/firmware_rev", "device/rev"]),
        wwid: word(&["wwid", "device/wwid"]),
    }
}

/// A word whose inner blanks, with which SCSI pads fields, are collapsed.
fn text(root: &Root, file: &Path) -> Option<String> {
    let word = root.word(file)?;
    Some(word.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn scsi_serial(root: &Root, directory: &Path) -> Option<String> {
    let page = root.bytes(directory.join("device/vpd_pg80"))?;
    let header = page.get(..PAGE_HEADER_BYTES)?;
    let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let serial = page.get(PAGE_HEADER_BYTES..PAGE_HEADER_BYTES.checked_add(length)?)?;
    let is_text = header[1] == SERIAL_PAGE && serial.iter().all(|byte| (0x20..0x7f).contains(byte));
    let serial = std::str::from_utf8(serial).ok()?.trim();
    (is_text && !serial.is_empty()).then(|| serial.to_owned())
}
