//! A directory held by its descriptor: names are looked up in it, even if its path changes.

use crate::file_identity::{self, FileState};
use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, RenameFlags, StatxFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Flags for opening foreign files: never follow a symbolic link, never block.
const LOOK: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// An open directory.
#[derive(Debug)]
pub struct Folder(OwnedFd);

impl Folder {
    /// Opens a directory. It needs no permission to list its names.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        crate::confinement::open(path, flags).map(Self)
    }

    /// Opens a directory in it; a symbolic link is not followed.
    pub fn open_folder(&self, name: &OsStr) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::openat(&self.0, name, flags, Mode::empty())?))
    }

    /// Creates a directory in it with the permissions of the umask; fails if the name exists.
    pub fn create_folder(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.0, name, Mode::from_raw_mode(0o777))?)
    }

    /// The same directory, by another descriptor.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self(self.0.try_clone()?))
    }

    /// Makes changes of its names durable.
    pub fn sync(&self) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(rustix::fs::fsync(rustix::fs::openat(&self.0, ".", flags, Mode::empty())?)?)
    }

    /// ID of the mount that it was opened through, unique until reboot; `None` before Linux 6.8.
    pub fn mount(&self) -> Option<u64> {
        // `STATX_MNT_ID_UNIQUE`.
        let wanted = StatxFlags::from_bits_retain(0x4000);
        let found = rustix::fs::statx(&self.0, c"", AtFlags::EMPTY_PATH, wanted).ok()?;
        (found.stx_mask & wanted.bits() != 0).then_some(found.stx_mnt_id)
    }

    /// State of the directory itself.
    pub fn state(&self) -> io::Result<FileState> {
        file_identity::state(&self.0)
    }

    /// State of the file with a name, symbolic links not followed; `None` = there is none.
    pub fn find(&self, name: &OsStr) -> io::Result<Option<FileState>> {
        match rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(status) => Ok(Some(FileState::from_stat(&status))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the existing file with a name for reading; does not block.
    pub fn open_to_look(&self, name: &OsStr) -> io::Result<File> {
        self.open_existing(name, OFlags::RDONLY)
    }

    /// Opens the existing file with a name for writing, without truncating it; does not block.
    pub fn open_to_write(&self, name: &OsStr) -> io::Result<File> {
        self.open_existing(name, OFlags::WRONLY)
    }

    fn open_existing(&self, name: &OsStr, access: OFlags) -> io::Result<File> {
        Ok(rustix::fs::openat(&self.0, name, access | LOOK, Mode::empty())?.into())
    }

    /// Creates a file with the permissions of the umask; fails if the name exists.
    pub fn create_new(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.0, name, flags, Mode::from_raw_mode(0o666))?.into())
    }

    /// Renames a file, replacing the one that has the new name.
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

    /// Renames a file.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::AlreadyExists`] if the new name exists; that file is kept.
    pub fn rename_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        match rustix::fs::renameat_with(&self.0, from, &self.0, to, RenameFlags::NOREPLACE) {
            // Not every file system can; a link fails, too, if the name exists.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                rustix::fs::linkat(&self.0, from, &self.0, to, AtFlags::empty())?;
                let linked = self.find(to)?.ok_or(Errno::NOENT)?;
                self.remove(from, &linked)
            }
            result => Ok(result?),
        }
    }

    /// Removes the name of this very file; no effect if another file has it by now, or none.
    pub fn remove(&self, name: &OsStr, file: &FileState) -> io::Result<()> {
        match self.find(name)? {
            Some(found) if found.is_same_file(file) => Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?),
            _ => Ok(()),
        }
    }

    /// Creates a file without a name, which vanishes when it is closed unless it is [given one](Self::link).
    pub fn create_nameless(&self) -> io::Result<File> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.0, ".", flags, Mode::from_raw_mode(0o666))?.into())
    }

    /// Gives a name to an open file without one.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::AlreadyExists`] if the name exists; that file is kept.
    pub fn link(&self, file: &File, name: &OsStr) -> io::Result<()> {
        // Permitted for all since Linux 6.10, before with CAP_DAC_READ_SEARCH.
        match rustix::fs::linkat(file, c"", &self.0, name, AtFlags::EMPTY_PATH) {
            Err(error) if error != Errno::EXIST => {}
            result => return Ok(result?),
        }
        let link = format!("/proc/self/fd/{}", file.as_raw_fd());
        Ok(rustix::fs::linkat(CWD, link.as_str(), &self.0, name, AtFlags::SYMLINK_FOLLOW)?)
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

/// The owner of files created by this process.
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
    fn a_folder_in_it_is_opened_unless_a_link_leads_there() {
        let place = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("our folder");
        let folder = Folder::open(place.path()).expect("it is there");
        let name = OsStr::new;
        folder.create_folder(name("sub")).expect("it is free");
        assert_eq!(folder.create_folder(name("sub")).expect_err("taken").kind(), io::ErrorKind::AlreadyExists);
        std::os::unix::fs::symlink("sub", place.path().join("link")).expect("links work");
        assert!(folder.open_folder(name("link")).is_err());
        let sub = folder.open_folder(name("sub")).expect("it is there").try_clone().expect("a descriptor");
        drop(sub.create_new(name("new")).expect("made"));
        sub.sync().expect("our folder");
        assert!(place.path().join("sub/new").exists());
    }

    #[test]
    fn a_file_is_told_from_one_that_took_its_name() {
        let place = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("our folder");
        let folder = Folder::open(place.path()).expect("it is there");
        let find_file = || folder.find(OsStr::new("a")).expect("a look").expect("it is there");
        fs::write(place.path().join("a"), "one").expect("our folder");
        let before = find_file();
        assert!(before.is_regular && before.is_unchanged(&find_file()));
        fs::write(place.path().join("a"), "longer").expect("our folder");
        assert!(before.is_same_file(&find_file()) && !before.is_unchanged(&find_file()));
        fs::write(place.path().join("b"), "one").expect("our folder");
        fs::rename(place.path().join("b"), place.path().join("a")).expect("our folder");
        assert!(!before.is_same_file(&find_file()));
    }
}
