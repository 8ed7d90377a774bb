//! Files and devices that the kernel itself exports: `NVMe` and SCSI targets, USB storage.
//!
//! These drivers open their backing without a claim, and no process has a descriptor of it.

use crate::root::Root;
use std::path::{Path, PathBuf};

const CONFIG: &str = "/sys/kernel/config";

/// An exported file or device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Export {
    /// The path by which it was opened.
    pub(crate) path: PathBuf,
    /// The exporter: "the USB gadget g1".
    pub(crate) phrase: String,
}

/// All configured exports, as far as configfs is mounted and readable.
pub(crate) fn all(root: &Root) -> Vec<Export> {
    let mut exports = Vec::new();
    let mut add = |path: Option<String>, phrase: String| {
        if let Some(path) = path.filter(|path| path.starts_with('/')) {
            exports.push(Export { path: path.into(), phrase });
        }
    };
    let config = Path::new(CONFIG);
    let subsystems = config.join("nvmet/subsystems");
    for subsystem in root.names(&subsystems) {
        let namespaces = subsystems.join(&subsystem).join("namespaces");
        for namespace in root.names(&namespaces) {
            let at = namespaces.join(namespace);
            if root.switch(at.join("enable")) != Some(false) {
                add(root.word(at.join("device_path")), format!("the NVMe target of subsystem {subsystem}"));
            }
        }
    }
    let core = config.join("target/core");
    for adapter in root.names(&core) {
        for name in root.names(core.join(&adapter)) {
            let at = core.join(&adapter).join(&name);
            let phrase = format!("the SCSI target's storage object {name}");
            let named = root.text(at.join("info")).and_then(|info| named_in(&info));
            add(named.or_else(|| root.word(at.join("udev_path"))), phrase);
        }
    }
    let gadgets = config.join("usb_gadget");
    for gadget in root.names(&gadgets) {
        let functions = gadgets.join(&gadget).join("functions");
        for function in root.names(&functions) {
            for unit in root.names(functions.join(&function)) {
                let file = functions.join(&function).join(unit).join("file");
                add(root.word(file), format!("the USB gadget {gadget}"));
            }
        }
    }
    exports
}

/// The file in the description of a storage object: `... File: /a.img  Size: ...`.
fn named_in(info: &str) -> Option<String> {
    let (_, file) = info.split_once("File: ")?;
    let file = file.lines().next()?;
    Some(file.split_once("  Size: ").map_or(file, |(file, _)| file).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn targets_and_gadgets_tell_what_they_serve() {
        let machine = tempfile::tempdir().expect("a folder");
        let write = |path: &str, content: &str| {
            let path = machine.path().join("sys/kernel/config").join(path);
            fs::create_dir_all(path.parent().expect("has a folder")).expect("made");
            fs::write(path, content).expect("written");
        };
        write("nvmet/subsystems/nqn.a/namespaces/1/device_path", "/dev/sdb\n");
        write("nvmet/subsystems/nqn.a/namespaces/1/enable", "1\n");
        write("nvmet/subsystems/nqn.a/namespaces/2/device_path", "/dev/sdc\n");
        write("nvmet/subsystems/nqn.a/namespaces/2/enable", "0\n");
        let info =
            "Status: ACTIVATED  Max Queue Depth: 0\n        TCM FILEIO ID: 0        File: /srv/a b.img  Size: 1024";
        write("target/core/fileio_0/disk0/info", info);
        write("target/core/iblock_0/disk1/udev_path", "/dev/sdd\n");
        write("target/core/alua/lu_gps/x", "");
        write("usb_gadget/g1/functions/mass_storage.0/lun.0/file", "/srv/stick.img\n");
        write("usb_gadget/g1/functions/mass_storage.0/lun.1/file", "\n");
        let export = |path: &str, phrase: &str| Export { path: path.into(), phrase: phrase.to_owned() };
        assert_eq!(
            all(&Root::recorded(machine.path())),
            [
                export("/dev/sdb", "the NVMe target of subsystem nqn.a"),
                export("/srv/a b.img", "the SCSI target's storage object disk0"),
                export("/dev/sdd", "the SCSI target's storage object disk1"),
                export("/srv/stick.img", "the USB gadget g1"),
            ]
        );
    }
}
