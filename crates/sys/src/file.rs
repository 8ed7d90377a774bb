//! Opening without side effects, and facts about open files and their file systems.

use crate::confinement;
use rustix::fs::{AtFlags, CWD, IFlags, Mode, OFlags, StatVfsMountFlags};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Flags for opening foreign files: never wait for the other end of a FIFO or for the holder of a lease, never acquire
/// a controlling terminal.
const LOOK: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY);

fn open(path: &Path, options: &mut OpenOptions, access: OFlags, flags: OFlags) -> io::Result<File> {
    if let Some(opened) = confinement::open_covered(path, access | flags | OFlags::CLOEXEC) {
        return opened.map(File::from);
    }
    // Open flags fit into an int on every architecture.
    options.custom_flags(flags.bits().cast_signed()).open(path)
}

/// Opens so that reading does not change the access time, if this process may: that needs the owner or `CAP_FOWNER`,
/// and some file systems do not support the flag. A new access time is an unwanted write.
pub fn without_access_times<T>(flags: OFlags, open: impl Fn(OFlags) -> io::Result<T>) -> io::Result<T> {
    open(flags | OFlags::NOATIME).or_else(|error| match Errno::from_io_error(&error) {
        Some(Errno::PERM | Errno::INVAL | Errno::OPNOTSUPP) => open(flags),
        _ => Err(error),
    })
}

/// Opens an existing file for reading; does not block.
pub fn open_to_look(path: &Path) -> io::Result<File> {
    open_to_look_with(path, OFlags::empty())
}

/// The same with more flags.
pub(crate) fn open_to_look_with(path: &Path, flags: OFlags) -> io::Result<File> {
    without_access_times(LOOK | flags, |flags| open(path, OpenOptions::new().read(true), OFlags::RDONLY, flags))
}

/// Opens an existing file for writing, without creating or truncating anything; does not block.
pub fn open_to_try_writing(path: &Path) -> io::Result<File> {
    open(path, OpenOptions::new().write(true), OFlags::WRONLY, LOOK)
}

/// A path descriptor (`O_PATH`): it needs no permission on the file and does not open it.
pub fn open_place(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    confinement::open_covered(path, flags).unwrap_or_else(|| Ok(rustix::fs::open(path, flags, Mode::empty())?))
}

/// Checks write permission for `path`, by the effective IDs; also refused for read-only file systems and immutable
/// files. Opens nothing.
pub fn may_write(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::accessat(CWD, path, rustix::fs::Access::WRITE_OK, AtFlags::EACCESS)?)
}

/// Attributes of `chattr` that change how data is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// `chattr +c`: data is compressed.
    pub is_compressed: bool,
    /// `chattr +C`: data is written in place, without copy-on-write.
    pub is_written_in_place: bool,
}

/// The attributes of an open file or directory; not every file system has any.
pub fn attributes(file: &File) -> io::Result<Attributes> {
    let flags = rustix::fs::ioctl_getflags(file)?;
    Ok(Attributes {
        is_compressed: flags.contains(IFlags::COMPRESSED),
        is_written_in_place: flags.contains(IFlags::NOCOW),
    })
}

/// A file system as the kernel describes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileSystemStat {
    /// The magic number of its kind.
    pub magic: u64,
    /// Bytes free for unprivileged users; `u64::MAX` if the file system does not count them.
    pub free_bytes: u64,
    /// True if mounted read-only.
    pub read_only: bool,
}

/// The file system of `file` (or an open directory).
pub fn file_system(file: impl AsFd) -> io::Result<FileSystemStat> {
    let kind = rustix::fs::fstatfs(&file)?;
    let space = rustix::fs::fstatvfs(&file)?;
    Ok(FileSystemStat {
        // The type of this field differs between architectures; magic numbers are 32 bits wide.
        #[allow(clippy::unnecessary_cast, clippy::cast_lossless)]
        magic: (kind.f_type as u64) & 0xFFFF_FFFF,
        // ramfs and some others report 0 of 0, which means not counted, not full.
        free_bytes: if space.f_blocks == 0 { u64::MAX } else { space.f_bavail.saturating_mul(space.f_frsize) },
        read_only: space.f_flag.contains(StatVfsMountFlags::RDONLY),
    })
}

/// A device number as major and minor.
pub fn major_minor(device: u64) -> (u32, u32) {
    (rustix::fs::major(device), rustix::fs::minor(device))
}

/// A major and a minor number as a device number.
pub fn device_number(major: u32, minor: u32) -> u64 {
    rustix::fs::makedev(major, minor)
}

/// Makes data written to an open file or device durable (`fdatasync(2)`).
///
/// # Errors
///
/// The kernel's: some of the data may be lost.
pub fn flush(file: impl AsFd) -> io::Result<()> {
    Ok(rustix::fs::fdatasync(file)?)
}

/// Makes data written to an open file or device durable, and all its metadata (`fsync(2)`).
///
/// # Errors
///
/// The kernel's: some of the data may be lost.
pub fn flush_all(file: impl AsFd) -> io::Result<()> {
    Ok(rustix::fs::fsync(file)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_at_a_fifo_does_not_block_and_trying_to_write_creates_nothing() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let fifo = directory.path().join("fifo");
        rustix::fs::mknodat(CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).expect("a FIFO");
        open_to_look(&fifo).expect("opens at once");
        let missing = directory.path().join("missing");
        assert_eq!(open_to_try_writing(&missing).expect_err("is not there").kind(), io::ErrorKind::NotFound);
        assert!(!missing.exists());
    }

    #[test]
    fn trying_to_write_keeps_the_content() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        std::fs::write(file.path(), "content").expect("written");
        open_to_try_writing(file.path()).expect("opens");
        may_write(file.path()).expect("our own file");
        assert_eq!(std::fs::read(file.path()).expect("read"), b"content");
    }

    #[test]
    fn proc_has_the_magic_number_of_proc() {
        let stat = file_system(File::open("/proc").expect("proc is mounted")).expect("a file system");
        assert_eq!(stat.magic, 0x9FA0);
        assert_eq!(stat.free_bytes, u64::MAX);
    }

    #[test]
    fn device_numbers_split_as_the_kernel_splits_them() {
        assert_eq!(major_minor(rustix::fs::makedev(259, 300)), (259, 300));
        assert_eq!(major_minor(0x0103), (1, 3));
    }
}
