//! Files under temporary names, which become results once they are complete.

use render::document::{DocumentKind, HEAD_BYTES};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use sys::file_identity::{self, FileState};
use sys::folder::Folder;

const PREFIX: &str = ".diskspd-";
/// Number of digits after the prefix.
const DIGITS: usize = 16;
/// The extended attribute of a file that is not complete.
const ATTRIBUTE: &str = "user.diskspd-private";

/// The extended attribute of documents that cannot be identified by their beginning: some text reports have no line
/// that `DiskSpd` does not write, and a workbook names no program.
const fn attribute_of(kind: DocumentKind) -> Option<&'static str> {
    match kind {
        DocumentKind::ResultText => Some("user.diskspd-text"),
        DocumentKind::Workbook => Some("user.diskspd-workbook"),
        _ => None,
    }
}

/// Valid only while the file is unchanged.
fn mark(state: &FileState) -> String {
    format!("v1 size={} modified={}", state.size_bytes, state.modified_ns)
}

/// True if a document of this kind is marked and unchanged since this program wrote it.
pub(super) fn is_marked(file: &File, kind: DocumentKind) -> bool {
    let Some((attribute, state)) = attribute_of(kind).zip(file_identity::state(file).ok()) else { return false };
    sys::xattr::get(file, attribute).is_ok_and(|value| value.is_some_and(|value| value == mark(&state).as_bytes()))
}

/// A file that is being written. It is locked until then, and removed if it is never renamed.
pub(super) struct PrivateFile<'a> {
    folder: &'a Folder,
    name: OsString,
    file: File,
    is_named: bool,
}

impl<'a> PrivateFile<'a> {
    pub(super) fn create(folder: &'a Folder) -> io::Result<Self> {
        let (name, file) = loop {
            let name = OsString::from(format!("{PREFIX}{:0DIGITS$x}", sys::new_file::random()));
            match folder.create_new(&name) {
                Ok(file) => break (name, file),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        };
        let private = Self { folder, name, file, is_named: false };
        // Other processes remove files with the attribute that are not locked, so the lock comes first. If locks are
        // unsupported, nothing is removed either.
        let _ = private.file.lock();
        // Without extended attributes, its content identifies its writer.
        let _ = sys::xattr::set(&private.file, ATTRIBUTE, b"1");
        Ok(private)
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Marks the file as complete: nothing more will be written.
    pub(super) fn complete(&self, kind: DocumentKind) -> io::Result<()> {
        self.file.sync_all()?;
        if let Some(attribute) = attribute_of(kind) {
            let mark = mark(&file_identity::state(&self.file)?);
            // Without extended attributes, the lines that only this program writes must suffice.
            let _ = sys::xattr::set(&self.file, attribute, mark.as_bytes());
        }
        Ok(())
    }

    /// Replaces exactly this file; false if there is another, or it has changed.
    pub(super) fn take_place_of(&mut self, name: &OsStr, expected: &FileState) -> io::Result<bool> {
        if !self.folder.find(name)?.is_some_and(|found| found.is_unchanged(expected)) {
            return Ok(false);
        }
        match self.folder.exchange(&self.name, name) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => self.folder.rename_over(&self.name, name)?,
            Err(error) => return Err(error),
            Ok(()) => match self.folder.find(&self.name)? {
                Some(found) if found.is_unchanged(expected) => self.folder.remove(&self.name, &found)?,
                // It was created since the check, and gets its name back.
                Some(_) => {
                    self.folder.exchange(&self.name, name)?;
                    return Ok(false);
                }
                // It was removed by another process in the meantime.
                None => {}
            },
        }
        self.named();
        Ok(true)
    }

    /// Fails if the name is taken.
    pub(super) fn rename_new(&mut self, name: &OsStr) -> io::Result<()> {
        self.folder.rename_new(&self.name, name)?;
        self.named();
        Ok(())
    }

    /// Keeps it under its temporary name and returns that name.
    pub(super) fn keep(&mut self) -> &OsStr {
        self.named();
        &self.name
    }

    /// Records that it is a result now, which must not be removed.
    fn named(&mut self) {
        let _ = sys::xattr::remove(&self.file, ATTRIBUTE);
        self.is_named = true;
    }

    /// Removes files left in a directory by runs that were killed. Files that cannot be examined are kept.
    pub(super) fn remove_leftovers(folder: &Folder) {
        for name in folder.names(PREFIX).unwrap_or_default() {
            if is_private_name(&name)
                && let Ok(Some(leftover)) = leftover(folder, &name)
            {
                let _ = folder.remove(&name, &leftover);
            }
        }
    }
}

impl Drop for PrivateFile<'_> {
    fn drop(&mut self) {
        if !self.is_named
            && let Ok(own) = file_identity::state(&self.file)
        {
            let _ = self.folder.remove(&self.name, &own);
        }
    }
}

fn is_private_name(name: &OsStr) -> bool {
    let digits = name.as_bytes().strip_prefix(PREFIX.as_bytes());
    digits.is_some_and(|digits| {
        digits.len() == DIGITS && digits.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// The file of this name, if it is ours and no longer being written.
fn leftover(folder: &Folder, name: &OsStr) -> io::Result<Option<FileState>> {
    let file = folder.open_to_look(name)?;
    let state = file_identity::state(&file)?;
    if !state.is_regular || state.owner != sys::folder::user() || state.links != 1 {
        return Ok(None);
    }
    if file.try_lock().is_err() {
        return Ok(None);
    }
    let is_ours = match sys::xattr::get(&file, ATTRIBUTE) {
        Ok(value) => value.is_some(),
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {
            let mut beginning = Vec::new();
            (&file).take(HEAD_BYTES as u64).read_to_end(&mut beginning)?;
            DocumentKind::detect(&beginning).is_some()
        }
        Err(error) => return Err(error),
    };
    Ok(is_ours.then_some(state))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_what_a_killed_run_left_is_removed() {
        let place = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let folder = Folder::open(place.path()).unwrap();
        let theirs = ".diskspd-0123456789abcdef";
        fs::write(place.path().join(theirs), "theirs").unwrap();
        fs::write(place.path().join(".diskspd-notes"), "{\"schema\":\"diskspd-result\"").unwrap();
        let mut left = PrivateFile::create(&folder).unwrap();
        fs::write(place.path().join(&left.name), "{\"schema\":\"diskspd-result\"").unwrap();
        let being_written = PrivateFile::create(&folder).unwrap();
        PrivateFile::remove_leftovers(&folder);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 4, "both are locked");
        left.is_named = true;
        let name = left.name.clone();
        drop(left);
        PrivateFile::remove_leftovers(&folder);
        assert!(!place.path().join(&name).exists());
        assert!(place.path().join(theirs).exists() && place.path().join(".diskspd-notes").exists());
        assert!(place.path().join(&being_written.name).exists());
        drop(being_written);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 2);
    }
}
