//! Block devices that a run writes to, kept for itself from before the first write to its end.

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

/// The guard descriptors of a run, by device number.
#[derive(Debug, Default)]
pub(crate) struct DeviceGuards(BTreeMap<u64, Guard>);

/// As long as it lives, the kernel grants nobody else exclusive use and udev leaves the disk alone.
#[derive(Debug)]
struct Guard {
    claim: File,
    /// `None` if the claimed descriptor itself is locked.
    _locked_disk: Option<File>,
}

impl DeviceGuards {
    /// Claims every device that the plan writes to; nothing has been written when it fails.
    pub(crate) fn take(plan: &Plan) -> Result<Self, String> {
        let mut guards = Self::default();
        for target in plan.time_spans.iter().flat_map(|span| &span.targets).filter(|target| target.open.write) {
            if let Expected::Block { device, disk_sequence } = target.expect
                && !guards.0.contains_key(&device)
            {
                guards.0.insert(device, guard(&target.path, device, disk_sequence)?);
            }
        }
        Ok(guards)
    }

    /// Where workers open a guarded device: through the guard, which the name may no longer lead to.
    pub(crate) fn path(&self, device: u64) -> Option<PathBuf> {
        let guard = self.0.get(&device)?;
        Some(format!("/proc/self/fd/{}", guard.claim.as_raw_fd()).into())
    }
}

fn guard(path: &Path, device: u64, disk_sequence: Option<u64>) -> Result<Guard, String> {
    let name = path.display();
    let claim = sys::block::claim(path).map_err(|error| match error.kind() {
        io::ErrorKind::ResourceBusy => {
            format!("'{name}' has come into use after it was checked; nothing was written to it")
        }
        _ => format!("cannot open '{name}' for exclusive use: {error}"),
    })?;
    let found = claim.metadata().map_err(|error| format!("cannot look at '{name}': {error}"))?.rdev();
    let is_same_use = disk_sequence.is_none() || sys::block::disk_sequence(&claim).ok() == disk_sequence;
    if found != device || !is_same_use {
        return Err(format!("'{name}' is no longer the device that was checked; nothing was written to it"));
    }
    let disk = disk_of_partition(device).and_then(|disk| sys::file::open_to_look(&disk).ok());
    lock(disk.as_ref().unwrap_or(&claim), path)?;
    Ok(Guard { claim, _locked_disk: disk })
}

/// The node of the disk that a partition is on; `None` for disks, which are locked themselves.
fn disk_of_partition(device: u64) -> Option<PathBuf> {
    let (major, minor) = sys::file::major_minor(device);
    let directory = std::fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    if !directory.join("partition").exists() {
        return None;
    }
    let disk = directory.parent()?.file_name()?.to_str()?.replace('!', "/");
    Some(Path::new("/dev").join(disk))
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

    #[test]
    fn what_is_only_read_is_not_claimed_and_what_has_no_device_cannot_be() {
        let plan = |path: &Path, write| {
            let target = TargetPlan {
                path: path.to_owned(),
                size_bytes: 4096,
                preparation: Preparation::Keep,
                expect: Expected::Block { device: 7, disk_sequence: None },
                open: OpenPlan { read: true, write, ..OpenPlan::default() },
                write_source: None,
            };
            let time_span = TimeSpanPlan { targets: vec![target], ..TimeSpanPlan::default() };
            Plan { time_spans: vec![time_span], ..Plan::default() }
        };
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let guards = DeviceGuards::take(&plan(file.path(), false)).expect("nothing to claim");
        assert_eq!(guards.path(7), None);
        let refused = DeviceGuards::take(&plan(file.path(), true)).expect_err("a file is no device");
        assert!(refused.contains("no longer the device"), "{refused}");
        assert!(DeviceGuards::take(&plan(Path::new("/nowhere"), true)).is_err());
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
