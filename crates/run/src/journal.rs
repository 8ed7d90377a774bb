//! `--journal`: the directory of a run that is verified, with its map once the run has ended, and its logs until then.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use verify::log::{self, MAGIC_BYTES, RUN_FILE_NAME};

/// Where a run keeps what `diskspd verify` needs.
#[derive(Clone, Copy, Debug)]
pub struct Journal<'a> {
    /// Where the map is saved once the run has ended well.
    pub map: &'a File,
    /// The directory of the logs.
    pub folder: &'a Path,
}

/// Files in a directory that have the names of logs, or of the file that says which run they are of.
fn named_like_logs(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        if name.to_str().is_some_and(|name| name == RUN_FILE_NAME || log::is_log_name(name)) {
            found.push(folder.join(name));
        }
    }
    // The file that says which run they are of goes first: logs without it are nothing.
    found.sort_by_key(|path| !path.ends_with(RUN_FILE_NAME));
    Ok(found)
}

fn is_ours(path: &Path) -> io::Result<bool> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Ok(false);
    }
    let mut head = Vec::new();
    File::open(path)?.take(MAGIC_BYTES as u64).read_to_end(&mut head)?;
    // An empty one is left of a machine that ended before it could write.
    Ok(head.is_empty() || log::is_ours(&head))
}

/// A file with the name of a log that is none, and is never replaced.
///
/// # Errors
///
/// If the directory or a file cannot be read.
pub fn stranger(folder: &Path) -> io::Result<Option<PathBuf>> {
    for path in named_like_logs(folder)? {
        if !is_ours(&path)? {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// True if a run is writing its logs there.
///
/// # Errors
///
/// If that cannot be told.
pub fn is_in_use(folder: &Path) -> io::Result<bool> {
    let file = match File::open(folder.join(RUN_FILE_NAME)) {
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
pub fn remove_logs(folder: &Path) -> io::Result<()> {
    for path in named_like_logs(folder)? {
        if !is_ours(&path)? {
            return Err(io::Error::other(format!(
                "'{}' is not a log of diskspd, and is never replaced",
                path.display()
            )));
        }
        fs::remove_file(path)?;
    }
    Ok(())
}
