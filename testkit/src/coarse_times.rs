//! A file system in memory, served over FUSE, whose times have a granularity of two seconds, like those of FAT, with
//! extended attributes but no birth times.

use crate::fuse::{self, FIRST, Files, Outcome, Served};
use crate::workplace::Workplace;
use fuser::{Errno, FileAttr, INodeNo, RenameFlags};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

const GRANULARITY_S: u64 = 2;

/// Supported ways to rename files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renames {
    /// `renameat2` with `RENAME_NOREPLACE`.
    WithoutReplacing,
    /// Hard links only.
    Links,
    /// Not at all.
    None,
}

/// The file system, mounted until it is dropped.
#[derive(Debug)]
pub struct CoarseTimes {
    _served: Served<Folder>,
    /// Its mount point.
    pub folder: PathBuf,
}

impl CoarseTimes {
    /// Mounts an empty one; the error is the reason if that is impossible.
    pub fn mounted(place: &Workplace, name: &str, renames: Renames) -> Result<Self, String> {
        let folder = Folder { renames, names: BTreeMap::new(), by_inode: BTreeMap::new() };
        let served = Served::mounted(folder, place.path(name))?;
        Ok(Self { folder: served.folder().to_owned(), _served: served })
    }
}

struct MemoryFile {
    data: Vec<u8>,
    modified: SystemTime,
    attributes: BTreeMap<OsString, Vec<u8>>,
}

struct Folder {
    renames: Renames,
    names: BTreeMap<OsString, u64>,
    /// Includes removed files.
    by_inode: BTreeMap<u64, MemoryFile>,
}

fn coarse(time: SystemTime) -> SystemTime {
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds / GRANULARITY_S * GRANULARITY_S)
}

impl Folder {
    fn file(&self, file: u64) -> Outcome<&MemoryFile> {
        self.by_inode.get(&file).ok_or(Errno::ENOENT)
    }

    fn changed(&mut self, file: u64) -> Outcome<&mut MemoryFile> {
        let file = self.by_inode.get_mut(&file).ok_or(Errno::ENOENT)?;
        file.modified = coarse(SystemTime::now());
        Ok(file)
    }
}

impl Files for Folder {
    const HAS_PAGE_CACHE: bool = true;

    fn names(&self) -> Vec<(OsString, u64)> {
        self.names.iter().map(|(name, file)| (name.clone(), *file)).collect()
    }

    fn size_bytes(&self, file: u64) -> u64 {
        self.by_inode.get(&file).map_or(0, |file| file.data.len() as u64)
    }

    fn attributes(&self, file: u64) -> Outcome<FileAttr> {
        let is_folder = file == INodeNo::ROOT.0;
        let modified = if is_folder { SystemTime::UNIX_EPOCH } else { self.file(file)?.modified };
        Ok(FileAttr {
            atime: modified,
            mtime: modified,
            ctime: modified,
            nlink: self.names.values().filter(|named| **named == file).count() as u32,
            ..fuse::attributes(file, self.size_bytes(file))
        })
    }

    fn resize(&mut self, file: u64, size_bytes: u64) -> Outcome {
        self.changed(file)?.data.resize(size_bytes as usize, 0);
        Ok(())
    }

    fn set_modified(&mut self, file: u64, time: SystemTime) {
        if let Some(file) = self.by_inode.get_mut(&file) {
            file.modified = coarse(time);
        }
    }

    fn create(&mut self, name: &OsStr) -> Outcome<u64> {
        let file = FIRST + self.by_inode.len() as u64;
        self.names.insert(name.to_owned(), file);
        let modified = coarse(SystemTime::now());
        self.by_inode.insert(file, MemoryFile { data: Vec::new(), modified, attributes: BTreeMap::new() });
        Ok(file)
    }

    fn remove(&mut self, name: &OsStr) -> Outcome {
        self.names.remove(name).map(drop).ok_or(Errno::ENOENT)
    }

    fn rename(&mut self, from: &OsStr, to: &OsStr, flags: RenameFlags) -> Outcome {
        if self.renames != Renames::WithoutReplacing && !flags.is_empty() {
            return Err(Errno::EINVAL);
        }
        if flags.contains(RenameFlags::RENAME_NOREPLACE) && self.names.contains_key(to) {
            return Err(Errno::EEXIST);
        }
        let file = self.names.remove(from).ok_or(Errno::ENOENT)?;
        self.names.insert(to.to_owned(), file);
        Ok(())
    }

    fn link(&mut self, file: u64, name: &OsStr) -> Outcome {
        if self.renames == Renames::None {
            return Err(Errno::EPERM);
        }
        if self.names.contains_key(name) {
            return Err(Errno::EEXIST);
        }
        self.names.insert(name.to_owned(), file);
        Ok(())
    }

    fn extended(&self, file: u64, name: &OsStr) -> Outcome<Vec<u8>> {
        self.by_inode.get(&file).and_then(|file| file.attributes.get(name)).cloned().ok_or(Errno::ENODATA)
    }

    fn set_extended(&mut self, file: u64, name: &OsStr, value: &[u8]) -> Outcome {
        let file = self.by_inode.get_mut(&file).ok_or(Errno::ENOENT)?;
        file.attributes.insert(name.to_owned(), value.to_owned());
        Ok(())
    }

    fn read(&mut self, file: u64, offset: u64, bytes: u32) -> Outcome<Vec<u8>> {
        let data = &self.file(file)?.data;
        let start = data.len().min(offset as usize);
        Ok(data[start..data.len().min(start + bytes as usize)].to_owned())
    }

    fn write(&mut self, file: u64, offset: u64, data: &[u8], _: bool) -> Outcome {
        let file = self.changed(file)?;
        let end = offset as usize + data.len();
        file.data.resize(end.max(file.data.len()), 0);
        file.data[offset as usize..end].copy_from_slice(data);
        Ok(())
    }

    fn flush(&mut self) -> Outcome {
        Ok(())
    }
}
