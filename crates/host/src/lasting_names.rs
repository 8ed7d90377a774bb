//! Names that a file or block device keeps for as long as it exists, whatever its path.

use crate::block::place;
use crate::devices;
use crate::guard;
use crate::root::Root;
use model::block_device::{DeviceKind, DeviceNumber, DeviceRow};
use std::fs::File;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};

/// The lasting names of an open file or block device, the best first; none if nothing distinguishes it from others.
///
/// Of a file: inode number and birth time. Of a device: WWN or UUID, serial number, or the file below a loop device,
/// with its size; of a partition, those of its disk with number and first sector.
pub fn lasting_names(root: &Root, file: &File) -> Vec<String> {
    let Ok(metadata) = file.metadata() else { return Vec::new() };
    if !metadata.file_type().is_block_device() {
        return sys::file_identity::certain_identity(file).ok().flatten().into_iter().collect();
    }
    let (major, minor) = sys::file::major_minor(metadata.rdev());
    let Some(name) = place::by_number(root, DeviceNumber { major, minor }) else { return Vec::new() };
    let rows = devices::devices(root);
    let Some(row) = rows.iter().find(|row| row.name == name) else { return Vec::new() };
    let Some(size_bytes) = row.size_bytes else { return Vec::new() };
    of_device(root, row, &rows).into_iter().map(|name| format!("{name}, {size_bytes} bytes")).collect()
}

fn of_device(root: &Root, row: &DeviceRow, rows: &[DeviceRow]) -> Vec<String> {
    let number = |file: &str| place::directory(root, &row.name).and_then(|directory| root.number(directory.join(file)));
    match &row.kind {
        DeviceKind::Partition { number: Some(part) } => {
            let disk = guard::disk_of(root, row).and_then(|name| rows.iter().find(|row| row.name == name));
            let names = disk.map(|disk| of_device(root, disk, rows)).unwrap_or_default();
            let start = number("start").unwrap_or(0);
            names.into_iter().map(|disk| format!("{disk}, partition {part} at sector {start}")).collect()
        }
        DeviceKind::Loop { file: Some(path), .. } => {
            let below = sys::file::open_to_look(path.as_ref())
                .ok()
                .filter(|file| file.metadata().is_ok_and(|metadata| metadata.is_file()));
            let identity = below.and_then(|file| sys::file_identity::certain_identity(&file).ok().flatten());
            let offset = number("loop/offset").unwrap_or(0);
            vec![format!("loop device over {}, offset {offset}", identity.as_ref().unwrap_or(path))]
        }
        _ => guard::identities(root, row, rows),
    }
}
