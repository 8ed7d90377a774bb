//! What the file systems that a test serves over FUSE have in common.

use crate::machine::is_root;
use crate::process::favoured;
use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, INodeNo, InitFlags,
    KernelConfig, ReplyAttr, ReplyOpen, ReplyStatfs,
};
use rustix::mount::UnmountFlags;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Nothing is kept by the kernel: each question and each I/O reaches the file system.
pub(crate) const TTL: Duration = Duration::ZERO;

/// A file system that is mounted until this is dropped.
#[derive(Debug)]
pub(crate) struct Served {
    _session: BackgroundSession,
    folder: PathBuf,
}

impl Served {
    /// Mounts it on a new folder, or says why that cannot be.
    pub(crate) fn mounted(server: impl Filesystem + 'static, folder: PathBuf) -> Result<Self, String> {
        if !is_root() || !Path::new("/dev/fuse").exists() {
            return Err("needs root and /dev/fuse".to_owned());
        }
        std::fs::create_dir(&folder).expect("a new folder");
        // A busy machine shall not make it late.
        let session = favoured(|| fuser::spawn_mount(server, &folder, &Config::default()));
        let session = session.map_err(|error| format!("FUSE cannot be mounted here: {error}"))?;
        Ok(Self { _session: session, folder })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Lazily, so that a process that a test has killed, and that is not gone yet, cannot keep it. The
        // session's own attempt then finds nothing to unmount.
        let _ = rustix::mount::unmount(&self.folder, UnmountFlags::DETACH);
    }
}

/// Lets the kernel send I/Os as many at a time as programs have outstanding.
pub(crate) fn take_many(config: &mut KernelConfig) {
    // Or it is asked for one I/O after the other, whatever the depth; an older kernel may refuse.
    let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
    let _ = config.set_max_background(256);
}

/// Each I/O shall come here with its own offset and length, not those of the page cache.
pub(crate) fn opened(reply: ReplyOpen) {
    reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
}

/// Answers a change of attributes of a file whose size is fixed: all are accepted and ignored, but another size.
pub(crate) fn keep_size(attributes: &FileAttr, size_bytes: Option<u64>, reply: ReplyAttr) {
    if size_bytes.is_some_and(|size_bytes| size_bytes != attributes.size) {
        return reply.error(Errno::EPERM);
    }
    reply.attr(&TTL, attributes);
}

/// There is always room: 4 TiB are free.
pub(crate) fn has_room(reply: ReplyStatfs) {
    reply.statfs(1 << 30, 1 << 30, 1 << 30, 1 << 20, 1 << 20, 4096, 255, 4096);
}

/// Of the folder that is mounted, or of a file of this size in it.
pub(crate) fn attributes(inode: INodeNo, size_bytes: u64) -> FileAttr {
    let is_folder = inode == INodeNo::ROOT;
    let size = if is_folder { 0 } else { size_bytes };
    FileAttr {
        ino: inode,
        size,
        blocks: size.div_ceil(512),
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
