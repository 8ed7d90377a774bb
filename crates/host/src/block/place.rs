//! Directory of a block device in /sys, by its name, its number or its node.

use crate::resolve;
use crate::root::Root;
use crate::syntax::{device_number, in_natural_order};
use model::block_device::DeviceNumber;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

const CLASS: &str = "/sys/class/block";

/// The name of a device in /sys, where `!` replaces each slash.
fn entry(name: &str) -> Option<String> {
    let entry = name.replace('/', "!");
    let is_plain = Path::new(&entry).components().eq([Component::Normal(entry.as_ref())]);
    is_plain.then_some(entry)
}

/// The name of the device that `directory` describes.
pub(crate) fn name(directory: &Path) -> Option<String> {
    Some(directory.file_name()?.to_str()?.replace('!', "/"))
}

/// The directory, without symbolic links, of the device with this name.
pub(crate) fn directory(root: &Root, name: &str) -> Option<PathBuf> {
    root.real(Path::new(CLASS).join(entry(name)?))
}

/// The names of all block devices.
pub(crate) fn all(root: &Root) -> Vec<String> {
    let mut names: Vec<String> = root.names(CLASS).iter().map(|entry| entry.replace('!', "/")).collect();
    in_natural_order(&mut names);
    names
}

/// The number of the device that `directory` describes; devices without a node have none.
pub(crate) fn number(root: &Root, directory: &Path) -> Option<DeviceNumber> {
    device_number(&root.word(directory.join("dev"))?)
}

/// The name of the device with this number.
pub(crate) fn by_number(root: &Root, number: DeviceNumber) -> Option<String> {
    let linked = root.real(format!("/sys/dev/block/{}:{}", number.major, number.minor));
    linked.as_deref().and_then(name).or_else(|| {
        let has_number =
            |name: &String| directory(root, name).and_then(|directory| self::number(root, &directory)) == Some(number);
        all(root).into_iter().find(has_number)
    })
}

/// The node of the disk of a partition, absolute on the machine; `None` if it is no partition.
pub fn disk_of_partition(root: &Root, device: u64) -> Option<PathBuf> {
    let (major, minor) = sys::file::major_minor(device);
    let directory = root.real(format!("/sys/dev/block/{major}:{minor}"))?;
    let disk = directory.parent().filter(|_| root.exists(directory.join("partition")))?;
    Some(Path::new("/dev").join(name(disk)?))
}

/// The name of the device whose node is at `path`, absolute on the machine.
///
/// In a container the node may be missing although the device is in /sys; then its usual name is used.
pub(crate) fn by_path(root: &Root, path: &Path) -> Option<String> {
    let place = resolve::on_machine(root, path);
    if let Ok(metadata) = fs::metadata(root.path(&place)) {
        let (major, minor) = sys::file::major_minor(metadata.rdev());
        let is_node = metadata.file_type().is_block_device();
        return is_node.then(|| by_number(root, DeviceNumber { major, minor }))?;
    }
    let name = place.strip_prefix("/dev").ok()?.to_str()?;
    match name.strip_prefix("mapper/") {
        Some(mapped) => by_mapped_name(root, mapped),
        None => directory(root, name).map(|_| name.to_owned()),
    }
}

fn by_mapped_name(root: &Root, mapped: &str) -> Option<String> {
    let is_it = |name: &String| {
        let directory = directory(root, name).map(|directory| directory.join("dm/name"));
        directory.and_then(|file| root.word(file)).as_deref() == Some(mapped)
    };
    all(root).into_iter().filter(|name| name.starts_with("dm-")).find(is_it)
}
