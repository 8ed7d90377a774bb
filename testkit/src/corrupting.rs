//! A file that loses, tears, misplaces and changes its data to order, served by the test itself over FUSE.

use crate::corrupt_data::{CorruptData, Corruption, Injected, Occasion, WrongSector};
use crate::fuse::{self, Served, TTL};
use crate::workplace::Workplace;
use fuser::{
    Errno, FileAttr, FileHandle, Filesystem, Generation, INodeNo, KernelConfig, LockOwner, OpenFlags, ReplyAttr,
    ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use std::ffi::OsStr;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

const FILE: INodeNo = INodeNo(2);
const NAME: &str = "a.dat";

/// The file system, mounted until it is dropped.
#[derive(Debug)]
pub struct Corrupting {
    data: Arc<Mutex<CorruptData>>,
    _served: Served,
    /// The only file, full of zeros at the beginning.
    pub file: PathBuf,
}

impl Corrupting {
    /// Mounts one with a file of this size in which nothing goes wrong yet, or says why that cannot be.
    pub fn mounted(place: &Workplace, name: &str, size_bytes: u64) -> Result<Self, String> {
        let data = Arc::new(Mutex::new(CorruptData::new(size_bytes)));
        let served = Served::mounted(Server { data: Arc::clone(&data) }, place.path(name))?;
        let file = served.folder().join(NAME);
        Ok(Self { data, _served: served, file })
    }

    fn data(&self) -> MutexGuard<'_, CorruptData> {
        lock(&self.data)
    }

    /// From now on I/Os go wrong on these occasions. If there are more orders, the first that fits an I/O counts.
    pub fn order(&self, corruption: Corruption, occasion: Occasion) {
        self.data().order(corruption, occasion);
    }

    /// From now on no I/O goes wrong; what is wrong stays so.
    pub fn behave(&self) {
        self.data().behave();
    }

    /// The faults that took place, in their order.
    pub fn injected(&self) -> Vec<Injected> {
        self.data().injected().to_vec()
    }

    /// Sectors whose stored bytes are not what a good disk would hold, in the order of their offsets.
    pub fn wrong(&self) -> Vec<WrongSector> {
        self.data().wrong()
    }

    /// Sectors of which a read was given something else than a good disk would have given, or which it could not read.
    pub fn read_wrong(&self) -> Vec<WrongSector> {
        self.data().read_wrong()
    }

    /// The ranges of the reads that were given it, in the order of the reads.
    pub fn wrong_reads(&self) -> Vec<Range<u64>> {
        self.data().wrong_reads().to_vec()
    }
}

fn lock(data: &Mutex<CorruptData>) -> MutexGuard<'_, CorruptData> {
    data.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What FUSE calls.
struct Server {
    data: Arc<Mutex<CorruptData>>,
}

impl Server {
    fn attributes(&self, inode: INodeNo) -> FileAttr {
        fuse::attributes(inode, lock(&self.data).size_bytes())
    }
}

impl Filesystem for Server {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        fuse::take_many(config);
        Ok(())
    }

    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if name == NAME {
            reply.entry(&TTL, &self.attributes(FILE), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&TTL, &self.attributes(inode));
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
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        fuse::keep_size(&self.attributes(inode), size, reply);
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        fuse::opened(reply);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let read = lock(&self.data).read(offset, size.into());
        match read {
            Ok(data) => reply.data(&data),
            Err(_) => reply.error(Errno::EIO),
        }
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let mut stored = lock(&self.data);
        if offset + data.len() as u64 > stored.size_bytes() {
            return reply.error(Errno::ENOSPC);
        }
        stored.write(offset, data);
        drop(stored);
        reply.written(data.len() as u32);
    }

    fn fallocate(&self, _: &Request, _: INodeNo, _: FileHandle, offset: u64, bytes: u64, mode: i32, reply: ReplyEmpty) {
        if mode & i32::from(PUNCH_HOLE) == 0 {
            return reply.error(Errno::EOPNOTSUPP);
        }
        lock(&self.data).discard(offset, bytes);
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        fuse::has_room(reply);
    }
}

/// `FALLOC_FL_PUNCH_HOLE` of `linux/falloc.h`.
const PUNCH_HOLE: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    #[test]
    fn faults_reach_those_who_read_and_write_the_file() {
        let place = Workplace::new("/bin/true", &std::env::temp_dir().to_string_lossy());
        let corrupting = crate::or_skip!(Corrupting::mounted(&place, "corrupting", 1 << 20));
        let file = File::options().read(true).write(true).open(&corrupting.file).expect("the only file");
        file.write_all_at(&[1; 8192], 0).expect("room");
        corrupting.order(Corruption::Lost, Occasion::at(4096));
        file.write_all_at(&[2; 4096], 0).expect("room");
        file.write_all_at(&[2; 4096], 4096).expect("reported as done");
        corrupting.order(Corruption::Unreadable, Occasion::at(65_536));
        let mut read = [0; 8192];
        file.read_exact_at(&mut read, 0).expect("readable");
        assert_eq!((&read[..4096], &read[4096..]), (&[2; 4096][..], &[1; 4096][..]));
        let error = file.read_exact_at(&mut read, 65_536).expect_err("unreadable");
        assert_eq!(error.raw_os_error(), Some(rustix::io::Errno::IO.raw_os_error()));
        let corruptions: Vec<_> = corrupting.injected().iter().map(|injected| injected.corruption).collect();
        assert_eq!(corruptions, [Corruption::Lost, Corruption::Unreadable]);
        assert_eq!((corrupting.wrong().len(), corrupting.read_wrong().len()), (8, 24));
        corrupting.behave();
        file.write_all_at(&[3; 4096], 4096).expect("room");
        file.read_exact_at(&mut read, 65_536).expect("readable again");
        assert!(corrupting.wrong().is_empty());
    }
}
