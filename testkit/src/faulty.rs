//! A file system with faults on demand, served by the test itself over FUSE.
//!
//! It stores no data: reads return zeros, writes are discarded. Relevant are the I/Os that fail, and those that do not
//! complete until the test releases them.

use crate::fuse::{Answer, CompletedCall, FIRST, Files, Kind, Outcome, Served, lock};
use crate::process::Running;
use crate::service::{Service, ServiceClock};
use crate::workplace::Workplace;
use fuser::Errno;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The file that initially exists.
const OLD: u64 = FIRST;
/// The one that can be created.
const NEW: u64 = FIRST + 1;
const OLD_NAME: &str = "a.dat";
const NEW_NAME: &str = "new.dat";

/// The treatment of I/O.
#[derive(Default)]
struct Law {
    sizes_bytes: [u64; 2],
    new_exists: bool,
    /// Size of blocks of which each n-th fails, in bytes; 0 = none.
    block_bytes: u64,
    every: u64,
    /// Offsets from here on fail with ENOSPC.
    room_bytes: u64,
    /// Time that reads take at this offset, or everywhere.
    slow: Option<(Option<u64>, Duration)>,
    service: Option<ServiceClock>,
    /// Duration of an fsync; `None` = unsupported.
    flush_takes: Option<Duration>,
    delayed: Arc<Mutex<Delayed>>,
    is_holding: bool,
    /// Number of the open, from 1, that does not complete; 0 = all do.
    held_open: u64,
    held: Vec<Answer>,
    opened: u64,
    answered: u64,
    /// `None` = calls are not recorded.
    calls: Option<Vec<Call>>,
}

/// Calls that are answered by separate threads.
#[derive(Default)]
struct Delayed {
    outstanding: usize,
    /// Maximum delay of an answer beyond its due time.
    latest: Duration,
    slow_reads: Vec<SlowRead>,
}

/// A call in the order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// A read.
    Read(IoRange),
    /// A write.
    Write(IoRange),
    /// `fsync` or `fdatasync`.
    Flush {
        /// Number of reads and writes without an answer.
        outstanding: usize,
    },
}

/// Range of an I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoRange {
    /// Offset in bytes.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// Number of reads and writes without an answer, excluding this one, if a [`Service`] is set.
    pub outstanding: usize,
}

/// Times when a slow read arrived at the file system, and when its answer was about to leave.
#[derive(Clone, Copy, Debug)]
pub struct SlowRead {
    /// It was submitted before this time.
    pub arrived: Instant,
    /// It completed after this time.
    pub answered: Instant,
}

/// The file system, mounted until it is dropped.
#[derive(Debug)]
pub struct Faulty {
    served: Served<Law>,
    /// A file of 16 MiB.
    pub file: PathBuf,
    /// A file that does not exist yet.
    pub new_file: PathBuf,
}

impl Faulty {
    /// Mounts one without faults yet; the error is the reason if that is impossible.
    pub fn mounted(place: &Workplace, name: &str) -> Result<Self, String> {
        let law = Law { sizes_bytes: [16 << 20, 0], block_bytes: 1, room_bytes: u64::MAX, ..Law::default() };
        let served = Served::mounted(law, place.path(name))?;
        let (file, new_file) = (served.folder().join(OLD_NAME), served.folder().join(NEW_NAME));
        Ok(Self { served, file, new_file })
    }

    fn law(&self) -> MutexGuard<'_, Law> {
        self.served.files()
    }

    /// From now on each `every`-th block of `block_bytes` fails with `EIO`: the one before each multiple of `every`
    /// blocks.
    pub fn fail_blocks(&self, block_bytes: u64, every: u64) {
        let mut law = self.law();
        (law.block_bytes, law.every) = (block_bytes, every);
    }

    /// From now on writes beyond this offset of a file fail with `ENOSPC`, regardless of the free space reported by the
    /// file system.
    pub fn limit_room(&self, room_bytes: u64) {
        self.law().room_bytes = room_bytes;
    }

    /// From now on reads at this offset take this long; others are not delayed.
    pub fn slow_down(&self, offset: u64, time: Duration) {
        self.law().slow = Some((Some(offset), time));
    }

    /// From now on each read takes this long, regardless of the queue depth.
    pub fn slow_down_all(&self, time: Duration) {
        self.law().slow = Some((None, time));
    }

    /// From now on reads and writes take as long as this service defines.
    pub fn serve(&self, service: Service) {
        self.law().service = Some(ServiceClock::new(service));
    }

    /// From now on each fsync and fdatasync takes this long; writes do not.
    pub fn flush_takes(&self, time: Duration) {
        self.law().flush_takes = Some(time);
    }

    /// Records calls from now on, and returns those recorded before.
    pub fn take_calls(&self) -> Vec<Call> {
        self.law().calls.replace(Vec::new()).unwrap_or_default()
    }

    /// Maximum delay of an answer beyond the time of [`Service`]: CPUs are shared with other programs.
    pub fn latest(&self) -> Duration {
        self.law().delayed().latest
    }

    /// Changes the size of the file that initially exists.
    pub fn resize(&self, size_bytes: u64) {
        self.law().sizes_bytes[0] = size_bytes;
    }

    /// The slow reads answered since the last call, in the order of their answers.
    pub fn take_slow_reads(&self) -> Vec<SlowRead> {
        std::mem::take(&mut self.law().delayed().slow_reads)
    }

    /// From now on reads and writes do not complete.
    pub fn hold(&self) {
        self.law().is_holding = true;
    }

    /// The `ahead`-th open from now on, from 1, does not complete.
    pub fn hold_open(&self, ahead: u64) {
        let mut law = self.law();
        law.held_open = law.opened + ahead;
    }

    /// Number of opens.
    pub fn opened(&self) -> u64 {
        self.law().opened
    }

    /// Number of calls that have not completed.
    pub fn held(&self) -> usize {
        self.law().held.len()
    }

    /// Number of reads and writes that completed, except failed ones.
    pub fn answered(&self) -> u64 {
        self.law().answered
    }

    /// Completes all of them, and later ones.
    pub fn release(&self) {
        self.law().release();
    }

    /// A load (`-v`) whose I/Os hang after some were answered, and its start time. One that ended before, because this
    /// thread was delayed, is started again.
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
        // Unmounting, and the end of processes, are impossible while I/O is held.
        self.release();
    }
}

impl Law {
    fn delayed(&self) -> MutexGuard<'_, Delayed> {
        lock(&self.delayed)
    }

    fn answer_later(&self, done: CompletedCall, at: Instant, answer: Answer) {
        self.delayed().outstanding += 1;
        let delayed = Arc::clone(&self.delayed);
        std::thread::spawn(move || {
            std::thread::sleep(at.saturating_duration_since(Instant::now()));
            let answered = Instant::now();
            let mut delayed = lock(&delayed);
            delayed.latest = delayed.latest.max(answered.saturating_duration_since(at));
            delayed.outstanding -= 1;
            if done.kind == Kind::Read {
                delayed.slow_reads.push(SlowRead { arrived: done.arrived, answered });
            }
            drop(delayed);
            answer();
        });
    }

    /// Due time of the answer to a call, if it is delayed.
    fn answer_at(&mut self, done: CompletedCall) -> Option<Instant> {
        let CompletedCall { kind, offset, bytes, arrived } = done;
        if kind == Kind::Flush {
            return self.flush_takes.map(|time| arrived + time);
        }
        if let Some(service) = &mut self.service {
            return Some(service.answer_at(offset, bytes, arrived));
        }
        let (place, time) = self.slow.filter(|_| kind == Kind::Read)?;
        place.is_none_or(|place| place == offset).then_some(arrived + time)
    }

    fn release(&mut self) {
        self.is_holding = false;
        self.held.drain(..).for_each(|answer| answer());
    }

    fn record(&mut self, call: impl FnOnce(usize) -> Call) {
        let call = call(self.delayed().outstanding);
        if let Some(calls) = &mut self.calls {
            calls.push(call);
        }
    }

    fn size(&mut self, file: u64) -> &mut u64 {
        &mut self.sizes_bytes[usize::from(file == NEW)]
    }

    /// Fails if any block of the range is to fail.
    fn check(&self, offset: u64, bytes: u64) -> Outcome {
        let (first, last) = (offset / self.block_bytes, (offset + bytes.max(1) - 1) / self.block_bytes);
        let is_failing = self.every > 0 && (first..=last).any(|block| (block + 1).is_multiple_of(self.every));
        if is_failing { Err(Errno::EIO) } else { Ok(()) }
    }
}

impl Files for Law {
    fn names(&self) -> Vec<(OsString, u64)> {
        let new = self.new_exists.then(|| (NEW_NAME.into(), NEW));
        [(OLD_NAME.into(), OLD)].into_iter().chain(new).collect()
    }

    fn size_bytes(&self, file: u64) -> u64 {
        self.sizes_bytes[usize::from(file == NEW)]
    }

    fn resize(&mut self, file: u64, size_bytes: u64) -> Outcome {
        *self.size(file) = size_bytes;
        Ok(())
    }

    fn create(&mut self, name: &OsStr) -> Outcome<u64> {
        self.new_exists |= name == NEW_NAME;
        if name == NEW_NAME { Ok(NEW) } else { Err(Errno::EPERM) }
    }

    fn remove(&mut self, name: &OsStr) -> Outcome {
        self.new_exists &= name != NEW_NAME;
        if name == NEW_NAME { Ok(()) } else { Err(Errno::EPERM) }
    }

    fn read(&mut self, file: u64, offset: u64, bytes: u32) -> Outcome<Vec<u8>> {
        self.record(|outstanding| Call::Read(IoRange { offset, bytes: bytes.into(), outstanding }));
        let bytes = u64::from(bytes).min(self.size_bytes(file).saturating_sub(offset));
        self.check(offset, bytes)?;
        Ok(vec![0; bytes as usize])
    }

    fn write(&mut self, file: u64, offset: u64, data: &[u8], _: bool) -> Outcome {
        let bytes = data.len() as u64;
        self.record(|outstanding| Call::Write(IoRange { offset, bytes, outstanding }));
        self.check(offset, bytes)?;
        let end = offset + bytes;
        if end > self.room_bytes {
            return Err(Errno::ENOSPC);
        }
        let size = self.size(file);
        *size = end.max(*size);
        Ok(())
    }

    fn flush(&mut self) -> Outcome {
        self.record(|outstanding| Call::Flush { outstanding });
        self.flush_takes.map(drop).ok_or(Errno::ENOSYS)
    }

    fn deliver(&mut self, done: CompletedCall, answer: Answer) {
        let is_open = done.kind == Kind::Open;
        let is_io = matches!(done.kind, Kind::Read | Kind::Write);
        self.opened += u64::from(is_open);
        if (is_open && self.opened == self.held_open) || (is_io && self.is_holding) {
            return self.held.push(answer);
        }
        self.answered += u64::from(is_io);
        match self.answer_at(done).filter(|_| !is_open) {
            Some(at) => self.answer_later(done, at, answer),
            None => answer(),
        }
    }
}
