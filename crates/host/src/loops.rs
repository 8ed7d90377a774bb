//! Loop devices and their backing.
//!
//! The driver is queried, since the name in `backing_file` may by now lead to another file, or to none: after a bind
//! mount, a rename or a deletion.

use crate::block::place;
use crate::root::Root;
use model::block_device::DeviceNumber;
use model::device_guard::{FileIdentity, LoopBacking};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// An attached loop device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attached {
    /// Like `loop0`.
    pub(crate) name: String,
    /// The name of its backing as in /sys, without the suffix that it was deleted.
    pub(crate) file: PathBuf,
    /// The driver's answer, or the reason why the driver could not be queried.
    pub(crate) backing: Result<LoopBacking, String>,
}

impl Attached {
    /// Identity of its backing file, if that is regular.
    pub(crate) fn file_identity(&self) -> Option<FileIdentity> {
        let backing = self.backing.as_ref().ok()?;
        backing.block_device.is_none().then_some(backing.file)
    }

    /// The block device below it.
    pub(crate) fn device(&self) -> Option<DeviceNumber> {
        let (major, minor) = sys::file::major_minor(self.backing.as_ref().ok()?.block_device?);
        Some(DeviceNumber { major, minor })
    }
}

/// All attached loop devices.
pub(crate) fn attached(root: &Root) -> Vec<Attached> {
    root.numbered("/sys/block", "loop").into_iter().filter_map(|number| one(root, &format!("loop{number}"))).collect()
}

/// The file below the loop device at `path`, by the name under which it was attached.
pub fn loop_file(root: &Root, path: &Path) -> Option<PathBuf> {
    let metadata = fs::metadata(path).ok().filter(|metadata| metadata.file_type().is_block_device())?;
    let (major, minor) = sys::file::major_minor(metadata.rdev());
    let name = place::by_number(root, DeviceNumber { major, minor })?;
    one(root, &name).map(|device| device.file)
}

/// The one with this name, if it is attached.
pub(crate) fn one(root: &Root, name: &str) -> Option<Attached> {
    let path = root.bytes(format!("/sys/block/{name}/loop/backing_file"))?;
    let backing = match ask(root, name) {
        Err(error) if error.raw_os_error() == Some(ENXIO) => return None,
        answer => answer.map_err(|error| error.to_string()),
    };
    let path = path.strip_suffix(b"\n").unwrap_or(&path);
    let path = path.strip_suffix(b" (deleted)").unwrap_or(path);
    Some(Attached { name: name.to_owned(), file: std::ffi::OsString::from_vec(path.to_vec()).into(), backing })
}

/// Error of a loop device that was detached meanwhile.
const ENXIO: i32 = 6;

fn ask(root: &Root, name: &str) -> io::Result<LoopBacking> {
    let node = root.path(Path::new("/dev").join(name));
    let number = place::directory(root, name).and_then(|directory| place::number(root, &directory));
    let is_it = |metadata: &fs::Metadata| {
        let (major, minor) = sys::file::major_minor(metadata.rdev());
        metadata.file_type().is_block_device() && number.is_none_or(|number| number == DeviceNumber { major, minor })
    };
    // Checked before it is opened, as opening another kind of device may have side effects.
    if !is_it(&fs::metadata(&node)?) {
        return Err(io::Error::other(format!("/dev/{name} refers to a different device")));
    }
    let file = sys::file::open_to_look(&node)?;
    if !is_it(&file.metadata()?) {
        return Err(io::Error::other(format!("/dev/{name} refers to a different device")));
    }
    let status = sys::block::loop_status(&file)?;
    Ok(LoopBacking {
        file: FileIdentity { device: status.device, inode: status.inode },
        block_device: (status.rdevice != 0).then_some(status.rdevice),
        offset_bytes: status.offset_bytes,
        size_limit_bytes: status.size_limit_bytes,
    })
}

/// The common reason why several loop devices cannot be queried, as a phrase; `None` if there are none.
pub(crate) fn unasked<'a>(devices: impl IntoIterator<Item = &'a Attached>) -> Option<String> {
    let mut reasons = devices.into_iter().filter_map(|device| Some((&device.name, device.backing.as_ref().err()?)));
    let (name, reason) = reasons.next()?;
    let others = match reasons.count() {
        0 => String::new(),
        count => format!(" and {count} other loop devices"),
    };
    Some(format!("/dev/{name}{others}, whose backing file cannot be determined: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_device_without_a_node_is_attached_and_cannot_be_asked() {
        let machine = tempfile::tempdir().expect("a folder");
        let root = Root::recorded(machine.path());
        assert_eq!((attached(&root), unasked(&attached(&root))), (Vec::new(), None));
        for (number, text) in [(3, "/srv/a b.img\n"), (4, "/srv/gone.img (deleted)\n")] {
            let folder = machine.path().join(format!("sys/block/loop{number}/loop"));
            fs::create_dir_all(&folder).expect("made");
            fs::write(folder.join("backing_file"), text).expect("written");
        }
        fs::create_dir_all(machine.path().join("sys/block/loop5")).expect("made");
        let found = attached(&root);
        let files: Vec<&Path> = found.iter().map(|device| device.file.as_path()).collect();
        assert_eq!(files, [Path::new("/srv/a b.img"), Path::new("/srv/gone.img")]);
        assert!(found.iter().all(|device| device.file_identity().is_none()));
        let phrase = unasked(&found).expect("two of them");
        assert!(phrase.starts_with("/dev/loop3 and 1 other loop devices, whose backing"), "{phrase}");
        fs::create_dir_all(machine.path().join("dev")).expect("made");
        fs::write(machine.path().join("dev/loop3"), "").expect("written");
        let reason = attached(&root)[0].backing.clone().expect_err("no device");
        assert_eq!(reason, "/dev/loop3 refers to a different device");
    }

    #[test]
    fn what_it_stands_on_is_a_file_or_a_device() {
        let file = FileIdentity { device: 8, inode: 9 };
        let backing = LoopBacking { file, ..LoopBacking::default() };
        let over = |backing| Attached { name: "loop0".to_owned(), file: PathBuf::new(), backing: Ok(backing) };
        assert_eq!((over(backing).file_identity(), over(backing).device()), (Some(file), None));
        let on_device = over(LoopBacking { block_device: Some(0x701), ..backing });
        let number = DeviceNumber { major: 7, minor: 1 };
        assert_eq!((on_device.file_identity(), on_device.device()), (None, Some(number)));
    }
}
