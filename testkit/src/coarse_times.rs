//! A file system in memory, served over FUSE, whose times have a granularity of two seconds, as those of FAT, and
//! which keeps extended attributes but no birth times.

use crate::fuse::{self, Served, TTL};
use crate::workplace::Workplace;
use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, LockOwner, OpenFlags,
    RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyStatfs, ReplyWrite,
    ReplyXattr, Request, TimeOrNow, WriteFlags,
};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

const GRANULARITY_S: u64 = 2;

/// How files can get another name.
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
    _served: Served,
    /// Where it is mounted.
    pub folder: PathBuf,
}

impl CoarseTimes {
    /// Mounts an empty one, or says why that cannot be.
    pub fn mounted(place: &Workplace, name: &str, renames: Renames) -> Result<Self, String> {
        let served = Served::mounted(Server { renames, files: Mutex::default() }, place.path(name))?;
        Ok(Self { folder: served.folder().to_owned(), _served: served })
    }
}

#[derive(Debug)]
struct MemoryFile {
    data: Vec<u8>,
    modified: SystemTime,
    attributes: BTreeMap<OsString, Vec<u8>>,
}

#[derive(Debug, Default)]
struct Files {
    names: BTreeMap<OsString, u64>,
    by_inode: BTreeMap<u64, MemoryFile>,
    last_inode: u64,
}

struct Server {
    renames: Renames,
    files: Mutex<Files>,
}

fn coarse(time: SystemTime) -> SystemTime {
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds / GRANULARITY_S * GRANULARITY_S)
}

impl Files {
    fn attr(&self, inode: u64) -> Option<FileAttr> {
        let file = self.by_inode.get(&inode);
        if file.is_none() && inode != INodeNo::ROOT.0 {
            return None;
        }
        let size = file.map_or(0, |file| file.data.len() as u64);
        let modified = file.map_or(SystemTime::UNIX_EPOCH, |file| file.modified);
        Some(FileAttr {
            atime: modified,
            mtime: modified,
            ctime: modified,
            nlink: self.names.values().filter(|named| **named == inode).count() as u32,
            ..fuse::attributes(INodeNo(inode), size)
        })
    }

    fn changed(&mut self, inode: u64) -> Option<&mut MemoryFile> {
        let file = self.by_inode.get_mut(&inode)?;
        file.modified = coarse(SystemTime::now());
        Some(file)
    }
}

impl Server {
    fn files(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Filesystem for Server {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let files = self.files();
        match files.names.get(name).and_then(|inode| files.attr(*inode)) {
            Some(attr) => reply.entry(&TTL, &attr, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.files().attr(inode.0) {
            Some(attr) => reply.attr(&TTL, &attr),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        inode: INodeNo,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        modified: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let mut files = self.files();
        if let Some(size) = size
            && let Some(file) = files.changed(inode.0)
        {
            file.data.resize(size as usize, 0);
        }
        if let (Some(time), Some(file)) = (modified, files.by_inode.get_mut(&inode.0)) {
            file.modified = coarse(match time {
                TimeOrNow::SpecificTime(time) => time,
                TimeOrNow::Now => SystemTime::now(),
            });
        }
        match files.attr(inode.0) {
            Some(attr) => reply.attr(&TTL, &attr),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn create(&self, _: &Request, _: INodeNo, name: &OsStr, _: u32, _: u32, _: i32, reply: ReplyCreate) {
        let mut files = self.files();
        // The root is 1.
        let inode = files.last_inode.max(1) + 1;
        files.last_inode = inode;
        files.names.insert(name.to_owned(), inode);
        let modified = coarse(SystemTime::now());
        files.by_inode.insert(inode, MemoryFile { data: Vec::new(), modified, attributes: BTreeMap::new() });
        match files.attr(inode) {
            Some(attr) => reply.created(&TTL, &attr, Generation(0), FileHandle(0), FopenFlags::empty()),
            None => reply.error(Errno::EIO),
        }
    }

    fn unlink(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        match self.files().names.remove(name) {
            Some(_) => reply.ok(),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn rename(
        &self,
        _: &Request,
        _: INodeNo,
        name: &OsStr,
        _: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let mut files = self.files();
        if self.renames != Renames::WithoutReplacing && !flags.is_empty() {
            return reply.error(Errno::EINVAL);
        }
        if flags.contains(RenameFlags::RENAME_NOREPLACE) && files.names.contains_key(new_name) {
            return reply.error(Errno::EEXIST);
        }
        let Some(inode) = files.names.remove(name) else { return reply.error(Errno::ENOENT) };
        files.names.insert(new_name.to_owned(), inode);
        reply.ok();
    }

    fn link(&self, _: &Request, inode: INodeNo, _: INodeNo, new_name: &OsStr, reply: ReplyEntry) {
        let mut files = self.files();
        if self.renames == Renames::None {
            return reply.error(Errno::EPERM);
        }
        if files.names.contains_key(new_name) {
            return reply.error(Errno::EEXIST);
        }
        files.names.insert(new_name.to_owned(), inode.0);
        match files.attr(inode.0) {
            Some(attr) => reply.entry(&TTL, &attr, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn read(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let files = self.files();
        let data = files.by_inode.get(&inode.0).map_or(&[][..], |file| &file.data);
        let start = data.len().min(offset as usize);
        let end = data.len().min(start + size as usize);
        reply.data(&data[start..end]);
    }

    fn write(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let mut files = self.files();
        let Some(file) = files.changed(inode.0) else { return reply.error(Errno::ENOENT) };
        let end = offset as usize + data.len();
        if file.data.len() < end {
            file.data.resize(end, 0);
        }
        file.data[offset as usize..end].copy_from_slice(data);
        reply.written(data.len() as u32);
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        reply.ok();
    }

    fn setxattr(&self, _: &Request, inode: INodeNo, name: &OsStr, value: &[u8], _: i32, _: u32, reply: ReplyEmpty) {
        match self.files().by_inode.get_mut(&inode.0) {
            Some(file) => {
                file.attributes.insert(name.to_owned(), value.to_owned());
                reply.ok();
            }
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getxattr(&self, _: &Request, inode: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        let files = self.files();
        match files.by_inode.get(&inode.0).and_then(|file| file.attributes.get(name)) {
            None => reply.error(Errno::ENODATA),
            Some(value) if size == 0 => reply.size(value.len() as u32),
            Some(value) if value.len() > size as usize => reply.error(Errno::ERANGE),
            Some(value) => reply.data(value),
        }
    }

    fn readdir(&self, _: &Request, _: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        for (index, (name, inode)) in self.files().names.iter().enumerate().skip(offset as usize) {
            if reply.add(INodeNo(*inode), index as u64 + 1, FileType::RegularFile, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        reply.statfs(1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 4096, 255, 4096);
    }
}
