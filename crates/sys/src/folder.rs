//! A directory held by its descriptor: names in it are looked up there, whatever becomes of its path.

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Flags of every look at somebody's file: no symbolic link is followed, nothing is waited for.
const LOOK: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// An open directory.
#[derive(Debug)]
pub struct Folder(OwnedFd);

/// What tells a file from every other, and whether it has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    /// Number of its file system.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
    /// Its length in bytes.
    pub size_bytes: u64,
    /// When its content changed last: seconds since 1970 and nanoseconds.
    pub modified: (i64, u64),
    /// The user whose it is.
    pub owner: u32,
    /// How many names it has.
    pub link_count: u64,
    /// True if it is a regular file.
    pub is_regular: bool,
}

impl FileStamp {
    fn of(status: &Stat) -> Self {
        // The types of these fields differ between architectures.
        #[allow(clippy::unnecessary_cast)]
        Self {
            device: status.st_dev as u64,
            inode: status.st_ino as u64,
            size_bytes: status.st_size as u64,
            modified: (status.st_mtime as i64, status.st_mtime_nsec as u64),
            owner: status.st_uid,
            link_count: status.st_nlink as u64,
            is_regular: FileType::from_raw_mode(status.st_mode) == FileType::RegularFile,
        }
    }

    /// That of an open file.
    pub fn of_file(file: &File) -> io::Result<Self> {
        Ok(Self::of(&rustix::fs::fstat(file)?))
    }

    /// True if both are of the same file, changed since or not.
    pub fn is_same_file(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    /// True if both are of the same file with the same content.
    pub fn is_unchanged(&self, other: &Self) -> bool {
        self.is_same_file(other) && (self.size_bytes, self.modified) == (other.size_bytes, other.modified)
    }
}

impl Folder {
    /// Opens a directory. It takes no right to list its names.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::openat(CWD, path, flags, Mode::empty())?))
    }

    /// Its own stamp.
    pub fn stamp(&self) -> io::Result<FileStamp> {
        Ok(FileStamp::of(&rustix::fs::fstat(&self.0)?))
    }

    /// What stands under a name, symbolic links not followed; `None` = nothing.
    pub fn find(&self, name: &OsStr) -> io::Result<Option<FileStamp>> {
        match rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(status) => Ok(Some(FileStamp::of(&status))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens what exists under a name for reading; does not block.
    pub fn open_to_look(&self, name: &OsStr) -> io::Result<File> {
        self.open_existing(name, OFlags::RDONLY)
    }

    /// Opens what exists under a name for writing, without truncating it; does not block.
    pub fn open_to_write(&self, name: &OsStr) -> io::Result<File> {
        self.open_existing(name, OFlags::WRONLY)
    }

    fn open_existing(&self, name: &OsStr, access: OFlags) -> io::Result<File> {
        Ok(rustix::fs::openat(&self.0, name, access | LOOK, Mode::empty())?.into())
    }

    /// Makes a file with the permissions that the umask leaves; fails if the name is taken.
    pub fn create_new(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.0, name, flags, Mode::from_raw_mode(0o666))?.into())
    }

    /// Gives a file another name, in the place of what has it.
    pub fn rename_over(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.0, from, &self.0, to)?)
    }

    /// Exchanges the names of two files.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::Unsupported`] where the file system cannot.
    pub fn exchange(&self, one: &OsStr, other: &OsStr) -> io::Result<()> {
        match rustix::fs::renameat_with(&self.0, one, &self.0, other, RenameFlags::EXCHANGE) {
            Err(Errno::INVAL | Errno::NOSYS) => Err(io::ErrorKind::Unsupported.into()),
            result => Ok(result?),
        }
    }

    /// Gives a file another name.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::AlreadyExists`] if the name is taken, which stays as it is.
    pub fn rename_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        match rustix::fs::renameat_with(&self.0, from, &self.0, to, RenameFlags::NOREPLACE) {
            // Not every file system can; a second name is refused where there is one, too.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                rustix::fs::linkat(&self.0, from, &self.0, to, AtFlags::empty())?;
                self.remove(from)
            }
            result => Ok(result?),
        }
    }

    /// Removes a file.
    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// The names in it that begin with `prefix`.
    pub fn names(&self, prefix: &str) -> io::Result<Vec<OsString>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let listed = rustix::fs::openat(&self.0, ".", flags, Mode::empty())?;
        let mut names = Vec::new();
        for entry in Dir::new(listed)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name.starts_with(prefix.as_bytes()) {
                names.push(OsStr::from_bytes(name).to_owned());
            }
        }
        Ok(names)
    }
}

/// The user that files made by this process belong to.
pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_name_that_is_taken_stays() {
        let place = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("our folder");
        let folder = Folder::open(place.path()).expect("it is there");
        let name = OsStr::new;
        drop(folder.create_new(name("new")).expect("made"));
        fs::write(place.path().join("taken"), "theirs").expect("our folder");
        let refused = folder.rename_new(name("new"), name("taken")).expect_err("it is taken");
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(place.path().join("taken")).expect("it is there"), b"theirs");
        folder.rename_new(name("new"), name("free")).expect("it is free");
        assert!(folder.find(name("new")).expect("a look").is_none());
        assert!(folder.create_new(name("free")).is_err());
        assert_eq!(folder.names("fr").expect("a list"), ["free"]);
        match folder.exchange(name("free"), name("taken")) {
            Ok(()) => assert_eq!(fs::read(place.path().join("free")).expect("it is there"), b"theirs"),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::Unsupported),
        }
    }

    #[test]
    fn a_file_is_told_from_one_that_took_its_name() {
        let place = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("our folder");
        let folder = Folder::open(place.path()).expect("it is there");
        let look = || folder.find(OsStr::new("a")).expect("a look").expect("it is there");
        fs::write(place.path().join("a"), "one").expect("our folder");
        let before = look();
        assert!(before.is_regular && before.is_unchanged(&look()));
        fs::write(place.path().join("a"), "longer").expect("our folder");
        assert!(before.is_same_file(&look()) && !before.is_unchanged(&look()));
        fs::write(place.path().join("b"), "one").expect("our folder");
        fs::rename(place.path().join("b"), place.path().join("a")).expect("our folder");
        assert!(!before.is_same_file(&look()));
    }
}
