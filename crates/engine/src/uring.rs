//! `io_uring`: many requests, one system call per turn.

use crate::buffers::{Region, Regions};
use crate::prepared::Prepared;
use crate::ring_handle::RingHandle;
use crate::ring_setup::{ENTRIES_MAX, RingSettings, build};
use crate::target;
use crate::{Completion, Engine, Op, PollResult, Pushed, SlotId, Start, Wait};
use io_uring::types::{CancelBuilder, Fixed, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use model::operation::Operation;
use model::profile::FlushCall;
use model::rw_flags::RwFlags;
use rustix::event::{PollFd, PollFlags};
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;
use sys::mapping::Mapping;

/// Largest buffer that the kernel registers (`io_buffer_validate` in `io_uring/rsrc.c`).
const REGISTERED_BYTES_MAX: u64 = 1 << 30;

/// `BLOCK_URING_CMD_DISCARD` of `include/uapi/linux/blkdev.h`, since Linux 6.12: `_IO(0x12, 0)`.
const DISCARD: u32 = 0x1200;

/// In place of the offset of an operation that was prepared with it.
const WITH_OFFSET: u64 = u64::MAX;

/// Marks the completion of a cancellation, which belongs to no request.
const CANCEL: u64 = u64::MAX;

/// Why buffers are not registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unregistered {
    /// The user has no locked memory left (`ulimit -l`).
    LockLimit,
    /// Another reason, as a clause.
    Other(String),
}

/// A ring of one thread, with its targets and buffers.
pub struct UringEngine {
    ring: ManuallyDrop<IoUring>,
    handle: RingHandle,
    files: ManuallyDrop<Vec<OwnedFd>>,
    block_devices: Vec<bool>,
    regions: ManuallyDrop<Regions>,
    prepared: Prepared<squeue::Entry>,
    /// Bytes for which their buffers have room.
    longest: Prepared<u32>,
    /// The kernel knows each region by its index.
    registered: bool,
    /// Entries of the submission queue that no call has handed over.
    staged: u32,
    /// Operations for which the submission queue had no room: with more requests than the kernel gives entries, or a
    /// kernel thread that has not given them back yet.
    spilled: Vec<(SlotId, Operation, u64)>,
    /// Operations staged or in flight.
    outstanding: u32,
    /// Cancellations in flight.
    cancelling: u32,
    /// The kernel takes a deadline with the call that waits (`EXT_ARG`, Linux 5.11).
    takes_deadlines: bool,
    /// A kernel thread takes submissions, and may have to be woken.
    submission_polling: bool,
    /// `submission_polling`, or operations were spilled: one flag, which each push looks at.
    is_special: bool,
}

// The plan of memory counts with these sizes.
const _: () = assert!(
    Operation::COUNT * (size_of::<squeue::Entry>() + size_of::<u32>()) <= model::limits::PREPARED_BYTES as usize
);

impl UringEngine {
    /// A ring for `slots` requests, and the names of set-up flags that this kernel does not know, if any were left out.
    /// Call it on the thread that will use it.
    ///
    /// # Errors
    ///
    /// The kernel's, if it gives no ring at all or does not take the files.
    pub fn new(
        slots: u32,
        settings: RingSettings,
        files: Vec<OwnedFd>,
        regions: Vec<Region>,
    ) -> io::Result<(Self, Option<&'static str>)> {
        let (ring, flags) = build(slots, settings)?;
        let descriptors: Vec<i32> = files.iter().map(AsRawFd::as_raw_fd).collect();
        ring.submitter().register_files(&descriptors)?;
        let engine = Self {
            takes_deadlines: ring.params().is_feature_ext_arg(),
            submission_polling: settings.submission_polling,
            is_special: settings.submission_polling,
            // A kernel thread gives entries back late: each request may find the queue full.
            spilled: Vec::with_capacity(
                slots.saturating_sub(if settings.submission_polling { 0 } else { ENTRIES_MAX }) as usize,
            ),
            handle: RingHandle::register(&ring),
            ring: ManuallyDrop::new(ring),
            block_devices: target::block_devices(&files),
            files: ManuallyDrop::new(files),
            regions: ManuallyDrop::new(Regions::new(regions)),
            prepared: Prepared::new(slots, &opcode::Nop::new().build()),
            longest: Prepared::new(slots, &0),
            registered: false,
            staged: 0,
            outstanding: 0,
            cancelling: 0,
        };
        Ok((engine, flags))
    }

    /// Bytes of the buffers.
    pub fn buffer_bytes(&self) -> u64 {
        self.regions.iter().map(Mapping::len).sum()
    }

    /// Lets the kernel threads that carry out operations which would wait run on these CPUs, instead of the one that this
    /// thread is bound to. Call it on the thread that uses the ring.
    ///
    /// # Errors
    ///
    /// The kernel's; before Linux 5.14 it knows no such request.
    pub fn run_kernel_threads_on(&self, cpus: impl Iterator<Item = u32>) -> io::Result<()> {
        self.ring.submitter().register_iowq_aff(&sys::thread::cpu_set(cpus))
    }

    /// Allows as many kernel threads as there are requests, where each may block one. The kernel's own limit is four per
    /// CPU: a deeper queue would wait for a thread. It starts one only while all others are blocked.
    ///
    /// # Errors
    ///
    /// The kernel's; before Linux 5.15 it knows no such request.
    pub fn allow_kernel_threads(&self, requests: u32) -> io::Result<()> {
        let submitter = self.ring.submitter();
        // Zeros change nothing; the kernel answers with its limits for files and for all else.
        let mut limits = [0, 0];
        submitter.register_iowq_max_workers(&mut limits)?;
        submitter.register_iowq_max_workers(&mut limits.map(|limit| limit.max(requests)))
    }

    /// Registers the buffers, so that the kernel need not look up their pages for each operation; before any is prepared.
    ///
    /// # Errors
    ///
    /// Operations use the buffers all the same.
    pub fn register_buffers(&mut self) -> Result<(), Unregistered> {
        let registered = register(&self.ring, &self.regions).map_err(|error| match error.raw_os_error() {
            Some(libc::ENOMEM) => Unregistered::LockLimit,
            Some(libc::EFBIG) => Unregistered::Other(
                "a buffer is larger than 1 GiB, the kernel's limit for registered buffers".to_owned(),
            ),
            _ => Unregistered::Other(error.to_string()),
        });
        self.registered = registered.is_ok();
        registered
    }

    /// The error for a refusal of the whole call.
    #[cold]
    fn refused(error: io::Error) -> io::Result<Pushed> {
        match error.raw_os_error() {
            // A signal, the deadline, or a full house: take what came back, and submit again next time.
            Some(libc::EINTR | libc::ETIME | libc::EAGAIN | libc::EBUSY) => Ok(Pushed::default()),
            _ => Err(error),
        }
    }

    /// A push while operations are spilled, or to a kernel thread that polls.
    #[cold]
    fn push_special(&mut self, least: u32) -> io::Result<Pushed> {
        let mut all = Pushed::default();
        loop {
            let spilled = self.spilled.len();
            match self.hand_over(if spilled == 0 { least } else { 0 }) {
                Ok(pushed) => all.submitted += pushed.submitted,
                Err(error) => return Self::refused(error).map(|_| all),
            }
            self.refill();
            // The queue may stay full until something has completed.
            if self.spilled.len() == spilled {
                return Ok(all);
            }
        }
    }

    /// Hands over what is in the submission queue; wakes the kernel's thread if it went to sleep.
    fn hand_over(&mut self, least: u32) -> io::Result<Pushed> {
        if self.submission_polling {
            let in_queue = self.ring.submitter().submit_and_wait(least as usize)?;
            return Ok(self.passed_on(in_queue as u32));
        }
        // SAFETY: as in `push`.
        let submitted = unsafe { self.handle.enter(self.staged, least) }?;
        Ok(self.took(submitted))
    }

    /// Stages operations that were spilled, as far as there is room.
    fn refill(&mut self) {
        let queue = self.ring.submission();
        let room = queue.capacity() - queue.len();
        drop(queue);
        let mut spilled = std::mem::take(&mut self.spilled);
        let count = room.min(spilled.len());
        // Staging counts them again.
        self.outstanding -= count as u32;
        for (slot, operation, offset) in spilled.drain(..count) {
            if offset == WITH_OFFSET {
                self.stage_with_offset(slot, operation);
            } else {
                self.stage_prepared(slot, operation, offset);
            }
        }
        self.is_special = self.submission_polling || !spilled.is_empty();
        self.spilled = spilled;
    }

    /// An operation that transfers no data. Discards of block devices have their offset in another word than all
    /// others.
    fn without_data(&self, op: &Op) -> squeue::Entry {
        let (file, length) = (Fixed(op.file), u64::from(op.length));
        let mode = match op.operation {
            Operation::Discard if self.block_devices[op.file as usize] => {
                let mut command = [0; 16];
                command[..8].copy_from_slice(&length.to_ne_bytes());
                let entry = opcode::UringCmd16::new(file, DISCARD).addr(Some(op.offset)).cmd(command).build();
                // By a kernel thread, for which the kernel keeps a copy of the entry. One that it tries at once, and
                // must try again, it reads from the queue a second time, where the next operation may stand by then:
                // on Linux 6.18, offsets of one device were discarded on another.
                return entry.flags(squeue::Flags::ASYNC);
            }
            Operation::Discard => libc::FALLOC_FL_PUNCH_HOLE,
            _ => libc::FALLOC_FL_ZERO_RANGE,
        };
        opcode::Fallocate::new(file, length).mode(mode | libc::FALLOC_FL_KEEP_SIZE).offset(op.offset).build()
    }

    /// Stages an operation that was prepared with its offset.
    fn stage_with_offset(&mut self, slot: SlotId, operation: Operation) {
        self.staged += 1;
        self.outstanding += 1;
        // SAFETY: discards and flushes use no memory of this process, and their file is registered.
        if unsafe { self.ring.submission().push(self.prepared.get(slot, operation)) }.is_err() {
            self.staged -= 1;
            spill(&mut self.spilled, &mut self.is_special, (slot, operation, WITH_OFFSET));
        }
    }

    /// The kernel took `submitted` of the staged.
    #[inline]
    fn took(&mut self, submitted: u32) -> Pushed {
        self.staged -= submitted;
        Pushed { submitted }
    }

    /// As [`took`](Self::took), after a call that may have been to a kernel thread. That one takes all that is staged,
    /// some time, and by itself. What such a call returns is the length of the queue before it: without what the thread
    /// has already taken, and with what an earlier call handed over and the thread has not taken yet.
    fn passed_on(&mut self, returned: u32) -> Pushed {
        self.took(if self.submission_polling { self.staged } else { returned })
    }

    #[inline(never)]
    fn push_until(&mut self, count: u32, deadline_ns: u64) -> io::Result<Pushed> {
        let mut all = if self.spilled.is_empty() { Pushed::default() } else { self.push_special(0)? };
        if self.takes_deadlines {
            let left = deadline_ns.saturating_sub(sys::clock::monotonic_ns());
            let timeout = Timespec::new().sec(left / 1_000_000_000).nsec((left % 1_000_000_000) as u32);
            let arguments = SubmitArgs::new().timespec(&timeout);
            let count = count.min(self.pending()).max(1) as usize;
            match self.ring.submitter().submit_with_args(count, &arguments) {
                Ok(returned) => {
                    all.submitted += self.passed_on(returned as u32).submitted;
                    return Ok(all);
                }
                // Nothing was submitted: a filter that knows the older call only stands before the kernel.
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) => self.takes_deadlines = false,
                Err(error) => return Self::refused(error).map(|_| all),
            }
        }
        all.submitted += self.push(Wait::Poll)?.submitted;
        if let Err(error) = self.sleep_until_completion(deadline_ns) {
            Self::refused(error)?;
        }
        Ok(all)
    }

    /// Sleeps on the ring's descriptor until a completion is there or the time has come; errors of
    /// the sleep are those of a wait.
    fn sleep_until_completion(&self, deadline_ns: u64) -> io::Result<()> {
        let left = deadline_ns.saturating_sub(sys::clock::monotonic_ns());
        let timeout = rustix::time::Timespec {
            tv_sec: (left / 1_000_000_000).cast_signed(),
            tv_nsec: (left % 1_000_000_000).cast_signed(),
        };
        // SAFETY: the ring is open for as long as this value lives.
        let descriptor = unsafe { BorrowedFd::borrow_raw(self.ring.as_raw_fd()) };
        rustix::event::poll(&mut [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)], Some(&timeout))?;
        Ok(())
    }

    /// Completions that can still arrive.
    fn pending(&self) -> u32 {
        self.outstanding + self.cancelling - self.spilled.len() as u32
    }
}

/// Keeps an operation for which the queue has no room.
#[cold]
#[inline(never)]
fn spill(spilled: &mut Vec<(SlotId, Operation, u64)>, is_special: &mut bool, operation: (SlotId, Operation, u64)) {
    spilled.push(operation);
    *is_special = true;
}

/// Where `off` is in `struct io_uring_sqe` (`include/uapi/linux/io_uring.h`), in words of 8 bytes.
const OFFSET_WORD: usize = 1;

/// Another offset for an entry; building it anew costs three times as much as all else that
/// starting an I/O takes.
#[inline]
fn set_offset(entry: &mut squeue::Entry, offset: u64) {
    const { assert!(size_of::<squeue::Entry>() == 64 && align_of::<squeue::Entry>() == 8) };
    // SAFETY: an entry is the kernel's structure of 64 bytes, plain integers all; `off` are its
    // bytes 8 to 15, aligned as the structure is.
    unsafe { ptr::from_mut(entry).cast::<u64>().add(OFFSET_WORD).write(offset) };
}

/// Another length for an entry: `len`, which is 4 bytes at byte 24, or `addr`, 8 bytes at byte 16, of `fallocate`.
#[inline]
fn set_length(entry: &mut squeue::Entry, operation: Operation, length: u32) {
    let entry = ptr::from_mut(entry);
    if operation.transfers_data() {
        // SAFETY: as in `set_offset`.
        unsafe { entry.cast::<u32>().add(6).write(length) };
    } else {
        // SAFETY: as in `set_offset`.
        unsafe { entry.cast::<u64>().add(2).write(u64::from(length)) };
    }
}

/// The result of an operation of `prepare` or `stage`.
#[inline]
fn done(completion: &cqueue::Entry) -> Completion {
    Completion { slot: completion.user_data() as SlotId, result: completion.result(), begun_ns: 0, ended_ns: 0 }
}

/// Registers all regions, each under its own index.
fn register(ring: &IoUring, regions: &Regions) -> io::Result<()> {
    if regions.iter().count() > usize::from(u16::MAX) {
        return Err(io::Error::from_raw_os_error(libc::E2BIG));
    }
    if regions.iter().any(|mapping| mapping.len() > REGISTERED_BYTES_MAX) {
        return Err(io::Error::from_raw_os_error(libc::EFBIG));
    }
    let buffers: Vec<libc::iovec> = regions
        .iter()
        .map(|mapping| libc::iovec { iov_base: mapping.address().cast(), iov_len: mapping.len() as usize })
        .collect();
    if buffers.is_empty() {
        return Ok(());
    }
    // SAFETY: the addresses and lengths are those of mappings that the engine owns, and keeps until
    // the ring is gone (see `Drop`).
    unsafe { ring.submitter().register_buffers(&buffers) }
}

impl Engine for UringEngine {
    const STAMPS: bool = false;
    const TAKES_MANY: bool = true;

    fn prepare(&mut self, slot: SlotId, op: &Op) {
        self.longest.set(slot, op.operation, op.length);
        let file = Fixed(op.file);
        if !op.operation.transfers_data() {
            let entry = self.without_data(op);
            return self.prepared.set(slot, op.operation, entry.user_data(u64::from(slot)));
        }
        let address = self.regions.address(op).as_ptr();
        let (length, index) = (op.length, op.region as u16);
        let flags = op.rw_flags.bits().cast_signed();
        // The kernel makes atomic writes from one range of addresses only, and takes a registered buffer for a list of
        // pages (`generic_atomic_write_valid` in `fs/read_write.c`): `EINVAL`.
        let is_registered = self.registered && (op.rw_flags & RwFlags::ATOMIC).is_empty();
        let entry = match (is_registered, op.operation) {
            (true, Operation::Read) => {
                opcode::ReadFixed::new(file, address, length, index).ioprio(op.priority).rw_flags(flags).build()
            }
            (true, _) => {
                opcode::WriteFixed::new(file, address, length, index).ioprio(op.priority).rw_flags(flags).build()
            }
            (false, Operation::Read) => {
                opcode::Read::new(file, address, length).ioprio(op.priority).rw_flags(flags).build()
            }
            (false, _) => opcode::Write::new(file, address, length).ioprio(op.priority).rw_flags(flags).build(),
        };
        self.prepared.set(slot, op.operation, entry.user_data(u64::from(slot)));
    }

    #[inline]
    fn set_length(&mut self, slot: SlotId, operation: Operation, length: u32) {
        assert!(length <= *self.longest.get(slot, operation), "an I/O extends beyond its buffer");
        set_length(self.prepared.get_mut(slot, operation), operation, length);
    }

    #[inline]
    fn stage_prepared(&mut self, slot: SlotId, operation: Operation, offset: u64) {
        self.stage_each(std::iter::once(Start { slot, operation, offset, length: None }));
    }

    #[inline]
    fn stage(&mut self, slot: SlotId, op: &Op) {
        self.prepare(slot, op);
        if op.operation == Operation::Discard && self.block_devices[op.file as usize] {
            self.stage_with_offset(slot, op.operation);
        } else {
            self.stage_prepared(slot, op.operation, op.offset);
        }
    }

    fn stage_flush(&mut self, slot: SlotId, file: u32, call: FlushCall) {
        let flags = if call == FlushCall::Fdatasync { FsyncFlags::DATASYNC } else { FsyncFlags::empty() };
        let entry = opcode::Fsync::new(Fixed(file)).flags(flags).build();
        self.prepared.set(slot, Operation::Write, entry.user_data(u64::from(slot)));
        self.stage_with_offset(slot, Operation::Write);
    }

    #[expect(clippy::inline_always, reason = "a call for each costs 20 of the 150 instructions of an I/O (callgrind)")]
    #[inline(always)]
    fn stage_each(&mut self, starts: impl ExactSizeIterator<Item = Start>) {
        let Self { ring, prepared, longest, staged, outstanding, spilled, is_special, .. } = self;
        let count = starts.len() as u32;
        *staged += count;
        *outstanding += count;
        // A separate value, which stays in registers.
        let mut queue = ring.submission();
        for Start { slot, operation, offset, length } in starts {
            // In its place: a copy to change would be copied twice.
            let entry = prepared.get_mut(slot, operation);
            set_offset(entry, offset);
            if let Some(length) = length {
                assert!(length <= *longest.get(slot, operation), "an I/O extends beyond its buffer");
                set_length(entry, operation, length);
            }
            // SAFETY: `prepare` made it: its buffer lies in a region of the engine (`Regions::address` checked it),
            // which outlives the operation, and its file is registered. Any offset may go to the kernel.
            if unsafe { queue.push(entry) }.is_err() {
                *staged -= 1;
                spill(spilled, is_special, (slot, operation, offset));
            }
        }
    }

    #[expect(clippy::inline_always, reason = "as for `stage_each`")]
    #[inline(always)]
    fn push(&mut self, wait: Wait) -> io::Result<Pushed> {
        let least = match wait {
            Wait::For { count } if count <= self.outstanding => count,
            // Never for more than can come back.
            Wait::For { count } => count.min(self.pending()),
            Wait::Poll => 0,
            Wait::Until { count, deadline_ns } => return self.push_until(count, deadline_ns),
        };
        if self.is_special {
            return self.push_special(least);
        }
        // SAFETY: this engine has the ring, and the buffers and files of every operation until it has come back.
        match unsafe { self.handle.enter(self.staged, least) } {
            Ok(submitted) => Ok(self.took(submitted)),
            Err(error) => Self::refused(error.into()),
        }
    }

    #[inline]
    fn poll(&mut self) -> PollResult {
        // Cancellations among them end up as fewer.
        PollResult { count: self.ring.completion().len() as u32, is_stamped: false }
    }

    #[expect(clippy::inline_always, reason = "as for `stage_each`")]
    #[inline(always)]
    fn take(&mut self, most: u32, mut each: impl FnMut(Completion)) {
        let Self { ring, outstanding, cancelling, .. } = self;
        let mut queue = ring.completion();
        let most = most.min(queue.len() as u32);
        let mut requests = most;
        for completion in queue.by_ref().take(most as usize) {
            if completion.user_data() == CANCEL {
                *cancelling -= 1;
                requests -= 1;
                continue;
            }
            each(done(&completion));
        }
        *outstanding -= requests;
    }

    #[expect(clippy::inline_always, reason = "as for `stage_each`")]
    #[inline(always)]
    fn take_oldest(&mut self) -> Option<Completion> {
        let completion = self.ring.completion().next()?;
        if completion.user_data() == CANCEL {
            self.cancelling -= 1;
            return None;
        }
        self.outstanding -= 1;
        Some(done(&completion))
    }

    fn cancel_all(&mut self) {
        // These never began.
        self.outstanding -= self.spilled.len() as u32;
        self.spilled.clear();
        self.is_special = self.submission_polling;
        if self.cancelling > 0 {
            return;
        }
        let entry = opcode::AsyncCancel2::new(CancelBuilder::any()).build().user_data(CANCEL);
        // SAFETY: a cancellation uses no memory of ours.
        if unsafe { self.ring.submission().push(&entry) }.is_ok() {
            self.cancelling += 1;
            self.staged += 1;
        }
    }

    #[inline]
    fn in_flight(&self) -> u32 {
        self.outstanding
    }

    fn fill(&mut self, op: &Op, fill: impl FnMut(&mut [u8], u64)) -> bool {
        self.regions.fill(op, fill)
    }

    fn copy_out(&self, op: &Op, at: u64, bytes: &mut [u8]) {
        self.regions.copy_out(op, at, bytes);
    }
}

impl Drop for UringEngine {
    fn drop(&mut self) {
        if self.outstanding > 0 {
            // The kernel may still write into the buffers: ring, files and memory stay until the
            // process ends.
            return;
        }
        // A ring is torn down by the kernel some time after its last user has gone. Until then registered files would
        // look as if somebody had them open, and registered buffers count as locked memory: to the next run, or to the
        // next timespan. An error leaves them to that.
        let _ = self.ring.submitter().unregister_files();
        if self.registered {
            let _ = self.ring.submitter().unregister_buffers();
        }
        self.handle.unregister(&self.ring);
        // SAFETY: each is dropped once, here; the ring first, so that nothing is registered any
        // more when the memory goes.
        unsafe {
            ManuallyDrop::drop(&mut self.ring);
            ManuallyDrop::drop(&mut self.files);
            ManuallyDrop::drop(&mut self.regions);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn submission_that_keeps_failing_is_an_error() {
        const SLOTS: u32 = ENTRIES_MAX + 100;
        let file = || std::fs::File::open("/dev/zero").expect("there is one");
        let region = Region::Own(Mapping::new(4096, 0).expect("a page fits"));
        let settings =
            RingSettings { submission_polling: false, completion_polling: false, deferred_completions: true };
        let Ok((mut engine, _)) = UringEngine::new(SLOTS, settings, vec![file().into()], vec![region]) else {
            testkit::skip!("io_uring is not available here");
        };
        let ring = std::mem::replace(&mut engine.handle, RingHandle::not_a_ring(file().into()));
        (0..SLOTS).for_each(|slot| engine.stage(slot, &Op { length: 4096, ..Op::default() }));
        for wait in [Wait::Poll, Wait::For { count: 1 }] {
            let error = engine.push(wait).expect_err("a file takes no operations");
            assert_eq!(error.raw_os_error(), Some(libc::EOPNOTSUPP));
        }
        assert_eq!(engine.in_flight(), SLOTS);
        engine.handle = ring;
        let mut count = 0;
        while engine.in_flight() > 0 {
            engine.push(Wait::For { count: 1 }).expect("the ring takes them");
            engine.poll();
            engine.take(u32::MAX, |_| count += 1);
        }
        assert_eq!(count, SLOTS);
    }

    #[test]
    fn there_may_be_a_kernel_thread_for_each_request() {
        const SLOTS: u32 = 300;
        let file = std::fs::File::open("/dev/zero").expect("there is one");
        let settings =
            RingSettings { submission_polling: false, completion_polling: false, deferred_completions: true };
        let Ok((engine, _)) = UringEngine::new(SLOTS, settings, vec![file.into()], vec![]) else {
            testkit::skip!("io_uring is not available here");
        };
        if engine.allow_kernel_threads(SLOTS).is_err() {
            testkit::skip!("this kernel does not take limits of kernel threads");
        }
        let mut limits = [0, 0];
        engine.ring.submitter().register_iowq_max_workers(&mut limits).expect("it gave them before");
        assert!(limits[0] >= SLOTS, "{limits:?}");
    }

    #[test]
    fn each_operation_is_handed_over_to_a_kernel_thread_once() {
        const SLOTS: u32 = 64;
        let file = std::fs::File::open("/dev/zero").expect("there is one");
        let region = Region::Own(Mapping::new(4096, 0).expect("a page fits"));
        let settings = RingSettings { submission_polling: true, completion_polling: false, deferred_completions: true };
        let Ok((mut engine, _)) = UringEngine::new(SLOTS, settings, vec![file.into()], vec![region]) else {
            testkit::skip!("io_uring with submission polling is not available here");
        };
        let until = Wait::Until { count: 1, deadline_ns: u64::MAX };
        // Whether the thread has taken what the call before handed over is up to it: often enough, it has not.
        for round in 0..2000 {
            (0..SLOTS).for_each(|slot| engine.stage(slot, &Op { length: 4096, ..Op::default() }));
            let (mut submitted, mut taken) = (0, 0);
            for wait in [Wait::Poll, until].into_iter().chain(std::iter::repeat(until)) {
                submitted += engine.push(wait).expect("the ring takes them").submitted;
                engine.poll();
                engine.take(u32::MAX, |_| taken += 1);
                if engine.in_flight() == 0 {
                    break;
                }
            }
            assert_eq!((submitted, taken), (SLOTS, SLOTS), "round {round}");
        }
    }

    #[test]
    fn an_offset_goes_where_the_library_puts_it() {
        let build = |offset| opcode::ReadFixed::new(Fixed(3), ptr::null_mut(), 7, 5).offset(offset).build();
        let mut entry = build(1);
        set_offset(&mut entry, 0x1122_3344_5566_7788);
        // SAFETY: an entry is 64 bytes of plain integers, aligned to 8.
        let words = |entry: &squeue::Entry| unsafe { ptr::from_ref(entry).cast::<[u64; 8]>().read() };
        assert_eq!(words(&entry), words(&build(0x1122_3344_5566_7788)));
        assert_ne!(words(&entry), words(&build(1)));
    }

    #[test]
    fn a_length_goes_where_the_library_puts_it() {
        // SAFETY: an entry is 64 bytes of plain integers, aligned to 8.
        let words = |entry: &squeue::Entry| unsafe { ptr::from_ref(entry).cast::<[u64; 8]>().read() };
        let read = |length| opcode::ReadFixed::new(Fixed(3), ptr::null_mut(), length, 5).offset(9).build();
        let zero = |length| opcode::Fallocate::new(Fixed(3), length).mode(libc::FALLOC_FL_ZERO_RANGE).offset(9).build();
        let (mut reading, mut zeroing) = (read(1), zero(1));
        set_length(&mut reading, Operation::Read, 0x1122_3344);
        set_length(&mut zeroing, Operation::WriteZeroes, 0x1122_3344);
        assert_eq!(words(&reading), words(&read(0x1122_3344)));
        assert_eq!(words(&zeroing), words(&zero(0x1122_3344)));
    }
}
