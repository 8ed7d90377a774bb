//! Restricts the targets that a process can open on behalf of another machine: to those inside directories that it
//! holds open, and devices that its owner listed.
//!
//! It applies to the whole process and cannot be lifted. All code that opens or creates a target or looks for its
//! directory uses [`open`]; without a confinement that is `open(2)`.

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

static HERE: OnceLock<Confinement> = OnceLock::new();

/// Directories and devices that may be opened.
#[derive(Debug, Default)]
pub struct Confinement {
    /// Each with the path prefix of its targets.
    folders: Vec<(PathBuf, OwnedFd)>,
    /// Device files, each with its path in targets and its number.
    devices: Vec<(PathBuf, u64)>,
}

/// Kind of the file at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A regular file.
    File,
    /// A listed block device.
    Device,
    /// Nothing, in an existing directory.
    Free,
}

impl Confinement {
    /// Opens these directories and devices, given by absolute paths.
    ///
    /// # Errors
    ///
    /// The first that is neither a directory nor a block device, with the reason.
    pub fn to(paths: &[PathBuf]) -> Result<Self, (PathBuf, io::Error)> {
        let mut held = Self::default();
        for path in paths {
            held.add(path).map_err(|error| (path.clone(), error))?;
        }
        Ok(held)
    }

    fn add(&mut self, path: &Path) -> io::Result<()> {
        if !path.is_absolute() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path is not absolute"));
        }
        let place = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        let found = rustix::fs::fstat(&place)?;
        match FileType::from_raw_mode(found.st_mode) {
            FileType::Directory => {
                self.folders.push((path.to_owned(), place));
                self.hold(path).map_err(told_of_openat2)?;
            }
            FileType::BlockDevice => self.devices.push((path.to_owned(), found.st_rdev)),
            _ => return Err(io::Error::new(io::ErrorKind::InvalidInput, "neither a directory nor a block device")),
        }
        Ok(())
    }

    /// Confines this process: from now on it opens no other targets.
    ///
    /// `None` = there is another confinement already.
    pub fn enter(self) -> Option<&'static Self> {
        HERE.set(self).ok()?;
        HERE.get()
    }

    /// True if a path has the prefix of targets. Others are paths of the program itself, as of devices below a target.
    fn covers(&self, path: &Path) -> bool {
        self.folders.iter().any(|(folder, _)| path.starts_with(folder))
            || self.devices.iter().any(|(own, _)| own == path)
    }

    /// The kind of the file at a path.
    ///
    /// # Errors
    ///
    /// If it may not be opened; the error has the reason.
    pub fn place(&self, path: &Path) -> io::Result<Place> {
        match self.hold(path) {
            Ok((_, found)) => match FileType::from_raw_mode(found.st_mode) {
                FileType::Directory => Err(refused("is a directory")),
                FileType::BlockDevice => Ok(Place::Device),
                _ => Ok(Place::File),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let (Some(parent), Some(_)) = (path.parent(), path.file_name()) else { return Err(error) };
                self.hold(parent).map(|_| Place::Free)
            }
            Err(error) => Err(error),
        }
    }

    /// Opens a permitted target. Neither the path nor the file can lead elsewhere: no link is followed, and the file
    /// that was checked is the one that is opened.
    fn open(&self, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        let (place, _) = self.hold(path)?;
        if flags.contains(OFlags::PATH) {
            return Ok(place);
        }
        Ok(rustix::fs::openat(CWD, format!("/proc/self/fd/{}", place.as_raw_fd()), flags, Mode::empty())?)
    }

    /// Holds the file at a path, without opening it for I/O.
    fn hold(&self, path: &Path) -> io::Result<(OwnedFd, Stat)> {
        if let Some((_, number)) = self.devices.iter().find(|(device, _)| device == path) {
            let place = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
            let found = rustix::fs::fstat(&place)?;
            let is_it = FileType::from_raw_mode(found.st_mode) == FileType::BlockDevice && found.st_rdev == *number;
            return if is_it { Ok((place, found)) } else { Err(refused("is no longer the device that was allowed")) };
        }
        // As written: a path with `..` would have to be resolved before it could be checked.
        if path.components().any(|part| part == Component::ParentDir) {
            return Err(refused("contains '..'"));
        }
        let inside = |(folder, held)| Some((held, path.strip_prefix(folder).ok()?));
        let deepest = self.folders.iter().map(|(folder, held)| (folder, held)).filter_map(inside);
        let Some((held, rest)) = deepest.min_by_key(|(_, rest)| rest.as_os_str().len()) else {
            return Err(refused("is not beneath an allowed directory"));
        };
        let rest = if rest.as_os_str().is_empty() { Path::new(".") } else { rest };
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let place = rustix::fs::openat2(held, rest, flags, Mode::empty(), resolve).map_err(|error| match error {
            rustix::io::Errno::LOOP => refused("is a symbolic link, or contains one"),
            error => error.into(),
        })?;
        let found = rustix::fs::fstat(&place)?;
        match FileType::from_raw_mode(found.st_mode) {
            FileType::RegularFile if found.st_nlink > 1 => return Err(refused("has several hard links")),
            FileType::Directory | FileType::RegularFile => {}
            FileType::BlockDevice | FileType::CharacterDevice => {
                return Err(refused("is a device, and devices must be allowed by themselves"));
            }
            _ => return Err(refused("is neither a regular file nor a block device")),
        }
        Ok((place, found))
    }
}

/// Adds the likely cause where the system call is not available.
fn told_of_openat2(error: io::Error) -> io::Error {
    if error.kind() != io::ErrorKind::Unsupported {
        return error;
    }
    let reason =
        "openat2 is missing: it needs Linux 5.6, and a systemd unit without RestrictSUIDSGID= and DynamicUser=";
    io::Error::new(io::ErrorKind::Unsupported, reason)
}

/// True if this process opens a path by its confinement, whatever links were put there.
pub fn covers(path: &Path) -> bool {
    HERE.get().is_some_and(|confinement| confinement.covers(path))
}

/// Opens a path if this process is confined and it [is that of a target](covers); `None` otherwise.
pub(crate) fn open_covered(path: &Path, flags: OFlags) -> Option<io::Result<OwnedFd>> {
    HERE.get().filter(|confinement| confinement.covers(path)).map(|confinement| confinement.open(path, flags))
}

fn refused(reason: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, reason)
}

/// Opens an existing file; where this process is confined, only a permitted one.
///
/// # Errors
///
/// Those of `open(2)`; [`io::ErrorKind::PermissionDenied`] for all other paths.
pub fn open(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    match HERE.get() {
        None => Ok(rustix::fs::open(path, flags, Mode::empty())?),
        Some(confinement) => confinement.open(path, flags),
    }
}

/// As [`open`], for reading and writing.
pub fn open_to_change(path: &Path) -> io::Result<std::fs::File> {
    open(path, OFlags::RDWR | OFlags::CLOEXEC).map(Into::into)
}

/// As [`open`], for reading.
pub fn open_to_read(path: &Path) -> io::Result<std::fs::File> {
    open(path, OFlags::RDONLY | OFlags::CLOEXEC).map(Into::into)
}

/// Creates the missing directories of a path; a confined process creates none.
pub fn create_folders(path: &Path) -> io::Result<()> {
    match HERE.get() {
        None => std::fs::create_dir_all(path),
        Some(confinement) => confinement.hold(path).map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use tempfile::TempDir;

    /// A permitted directory, and another one beside it; or why there can be none.
    fn house() -> Result<(TempDir, Confinement), String> {
        let house = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("our folder");
        for folder in ["allowed/deep", "other", "allowed-too"] {
            fs::create_dir_all(house.path().join(folder)).expect("made");
        }
        fs::write(house.path().join("other/secret"), "theirs").expect("written");
        fs::write(house.path().join("allowed/deep/file"), "ours").expect("written");
        match Confinement::to(&[house.path().join("allowed")]) {
            Err((_, error)) if error.kind() == io::ErrorKind::Unsupported => Err(format!("no openat2 here: {error}")),
            held => Ok((house, held.expect("it is there"))),
        }
    }

    #[test]
    fn files_beneath_an_allowed_folder_are_opened() {
        let (house, confinement) = testkit::or_skip!(house());
        let at = |name: &str| house.path().join(name);
        assert_eq!(confinement.place(&at("allowed/deep/file")).expect("allowed"), Place::File);
        assert_eq!(confinement.place(&at("allowed/new")).expect("allowed"), Place::Free);
        let opened = confinement.open(&at("allowed/deep/file"), OFlags::RDONLY).expect("allowed");
        assert_eq!(std::io::read_to_string(fs::File::from(opened)).expect("read"), "ours");
        for (path, expected) in [("allowed", true), ("allowed/x/y", true), ("allowed-too/x", false), ("other", false)] {
            assert_eq!(confinement.covers(&at(path)), expected, "{path}");
        }
        confinement.open(&at("allowed"), OFlags::PATH | OFlags::DIRECTORY).expect("the folder itself");
        assert!(confinement.place(&at("allowed/deep")).is_err());
    }

    #[test]
    fn nothing_else_is() {
        let (house, confinement) = testkit::or_skip!(house());
        let at = |name: &str| house.path().join(name);
        symlink("../other/secret", at("allowed/link")).expect("made");
        symlink("../other", at("allowed/folder")).expect("made");
        symlink("deep/file", at("allowed/within")).expect("made");
        fs::hard_link(at("other/secret"), at("allowed/hard")).expect("made");
        rustix::fs::mknodat(CWD, at("allowed/fifo"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("made");
        let outside = [
            "other/secret",
            "other/new",
            "allowed-too/new",
            "allowed/../other/secret",
            "allowed/link",
            "allowed/folder/secret",
            "allowed/folder/new",
            "allowed/within",
            "allowed/hard",
            "allowed/fifo",
            "allowed/none/new",
        ];
        for name in outside {
            assert!(confinement.place(&at(name)).is_err(), "{name}");
            assert!(confinement.open(&at(name), OFlags::RDWR).is_err(), "{name}");
        }
        let relative = confinement.place(Path::new("allowed/deep/file")).expect_err("relative");
        assert_eq!(relative.kind(), io::ErrorKind::PermissionDenied);
        assert!(confinement.place(Path::new("/dev/null")).is_err());
        assert_eq!(fs::read(at("other/secret")).expect("there"), b"theirs");
    }

    #[test]
    fn the_folder_stays_the_one_that_was_allowed() {
        let (house, confinement) = testkit::or_skip!(house());
        let at = |name: &str| house.path().join(name);
        fs::rename(at("allowed"), at("moved")).expect("moved");
        symlink("other", at("allowed")).expect("made");
        assert!(confinement.place(&at("allowed/secret")).is_ok_and(|place| place == Place::Free));
        let opened = confinement.open(&at("allowed/deep/file"), OFlags::RDONLY).expect("the one that was allowed");
        assert_eq!(std::io::read_to_string(fs::File::from(opened)).expect("read"), "ours");
    }

    #[test]
    fn what_is_no_folder_or_device_cannot_be_allowed() {
        let (house, _) = testkit::or_skip!(house());
        for path in [house.path().join("other/secret"), PathBuf::from("relative"), PathBuf::from("/dev/null")] {
            let (named, _) = Confinement::to(std::slice::from_ref(&path)).expect_err("refused");
            assert_eq!(named, path);
        }
    }
}
