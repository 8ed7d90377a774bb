//! The block device named by a user.

use crate::block::place;
use crate::root::Root;
use crate::{mounts, resolve, storage};
use std::path::{Path, PathBuf};

/// Result of the search for a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamedDevice {
    /// A block device, by the kernel's name.
    Device(String),
    /// Something else: a file, a directory, another kind of node.
    NoDevice {
        /// The devices of its file system, as far as the kernel reports them.
        stands_on: Vec<String>,
    },
    /// Nothing exists there.
    Missing,
}

/// Finds the device named by `word`: by the kernel's name, or by a path to its node, also through links such as those
/// of /dev/disk and /dev/mapper.
pub fn named_device(root: &Root, word: &Path) -> NamedDevice {
    let name = word.to_str().filter(|name| place::directory(root, name).is_some());
    if let Some(name) = name {
        return NamedDevice::Device(name.to_owned());
    }
    let path: PathBuf = resolve::on_machine(root, word);
    if let Some(name) = place::by_path(root, &path) {
        return NamedDevice::Device(name);
    }
    if !root.exists(&path) {
        return NamedDevice::Missing;
    }
    let mounts = mounts::read(root);
    let mount = mounts::holding(&mounts, &path);
    NamedDevice::NoDevice { stands_on: mount.map(|mount| storage::device_names(root, mount)).unwrap_or_default() }
}

/// The disks at the bottom of a device, itself if it is one.
pub fn disks_below(root: &Root, name: &str) -> Vec<String> {
    let mounts = mounts::read(root);
    let device = storage::Walk::new(root, &mounts).device(name);
    device.iter().flat_map(|device| device.disks()).map(|disk| disk.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn names_and_paths_and_links_lead_to_devices() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |path: &str| folder.path().join(path);
        for directory in
            ["sys/class/block/sda/device", "sys/class/block/dm-0/dm", "dev/disk/by-id", "home", "proc/self"]
        {
            fs::create_dir_all(at(directory)).expect("a folder");
        }
        fs::write(at("sys/class/block/dm-0/dm/name"), "vg-data\n").expect("written");
        fs::write(at("sys/class/block/sda/dev"), "8:0\n").expect("written");
        fs::write(at("proc/self/mountinfo"), "1 0 8:0 / / rw - ext4 /dev/sda rw\n").expect("written");
        symlink("../../sda", at("dev/disk/by-id/ata-DISK")).expect("a link");
        let root = Root::recorded(folder.path());
        let named = |word: &str| named_device(&root, Path::new(word));
        let device = |name: &str| NamedDevice::Device(name.to_owned());
        assert_eq!(named("sda"), device("sda"));
        assert_eq!(named("/dev/sda"), device("sda"));
        assert_eq!(named("/dev/disk/by-id/ata-DISK"), device("sda"));
        assert_eq!(named("/dev/mapper/vg-data"), device("dm-0"));
        assert_eq!(disks_below(&root, "sda"), ["sda"]);
        assert_eq!(named("/home"), NamedDevice::NoDevice { stands_on: vec!["sda".to_owned()] });
        for word in ["sdz", "/dev/sdz", "/nowhere", "", ".", "../sda"] {
            assert!(!matches!(named(word), NamedDevice::Device(_)), "{word}");
        }
    }
}
