//! File systems that a test serves over FUSE: a directory of files whose I/O is handled by hooks.

use crate::machine::is_root;
use crate::process::favoured;
use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory,
    ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, ReplyXattr, Request, TimeOrNow, WriteFlags,
};
use rustix::mount::UnmountFlags;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use std::{fmt, io};

/// Nothing is cached by the kernel: each lookup and each I/O reaches the file system.
const TTL: Duration = Duration::ZERO;

/// The inode of the first file; the directory itself is 1.
pub(crate) const FIRST: u64 = INodeNo::ROOT.0 + 1;

/// Sends the answer to a call.
pub(crate) type Answer = Box<dyn FnOnce() + Send>;

/// A result of a hook, or the error returned to the program.
pub(crate) type Outcome<T = ()> = Result<T, Errno>;

/// A call that succeeded and has no answer yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompletedCall {
    pub(crate) kind: Kind,
    /// In bytes; 0 unless it is a read or a write, as is the length.
    pub(crate) offset: u64,
    pub(crate) bytes: u32,
    pub(crate) arrived: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Open,
    Read,
    Write,
    Flush,
}

/// The files of a directory, identified by their inodes.
pub(crate) trait Files: Send + 'static {
    /// True if I/O goes through the page cache; otherwise each arrives with its original offset and length.
    const HAS_PAGE_CACHE: bool = false;

    fn names(&self) -> Vec<(OsString, u64)>;

    fn size_bytes(&self, file: u64) -> u64;

    fn attributes(&self, file: u64) -> Outcome<FileAttr> {
        Ok(attributes(file, if file == INodeNo::ROOT.0 { 0 } else { self.size_bytes(file) }))
    }

    fn resize(&mut self, file: u64, size_bytes: u64) -> Outcome {
        if size_bytes == self.size_bytes(file) { Ok(()) } else { Err(Errno::EPERM) }
    }

    /// The time of the last change; ignored by default.
    fn set_modified(&mut self, _file: u64, _time: SystemTime) {}

    fn create(&mut self, _name: &OsStr) -> Outcome<u64> {
        Err(Errno::EPERM)
    }

    fn remove(&mut self, _name: &OsStr) -> Outcome {
        Err(Errno::EPERM)
    }

    fn rename(&mut self, _from: &OsStr, _to: &OsStr, _flags: RenameFlags) -> Outcome {
        Err(Errno::EPERM)
    }

    fn link(&mut self, _file: u64, _name: &OsStr) -> Outcome {
        Err(Errno::EPERM)
    }

    fn extended(&self, _file: u64, _name: &OsStr) -> Outcome<Vec<u8>> {
        Err(Errno::ENOSYS)
    }

    fn set_extended(&mut self, _file: u64, _name: &OsStr, _value: &[u8]) -> Outcome {
        Err(Errno::ENOSYS)
    }

    /// Returns fewer bytes at the end of the file.
    fn read(&mut self, file: u64, offset: u64, bytes: u32) -> Outcome<Vec<u8>>;

    /// `is_through` is true if the file is open with `O_DSYNC`.
    fn write(&mut self, file: u64, offset: u64, data: &[u8], is_through: bool) -> Outcome;

    /// If it is not implemented, the kernel calls it only once.
    fn flush(&mut self) -> Outcome {
        Err(Errno::ENOSYS)
    }

    fn discard(&mut self, _file: u64, _offset: u64, _bytes: u64) -> Outcome {
        Err(Errno::EOPNOTSUPP)
    }

    /// Answers a call, now or later; failures are answered at once.
    fn deliver(&mut self, _done: CompletedCall, answer: Answer) {
        answer();
    }
}

/// A file system that is mounted until this is dropped.
pub(crate) struct Served<F> {
    files: Arc<Mutex<F>>,
    _session: BackgroundSession,
    folder: PathBuf,
}

impl<F: Files> Served<F> {
    /// Mounts it on a new directory; the error is the reason if that is impossible.
    pub(crate) fn mounted(files: F, folder: PathBuf) -> Result<Self, String> {
        if !is_root() || !Path::new("/dev/fuse").exists() {
            return Err("needs root and /dev/fuse".to_owned());
        }
        std::fs::create_dir(&folder).expect("a new folder");
        let files = Arc::new(Mutex::new(files));
        let server = Server(Arc::clone(&files));
        // A busy machine must not delay it.
        let session = favoured(|| fuser::spawn_mount(server, &folder, &Config::default()));
        let session = session.map_err(|error| format!("FUSE cannot be mounted here: {error}"))?;
        Ok(Self { files, _session: session, folder })
    }
}

impl<F> Served<F> {
    pub(crate) fn files(&self) -> MutexGuard<'_, F> {
        lock(&self.files)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl<F> fmt::Debug for Served<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Served").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl<F> Drop for Served<F> {
    fn drop(&mut self) {
        // Lazily, so that a process killed by a test, but not gone yet, cannot block it. The session's own attempt then
        // finds nothing to unmount.
        let _ = rustix::mount::unmount(&self.folder, UnmountFlags::DETACH);
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Attributes of the mounted directory, or of a file of this size in it.
pub(crate) fn attributes(inode: u64, size_bytes: u64) -> FileAttr {
    let is_folder = inode == INodeNo::ROOT.0;
    FileAttr {
        ino: INodeNo(inode),
        size: size_bytes,
        blocks: size_bytes.div_ceil(512),
        atime: SystemTime::UNIX_EPOCH,
        mtime: SystemTime::UNIX_EPOCH,
        ctime: SystemTime::UNIX_EPOCH,
        crtime: SystemTime::UNIX_EPOCH,
        kind: if is_folder { FileType::Directory } else { FileType::RegularFile },
        perm: if is_folder { 0o755 } else { 0o644 },
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

/// `O_DSYNC`.
const DSYNC: i32 = 0o10000;
/// `FALLOC_FL_PUNCH_HOLE` of `linux/falloc.h`.
const PUNCH_HOLE: i32 = 2;

/// Receives the calls of the kernel.
struct Server<F>(Arc<Mutex<F>>);

/// Answers with the value of an outcome, or with its error.
macro_rules! answer {
    ($reply:ident, $outcome:expr, $value:pat => $method:ident($($argument:expr),*)) => {
        match $outcome {
            Ok($value) => $reply.$method($($argument),*),
            Err(error) => $reply.error(error),
        }
    };
}

/// Delivers the answer to a call that succeeded, or answers with its error.
macro_rules! deliver {
    ($files:ident, $reply:ident, $outcome:expr, $done:expr, $value:pat => $method:ident($($argument:expr),*)) => {
        match $outcome {
            Ok($value) => {
                let done = $done;
                $files.deliver(done, Box::new(move || $reply.$method($($argument),*)));
            }
            Err(error) => $reply.error(error),
        }
    };
}

impl<F: Files> Server<F> {
    fn files(&self) -> MutexGuard<'_, F> {
        lock(&self.0)
    }

    const fn open_flags() -> FopenFlags {
        if F::HAS_PAGE_CACHE { FopenFlags::empty() } else { FopenFlags::FOPEN_DIRECT_IO }
    }
}

impl<F: Files> Filesystem for Server<F> {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // As many I/Os at a time as programs have outstanding; otherwise they arrive one after the other, regardless of
        // the depth. An older kernel may refuse.
        let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        let _ = config.set_max_background(256);
        Ok(())
    }

    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let files = self.files();
        let file = files.names().into_iter().find(|(known, _)| known == name).ok_or(Errno::ENOENT);
        answer!(reply, file.and_then(|(_, file)| files.attributes(file)), found => entry(&TTL, &found, Generation(0)));
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        answer!(reply, self.files().attributes(inode.0), found => attr(&TTL, &found));
    }

    fn setattr(
        &self,
        _: &Request,
        inode: INodeNo,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        size_bytes: Option<u64>,
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
        let resized = size_bytes.map_or(Ok(()), |size_bytes| files.resize(inode.0, size_bytes));
        match modified {
            Some(TimeOrNow::SpecificTime(time)) => files.set_modified(inode.0, time),
            Some(TimeOrNow::Now) => files.set_modified(inode.0, SystemTime::now()),
            None => {}
        }
        answer!(reply, resized.and_then(|()| files.attributes(inode.0)), changed => attr(&TTL, &changed));
    }

    fn create(&self, _: &Request, _: INodeNo, name: &OsStr, _: u32, _: u32, _: i32, reply: ReplyCreate) {
        let mut files = self.files();
        let created = files.create(name).and_then(|file| files.attributes(file));
        let (handle, flags) = (FileHandle(0), Self::open_flags());
        answer!(reply, created, new => created(&TTL, &new, Generation(0), handle, flags));
    }

    fn unlink(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer!(reply, self.files().remove(name), () => ok());
    }

    fn rename(
        &self,
        _: &Request,
        _: INodeNo,
        from: &OsStr,
        _: INodeNo,
        to: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        answer!(reply, self.files().rename(from, to, flags), () => ok());
    }

    fn link(&self, _: &Request, inode: INodeNo, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let mut files = self.files();
        let linked = files.link(inode.0, name).and_then(|()| files.attributes(inode.0));
        answer!(reply, linked, found => entry(&TTL, &found, Generation(0)));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let done = CompletedCall { kind: Kind::Open, offset: 0, bytes: 0, arrived: Instant::now() };
        self.files().deliver(done, Box::new(move || reply.opened(FileHandle(0), Self::open_flags())));
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
        let arrived = Instant::now();
        let mut files = self.files();
        let read = files.read(inode.0, offset, size);
        deliver!(files, reply, read, CompletedCall { kind: Kind::Read, offset, bytes: data.len() as u32, arrived },
            data => data(&data));
    }

    fn write(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let arrived = Instant::now();
        let mut files = self.files();
        let bytes = data.len() as u32;
        let written = files.write(inode.0, offset, data, flags.0 & DSYNC != 0);
        deliver!(files, reply, written, CompletedCall { kind: Kind::Write, offset, bytes, arrived }, () => written(bytes));
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let arrived = Instant::now();
        let mut files = self.files();
        let flushed = files.flush();
        deliver!(files, reply, flushed, CompletedCall { kind: Kind::Flush, offset: 0, bytes: 0, arrived }, () => ok());
    }

    fn fallocate(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        bytes: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let mut files = self.files();
        let is_discard = mode & PUNCH_HOLE != 0;
        let done = if is_discard { files.discard(inode.0, offset, bytes) } else { Err(Errno::EOPNOTSUPP) };
        answer!(reply, done, () => ok());
    }

    fn setxattr(&self, _: &Request, inode: INodeNo, name: &OsStr, value: &[u8], _: i32, _: u32, reply: ReplyEmpty) {
        answer!(reply, self.files().set_extended(inode.0, name, value), () => ok());
    }

    fn getxattr(&self, _: &Request, inode: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        match self.files().extended(inode.0, name) {
            Err(error) => reply.error(error),
            Ok(value) if size == 0 => reply.size(value.len() as u32),
            Ok(value) if value.len() > size as usize => reply.error(Errno::ERANGE),
            Ok(value) => reply.data(&value),
        }
    }

    fn readdir(&self, _: &Request, _: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        for (index, (name, file)) in self.files().names().into_iter().enumerate().skip(offset as usize) {
            if reply.add(INodeNo(file), index as u64 + 1, FileType::RegularFile, &name) {
                break;
            }
        }
        reply.ok();
    }

    /// Space is never exhausted: 4 TiB are free.
    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        reply.statfs(1 << 30, 1 << 30, 1 << 30, 1 << 20, 1 << 20, 4096, 255, 4096);
    }
}
