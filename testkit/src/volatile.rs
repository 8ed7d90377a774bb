//! A file on a disk with a volatile cache whose power can be cut, served by the test itself over FUSE.
//!
//! Beside the file stands another one, `power`: `off` written to it cuts the power, and `on` gives it back. Commands that
//! a program under test runs can do that.

use crate::fuse::{self, Served, TTL};
use crate::random::Random;
use crate::workplace::Workplace;
use fuser::{
    Errno, FileAttr, FileHandle, Filesystem, Generation, INodeNo, KernelConfig, LockOwner, OpenFlags, ReplyAttr,
    ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

const FILE: INodeNo = INodeNo(2);
const POWER: INodeNo = INodeNo(3);
const SECTOR_BYTES: usize = 512;

/// What the disk does when it is told to flush its cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flushing {
    /// It writes all of it to the medium.
    Honest,
    /// It writes nothing, and says that it has.
    Ignored,
    /// It forgets about each eighth sector until it is written again, and says that it has not.
    Partial,
}

/// Numbers of writes to a sector; 0 = none.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    on_medium: u64,
    /// The last that was said to be done.
    acknowledged: u64,
    /// The last that was said to be flushed.
    flushed: u64,
}

/// What the disk's own log says of its sectors after a cut: their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AfterCut {
    /// A write that was said to be flushed is gone.
    pub lost: BTreeSet<u64>,
    /// A write that was said to be done is gone, and no flush had covered it.
    pub unflushed: BTreeSet<u64>,
    /// The last write that was said to be done is there.
    pub right: BTreeSet<u64>,
}

#[derive(Debug)]
struct Disk {
    medium: Vec<u8>,
    /// By number of the sector; the latest of each, and which write it is of.
    cache: BTreeMap<usize, (u64, Vec<u8>)>,
    /// What the disk itself knows of each sector.
    known: Vec<Known>,
    writes: u64,
    flushing: Flushing,
    /// Sectors that a partial flush forgot.
    forgotten: BTreeSet<usize>,
    is_off: bool,
    random: Random,
    flushes: u64,
    cuts: u64,
    /// Sectors that were in the cache at a cut, and are gone.
    dropped: u64,
}

impl Disk {
    fn store(&mut self, sector: usize) {
        if self.forgotten.contains(&sector) {
            return;
        }
        if let Some((write, content)) = self.cache.remove(&sector) {
            self.known[sector].on_medium = write;
            self.medium[sector * SECTOR_BYTES..][..SECTOR_BYTES].copy_from_slice(&content);
        }
    }

    fn write(&mut self, offset: u64, data: &[u8], is_through: bool) {
        let first = offset as usize / SECTOR_BYTES;
        let sectors = first..first + data.len() / SECTOR_BYTES;
        self.writes += 1;
        for (sector, content) in sectors.clone().zip(data.chunks_exact(SECTOR_BYTES)) {
            self.cache.insert(sector, (self.writes, content.to_vec()));
            self.known[sector].acknowledged = self.writes;
            self.forgotten.remove(&sector);
        }
        if is_through {
            self.flush(&sectors.collect::<Vec<_>>());
        }
        // The cache writes back what it likes.
        for _ in 0..self.random.below(3) {
            let at = self.random.below(self.cache.len().max(1) as u64) as usize;
            if let Some(sector) = self.cache.keys().nth(at).copied() {
                self.store(sector);
            }
        }
    }

    fn flush(&mut self, sectors: &[usize]) {
        for sector in sectors {
            let known = &mut self.known[*sector];
            known.flushed = known.acknowledged;
            let is_eighth = self.random.below(8) == 0;
            match self.flushing {
                Flushing::Partial if is_eighth => _ = self.forgotten.insert(*sector),
                Flushing::Honest | Flushing::Partial => self.store(*sector),
                Flushing::Ignored => {}
            }
        }
    }

    fn flush_all(&mut self) {
        self.flushes += 1;
        self.flush(&self.cache.keys().copied().collect::<Vec<_>>());
    }

    fn read(&self, offset: u64, bytes: usize) -> Vec<u8> {
        let offset = (offset as usize).min(self.medium.len());
        let end = (offset + bytes).min(self.medium.len());
        let mut data = self.medium[offset..end].to_vec();
        for (sector, (_, content)) in self.cache.range(offset / SECTOR_BYTES..end.div_ceil(SECTOR_BYTES)) {
            for (at, byte) in (sector * SECTOR_BYTES..).zip(content) {
                if (offset..end).contains(&at) {
                    data[at - offset] = *byte;
                }
            }
        }
        data
    }

    fn cut(&mut self) {
        self.is_off = true;
        self.cuts += 1;
        for sector in self.cache.keys().copied().collect::<Vec<_>>() {
            // What was on its way.
            if self.random.below(4) == 0 {
                self.store(sector);
            }
        }
        self.dropped += self.cache.len() as u64;
        self.cache.clear();
    }

    fn after_cut(&self) -> AfterCut {
        let mut after = AfterCut::default();
        for (sector, known) in (0..).zip(&self.known) {
            let set = match known {
                Known { acknowledged: 0, .. } => continue,
                _ if known.on_medium < known.flushed => &mut after.lost,
                _ if known.on_medium < known.acknowledged => &mut after.unflushed,
                _ => &mut after.right,
            };
            set.insert(sector);
        }
        after
    }
}

/// The file system, mounted until it is dropped.
#[derive(Debug)]
pub struct Volatile {
    disk: Arc<Mutex<Disk>>,
    _served: Served,
    /// The file, full of zeros at the beginning.
    pub file: PathBuf,
    /// What the power is cut with.
    pub power: PathBuf,
}

impl Volatile {
    /// Mounts one with a file of this size, or says why that cannot be.
    pub fn mounted(place: &Workplace, name: &str, size_bytes: u64, flushing: Flushing) -> Result<Self, String> {
        let disk = Disk {
            medium: vec![0; size_bytes as usize],
            cache: BTreeMap::new(),
            known: vec![Known::default(); size_bytes as usize / SECTOR_BYTES],
            writes: 0,
            flushing,
            forgotten: BTreeSet::new(),
            is_off: false,
            random: Random::new(1),
            flushes: 0,
            cuts: 0,
            dropped: 0,
        };
        let disk = Arc::new(Mutex::new(disk));
        let served = Served::mounted(Server { disk: Arc::clone(&disk) }, place.path(name))?;
        let (file, power) = (served.folder().join("a.dat"), served.folder().join("power"));
        Ok(Self { disk, _served: served, file, power })
    }

    /// Cuts the power: what is in the cache is gone, and each I/O fails.
    pub fn cut(&self) {
        lock(&self.disk).cut();
    }

    /// Gives the power back.
    pub fn back(&self) {
        lock(&self.disk).is_off = false;
    }

    /// What the disk itself knows of its sectors.
    pub fn after_cut(&self) -> AfterCut {
        lock(&self.disk).after_cut()
    }

    /// How often it was told to flush, how often the power was cut, and sectors that were lost by that.
    pub fn counts(&self) -> (u64, u64, u64) {
        let disk = lock(&self.disk);
        (disk.flushes, disk.cuts, disk.dropped)
    }
}

fn lock(disk: &Mutex<Disk>) -> MutexGuard<'_, Disk> {
    disk.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What FUSE calls.
struct Server {
    disk: Arc<Mutex<Disk>>,
}

impl Server {
    fn attributes(&self, inode: INodeNo) -> FileAttr {
        let size_bytes = if inode == FILE { lock(&self.disk).medium.len() as u64 } else { 0 };
        fuse::attributes(inode, size_bytes)
    }
}

impl Filesystem for Server {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        fuse::take_many(config);
        Ok(())
    }

    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let inode = match name.to_str() {
            Some("a.dat") => FILE,
            Some("power") => POWER,
            _ => return reply.error(Errno::ENOENT),
        };
        reply.entry(&TTL, &self.attributes(inode), Generation(0));
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
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let disk = lock(&self.disk);
        match inode {
            FILE if disk.is_off => reply.error(Errno::EIO),
            FILE => reply.data(&disk.read(offset, size as usize)),
            _ => reply.data(&[]),
        }
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
        let mut disk = lock(&self.disk);
        if inode == POWER {
            match data {
                b"off\n" => disk.cut(),
                b"on\n" => disk.is_off = false,
                _ => return reply.error(Errno::EINVAL),
            }
            return reply.written(data.len() as u32);
        }
        let is_whole = offset.is_multiple_of(SECTOR_BYTES as u64) && data.len().is_multiple_of(SECTOR_BYTES);
        if disk.is_off {
            return reply.error(Errno::EIO);
        }
        if !is_whole || offset + data.len() as u64 > disk.medium.len() as u64 {
            return reply.error(Errno::EINVAL);
        }
        disk.write(offset, data, flags.0 & DSYNC != 0);
        reply.written(data.len() as u32);
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let mut disk = lock(&self.disk);
        if disk.is_off {
            return reply.error(Errno::EIO);
        }
        disk.flush_all();
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        fuse::has_room(reply);
    }
}

/// `O_DSYNC`.
const DSYNC: i32 = 0o10000;

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    #[test]
    fn what_was_flushed_survives_a_cut_on_an_honest_disk_only() {
        let place = Workplace::new("/bin/true", &std::env::temp_dir().to_string_lossy());
        for (number, flushing) in [Flushing::Honest, Flushing::Ignored].into_iter().enumerate() {
            let disk = crate::or_skip!(Volatile::mounted(&place, &format!("disk{number}"), 1 << 20, flushing));
            let file = File::options().read(true).write(true).open(&disk.file).expect("the file");
            file.write_all_at(&vec![1; 512 << 10], 0).expect("room");
            file.sync_data().expect("said to be done");
            file.write_all_at(&vec![2; 512 << 10], 512 << 10).expect("room");
            let mut all = vec![0; 1 << 20];
            file.read_exact_at(&mut all, 0).expect("from the cache");
            assert!(all.iter().all(|&byte| byte > 0));
            std::fs::write(&disk.power, "off\n").expect("the power is cut");
            file.read_exact_at(&mut all, 0).expect_err("it is off");
            file.write_all_at(&[3; 512], 0).expect_err("it is off");
            file.sync_data().expect_err("it is off");
            std::fs::write(&disk.power, "on\n").expect("the power is back");
            file.read_exact_at(&mut all, 0).expect("it is on");
            let is_kept = all[..512 << 10].iter().all(|&byte| byte == 1);
            assert_eq!(is_kept, flushing == Flushing::Honest);
            let unflushed = &all[512 << 10..];
            assert!(unflushed.contains(&0) && unflushed.contains(&2), "some of it is gone");
            assert_eq!(disk.counts().0, 1);
            let after = disk.after_cut();
            assert_eq!(after.lost.is_empty(), flushing == Flushing::Honest);
            let is_gone = |sector: &u64| all[*sector as usize * SECTOR_BYTES] == 0;
            assert!(after.lost.iter().chain(&after.unflushed).all(is_gone));
            assert_eq!(after.right.len(), all.chunks(SECTOR_BYTES).filter(|sector| sector[0] > 0).count());
        }
    }
}
