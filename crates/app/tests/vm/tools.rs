//! Tools that set up devices, and their removal.

use std::path::Path;
use testkit::{Finished, Workplace, tool};

/// Runs a line in a shell; skips the test if its tool is missing, fails it if the tool does.
pub(crate) fn run(place: &Workplace, line: &str) -> Result<Finished, String> {
    tool(line.split_whitespace().next().unwrap_or_default())?;
    // There is no udev in this machine to wait for.
    let run = place.tool("sh").env("DM_DISABLE_UDEV", "1").arg("-c").arg(line).run();
    run.expect_status(0);
    Ok(run)
}

/// A device set up by one line, and removed by another when this is dropped.
pub(crate) struct DeviceSetup<'a> {
    place: &'a Workplace,
    undo: String,
}

impl<'a> DeviceSetup<'a> {
    pub(crate) fn by(place: &'a Workplace, line: &str, undo: &str) -> Result<Self, String> {
        run(place, line)?;
        Ok(Self { place, undo: undo.to_owned() })
    }

    /// The contents of a device, mounted read-only.
    pub(crate) fn mounted(place: &'a Workplace, device: &Path) -> Result<Self, String> {
        let point = place.path("mounted");
        std::fs::create_dir_all(&point).expect("a folder");
        let (device, point) = (device.display(), point.display());
        Self::by(place, &format!("mount -o ro,noload {device} {point}"), &format!("umount --lazy {point}"))
    }
}

impl Drop for DeviceSetup<'_> {
    fn drop(&mut self) {
        let undone = self.place.tool("sh").env("DM_DISABLE_UDEV", "1").arg("-c").arg(&self.undo).run();
        let is_undone = undone.code() == Some(0);
        assert!(is_undone || std::thread::panicking(), "the machine is not as it was: {undone}");
    }
}

/// A driver loaded with options other than those at boot.
pub(crate) struct Driver<'a> {
    _made: DeviceSetup<'a>,
}

impl<'a> Driver<'a> {
    /// `module` with this option. The driver of `NVMe` disks is already present, and is reloaded.
    pub(crate) fn with(place: &'a Workplace, module: &str, option: &str) -> Result<Self, String> {
        let unload = "unload nvmet_tcp nvme_tcp nvme_fabrics nvmet nvme nvme_core";
        let (load, restore) = if module.starts_with("nvme") {
            (format!("{unload} && load-nvme {module} {option}"), format!("{unload} && load-nvme"))
        } else {
            (format!("modprobe {module} {option}"), format!("unload {module}"))
        };
        Ok(Self { _made: DeviceSetup::by(place, &load, &restore)? })
    }
}

/// An ext4 on a device.
pub(crate) fn ext4(place: &Workplace, device: &Path) -> Result<(), String> {
    run(place, &format!("mkfs.ext4 -q -F -m0 {}", device.display())).map(drop)
}
