//! The storage stack from a mount or a device down to the disks.

use crate::block::{self, members, place};
use crate::mounts::{self, Mount};
use crate::root::Root;
use crate::syntax::{in_natural_order, unescape};
use crate::zpool;
use model::block_device::{BlockDevice, Connection, DeviceKind, DeviceNumber};
use model::environment::{Backing, MEMORY_FILE_SYSTEMS, MountedFileSystem, ZfsDataset, ZfsMember};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// The maximum depth of a stack. Deeper ones are cycles.
const DEPTH_MAX: usize = 24;
/// The maximum number of devices that one walk describes, with repetitions.
const DEVICES_MAX: usize = 4096;

/// File systems of other machines, and of the host of a virtual machine.
const REMOTE: [&str; 14] = [
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "ceph", "9p", "virtiofs", "vboxsf", "lustre", "afs", "orangefs", "beegfs",
    "gpfs",
];

/// A walk down one target's storage. It ends even if the descriptions contain cycles.
pub(crate) struct Walk<'a> {
    root: &'a Root,
    mounts: &'a [Mount],
    /// Names of the devices, and mount points, above the current one.
    above: Vec<PathBuf>,
    /// Number of devices that it may still describe.
    devices_left: usize,
}

impl Mount {
    /// Description for reports.
    pub(crate) fn describe(&self) -> MountedFileSystem {
        let options = |list: &str| list.split(',').filter(|word| !word.is_empty()).map(unescaped).collect();
        MountedFileSystem {
            file_system: self.file_system.clone(),
            source: self.source.clone(),
            directory: self.root.clone(),
            point: self.point.clone(),
            mount_options: options(&self.options),
            file_system_options: options(&self.super_options),
        }
    }
}

fn unescaped(text: &str) -> String {
    String::from_utf8_lossy(&unescape(text)).into_owned()
}

impl<'a> Walk<'a> {
    pub(crate) fn new(root: &'a Root, mounts: &'a [Mount]) -> Self {
        Self { root, mounts, above: Vec::new(), devices_left: DEVICES_MAX }
    }

    pub(crate) fn mounts(&self) -> &'a [Mount] {
        self.mounts
    }

    /// Goes one step down to `place`, unless that is above the current one or the maximum depth is reached.
    fn step<T>(&mut self, place: &Path, go: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.above.len() >= DEPTH_MAX || self.above.iter().any(|other| other == place) {
            return None;
        }
        self.above.push(place.to_owned());
        let found = go(self);
        self.above.pop();
        Some(found)
    }

    /// The device with this name, and all below it; `None` if it is not in /sys.
    pub(crate) fn device(&mut self, name: &str) -> Option<BlockDevice> {
        let directory = place::directory(self.root, name)?;
        self.devices_left = self.devices_left.checked_sub(1)?;
        self.step(&directory, |walk| walk.device_at(name, &directory))
    }

    fn device_at(&mut self, name: &str, directory: &Path) -> BlockDevice {
        let mut device = block::describe(self.root, name, directory);
        for member in members::list(self.root, name, &device.kind, directory) {
            if let Some(below) = self.device(&member.name) {
                device.below.push(BlockDevice { role: member.role, ..below });
            }
        }
        if let DeviceKind::Loop { file: Some(file), file_system, .. } = &mut device.kind {
            let file = Path::new(file);
            *file_system = self.file_system_of_path(file);
            let backing = self.backing_of_path(file);
            device.below.extend(backing.devices().into_iter().cloned());
        }
        if matches!(device.kind, DeviceKind::NvmeMultipath { .. }) {
            device.connection = common(&device.below);
            if let [only] = device.below.as_slice() {
                device.queue.interrupt_cpus.clone_from(&only.queue.interrupt_cpus);
            }
        }
        device
    }

    /// Storage below `path`, if it is visible from here.
    fn backing_of_path(&mut self, path: &Path) -> Backing {
        let Some(place) = self.root.real(path) else { return Backing::Unknown };
        match mounts::holding(self.mounts, &place) {
            Some(mount) => self.backing(mount),
            None => Backing::Unknown,
        }
    }

    /// The kind of the file system of `path`, if it is visible from here.
    fn file_system_of_path(&self, path: &Path) -> Option<String> {
        let mount = mounts::holding(self.mounts, &self.root.real(path)?)?;
        Some(mount.file_system.clone())
    }

    /// Storage below a mounted file system.
    pub(crate) fn backing(&mut self, mount: &Mount) -> Backing {
        // Not the mount point alone: one mount may hide another.
        let step = mount.point.join(format!("mount {}", mount.id));
        self.step(&step, |walk| walk.backing_in(mount)).unwrap_or_default()
    }

    fn backing_in(&mut self, mount: &Mount) -> Backing {
        match mount.file_system.as_str() {
            "zfs" => Backing::Zfs(self.zfs(&mount.source)),
            "overlay" => self.overlay(mount),
            "ecryptfs" => self.backing_of_path(Path::new(&mount.source)),
            "fuse" => Backing::Process,
            name if name.starts_with("fuse.") => Backing::Process,
            name if MEMORY_FILE_SYSTEMS.contains(&name) => Backing::Memory,
            name if REMOTE.contains(&name) => Backing::Remote { address: mount.source.clone() },
            _ => self.devices_of(mount),
        }
    }

    fn devices_of(&mut self, mount: &Mount) -> Backing {
        let names = device_names(self.root, mount);
        if names.is_empty() {
            return unseen_device(mount).map_or(Backing::Unknown, |device| Backing::Devices(vec![device]));
        }
        Backing::Devices(names.iter().filter_map(|name| self.device(name)).collect())
    }

    fn zfs(&mut self, dataset: &str) -> ZfsDataset {
        let pool = dataset.split(['/', '@']).next().unwrap_or_default();
        let mut members = zpool::members(self.root, pool);
        for member in members.iter_mut().flatten() {
            self.find_devices(member);
        }
        ZfsDataset {
            dataset: dataset.to_owned(),
            pool: pool.to_owned(),
            pool_state: zpool::state(self.root, pool),
            members,
        }
    }

    fn find_devices(&mut self, member: &mut ZfsMember) {
        if let Some(path) = &member.path {
            member.device = place::by_path(self.root, path).and_then(|name| self.device(&name));
        }
        for below in &mut member.members {
            self.find_devices(below);
        }
    }

    fn overlay(&mut self, mount: &Mount) -> Backing {
        let (upper, lower) = overlay_directories(&mount.super_options);
        // A relative name is useless: it is relative to the directory in which the mount command ran.
        let directory = upper.as_ref().or(lower.first()).filter(|path| path.is_absolute()).cloned();
        let file_system = directory.as_ref().and_then(|path| self.file_system_of_path(path));
        let on = directory.map_or(Backing::Unknown, |path| self.backing_of_path(&path));
        Backing::Overlay { upper, lower, file_system, on: Box::new(on) }
    }
}

/// Connection of a namespace: the properties that all its paths share.
fn common(paths: &[BlockDevice]) -> Connection {
    let mut connections = paths.iter().map(|path| path.connection.clone());
    let first = connections.next().unwrap_or_default();
    connections.fold(first, |common, other| Connection {
        transport: common.transport.filter(|transport| Some(transport) == other.transport.as_ref()),
        numa_node: common.numa_node.filter(|node| Some(*node) == other.numa_node),
        pcie: common.pcie.filter(|link| Some(link) == other.pcie.as_ref()),
    })
}

/// The devices that a file system is directly on; none if it is on no device or they are not in /sys.
pub(crate) fn device_names(root: &Root, mount: &Mount) -> Vec<String> {
    let named = |source: &str| source.starts_with("/dev/").then(|| place::by_path(root, Path::new(source)))?;
    let (major, minor) = mount.device;
    // Major 0 is that of file systems without a device, and of those with several.
    let single = (major != 0).then(|| place::by_number(root, DeviceNumber { major, minor })).flatten();
    match mount.file_system.as_str() {
        "bcachefs" => mount.source.split(':').filter_map(named).collect(),
        "btrfs" => {
            let one = named(&mount.source);
            let several = one.as_ref().and_then(|one| {
                btrfs_devices(root).into_iter().map(|(_, devices)| devices).find(|devices| devices.contains(one))
            });
            several.unwrap_or_else(|| one.into_iter().collect())
        }
        _ => single.or_else(|| named(&mount.source)).into_iter().collect(),
    }
}

/// Each mounted btrfs: its UUID and its devices.
pub(crate) fn btrfs_devices(root: &Root) -> Vec<(String, Vec<String>)> {
    let devices = |uuid: String| {
        let mut names: Vec<String> =
            root.names(format!("/sys/fs/btrfs/{uuid}/devices")).iter().map(|entry| entry.replace('!', "/")).collect();
        in_natural_order(&mut names);
        (!names.is_empty()).then_some((uuid, names))
    };
    root.names("/sys/fs/btrfs").into_iter().filter_map(devices).collect()
}

/// The device of a mount that is not in /sys, or without /sys: at least its name and number.
fn unseen_device(mount: &Mount) -> Option<BlockDevice> {
    let (major, minor) = mount.device;
    let number = (major != 0).then_some(DeviceNumber { major, minor });
    // The kernel's name for the first device, whichever it is.
    let named = mount.source.strip_prefix("/dev/").filter(|name| *name != "root").map(str::to_owned);
    let name = named.or_else(|| number.map(|_| format!("{major}:{minor}")))?;
    Some(BlockDevice { name, number, ..BlockDevice::default() })
}

/// The upper directory and the lower ones, from the options of an overlay.
fn overlay_directories(options: &str) -> (Option<PathBuf>, Vec<PathBuf>) {
    let path = |text: &str| PathBuf::from(OsString::from_vec(unescape(text)));
    let (mut upper, mut lower) = (None, Vec::new());
    for (key, value) in options.split(',').filter_map(|option| option.split_once('=')) {
        match key {
            "upperdir" => upper = Some(path(value)),
            "lowerdir" => lower.extend(value.split(':').filter(|part| !part.is_empty()).map(path)),
            "lowerdir+" => lower.push(path(value)),
            _ => {}
        }
    }
    (upper, lower)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_overlay_names_its_directories() {
        let options = r"rw,lowerdir=/a\040b:/c::/d,upperdir=/u\054v,workdir=/w";
        let lower = vec![PathBuf::from("/a b"), "/c".into(), "/d".into()];
        assert_eq!(overlay_directories(options), (Some("/u,v".into()), lower));
        let one_by_one = "ro,lowerdir+=/a,lowerdir+=/b:c";
        assert_eq!(overlay_directories(one_by_one), (None, vec!["/a".into(), "/b:c".into()]));
        assert_eq!(overlay_directories("rw,upperdir"), (None, vec![]));
    }

    proptest! {
        #[test]
        fn no_options_make_it_panic(text in "\\PC*", options in "((lowerdir|upperdir)(=|\\+=)[/:,\\\\0-7]{0,8},?){0,5}") {
            let _ = (overlay_directories(&text), overlay_directories(&options));
        }
    }
}
