//! Resolution of a path: a directory that is held open, and a name in it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use sys::file_identity::FileState;
use sys::folder::Folder;

/// Directories whose files belong to the kernel.
const KERNEL_FOLDERS: [&str; 3] = ["/dev", "/proc", "/sys"];

/// The limit of the kernel (`path_resolution(7)`).
const LINKS_MAX: u32 = 40;

/// A path with all symbolic links resolved, and the file there.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) folder: Folder,
    /// State of the directory itself.
    folder_state: FileState,
    pub(super) name: OsString,
    /// The directory's path and the name.
    pub(super) path: PathBuf,
    /// The existing file; `None` = there is none.
    pub(super) found: Option<FileState>,
}

impl Place {
    /// Resolves the path of a result.
    pub(super) fn for_output(path: &Path) -> Result<Self, String> {
        not_the_kernels(&std::path::absolute(path).map_err(|error| error.to_string())?)?;
        let place = Self::find(path)?;
        not_the_kernels(&place.path)?;
        Ok(place)
    }

    /// Resolves any path.
    pub(super) fn find(path: &Path) -> Result<Self, String> {
        let (folder, name) = match fs::canonicalize(path) {
            Ok(resolved) => {
                let name = resolved.file_name().ok_or("it is a directory")?.to_owned();
                (resolved.parent().unwrap_or(Path::new("/")).to_owned(), name)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => missing(path)?,
            Err(error) => return Err(error.to_string()),
        };
        let text = |error: io::Error| error.to_string();
        let held = Folder::open(&folder).map_err(|error| format!("the directory '{}': {error}", folder.display()))?;
        let (folder_state, found) = (held.state().map_err(text)?, held.find(&name).map_err(text)?);
        Ok(Self { path: folder.join(&name), folder: held, folder_state, name, found })
    }

    /// A name in a directory that is held open: symbolic links are not followed. `path` is the directory's.
    pub(super) fn within(folder: &Folder, path: &Path, name: &OsStr) -> io::Result<Self> {
        let folder = folder.try_clone()?;
        let (folder_state, found) = (folder.state()?, folder.find(name)?);
        Ok(Self { folder, folder_state, name: name.to_owned(), path: path.join(name), found })
    }

    /// Resolves a target, which may be created through a dangling symbolic link.
    pub(super) fn of_target(path: &Path) -> Result<Self, String> {
        let mut path = path.to_owned();
        for _ in 0..LINKS_MAX {
            match Self::find(&path) {
                Err(reason) => match fs::read_link(&path) {
                    Ok(next) => path = path.parent().unwrap_or(Path::new(".")).join(next),
                    Err(_) => return Err(reason),
                },
                found => return found,
            }
        }
        Err("too many symbolic links".to_owned())
    }

    /// True if both are one file, including hard links and bind mounts, or will be one once created.
    pub(super) fn is(&self, other: &Self) -> bool {
        let is_same_name = self.folder_state.is_same_file(&other.folder_state) && self.name == other.name;
        let is_linked = |(ours, theirs): (&FileState, &FileState)| ours.is_same_file(theirs);
        is_same_name || self.found.as_ref().zip(other.found.as_ref()).is_some_and(is_linked)
    }

    /// True if it is directly in this directory.
    pub(super) fn is_in(&self, folder: &FileState) -> bool {
        self.folder_state.is_same_file(folder)
    }

    pub(super) fn folder_path(&self) -> &Path {
        // A file is in a directory, and all links are resolved.
        self.path.parent().unwrap_or(Path::new("/"))
    }
}

/// The absolute path of a file once the missing directories are created; `None` = it cannot be resolved.
pub(crate) fn future_path(path: &Path) -> Option<PathBuf> {
    let mut path = std::path::absolute(path).ok()?;
    for _ in 0..LINKS_MAX {
        // The existing part of it, and the remaining names.
        let there = path.ancestors().find_map(|part| Some((part, fs::canonicalize(part).ok()?)));
        let (part, there) = there?;
        let left = path.strip_prefix(part).ok()?.to_owned();
        let Some(next) = left.components().next() else { return Some(there) };
        // A dangling symbolic link.
        if let Ok(target) = fs::read_link(there.join(next)) {
            let behind: PathBuf = left.components().skip(1).collect();
            path = there.join(target).join(behind);
            continue;
        }
        let mut future = there;
        for name in left.components() {
            match name {
                Component::ParentDir => _ = future.pop(),
                name => future.push(name),
            }
        }
        return Some(future);
    }
    None
}

/// The directory and the name of a missing file.
fn missing(path: &Path) -> Result<(PathBuf, OsString), String> {
    if path.symlink_metadata().is_ok() {
        return Err("it is a dangling symbolic link".to_owned());
    }
    let Some(name) = path.file_name().filter(|_| !path.as_os_str().as_bytes().ends_with(b"/")) else {
        return Err("it is a directory name".to_owned());
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = fs::canonicalize(folder).map_err(|error| format!("the directory '{}': {error}", folder.display()))?;
    Ok((folder, name.to_owned()))
}

fn not_the_kernels(path: &Path) -> Result<(), String> {
    match KERNEL_FOLDERS.iter().find(|folder| path.starts_with(folder)) {
        Some(folder) => {
            Err(format!("it is in {folder}; results can only be written to regular files, or to stdout with -"))
        }
        None => Ok(()),
    }
}
