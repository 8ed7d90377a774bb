//! What the kernel tells about an open block device.

use rustix::fs::{FlockOperation, OFlags};
use rustix::ioctl::{Getter, ioctl, opcode};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// `BLKGETSIZE64`: despite its declared type the kernel stores 64 bits.
const BLKGETSIZE64: rustix::ioctl::Opcode = opcode::read::<usize>(0x12, 114);

/// `BLKGETDISKSEQ`, since Linux 5.15.
const BLKGETDISKSEQ: rustix::ioctl::Opcode = opcode::read::<u64>(0x12, 128);

/// Opens a device for reading and claims it: until the descriptor is closed the kernel grants no
/// other claim. `EBUSY` if a file system (of any mount namespace), swap, another device or
/// another process has one.
pub fn claim(path: &Path) -> io::Result<File> {
    let flags = OFlags::EXCL | OFlags::NONBLOCK | OFlags::NOCTTY;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

/// Opens a device for reading past the page cache: offsets, lengths and memory must be aligned to its
/// sectors.
pub fn open_past_cache(path: &Path) -> io::Result<File> {
    let flags = OFlags::DIRECT | OFlags::NONBLOCK | OFlags::NOCTTY;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

/// Takes the lock that keeps udev from probing a disk. False if another process has it.
pub fn try_lock(disk: &File) -> io::Result<bool> {
    match rustix::fs::flock(disk, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Number of this use of the disk's name since boot: it changes when the name is given to another
/// disk, or a medium or backing file is exchanged. Partitions have that of their disk.
pub fn disk_sequence(device: &File) -> io::Result<u64> {
    // SAFETY: BLKGETDISKSEQ writes exactly one u64 through its pointer argument, and Getter hands
    // it a pointer to one.
    let getter = unsafe { Getter::<BLKGETDISKSEQ, u64>::new() };
    // SAFETY: the getter above describes the whole effect of this request on memory.
    Ok(unsafe { ioctl(device, getter) }?)
}

/// Size of the whole device (or partition) in bytes.
pub fn size_bytes(device: &File) -> io::Result<u64> {
    // SAFETY: BLKGETSIZE64 writes exactly one u64 through its pointer argument, and Getter hands
    // it a pointer to one.
    let getter = unsafe { Getter::<BLKGETSIZE64, u64>::new() };
    // SAFETY: the getter above describes the whole effect of this request on memory.
    Ok(unsafe { ioctl(device, getter) }?)
}

/// Logical sector size in bytes: the unit that direct I/O comes in.
pub fn logical_block_bytes(device: &File) -> io::Result<u32> {
    Ok(rustix::fs::ioctl_blksszget(device)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_regular_file_is_no_block_device() {
        let file = tempfile::tempfile().expect("a temporary file");
        assert!(size_bytes(&file).is_err());
        assert!(disk_sequence(&file).is_err());
        assert!(logical_block_bytes(&file).is_err());
    }

    #[test]
    fn one_descriptor_has_the_lock_at_a_time() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let open = || File::open(file.path()).expect("opens");
        let first = open();
        assert!(try_lock(&first).expect("an answer"));
        assert!(!try_lock(&open()).expect("an answer"));
        drop(first);
        assert!(try_lock(&open()).expect("an answer"));
    }
}
