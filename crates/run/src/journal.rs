//! `--journal`: the directory of a run that is verified, with its map once the run has ended, and its logs until then.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;
use sys::file_identity::{self, FileState};
use sys::folder::Folder;
use verify::log::{self, MAGIC_BYTES, RUN_FILE_NAME};

/// Where a run keeps what `diskspd verify` needs.
#[derive(Clone, Copy, Debug)]
pub struct Journal<'a> {
    /// Where the map is saved once the run has ended well.
    pub map: &'a File,
    /// The directory of the logs.
    pub folder: &'a Folder,
    /// Its path, for messages.
    pub path: &'a Path,
}

/// True for the names of logs, and of the file that says which run they are of.
pub fn is_reserved(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name == RUN_FILE_NAME || log::is_log_name(name))
}

/// Files in a directory that have such names.
fn named_like_logs(folder: &Folder) -> io::Result<Vec<OsString>> {
    let mut found = folder.names("")?;
    found.retain(|name| is_reserved(name));
    // The file that says which run they are of goes first: logs without it are nothing.
    found.sort_by_key(|name| (name != RUN_FILE_NAME, name.clone()));
    Ok(found)
}

/// The file of a name, if it is a regular file that `is_ours` knows by its first bytes, or empty: that is left of a machine
/// that ended before it could write. `None` = it is somebody else's.
///
/// # Errors
///
/// If it cannot be read, or is not there.
pub fn own_file(
    folder: &Folder,
    name: &OsStr,
    head_bytes: usize,
    is_ours: impl Fn(&[u8]) -> bool,
) -> io::Result<Option<FileState>> {
    if !folder.find(name)?.ok_or(io::ErrorKind::NotFound)?.is_regular {
        return Ok(None);
    }
    let file = folder.open_to_look(name)?;
    let mut head = Vec::new();
    (&file).take(head_bytes as u64).read_to_end(&mut head)?;
    let is_ours = head.is_empty() || is_ours(&head);
    Ok(Some(file_identity::state(&file)?).filter(|state| is_ours && state.is_regular))
}

fn own_log(folder: &Folder, name: &OsStr) -> io::Result<Option<FileState>> {
    own_file(folder, name, MAGIC_BYTES, log::is_ours)
}

/// The name of a file with the name of a log that is none, and is never replaced.
///
/// # Errors
///
/// If the directory or a file cannot be read.
pub fn stranger(folder: &Folder) -> io::Result<Option<OsString>> {
    for name in named_like_logs(folder)? {
        if own_log(folder, &name)?.is_none() {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// True if a run is writing its logs there.
///
/// # Errors
///
/// If that cannot be told.
pub fn is_in_use(folder: &Folder) -> io::Result<bool> {
    let file = match folder.open_to_look(RUN_FILE_NAME.as_ref()) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(fs::TryLockError::WouldBlock) => Ok(true),
        Err(fs::TryLockError::Error(error)) => Err(error),
    }
}

/// Removes the logs of an earlier run.
///
/// # Errors
///
/// If one of them cannot be removed, or is none.
pub fn remove_logs(folder: &Folder) -> io::Result<()> {
    for name in named_like_logs(folder)? {
        let Some(own) = own_log(folder, &name)? else {
            let name = name.display();
            return Err(io::Error::other(format!("'{name}' is not a log of diskspd, and is never replaced")));
        };
        folder.remove(&name, &own)?;
    }
    Ok(())
}
