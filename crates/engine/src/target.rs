//! Opening a target, and telling what was opened.

use model::device_guard::FileIdentity;
use model::plan::OpenPlan;
use rustix::fs::{Advice, FileType, OFlags};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use sys::confinement;

/// File or device behind an open descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened {
    /// A regular file.
    File {
        identity: FileIdentity,
        /// Its length.
        size_bytes: u64,
    },
    /// A block device.
    Block {
        /// Its device number.
        device: u64,
    },
    /// A character device.
    Character {
        /// Its device number.
        device: u64,
    },
    /// Anything else.
    Other,
}

impl Opened {
    /// Device and inode of a file; 0 and its number for a device.
    pub const fn numbers(self) -> (u64, u64) {
        match self {
            Self::File { identity, .. } => (identity.device, identity.inode),
            Self::Block { device } | Self::Character { device } => (0, device),
            Self::Other => (0, 0),
        }
    }
}

/// Which of these are block devices, for operations that the kernel does there in another way.
pub(crate) fn block_devices(files: &[OwnedFd]) -> Vec<bool> {
    let is_block = |file: &OwnedFd| {
        rustix::fs::fstat(file).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice)
    };
    files.iter().map(is_block).collect()
}

/// Opens a target as planned. Nothing is created, truncated or waited for.
///
/// # Errors
///
/// The kernel's reason.
pub fn open(path: &Path, plan: &OpenPlan) -> io::Result<OwnedFd> {
    let mut flags = match (plan.read, plan.write) {
        (true, true) => OFlags::RDWR,
        (false, true) => OFlags::WRONLY,
        _ => OFlags::RDONLY,
    };
    flags |= OFlags::CLOEXEC | OFlags::NOCTTY;
    if plan.direct {
        flags |= OFlags::DIRECT;
    }
    if plan.write_through {
        flags |= OFlags::DSYNC;
    }
    // A look at the access time costs instructions at each I/O.
    let open = |flags| confinement::open(path, flags);
    let file = if plan.access_times { open(flags)? } else { sys::file::without_access_times(flags, open)? };
    for (wanted, advice) in [(plan.advise_sequential, Advice::Sequential), (plan.advise_random, Advice::Random)] {
        if wanted {
            rustix::fs::fadvise(&file, 0, None, advice)?;
        }
    }
    Ok(file)
}

/// File or device behind an open descriptor.
///
/// # Errors
///
/// Those of `fstat`.
pub fn identify(file: impl AsFd) -> io::Result<Opened> {
    let status = rustix::fs::fstat(file)?;
    Ok(match FileType::from_raw_mode(status.st_mode) {
        FileType::RegularFile => Opened::File {
            identity: FileIdentity { device: status.st_dev, inode: status.st_ino },
            size_bytes: status.st_size as u64,
        },
        FileType::BlockDevice => Opened::Block { device: status.st_rdev },
        FileType::CharacterDevice => Opened::Character { device: status.st_rdev },
        _ => Opened::Other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_opened_with_exactly_the_planned_flags() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("a folder on a real file system");
        let path = folder.path().join("target");
        std::fs::write(&path, [0; 8192]).expect("8 KiB fit");
        let all = OFlags::ACCMODE | OFlags::DIRECT | OFlags::DSYNC | OFlags::NOATIME;
        for (plan, wanted) in [
            (OpenPlan { read: true, ..OpenPlan::default() }, OFlags::RDONLY),
            (OpenPlan { read: true, write: true, direct: true, ..OpenPlan::default() }, OFlags::RDWR | OFlags::DIRECT),
            (OpenPlan { write: true, write_through: true, ..OpenPlan::default() }, OFlags::WRONLY | OFlags::DSYNC),
        ] {
            let file = open(&path, &plan).expect("the file exists");
            let flags = rustix::fs::fcntl_getfl(&file).expect("our descriptor");
            assert_eq!(flags & all, OFlags::NOATIME | wanted);
            assert!(matches!(identify(&file), Ok(Opened::File { size_bytes: 8192, .. })));
        }
        assert!(open(&folder.path().join("missing"), &OpenPlan::default()).is_err());
    }
}
