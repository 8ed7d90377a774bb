//! Kernel facts about an open block device.

use rustix::fs::{FlockOperation, OFlags};
use rustix::ioctl::{Getter, Setter, ioctl, opcode};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// `BLKGETSIZE64`: despite its declared type the kernel stores 64 bits.
const BLKGETSIZE64: rustix::ioctl::Opcode = opcode::read::<usize>(0x12, 114);

/// `BLKGETDISKSEQ`, since Linux 5.15.
const BLKGETDISKSEQ: rustix::ioctl::Opcode = opcode::read::<u64>(0x12, 128);

/// `BLKDISCARD`.
const BLKDISCARD: rustix::ioctl::Opcode = opcode::none(0x12, 119);

/// `LOOP_GET_STATUS64`: its number is older than the scheme that encodes sizes.
const LOOP_GET_STATUS64: rustix::ioctl::Opcode = 0x4c05;

/// Major number of the devices of the loop driver.
const LOOP_MAJOR: u32 = 7;

/// `struct loop_info64` of linux/loop.h.
#[repr(C)]
#[allow(dead_code, reason = "the kernel fills all of it")]
struct LoopInfo64 {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// Backing of a loop device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopStatus {
    /// Device number of the file system with the backing file or node, as in `stat`.
    pub device: u64,
    /// Inode number of the backing file or node.
    pub inode: u64,
    /// Device number of a backing device; 0 if the backing is a regular file.
    pub rdevice: u64,
    /// Offset in the backing at which the loop device begins, in bytes.
    pub offset_bytes: u64,
    /// Size limit of the loop device in bytes; 0 = up to the end of the file.
    pub size_limit_bytes: u64,
    /// `LO_FLAGS_*` of linux/loop.h: 1 read-only, 4 autoclear, 8 partition scan, 16 direct I/O.
    pub flags: u32,
}

/// The backing of the open loop device. `ENXIO` if it is free, `ENOTTY` if it is no loop device.
pub fn loop_status(device: &File) -> io::Result<LoopStatus> {
    // Other drivers may use the same number for another request.
    let metadata = device.metadata()?;
    if !metadata.file_type().is_block_device() || rustix::fs::major(metadata.rdev()) != LOOP_MAJOR {
        return Err(rustix::io::Errno::NOTTY.into());
    }
    // SAFETY: LOOP_GET_STATUS64 writes exactly one loop_info64 through its pointer argument, and Getter
    // hands it a pointer to one.
    let getter = unsafe { Getter::<LOOP_GET_STATUS64, LoopInfo64>::new() };
    // SAFETY: the getter above describes the whole effect of this request on memory.
    let info = unsafe { ioctl(device, getter) }?;
    Ok(LoopStatus {
        device: info.device,
        inode: info.inode,
        rdevice: info.rdevice,
        offset_bytes: info.offset,
        size_limit_bytes: info.size_limit,
        flags: info.flags,
    })
}

/// Discards a range of a device, in bytes.
pub fn discard(device: impl AsFd, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
    // SAFETY: BLKDISCARD reads two words of 64 bits through its pointer argument, and Setter hands it a pointer to them.
    let range = unsafe { Setter::<BLKDISCARD, [u64; 2]>::new([offset_bytes, length_bytes]) };
    // SAFETY: the request changes no memory of this process.
    Ok(unsafe { ioctl(device, range) }?)
}

/// Opens a device for reading and claims it: until the descriptor is closed the kernel grants no other claim. `EBUSY`
/// if a file system (of any mount namespace), swap, another device or another process has one.
pub fn claim(path: &Path) -> io::Result<File> {
    let flags = OFlags::EXCL | OFlags::NONBLOCK | OFlags::NOCTTY;
    if let Some(opened) = crate::confinement::open_covered(path, OFlags::RDONLY | OFlags::CLOEXEC | flags) {
        return opened.map(File::from);
    }
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

/// Opens a device for reading past the page cache: offsets, lengths and memory must be aligned to its sectors.
pub fn open_past_cache(path: &Path) -> io::Result<File> {
    crate::file::open_to_look_with(path, OFlags::DIRECT)
}

/// Takes the lock that keeps udev from probing a disk. False if another process has it.
pub fn try_lock(disk: &File) -> io::Result<bool> {
    match rustix::fs::flock(disk, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Sequence number of the current use of the disk's name since boot: it changes when the name is given to another disk,
/// or a medium or backing file is exchanged. Partitions have that of their disk.
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

/// Logical sector size in bytes: the unit of direct I/O.
pub fn logical_block_bytes(device: &File) -> io::Result<u32> {
    Ok(rustix::fs::ioctl_blksszget(device)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_regular_file_is_no_block_device() {
        let file = tempfile::tempfile().expect("a temporary file");
        assert!(size_bytes(&file).is_err());
        assert!(disk_sequence(&file).is_err());
        assert!(logical_block_bytes(&file).is_err());
        let refused = loop_status(&file).expect_err("no loop device").raw_os_error();
        assert_eq!(refused, Some(libc::ENOTTY));
    }

    #[test]
    fn a_loop_device_tells_the_identity_of_what_it_stands_on() {
        // linux/loop.h: five times 64 bits, four times 32, 160 characters, twice 64.
        assert_eq!(size_of::<LoopInfo64>(), 232);
        let losetup = |arguments: &[&str]| {
            let mut command = Command::new("losetup");
            let output =
                testkit::spawned(command.args(arguments).stdout(Stdio::piped())).ok()?.wait_with_output().ok()?;
            output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        file.as_file().set_len(1 << 20).expect("set");
        let path = file.path().to_str().expect("a plain name");
        let Some(lower) = losetup(&["--find", "--show", "--read-only", "--offset=4096", "--sizelimit=65536", path])
        else {
            testkit::skip!("losetup is not possible here");
        };
        let upper = losetup(&["--find", "--show", "--read-only", &lower]);
        let asked = |name: &str| loop_status(&File::open(name).expect("opens"));
        let (of_file, of_device) = (asked(&lower), upper.as_deref().map(asked));
        let number = std::fs::metadata(&lower).expect("a node").rdev();
        for name in upper.iter().chain([&lower]) {
            losetup(&["--detach", name]);
        }
        let found = of_file.expect("an answer");
        let metadata = file.as_file().metadata().expect("an answer");
        assert_eq!((found.device, found.inode, found.rdevice), (metadata.dev(), metadata.ino(), 0));
        assert_eq!((found.offset_bytes, found.size_limit_bytes, found.flags & 1), (4096, 65536, 1));
        if let Some(found) = of_device {
            assert_eq!(found.expect("an answer").rdevice, number);
        }
    }

    #[test]
    fn one_descriptor_has_the_lock_at_a_time() {
        let _no_child = testkit::no_child();
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let open = || File::open(file.path()).expect("opens");
        let first = open();
        assert!(try_lock(&first).expect("an answer"));
        assert!(!try_lock(&open()).expect("an answer"));
        drop(first);
        assert!(try_lock(&open()).expect("an answer"));
    }
}
