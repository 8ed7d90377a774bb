//! A file system with faults to order, served by the test itself over FUSE.
//!
//! It keeps no data: reads give zeros, writes are taken and forgotten. What matters is which of them
//! fail, and which do not come back until the test says so.

use crate::fuse::{self, Served, TTL, opened};
use crate::process::Running;
use crate::service::{Service, ServiceClock};
use crate::workplace::Workplace;
use fuser::{
    Errno, FileAttr, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, KernelConfig, LockOwner, OpenFlags,
    ReplyAttr, ReplyCreate, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow,
    WriteFlags,
};
use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// The file that is there from the beginning.
const OLD: INodeNo = INodeNo(2);
/// The one that can be made.
const NEW: INodeNo = INodeNo(3);
const OLD_NAME: &str = "a.dat";
const NEW_NAME: &str = "new.dat";

/// What becomes of I/O.
#[derive(Debug)]
struct Law {
    sizes_bytes: [u64; 2],
    new_exists: bool,
    /// Blocks of this size, of which each n-th fails; 0 = none.
    block_bytes: u64,
    every: u64,
    /// Offsets from here on find no space.
    room_bytes: u64,
    slow: Option<Slow>,
    service: Option<ServiceClock>,
    /// What an fsync takes; `None` = the file system has none.
    flush_takes: Option<Duration>,
    /// The most that an answer was later than the service allows.
    latest: Duration,
    slow_reads: Vec<SlowRead>,
    is_holding: bool,
    /// The open with this number, from 1, does not come back; 0 = all do.
    held_open: u64,
    held: Vec<Held>,
    opened: u64,
    answered: u64,
    /// `None` = they are not recorded.
    calls: Option<Vec<Call>>,
    /// I/Os that a service law keeps.
    outstanding: usize,
}

/// A call in the order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// A read.
    Read(Asked),
    /// A write.
    Write(Asked),
    /// `fsync` or `fdatasync`.
    Flush {
        /// Reads and writes without an answer.
        outstanding: usize,
    },
}

/// Where an I/O goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Offset in bytes.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// Reads and writes without an answer, this one not counted, if a [`Service`] holds.
    pub outstanding: usize,
}

/// Reads at this offset, or everywhere, take so long.
#[derive(Clone, Copy, Debug)]
struct Slow {
    offset: Option<u64>,
    time: Duration,
}

/// When a slow read came to the file system, and when its answer was about to leave.
#[derive(Clone, Copy, Debug)]
pub struct SlowRead {
    /// It was asked for before.
    pub arrived: Instant,
    /// It came back later.
    pub answered: Instant,
}

/// An I/O that has no answer yet.
#[derive(Debug)]
enum Held {
    Read { bytes: u32, reply: ReplyData },
    Write { bytes: u32, reply: ReplyWrite },
    Open { reply: ReplyOpen },
}

/// The file system, mounted until it is dropped.
#[derive(Debug)]
pub struct Faulty {
    law: Arc<Mutex<Law>>,
    _served: Served,
    /// A file of 16 MiB.
    pub file: PathBuf,
    /// A file that does not exist yet.
    pub new_file: PathBuf,
}

impl Faulty {
    /// Mounts one in which nothing fails yet, or says why that cannot be.
    pub fn mounted(place: &Workplace, name: &str) -> Result<Self, String> {
        let law = Arc::new(Mutex::new(Law {
            sizes_bytes: [16 << 20, 0],
            new_exists: false,
            block_bytes: 1,
            every: 0,
            room_bytes: u64::MAX,
            slow: None,
            service: None,
            flush_takes: None,
            latest: Duration::ZERO,
            slow_reads: Vec::new(),
            is_holding: false,
            held_open: 0,
            held: Vec::new(),
            opened: 0,
            answered: 0,
            calls: None,
            outstanding: 0,
        }));
        let served = Served::mounted(Server { law: Arc::clone(&law) }, place.path(name))?;
        let (file, new_file) = (served.folder().join(OLD_NAME), served.folder().join(NEW_NAME));
        Ok(Self { law, _served: served, file, new_file })
    }

    fn law(&self) -> MutexGuard<'_, Law> {
        lock(&self.law)
    }

    /// From now on each `every`-th block of `block_bytes` fails with `EIO`: the one before each
    /// multiple of `every` blocks.
    pub fn fail_blocks(&self, block_bytes: u64, every: u64) {
        let mut law = self.law();
        (law.block_bytes, law.every) = (block_bytes, every);
    }

    /// From now on nothing can be written beyond so many bytes of a file: `ENOSPC`, whatever the file
    /// system says about its free space.
    pub fn limit_room(&self, room_bytes: u64) {
        self.law().room_bytes = room_bytes;
    }

    /// From now on reads at this offset come back after so long; others are not kept waiting.
    pub fn slow_down(&self, offset: u64, time: Duration) {
        self.law().slow = Some(Slow { offset: Some(offset), time });
    }

    /// From now on each read comes back after so long, however many there are at a time.
    pub fn slow_down_all(&self, time: Duration) {
        self.law().slow = Some(Slow { offset: None, time });
    }

    /// From now on reads and writes take as long as this says.
    pub fn serve(&self, service: Service) {
        self.law().service = Some(ServiceClock::new(service));
    }

    /// From now on each fsync and fdatasync takes so long; writes do not.
    pub fn flush_takes(&self, time: Duration) {
        self.law().flush_takes = Some(time);
    }

    /// Records calls from now on, and gives those that were recorded before.
    pub fn take_calls(&self) -> Vec<Call> {
        self.law().calls.replace(Vec::new()).unwrap_or_default()
    }

    /// The most that an answer was later than [`Service`] says: it shares its CPUs with others.
    pub fn latest(&self) -> Duration {
        self.law().latest
    }

    /// Gives the file that is there from the beginning another size.
    pub fn resize(&self, size_bytes: u64) {
        self.law().sizes_bytes[0] = size_bytes;
    }

    /// The slow reads that were answered since the last call, in the order of their answers.
    pub fn take_slow_reads(&self) -> Vec<SlowRead> {
        std::mem::take(&mut self.law().slow_reads)
    }

    /// From now on reads and writes do not come back.
    pub fn hold(&self) {
        self.law().is_holding = true;
    }

    /// The `ahead`-th open from now on, from 1, does not come back.
    pub fn hold_open(&self, ahead: u64) {
        let mut law = self.law();
        law.held_open = law.opened + ahead;
    }

    /// How often files were opened.
    pub fn opened(&self) -> u64 {
        self.law().opened
    }

    /// Number of calls that have not come back.
    pub fn held(&self) -> usize {
        self.law().held.len()
    }

    /// Number of reads and writes that were done, failed ones not counted.
    pub fn answered(&self) -> u64 {
        self.law().answered
    }

    /// Lets all of them come back, and those to come.
    pub fn release(&self) {
        self.law().release();
    }

    /// A load (`-v`) whose I/Os hang since some were answered, and when it was started. One that was over before, because this
    /// thread was kept waiting, is started again.
    pub fn hold_load(&self, start: impl Fn() -> Running) -> (Instant, Running) {
        loop {
            let started = Instant::now();
            let mut run = start();
            run.wait_for_stderr("starting measurements");
            let before = self.answered();
            let is_over = |run: &Running| run.stderr().contains("stopped measurements");
            run.wait_until("some I/O", |run| is_over(run) || self.answered() > before + 20);
            self.hold();
            run.wait_until("an I/O to hang", |run| is_over(run) || self.held() > 0);
            if !is_over(&run) {
                return (started, run);
            }
            self.release();
            run.kill_hard();
        }
    }
}

impl Drop for Faulty {
    fn drop(&mut self) {
        // Nobody can unmount, and no process can end, while I/O is held.
        self.release();
    }
}

fn answer_later(law: &Arc<Mutex<Law>>, at: Instant, answer: impl FnOnce() + Send + 'static) {
    let law = Arc::clone(law);
    lock(&law).outstanding += 1;
    std::thread::spawn(move || {
        std::thread::sleep(at.saturating_duration_since(Instant::now()));
        let late = at.elapsed();
        let mut law = lock(&law);
        law.latest = law.latest.max(late);
        law.outstanding -= 1;
        drop(law);
        answer();
    });
}

fn lock(law: &Mutex<Law>) -> MutexGuard<'_, Law> {
    law.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Law {
    fn release(&mut self) {
        self.is_holding = false;
        for held in self.held.drain(..) {
            match held {
                Held::Read { bytes, reply } => reply.data(&vec![0; bytes as usize]),
                Held::Write { bytes, reply } => reply.written(bytes),
                Held::Open { reply } => opened(reply),
            }
        }
    }

    fn record(&mut self, call: Call) {
        if let Some(calls) = &mut self.calls {
            calls.push(call);
        }
    }

    fn answer_at(&mut self, offset: u64, bytes: u32, now: Instant) -> Option<Instant> {
        self.service.as_mut().map(|service| service.answer_at(offset, bytes, now))
    }

    fn size(&mut self, inode: INodeNo) -> &mut u64 {
        &mut self.sizes_bytes[usize::from(inode == NEW)]
    }

    /// True if any block of the range is one that fails.
    fn fails(&self, offset: u64, bytes: u64) -> bool {
        let (first, last) = (offset / self.block_bytes, (offset + bytes.max(1) - 1) / self.block_bytes);
        self.every > 0 && (first..=last).any(|block| (block + 1).is_multiple_of(self.every))
    }

    fn attributes(&mut self, inode: INodeNo) -> FileAttr {
        let size = *self.size(inode);
        fuse::attributes(inode, size)
    }
}

/// What FUSE calls.
struct Server {
    law: Arc<Mutex<Law>>,
}

impl Server {
    fn law(&self) -> MutexGuard<'_, Law> {
        lock(&self.law)
    }
}

impl Filesystem for Server {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        fuse::take_many(config);
        Ok(())
    }

    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let mut law = self.law();
        match name.to_str() {
            Some(OLD_NAME) => reply.entry(&TTL, &law.attributes(OLD), Generation(0)),
            Some(NEW_NAME) if law.new_exists => reply.entry(&TTL, &law.attributes(NEW), Generation(0)),
            _ => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&TTL, &self.law().attributes(inode));
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
        let mut law = self.law();
        if let Some(size) = size {
            *law.size(inode) = size;
        }
        reply.attr(&TTL, &law.attributes(inode));
    }

    fn create(&self, _: &Request, _: INodeNo, name: &OsStr, _: u32, _: u32, _: i32, reply: ReplyCreate) {
        if name != NEW_NAME {
            return reply.error(Errno::EPERM);
        }
        let mut law = self.law();
        law.new_exists = true;
        let (attributes, flags) = (law.attributes(NEW), FopenFlags::FOPEN_DIRECT_IO);
        reply.created(&TTL, &attributes, Generation(0), FileHandle(0), flags);
    }

    fn unlink(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        if name != NEW_NAME {
            return reply.error(Errno::EPERM);
        }
        self.law().new_exists = false;
        reply.ok();
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let mut law = self.law();
        law.opened += 1;
        if law.opened == law.held_open {
            law.held.push(Held::Open { reply });
        } else {
            opened(reply);
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
        let arrived = Instant::now();
        let mut law = self.law();
        let asked = Asked { offset, bytes: size.into(), outstanding: law.outstanding };
        law.record(Call::Read(asked));
        let left = law.size(inode).saturating_sub(offset);
        let bytes = u64::from(size).min(left) as u32;
        if law.fails(offset, u64::from(bytes)) {
            reply.error(Errno::EIO);
        } else if law.is_holding {
            law.held.push(Held::Read { bytes, reply });
        } else {
            law.answered += 1;
            let zeros = vec![0; bytes as usize];
            if let Some(answer_at) = law.answer_at(offset, bytes, arrived) {
                drop(law);
                return answer_later(&self.law, answer_at, move || reply.data(&zeros));
            }
            let Some(slow) = law.slow.filter(|slow| slow.offset.is_none_or(|slow| slow == offset)) else {
                return reply.data(&zeros);
            };
            let law = Arc::clone(&self.law);
            std::thread::spawn(move || {
                std::thread::sleep(slow.time);
                let answered = Instant::now();
                lock(&law).slow_reads.push(SlowRead { arrived, answered });
                reply.data(&zeros);
            });
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
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let mut law = self.law();
        let asked = Asked { offset, bytes: data.len() as u64, outstanding: law.outstanding };
        law.record(Call::Write(asked));
        let end = offset + data.len() as u64;
        if law.fails(offset, data.len() as u64) {
            return reply.error(Errno::EIO);
        }
        if end > law.room_bytes {
            return reply.error(Errno::ENOSPC);
        }
        let size = law.size(inode);
        *size = end.max(*size);
        let bytes = data.len() as u32;
        if law.is_holding {
            law.held.push(Held::Write { bytes, reply });
        } else {
            law.answered += 1;
            match law.answer_at(offset, bytes, Instant::now()) {
                Some(answer_at) => {
                    drop(law);
                    answer_later(&self.law, answer_at, move || reply.written(bytes));
                }
                None => reply.written(bytes),
            }
        }
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let mut law = self.law();
        let (outstanding, time) = (law.outstanding, law.flush_takes);
        law.record(Call::Flush { outstanding });
        drop(law);
        // The kernel asks no more once it was told that there is none.
        match time {
            Some(time) => answer_later(&self.law, Instant::now() + time, move || reply.ok()),
            None => reply.error(Errno::ENOSYS),
        }
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        // Plenty, whatever the room is.
        fuse::has_room(reply);
    }
}
