//! Persistent identity of a file, and time of its last change.

use crate::file::file_system;
use rustix::fs::{AtFlags, FileType, Stat, Statx, StatxFlags, Timespec, Timestamps, UTIME_OMIT};
use rustix::io::Errno;
use rustix::ioctl::{Getter, ioctl, opcode};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;

/// Magic numbers of file systems whose inode numbers may change with the next mount: FUSE, CIFS, SMB2, overlay, 9p, FAT
/// and exFAT.
const UNSTABLE_INODES: [u64; 7] =
    [0x6573_5546, 0xFF53_4D42, 0xFE53_4D42, 0x794C_7630, 0x0102_1997, 0x4D44, 0x2011_BAB0];

/// `FS_IOC_GETVERSION`: despite its declared type the kernel stores an int.
const FS_IOC_GETVERSION: rustix::ioctl::Opcode = opcode::read::<libc::c_long>(b'v', 1);

/// Metadata of a file at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileState {
    /// Device number of its file system.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
    /// Number of its names.
    pub links: u64,
    /// User ID of its owner.
    pub owner: u32,
    /// Its permission bits, at most 0o7777.
    pub permissions: u32,
    /// True if it is a regular file.
    pub is_regular: bool,
    /// Its length.
    pub size_bytes: u64,
    /// Time of the last change of its content, in nanoseconds since 1970; wraps outside the years 1678 to 2262.
    pub modified_ns: i64,
}

impl FileState {
    pub(crate) fn from_stat(stat: &Stat) -> Self {
        // The types of these fields differ between architectures.
        #[allow(clippy::unnecessary_cast, clippy::cast_lossless, clippy::cast_possible_wrap)]
        Self {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            links: stat.st_nlink as u64,
            owner: stat.st_uid,
            permissions: stat.st_mode as u32 & 0o7777,
            is_regular: FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile,
            size_bytes: stat.st_size as u64,
            modified_ns: (stat.st_mtime as i64).wrapping_mul(1_000_000_000).wrapping_add(stat.st_mtime_nsec as i64),
        }
    }

    fn from_statx(answer: &Statx) -> Self {
        let modified = answer.stx_mtime;
        Self {
            device: rustix::fs::makedev(answer.stx_dev_major, answer.stx_dev_minor),
            inode: answer.stx_ino,
            links: u64::from(answer.stx_nlink),
            owner: answer.stx_uid,
            permissions: u32::from(answer.stx_mode) & 0o7777,
            is_regular: FileType::from_raw_mode(u32::from(answer.stx_mode)) == FileType::RegularFile,
            size_bytes: answer.stx_size,
            modified_ns: modified.tv_sec.wrapping_mul(1_000_000_000).wrapping_add(i64::from(modified.tv_nsec)),
        }
    }

    /// True if this user owns it, and no other user but root may write to it.
    pub fn is_private_to(&self, user: u32) -> bool {
        self.owner == user && self.permissions & 0o022 == 0
    }

    /// True if both are of the same file, changed since or not.
    pub fn is_same_file(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    /// True if both are of the same file with unchanged content.
    pub fn is_unchanged(&self, other: &Self) -> bool {
        self.is_same_file(other) && (self.size_bytes, self.modified_ns) == (other.size_bytes, other.modified_ns)
    }
}

/// State of an open file; on a network file system as the server has it: clients keep times and sizes for a while.
pub fn state(file: impl AsFd) -> io::Result<FileState> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC;
    match rustix::fs::statx(&file, c"", flags, StatxFlags::BASIC_STATS) {
        Ok(answer) => Ok(FileState::from_statx(&answer)),
        // Hidden by an old seccomp filter.
        Err(Errno::NOSYS | Errno::PERM) => Ok(FileState::from_stat(&rustix::fs::fstat(file)?)),
        Err(error) => Err(error.into()),
    }
}

/// A text that is unique to this file on its file system and persistent: its inode number, and its birth time or, where
/// the file system has none, its generation. A copy of the file, with all its attributes and times, has another one.
///
/// The inode number is left out where it may change, if the file system has a birth time or generation.
pub fn lasting_identity(file: &File) -> io::Result<String> {
    let inode = rustix::fs::fstat(file)?.st_ino;
    let birth = birth(file).or_else(|| generation(file).map(|number| format!("generation={number}")));
    let is_stable = !UNSTABLE_INODES.contains(&file_system(file)?.magic);
    Ok(match birth {
        Some(birth) if is_stable => format!("inode={inode},{birth}"),
        Some(birth) => birth,
        None => format!("inode={inode}"),
    })
}

/// The same, if it is certainly unique, after any remount of its file system.
pub fn certain_identity(file: &File) -> io::Result<Option<String>> {
    let is_stable = !UNSTABLE_INODES.contains(&file_system(file)?.magic);
    Ok(if is_stable || birth(file).is_some() { Some(lasting_identity(file)?) } else { None })
}

fn birth(file: &File) -> Option<String> {
    let status = rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::BTIME).ok()?;
    let born = StatxFlags::from_bits_retain(status.stx_mask).contains(StatxFlags::BTIME).then_some(status.stx_btime)?;
    (born.tv_sec != 0).then(|| format!("birth={}.{:09}", born.tv_sec, born.tv_nsec))
}

fn generation(file: &File) -> Option<u32> {
    // SAFETY: FS_IOC_GETVERSION writes one int through its pointer argument, or one long on some file systems of
    // the past; a long has room for both.
    let getter = unsafe { Getter::<FS_IOC_GETVERSION, libc::c_long>::new() };
    // SAFETY: the getter above describes the whole effect of this request on memory.
    let number = unsafe { ioctl(file, getter) }.ok()?;
    Some(number as u32)
}

/// Sets the time of the last change of a file's content, in nanoseconds since 1970. The file may be open for reading
/// only; this needs its owner or root.
pub fn set_modified(file: &File, modified_ns: i64) -> io::Result<()> {
    let (seconds, nanoseconds) = (modified_ns.div_euclid(1_000_000_000), modified_ns.rem_euclid(1_000_000_000));
    let times = Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        last_modification: Timespec { tv_sec: seconds, tv_nsec: nanoseconds },
    };
    Ok(rustix::fs::futimens(file, &times)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn file() -> tempfile::NamedTempFile {
        tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).expect("a temporary file")
    }

    #[test]
    fn the_identity_stays_when_a_file_is_written_or_renamed_and_a_copy_has_another() {
        let mut named = file();
        let before = lasting_identity(named.as_file()).expect("an identity");
        named.write_all(b"content").expect("written");
        set_modified(named.as_file(), 5).expect("our own file");
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("a folder");
        let other_name = folder.path().join("other name");
        std::fs::rename(named.path(), &other_name).expect("renamed");
        let again = File::open(&other_name).expect("opens");
        assert_eq!(lasting_identity(&again).expect("an identity"), before);
        let copy = file();
        assert_ne!(lasting_identity(copy.as_file()).expect("an identity"), before);
    }

    #[test]
    fn both_calls_of_the_kernel_give_the_same_state() {
        let mut named = file();
        named.write_all(b"content").expect("written");
        set_modified(named.as_file(), -7).expect("our own file");
        let by_fstat = FileState::from_stat(&rustix::fs::fstat(named.as_file()).expect("a state"));
        assert_eq!(state(named.as_file()).expect("a state"), by_fstat);
    }

    #[test]
    fn a_file_without_birth_time_has_a_generation_or_its_inode_alone() {
        // procfs has neither.
        let process = File::open("/proc/self/status").expect("proc is mounted");
        let identity = lasting_identity(&process).expect("an identity");
        assert!(identity.starts_with("inode="), "{identity}");
        let named = file();
        if let Some(number) = generation(named.as_file()) {
            assert_eq!(generation(named.as_file()), Some(number), "it stays");
        }
    }

    #[test]
    fn the_time_of_the_last_change_can_be_set_to_the_past_and_a_write_changes_it() {
        let mut named = file();
        for modified_ns in [500_000_000_123_456_789, 0, -1] {
            set_modified(named.as_file(), modified_ns).expect("our own file");
            let found = state(named.as_file()).expect("a state");
            assert_eq!(found.modified_ns, modified_ns);
        }
        named.write_all(b"x").expect("written");
        let found = state(named.as_file()).expect("a state");
        assert!(found.modified_ns > 1_000_000_000_000_000_000);
        assert_eq!((found.size_bytes, found.links), (1, 1));
    }
}
