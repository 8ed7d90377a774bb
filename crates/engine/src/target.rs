//! Opening a target, and telling what was opened.

use model::facts::FileIdentity;
use model::plan::OpenPlan;
use rustix::fs::{Advice, FileType, Mode, OFlags};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// What an open descriptor leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened {
    /// A regular file.
    File {
        /// Which.
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
    let file = rustix::fs::open(path, flags, Mode::empty())?;
    for (wanted, advice) in [(plan.advise_sequential, Advice::Sequential), (plan.advise_random, Advice::Random)] {
        if wanted {
            rustix::fs::fadvise(&file, 0, None, advice)?;
        }
    }
    Ok(file)
}

/// What an open descriptor leads to.
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

    fn flags_in_the_kernels_view(file: &OwnedFd) -> u64 {
        use std::os::fd::AsRawFd;
        let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", file.as_raw_fd())).expect("our descriptor");
        let octal = text.lines().find_map(|line| line.strip_prefix("flags:")).expect("a flags line");
        u64::from_str_radix(octal.trim(), 8).expect("an octal number")
    }

    #[test]
    fn a_target_is_opened_with_exactly_the_planned_flags() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("a folder on a real file system");
        let path = folder.path().join("target");
        std::fs::write(&path, [0; 8192]).expect("8 KiB fit");
        let direct = u64::from(OFlags::DIRECT.bits());
        let dsync = u64::from(OFlags::DSYNC.bits());
        for (plan, wanted) in [
            (OpenPlan { read: true, ..OpenPlan::default() }, 0),
            (OpenPlan { read: true, write: true, direct: true, ..OpenPlan::default() }, 2 | direct),
            (OpenPlan { write: true, write_through: true, ..OpenPlan::default() }, 1 | dsync),
        ] {
            let file = open(&path, &plan).expect("the file exists");
            assert_eq!(flags_in_the_kernels_view(&file) & (3 | direct | dsync), wanted);
            assert!(matches!(identify(&file), Ok(Opened::File { size_bytes: 8192, .. })));
        }
        assert!(open(&folder.path().join("missing"), &OpenPlan::default()).is_err());
    }
}
