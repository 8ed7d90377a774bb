//! Making a file whose name appears only when it is whole, and never takes the place of another file.

use crate::block::try_lock;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What the names of unfinished files begin with, on file systems that have no files without a name.
pub const PRIVATE_PREFIX: &str = ".diskspd-new-";

/// Names that are tried before giving up.
const ATTEMPTS: u32 = 100;

/// How the file comes to its name.
#[derive(Debug)]
enum Naming {
    /// It has none yet (`O_TMPFILE`).
    Nameless,
    /// It is renamed from this private name, without replacing anything.
    Renamed(OsString),
    /// It is linked from this private name, which is removed then.
    Linked(OsString),
    /// It bears the name from the beginning: the file system offers nothing else.
    AtOnce(OsString),
    /// It has come to it.
    Done,
}

/// A new file in a directory that is held open, whatever happens to the directory's name. It is removed when it
/// is dropped before [`publish`](Self::publish).
#[derive(Debug)]
pub struct NewFile {
    file: File,
    folder: OwnedFd,
    naming: Naming,
}

impl NewFile {
    /// Makes an empty file that is to become `name` in `folder`. Its permissions are those of any new file.
    ///
    /// # Errors
    ///
    /// Kind [`io::ErrorKind::AlreadyExists`] if something bears the name already.
    pub fn create(folder: &Path, name: &OsStr) -> io::Result<Self> {
        let folder = rustix::fs::open(folder, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .or_else(|_| rustix::fs::open(folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()))?;
        if rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            return Err(Errno::EXIST.into());
        }
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        if let Ok(file) = rustix::fs::openat(&folder, c".", flags, mode()).map(File::from)
            && Path::new(&link_in_proc(&file)).exists()
        {
            return Ok(Self { file, folder, naming: Naming::Nameless });
        }
        Self::private(folder, name)
    }

    fn private(folder: OwnedFd, name: &OsStr) -> io::Result<Self> {
        let Ok((first, file)) = create_private(&folder) else {
            let file = exclusive(&folder, name)?;
            return Ok(Self { file, folder, naming: Naming::AtOnce(name.to_owned()) });
        };
        let lock = try_lock(&file);
        let mut new = Self { file, folder, naming: Naming::Renamed(first) };
        // A lock tells later runs that somebody still writes the file; without one they leave it alone.
        if matches!(lock, Ok(false)) {
            return Err(Errno::AGAIN.into());
        }
        if let Some(naming) = new.try_out_renaming() {
            new.naming = naming;
        } else {
            new.remove();
            new.naming = Naming::Done;
            new.file = exclusive(&new.folder, name)?;
            new.naming = Naming::AtOnce(name.to_owned());
        }
        Ok(new)
    }

    /// How this file system gives a file another name without replacing anything; `None` if it cannot. Tried
    /// while the file is empty, since it would be too late afterwards.
    fn try_out_renaming(&self) -> Option<Naming> {
        let Naming::Renamed(first) = &self.naming else { return None };
        let second = private_name();
        if rename_without_replacing(&self.folder, first, &second).is_ok() {
            return Some(Naming::Renamed(second));
        }
        if rustix::fs::linkat(&self.folder, first, &self.folder, &second, AtFlags::empty()).is_ok() {
            self.unlink_if_ours(&second);
            return Some(Naming::Linked(first.clone()));
        }
        None
    }

    /// True if the file can be seen under another name until it is published.
    pub fn has_private_name(&self) -> bool {
        matches!(self.naming, Naming::Renamed(_) | Naming::Linked(_))
    }

    /// The file, open for reading and writing.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Gives the file its name, which nothing may bear.
    ///
    /// # Errors
    ///
    /// Kind [`io::ErrorKind::AlreadyExists`] if something bears it by now; that stays as it is.
    pub fn publish(mut self, name: &OsStr) -> io::Result<()> {
        match &self.naming {
            Naming::Nameless => self.link(name)?,
            Naming::Renamed(private) => rename_without_replacing(&self.folder, private, name)?,
            Naming::Linked(private) => {
                rustix::fs::linkat(&self.folder, private, &self.folder, name, AtFlags::empty())?;
                self.unlink_if_ours(private);
            }
            Naming::AtOnce(_) | Naming::Done => {}
        }
        self.naming = Naming::Done;
        Ok(())
    }

    fn link(&self, name: &OsStr) -> io::Result<()> {
        // Allowed to all since Linux 6.10, before to CAP_DAC_READ_SEARCH.
        match rustix::fs::linkat(&self.file, c"", &self.folder, name, AtFlags::EMPTY_PATH) {
            Err(error) if error != Errno::EXIST => {}
            result => return Ok(result?),
        }
        let link = link_in_proc(&self.file);
        Ok(rustix::fs::linkat(CWD, link.as_str(), &self.folder, name, AtFlags::SYMLINK_FOLLOW)?)
    }

    /// Removes a name in the folder if it is this file's.
    fn unlink_if_ours(&self, name: &OsStr) {
        let own = rustix::fs::fstat(&self.file);
        let found = rustix::fs::statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW);
        if let (Ok(own), Ok(found)) = (own, found)
            && (own.st_dev, own.st_ino) == (found.st_dev, found.st_ino)
        {
            // What stays is found by a later run.
            let _ = rustix::fs::unlinkat(&self.folder, name, AtFlags::empty());
        }
    }

    fn remove(&self) {
        match &self.naming {
            Naming::Renamed(name) | Naming::Linked(name) | Naming::AtOnce(name) => self.unlink_if_ours(name),
            Naming::Nameless | Naming::Done => {}
        }
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Removes what runs that were killed have left in a directory: files with a private name that nobody has locked
/// and that `is_ours` tells to be ours.
pub fn remove_leftovers(folder: &Path, is_ours: impl Fn(&File) -> bool) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if !entry.file_name().as_bytes().starts_with(PRIVATE_PREFIX.as_bytes()) {
            continue;
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Ok(file) = rustix::fs::open(entry.path(), flags, Mode::empty()).map(File::from) else { continue };
        if file.metadata().is_ok_and(|found| found.is_file()) && matches!(try_lock(&file), Ok(true)) && is_ours(&file) {
            let (Ok(own), Ok(found)) = (rustix::fs::fstat(&file), rustix::fs::lstat(entry.path())) else { continue };
            if (own.st_dev, own.st_ino) == (found.st_dev, found.st_ino) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

/// The umask takes away what it takes away.
const fn mode() -> Mode {
    Mode::from_raw_mode(0o666)
}

fn link_in_proc(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

fn rename_without_replacing(folder: &OwnedFd, from: &OsStr, to: &OsStr) -> io::Result<()> {
    Ok(rustix::fs::renameat_with(folder, from, folder, to, RenameFlags::NOREPLACE)?)
}

fn exclusive(folder: &OwnedFd, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(folder, name, flags, mode())?.into())
}

fn create_private(folder: &OwnedFd) -> io::Result<(OsString, File)> {
    for _ in 0..ATTEMPTS {
        let name = private_name();
        match exclusive(folder, &name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            result => return result.map(|file| (name, file)),
        }
    }
    Err(Errno::EXIST.into())
}

fn private_name() -> OsString {
    format!("{PRIVATE_PREFIX}{:016x}", random()).into()
}

/// A number that nobody can guess.
pub fn random() -> u64 {
    // Keyed with random bytes of the system.
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::{MetadataExt, symlink};
    use tempfile::TempDir;

    fn folder() -> TempDir {
        tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("a folder")
    }

    fn names(folder: &Path) -> Vec<OsString> {
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name()).collect()
    }

    fn held(folder: &Path) -> OwnedFd {
        rustix::fs::open(folder, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).expect("opens")
    }

    fn each_way(folder: &Path, name: &OsStr) -> [NewFile; 3] {
        let nameless = NewFile::create(folder, name).expect("a new file");
        let renamed = NewFile::private(held(folder), name).expect("a new file");
        let mut linked = NewFile::private(held(folder), name).expect("a new file");
        if let Naming::Renamed(private) = &linked.naming {
            linked.naming = Naming::Linked(private.clone());
        }
        [nameless, renamed, linked]
    }

    #[test]
    fn the_name_appears_when_the_file_is_whole() {
        let place = folder();
        let name = OsStr::new("whole");
        for new in each_way(place.path(), name) {
            new.file().write_all(b"content").expect("written");
            assert!(!place.path().join(name).exists());
            new.publish(name).expect("nothing bears the name");
            assert_eq!(fs::read(place.path().join(name)).expect("it is there"), b"content");
            fs::remove_file(place.path().join(name)).expect("removed");
        }
        assert_eq!(names(place.path()), Vec::<OsString>::new());
    }

    #[test]
    fn what_bears_the_name_stays_and_what_is_dropped_is_gone() {
        let place = folder();
        let name = OsStr::new("taken");
        let new = each_way(place.path(), name);
        fs::write(place.path().join(name), b"theirs").expect("written");
        for new in new {
            assert_eq!(new.publish(name).expect_err("taken").kind(), io::ErrorKind::AlreadyExists);
        }
        let refused = NewFile::create(place.path(), name).expect_err("taken");
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(place.path().join(name)).expect("it is there"), b"theirs");
        assert_eq!(names(place.path()), [name]);
    }

    #[test]
    fn a_dangling_link_counts_as_taken() {
        let place = folder();
        symlink("nowhere", place.path().join("link")).expect("links work");
        assert!(NewFile::create(place.path(), OsStr::new("link")).is_err());
    }

    #[test]
    fn a_file_that_took_the_private_name_is_not_removed() {
        let place = folder();
        let new = NewFile::private(held(place.path()), OsStr::new("x")).expect("a new file");
        let Naming::Renamed(private) = &new.naming else { panic!("renaming works here") };
        let private = place.path().join(private);
        fs::remove_file(&private).expect("removed");
        fs::write(&private, b"theirs").expect("written");
        drop(new);
        assert_eq!(fs::read(&private).expect("it is there"), b"theirs");
    }

    #[test]
    fn the_folder_may_be_renamed_meanwhile() {
        let place = folder();
        let (old, moved) = (place.path().join("old"), place.path().join("moved"));
        for index in 0..3 {
            fs::create_dir(&old).expect("a folder");
            let name = OsStr::new("f");
            let [first, second, third] = each_way(&old, name);
            fs::rename(&old, &moved).expect("renamed");
            fs::create_dir(&old).expect("a folder");
            let new = [first, second, third].into_iter().nth(index).expect("one of three");
            let inode = new.file().metadata().expect("ours").ino();
            new.publish(name).expect("nothing bears the name");
            assert_eq!(fs::metadata(moved.join(name)).expect("in the folder that was meant").ino(), inode);
            assert!(!old.join(name).exists());
            fs::remove_dir_all(&moved).and_then(|()| fs::remove_dir_all(&old)).expect("removed");
        }
    }

    #[test]
    fn leftovers_are_removed_if_they_are_ours_and_nobody_writes_them() {
        let place = folder();
        let at = |end: &str| place.path().join(format!("{PRIVATE_PREFIX}{end}"));
        for end in ["ours", "locked", "theirs"] {
            fs::write(at(end), end).expect("written");
        }
        symlink(at("theirs"), at("link")).expect("links work");
        let locked = File::open(at("locked")).expect("opens");
        assert!(try_lock(&locked).expect("an answer"));
        let theirs = fs::metadata(at("theirs")).expect("it is there").ino();
        remove_leftovers(place.path(), |file| file.metadata().expect("a file").ino() != theirs);
        assert!(!at("ours").exists() && at("locked").exists() && at("theirs").exists());
        assert!(at("link").symlink_metadata().is_ok());
    }
}
