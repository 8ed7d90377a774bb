//! Block devices that a run writes to, kept for itself from before the first write to its end, with those
//! that they stand on through loop devices.

use host::Root;
use model::device_guard::{DeviceBelow, FileIdentity, LoopBacking};
use model::plan::{Expected, Plan};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long another holder of the lock on a disk, such as udev that probes it, gets to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// The guard descriptors of a run.
#[derive(Debug, Default)]
pub(crate) struct DeviceGuards {
    /// Of devices that are written to, by device number.
    written: BTreeMap<u64, Guard>,
    /// Of those below, by device number. A loop device that is open cannot be detached.
    below: BTreeMap<u64, File>,
}

/// While it exists, the kernel grants exclusive use to no other process and udev ignores the disk.
#[derive(Debug)]
struct Guard {
    claim: File,
    /// `None` if the claimed descriptor itself is locked.
    _locked_disk: Option<File>,
}

impl DeviceGuards {
    /// Claims every device that the plan writes to, and its backing devices; nothing has been written when
    /// it fails.
    pub(crate) fn take(plan: &Plan, root: &Root) -> Result<Self, String> {
        let mut guards = Self::default();
        for target in plan.time_spans.iter().flat_map(|span| &span.targets).filter(|target| target.open.write) {
            if let Expected::Block { device, disk_sequence, backing, below } = &target.expect
                && !guards.written.contains_key(device)
            {
                guards.written.insert(*device, guard(root, &target.path, *device, *disk_sequence, *backing)?);
                for lower in below {
                    guards.keep_below(&target.path, lower)?;
                }
            }
        }
        Ok(guards)
    }

    /// Claims a device below the one at `path`, or at least keeps it open.
    fn keep_below(&mut self, path: &Path, lower: &DeviceBelow) -> Result<(), String> {
        // It may back several devices.
        if self.below.contains_key(&lower.device) {
            return Ok(());
        }
        let name = format!("'{}', which backs '{}',", lower.path.display(), path.display());
        let opened = if lower.claim { claim(&lower.path, &name)? } else { open_to_inspect(&lower.path, &name)? };
        compare(&opened, &name, lower.device, lower.disk_sequence, lower.backing)?;
        self.below.insert(lower.device, opened);
        Ok(())
    }

    /// Where workers open a guarded device: through the guard, which the name may no longer lead to.
    pub(crate) fn path(&self, device: u64) -> Option<PathBuf> {
        let guard = self.written.get(&device)?;
        Some(format!("/proc/self/fd/{}", guard.claim.as_raw_fd()).into())
    }
}

fn guard(
    root: &Root,
    path: &Path,
    device: u64,
    disk_sequence: Option<u64>,
    backing: Option<LoopBacking>,
) -> Result<Guard, String> {
    let name = format!("'{}'", path.display());
    let claim = claim(path, &name)?;
    compare(&claim, &name, device, disk_sequence, backing)?;
    // Disks are locked themselves.
    let disk = host::disk_of_partition(root, device).and_then(|disk| sys::file::open_to_look(&disk).ok());
    lock(disk.as_ref().unwrap_or(&claim), path)?;
    Ok(Guard { claim, _locked_disk: disk })
}

fn claim(path: &Path, name: &str) -> Result<File, String> {
    sys::block::claim(path).map_err(|error| match error.kind() {
        io::ErrorKind::ResourceBusy => {
            format!("{name} came into use after the check; nothing was written to it")
        }
        _ => format!("cannot open {name} for exclusive use: {error}"),
    })
}

fn open_to_inspect(path: &Path, name: &str) -> Result<File, String> {
    sys::file::open_to_look(path).map_err(|error| format!("cannot open {name}: {error}"))
}

/// Compares an open device with the one that was checked.
fn compare(
    opened: &File,
    name: &str,
    device: u64,
    disk_sequence: Option<u64>,
    backing: Option<LoopBacking>,
) -> Result<(), String> {
    let found = opened.metadata().map_err(|error| format!("cannot check {name}: {error}"))?.rdev();
    let is_same_use = disk_sequence.is_none() || sys::block::disk_sequence(opened).ok() == disk_sequence;
    if found != device || !is_same_use {
        return Err(format!("{name} is no longer the device that was checked; nothing was written to it"));
    }
    if backing.is_some() && self::backing(opened).ok() != backing {
        return Err(format!(
            "{name} no longer has the backing file or device that was checked; nothing was written to it"
        ));
    }
    Ok(())
}

fn backing(device: &File) -> io::Result<LoopBacking> {
    let status = sys::block::loop_status(device)?;
    Ok(LoopBacking {
        file: FileIdentity { device: status.device, inode: status.inode },
        block_device: (status.rdevice != 0).then_some(status.rdevice),
        offset_bytes: status.offset_bytes,
        size_limit_bytes: status.size_limit_bytes,
    })
}

fn lock(disk: &File, path: &Path) -> Result<(), String> {
    let until = Instant::now() + PATIENCE;
    loop {
        match sys::block::try_lock(disk) {
            Ok(true) => return Ok(()),
            Ok(false) if Instant::now() < until => std::thread::sleep(Duration::from_millis(20)),
            Ok(false) => {
                let name = path.display();
                return Err(format!(
                    "the disk of '{name}' is locked (flock) by another process; nothing was written to it"
                ));
            }
            Err(error) => return Err(format!("cannot lock the disk of '{}': {error}", path.display())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::plan::{OpenPlan, Preparation, TargetPlan, TimeSpanPlan};

    fn plan(path: &Path, write: bool, expect: Expected) -> Plan {
        let target = TargetPlan {
            path: path.to_owned(),
            stream: None,
            size_bytes: 4096,
            preparation: Preparation::Keep,
            expect,
            open: OpenPlan { read: true, write, ..OpenPlan::default() },
            write_source: None,
            shared_run: None,
        };
        let time_span = TimeSpanPlan { targets: vec![target], ..TimeSpanPlan::default() };
        Plan { time_spans: vec![time_span], ..Plan::default() }
    }

    fn block(device: u64, backing: Option<LoopBacking>, below: Vec<DeviceBelow>) -> Expected {
        Expected::Block { device, disk_sequence: None, backing, below }
    }

    #[test]
    fn what_is_only_read_is_not_claimed_and_what_has_no_device_cannot_be() {
        let plan = |path: &Path, write| plan(path, write, block(7, None, Vec::new()));
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let guards = DeviceGuards::take(&plan(file.path(), false), &Root::machine()).expect("nothing to claim");
        assert_eq!(guards.path(7), None);
        let refused = DeviceGuards::take(&plan(file.path(), true), &Root::machine()).expect_err("a file is no device");
        assert!(refused.contains("no longer the device"), "{refused}");
        assert!(DeviceGuards::take(&plan(Path::new("/nowhere"), true), &Root::machine()).is_err());
    }

    #[test]
    fn what_is_below_must_be_what_it_was() {
        // Regular files, which may be claimed, and whose device number is 0, stand for devices.
        let files = [(); 2].map(|()| tempfile::NamedTempFile::new().expect("a temporary file"));
        let [written, lower] = files.each_ref().map(tempfile::NamedTempFile::path);
        let take = |backing, below: &[DeviceBelow]| {
            DeviceGuards::take(&plan(written, true, block(0, backing, below.to_vec())), &Root::machine())
        };
        let same = DeviceBelow { path: lower.to_owned(), device: 0, ..DeviceBelow::default() };
        assert!(take(None, &[same.clone(), DeviceBelow { claim: true, ..same.clone() }]).is_ok());
        let other = DeviceBelow { device: 9, ..same.clone() };
        let refused = take(None, &[other]).expect_err("another device");
        assert!(refused.contains("which backs") && refused.contains("no longer the device"), "{refused}");
        let refused = take(Some(LoopBacking::default()), &[]).expect_err("not a loop device");
        assert!(refused.contains("no longer has the backing file or device that was checked"), "{refused}");
        assert!(take(None, &[DeviceBelow { path: "/nowhere".into(), device: 8, ..same }]).is_err());
    }

    #[test]
    fn a_loop_device_must_stand_on_what_was_checked() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        file.as_file().set_len(1 << 20).expect("set");
        let losetup = |arguments: &[&str]| {
            let output = std::process::Command::new("losetup").args(arguments).output().ok()?;
            output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        let Some(node) = losetup(&["--find", "--show", file.path().to_str().expect("a plain name")]) else {
            return eprintln!("skipped: losetup is not possible here");
        };
        let metadata = file.as_file().metadata().expect("an answer");
        let identity = FileIdentity { device: metadata.dev(), inode: metadata.ino() };
        let same = LoopBacking { file: identity, ..LoopBacking::default() };
        let other = FileIdentity { inode: identity.inode + 1, ..identity };
        let device = std::fs::metadata(&node).expect("a node").rdev();
        let take = |backing| {
            let plan = plan(Path::new(&node), true, block(device, Some(backing), Vec::new()));
            DeviceGuards::take(&plan, &Root::machine()).map(drop)
        };
        let results = [
            take(same),
            take(LoopBacking { file: other, ..same }),
            take(LoopBacking { block_device: Some(7), ..same }),
            take(LoopBacking { offset_bytes: 512, ..same }),
            take(LoopBacking { size_limit_bytes: 512, ..same }),
        ];
        losetup(&["--detach", &node]);
        let [as_checked, others @ ..] = results;
        assert_eq!(as_checked, Ok(()));
        for refused in others {
            assert!(
                refused.is_err_and(|text| text.contains("no longer has the backing file or device that was checked"))
            );
        }
    }

    #[test]
    fn a_lock_of_somebody_else_is_waited_for() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let open = || File::open(file.path()).expect("opens");
        let other = open();
        assert!(sys::block::try_lock(&other).expect("an answer"));
        let leaving = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(60));
            drop(other);
        });
        assert_eq!(lock(&open(), file.path()), Ok(()));
        leaving.join().expect("it ends");
    }
}
