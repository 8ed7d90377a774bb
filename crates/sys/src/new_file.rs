//! A new file whose name appears only when it is complete, and never replaces another file.

use crate::file_identity::{self, FileState};
use crate::folder::Folder;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

/// Prefix of the names of unfinished files, on file systems without nameless files.
pub const PRIVATE_PREFIX: &str = ".diskspd-new-";

/// An attribute that is asked for, whether it exists or not.
const ANY_ATTRIBUTE: &str = "user.diskspd";

/// State of the file's name.
#[derive(Debug)]
enum Naming {
    /// It has none yet.
    Nameless,
    /// It has this private name, which can be changed without replacing another file.
    Private(OsString),
    /// It has its final name from the start: the file system offers nothing else.
    AtOnce(OsString),
    /// It has its final name.
    Done,
}

/// A new file in a directory that is held open, even if the directory is renamed. It is removed if it is dropped before
/// [`publish`](Self::publish).
#[derive(Debug)]
pub struct NewFile {
    file: File,
    folder: Folder,
    naming: Naming,
}

impl NewFile {
    /// Creates an empty file that is to become `name` in `folder`. Its permissions are those of any new file.
    ///
    /// # Errors
    ///
    /// Kind [`io::ErrorKind::AlreadyExists`] if the name already exists.
    pub fn create(folder: &Path, name: &OsStr) -> io::Result<Self> {
        let folder = Folder::open(folder)?;
        if folder.find(name)?.is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        if let Ok(file) = folder.create_nameless()
            && Path::new(&format!("/proc/self/fd/{}", file.as_raw_fd())).exists()
        {
            return Ok(Self { file, folder, naming: Naming::Nameless });
        }
        Self::create_private(folder, name)
    }

    fn create_private(folder: Folder, name: &OsStr) -> io::Result<Self> {
        let [first, second] = [private_name(), private_name()];
        if let Ok(file) = folder.create_new(&first) {
            // The lock shows later runs that the file is still being written; without locks they find none either.
            let _ = file.lock();
            let mut new = Self { file, folder, naming: Naming::Private(first.clone()) };
            let own = file_identity::state(&new.file);
            // Tried while the file is empty, since it would be too late afterwards.
            if new.folder.rename_new(&first, &second).is_ok() {
                new.naming = Naming::Private(second.clone());
                // On 9p a descriptor leads to the attributes of the name that the file was opened by.
                let attribute = crate::xattr::get(&new.file, ANY_ATTRIBUTE);
                if !attribute.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
                    return Ok(new);
                }
                if let Ok(own) = &own {
                    new.folder.remove(&second, own)?;
                }
            } else {
                new.remove();
            }
            new.naming = Naming::AtOnce(name.to_owned());
            new.file = new.folder.create_new(name)?;
            return Ok(new);
        }
        let file = folder.create_new(name)?;
        Ok(Self { file, folder, naming: Naming::AtOnce(name.to_owned()) })
    }

    /// True if the file is visible under another name until it is published.
    pub fn has_private_name(&self) -> bool {
        matches!(self.naming, Naming::Private(_))
    }

    /// The file, open for reading and writing.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Gives the file its name, which must not exist.
    ///
    /// # Errors
    ///
    /// Kind [`io::ErrorKind::AlreadyExists`] if it exists by now; that file is kept.
    pub fn publish(mut self, name: &OsStr) -> io::Result<()> {
        match &self.naming {
            Naming::Nameless => self.folder.link(&self.file, name)?,
            Naming::Private(private) => self.folder.rename_new(private, name)?,
            Naming::AtOnce(_) | Naming::Done => {}
        }
        self.naming = Naming::Done;
        Ok(())
    }

    fn remove(&self) {
        if let Naming::Private(name) | Naming::AtOnce(name) = &self.naming
            && let Ok(own) = file_identity::state(&self.file)
        {
            // A file that remains is found by a later run.
            let _ = self.folder.remove(name, &own);
        }
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Removes leftovers of killed runs from a directory: files with a private name that are not locked and that `is_ours`
/// accepts. Files that cannot be inspected are kept.
pub fn remove_leftovers(folder: &Path, is_ours: impl Fn(&File) -> bool) {
    let Ok(folder) = Folder::open(folder) else { return };
    for name in folder.names(PRIVATE_PREFIX).unwrap_or_default() {
        let Ok(file) = folder.open_to_look(&name) else { continue };
        let Ok(own @ FileState { is_regular: true, .. }) = file_identity::state(&file) else { continue };
        if file.try_lock().is_ok() && is_ours(&file) {
            let _ = folder.remove(&name, &own);
        }
    }
}

/// An unused private name.
pub fn private_name() -> OsString {
    format!("{PRIVATE_PREFIX}{:016x}", random()).into()
}

/// A random number.
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

    fn private(folder: &Path, name: &OsStr) -> NewFile {
        NewFile::create_private(Folder::open(folder).expect("opens"), name).expect("a new file")
    }

    fn each_way(folder: &Path, name: &OsStr) -> [NewFile; 2] {
        [NewFile::create(folder, name).expect("a new file"), private(folder, name)]
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

    // Shows data-safety: a new file
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
        let new = private(place.path(), OsStr::new("x"));
        let Naming::Private(private) = &new.naming else { panic!("renaming works here") };
        let private = place.path().join(private);
        fs::remove_file(&private).expect("removed");
        fs::write(&private, b"theirs").expect("written");
        drop(new);
        assert_eq!(fs::read(&private).expect("it is there"), b"theirs");
    }

    // Shows data-safety: a new file
    #[test]
    fn the_folder_may_be_renamed_meanwhile() {
        let place = folder();
        let (old, moved) = (place.path().join("old"), place.path().join("moved"));
        for index in 0..2 {
            fs::create_dir(&old).expect("a folder");
            let name = OsStr::new("f");
            let both = each_way(&old, name);
            fs::rename(&old, &moved).expect("renamed");
            fs::create_dir(&old).expect("a folder");
            let new = both.into_iter().nth(index).expect("one of two");
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
        locked.lock().expect("locked");
        let theirs = fs::metadata(at("theirs")).expect("it is there").ino();
        remove_leftovers(place.path(), |file| file.metadata().expect("a file").ino() != theirs);
        assert!(!at("ours").exists() && at("locked").exists() && at("theirs").exists());
        assert!(at("link").symlink_metadata().is_ok());
    }
}
