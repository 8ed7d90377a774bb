//! `io_uring`: many requests, one system call per turn.

use crate::buffers::{Region, Regions};
use crate::prepared::Prepared;
use crate::{Done, DoneBatch, Engine, Op, Pushed, SlotId, Wait};
use io_uring::types::{CancelBuilder, Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};
use rustix::event::{PollFd, PollFlags};
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;
use sys::mapping::Mapping;

/// Largest buffer that the kernel registers (`io_buffer_validate` in `io_uring/rsrc.c`).
const REGISTERED_BYTES_MAX: u64 = 1 << 30;

/// How long the kernel's submission thread looks for work before it sleeps.
const SUBMISSION_POLL_IDLE_MS: u32 = 1000;

/// Marks the completion of a cancellation, which belongs to no request.
const CANCEL: u64 = u64::MAX;

/// What a ring could not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shortfall {
    /// Why the buffers are not registered, if they are not.
    pub buffers: Option<String>,
    /// Set-up flags that this kernel does not know, if any were left out.
    pub flags: Option<&'static str>,
}

/// A ring of one thread, with its targets and buffers.
pub struct UringEngine {
    ring: ManuallyDrop<IoUring>,
    files: ManuallyDrop<Vec<OwnedFd>>,
    regions: ManuallyDrop<Regions>,
    prepared: Prepared<squeue::Entry>,
    /// The kernel knows each region by its index.
    registered: bool,
    /// Operations staged or in flight.
    outstanding: u32,
    /// Cancellations in flight.
    cancelling: u32,
    /// The kernel takes a deadline with the call that waits (`EXT_ARG`, Linux 5.11).
    takes_deadlines: bool,
}

/// How a ring is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingSettings {
    /// Register the buffers, so that the kernel need not look up their pages for each operation.
    pub register_buffers: bool,
    /// A kernel thread takes submissions (`SQPOLL`).
    pub submission_polling: bool,
    /// Completions are polled for at the device (`IOPOLL`).
    pub completion_polling: bool,
    /// Completions arrive with the next system call only, which costs least (`DEFER_TASKRUN`);
    /// without it they arrive by themselves.
    pub deferred_completions: bool,
}

impl UringEngine {
    /// A ring for `slots` requests. Call it on the thread that will use it.
    ///
    /// # Errors
    ///
    /// The kernel's, if it gives no ring at all or does not take the files. What can be done
    /// without is in the [`Shortfall`].
    pub fn new(
        slots: u32,
        settings: RingSettings,
        files: Vec<OwnedFd>,
        regions: Vec<Region>,
    ) -> io::Result<(Self, Shortfall)> {
        let (ring, flags) = build(slots, settings)?;
        let descriptors: Vec<i32> = files.iter().map(AsRawFd::as_raw_fd).collect();
        ring.submitter().register_files(&descriptors)?;
        let regions = Regions::new(regions);
        let refused = settings.register_buffers.then(|| register(&ring, &regions)).and_then(Result::err);
        let buffers = refused.map(|error| registration_error(&error, &regions));
        let engine = Self {
            takes_deadlines: ring.params().is_feature_ext_arg(),
            ring: ManuallyDrop::new(ring),
            files: ManuallyDrop::new(files),
            regions: ManuallyDrop::new(regions),
            prepared: Prepared::new(slots),
            registered: settings.register_buffers && buffers.is_none(),
            outstanding: 0,
            cancelling: 0,
        };
        Ok((engine, Shortfall { buffers, flags }))
    }

    #[inline]
    fn entry(&self, slot: SlotId, op: &Op) -> squeue::Entry {
        let address = self.regions.address(op);
        let file = Fixed(op.file);
        let (offset, length, index) = (op.offset, op.length, op.region as u16);
        let entry = match (self.registered, op.write) {
            (true, false) => {
                opcode::ReadFixed::new(file, address, length, index).offset(offset).ioprio(op.priority).build()
            }
            (true, true) => {
                opcode::WriteFixed::new(file, address, length, index).offset(offset).ioprio(op.priority).build()
            }
            (false, false) => opcode::Read::new(file, address, length).offset(offset).ioprio(op.priority).build(),
            (false, true) => opcode::Write::new(file, address, length).offset(offset).ioprio(op.priority).build(),
        };
        entry.user_data(u64::from(slot))
    }

    fn enter(&self, wait: Wait) -> io::Result<usize> {
        let submitter = self.ring.submitter();
        match wait {
            // Never for more than can come back.
            Wait::For { count } => submitter.submit_and_wait(count.min(self.pending()) as usize),
            Wait::Until { deadline_ns, .. } if !self.takes_deadlines => {
                let count = self.enter(Wait::Poll)?;
                self.sleep_until_completion(deadline_ns)?;
                Ok(count)
            }
            Wait::Until { count, deadline_ns } => {
                let left = deadline_ns.saturating_sub(sys::clock::monotonic_ns());
                let timeout = Timespec::new().sec(left / 1_000_000_000).nsec((left % 1_000_000_000) as u32);
                submitter
                    .submit_with_args(count.min(self.pending()).max(1) as usize, &SubmitArgs::new().timespec(&timeout))
            }
            Wait::Poll => {
                // Deferred completions are only delivered by a call that asks for events.
                const GET_EVENTS: u32 = 1;
                // SAFETY: no argument is passed, and every submitted operation's buffers and files
                // are owned by this engine until the operation has been reaped.
                unsafe { submitter.enter::<libc::sigset_t>(self.staged(), 0, GET_EVENTS, None) }
            }
        }
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
        self.outstanding + self.cancelling
    }

    fn staged(&self) -> u32 {
        // SAFETY: this engine is not shared, and no other submission queue handle is alive here.
        unsafe { self.ring.submission_shared() }.len() as u32
    }
}

/// Puts an entry into the submission queue.
///
/// # Safety
///
/// The entry must be one of `UringEngine::entry`: its buffer lies in a region of the engine
/// (`Regions::address` checked it), which outlives the operation, and its file is registered.
#[expect(clippy::inline_always, reason = "as for `stage_prepared`")]
#[inline(always)]
unsafe fn enqueue(ring: &mut IoUring, entry: &squeue::Entry) {
    // SAFETY: as the caller promises.
    if unsafe { ring.submission().push(entry) }.is_err() {
        // SAFETY: the same.
        unsafe { make_room_and_enqueue(ring, entry) };
    }
}

/// Only with more requests than a ring has entries (32768): hands over what is there. Errors come back
/// with the next `push`.
///
/// # Safety
///
/// As for [`enqueue`].
#[cold]
unsafe fn make_room_and_enqueue(ring: &mut IoUring, entry: &squeue::Entry) {
    // SAFETY: as the caller promises.
    while unsafe { ring.submission().push(entry) }.is_err() {
        if ring.submit().is_err() {
            std::thread::yield_now();
        }
    }
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

/// Makes a ring, leaving out flags that the kernel does not know, newest first.
fn build(slots: u32, settings: RingSettings) -> io::Result<(IoUring, Option<&'static str>)> {
    let entries = slots.clamp(1, 32_768);
    let completions = slots.saturating_mul(2).clamp(2, 131_072).next_power_of_two();
    downwards(settings, |flags| {
        let mut builder = IoUring::builder();
        builder.setup_clamp().setup_cqsize(completions);
        if settings.completion_polling {
            builder.setup_iopoll();
        }
        if settings.submission_polling {
            builder.setup_sqpoll(SUBMISSION_POLL_IDLE_MS);
        }
        if flags.coop_taskrun {
            builder.setup_coop_taskrun();
        }
        if flags.single_issuer {
            builder.setup_single_issuer();
        }
        if flags.defer_taskrun {
            builder.setup_defer_taskrun();
        }
        if flags.no_sqarray {
            builder.setup_no_sqarray();
        }
        builder.build(entries)
    })
}

/// Set-up flags that not every kernel knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct NewerFlags {
    /// Linux 5.19.
    coop_taskrun: bool,
    /// Linux 6.0.
    single_issuer: bool,
    /// Linux 6.1.
    defer_taskrun: bool,
    /// Linux 6.6.
    no_sqarray: bool,
}

/// Tries all newer flags that the settings want, then fewer and fewer as long as the kernel answers
/// `EINVAL`; gives what worked and the names of what was left out.
fn downwards<T>(
    settings: RingSettings,
    mut attempt: impl FnMut(NewerFlags) -> io::Result<T>,
) -> io::Result<(T, Option<&'static str>)> {
    let attempts: [(Option<&str>, u8); 4] = [
        (None, 3),
        (Some("NO_SQARRAY (Linux 6.6)"), 2),
        (Some("DEFER_TASKRUN (Linux 6.1) and NO_SQARRAY"), 1),
        (Some("COOP_TASKRUN (Linux 5.19), DEFER_TASKRUN and NO_SQARRAY"), 0),
    ];
    // The kernel thread of submission polling runs the completions; the task-run flags exclude it.
    let taskrun = settings.deferred_completions && !settings.submission_polling;
    let mut last_error = io::Error::from_raw_os_error(libc::EINVAL);
    for (missing, level) in attempts {
        let flags = NewerFlags {
            coop_taskrun: level >= 1 && taskrun,
            single_issuer: level >= 2,
            defer_taskrun: level >= 2 && taskrun,
            no_sqarray: level >= 3,
        };
        match attempt(flags) {
            Ok(made) => return Ok((made, missing)),
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => last_error = error,
            Err(error) => return Err(error),
        }
    }
    Err(last_error)
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

fn registration_error(error: &io::Error, regions: &Regions) -> String {
    let bytes: u64 = regions.iter().map(Mapping::len).sum();
    match error.raw_os_error() {
        Some(libc::ENOMEM) => {
            format!("{} KiB of one thread exceed the memory that may be locked (ulimit -l)", bytes.div_ceil(1024))
        }
        Some(libc::EFBIG) => "a buffer is larger than the 1 GiB that the kernel registers".to_owned(),
        _ => error.to_string(),
    }
}

impl Engine for UringEngine {
    const STAMPS: bool = false;
    const TAKES_MANY: bool = true;

    fn prepare(&mut self, slot: SlotId, op: &Op) {
        self.prepared.set(slot, op.write, self.entry(slot, op));
    }

    #[expect(clippy::inline_always, reason = "a call costs 20 of the 216 instructions of an I/O (callgrind)")]
    #[inline(always)]
    fn stage_prepared(&mut self, slot: SlotId, write: bool, offset: u64) {
        let entry = self.prepared.get(slot, write);
        set_offset(entry, offset);
        // SAFETY: `entry` made it, and any offset may go to the kernel.
        unsafe { enqueue(&mut self.ring, entry) };
        self.outstanding += 1;
    }

    #[inline]
    fn stage(&mut self, slot: SlotId, op: &Op) {
        let entry = self.entry(slot, op);
        // SAFETY: `entry` made it.
        unsafe { enqueue(&mut self.ring, &entry) };
        self.outstanding += 1;
    }

    #[inline]
    fn push(&mut self, wait: Wait) -> io::Result<Pushed> {
        let mut entered = self.enter(wait);
        let refused = matches!(&entered, Err(error) if error.raw_os_error() == Some(libc::EINVAL));
        if refused && self.takes_deadlines && matches!(wait, Wait::Until { .. }) {
            // Nothing was submitted: a filter that knows the older call only stands before the kernel.
            self.takes_deadlines = false;
            entered = self.enter(wait);
        }
        match entered {
            Ok(submitted) => Ok(Pushed { submitted: submitted as u32 }),
            Err(error) => match error.raw_os_error() {
                // A signal, the deadline, or a full house: reap, and submit again next time.
                Some(libc::EINTR | libc::ETIME | libc::EAGAIN | libc::EBUSY) => Ok(Pushed::default()),
                _ => Err(error),
            },
        }
    }

    #[inline]
    fn reap(&mut self, done: &mut DoneBatch, most: u32) {
        let mut taken = 0;
        let room = done.room();
        let most = room.len().min(most as usize);
        let mut completions = self.ring.completion();
        while taken < most
            && let Some(completion) = completions.next()
        {
            if completion.user_data() == CANCEL {
                self.cancelling -= 1;
                continue;
            }
            let slot = completion.user_data() as SlotId;
            room[taken] = Done { slot, result: completion.result(), begun_ns: 0, ended_ns: 0 };
            taken += 1;
        }
        drop(completions);
        done.count += taken;
        self.outstanding -= taken as u32;
    }

    fn cancel_all(&mut self) {
        if self.cancelling > 0 {
            return;
        }
        let entry = opcode::AsyncCancel2::new(CancelBuilder::any()).build().user_data(CANCEL);
        // SAFETY: a cancellation uses no memory of ours.
        if unsafe { self.ring.submission().push(&entry) }.is_ok() {
            self.cancelling += 1;
        }
    }

    fn in_flight(&self) -> u32 {
        self.outstanding
    }

    fn region_mut(&mut self, region: u32) -> Option<&mut Mapping> {
        self.regions.get_mut(region)
    }
}

impl Drop for UringEngine {
    fn drop(&mut self) {
        if self.outstanding > 0 {
            // The kernel may still write into the buffers: ring, files and memory stay until the
            // process ends.
            return;
        }
        // A ring is torn down by the kernel some time after its last user has gone. Until then
        // registered files would look as if somebody had them open: to the next run, or to the next
        // timespan. An error leaves them to that.
        let _ = self.ring.submitter().unregister_files();
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

    const EVERYTHING: RingSettings = RingSettings {
        register_buffers: true,
        submission_polling: false,
        completion_polling: false,
        deferred_completions: true,
    };

    /// What a kernel that knows these flags makes of the settings: the flags that worked, what was
    /// left out, and the number of attempts.
    fn on(known: NewerFlags, settings: RingSettings) -> (NewerFlags, Option<&'static str>, u32) {
        let mut attempts = 0;
        let made = downwards(settings, |asked| {
            attempts += 1;
            let unknown = (asked.coop_taskrun && !known.coop_taskrun)
                || (asked.single_issuer && !known.single_issuer)
                || (asked.defer_taskrun && !known.defer_taskrun)
                || (asked.no_sqarray && !known.no_sqarray);
            if unknown { Err(io::Error::from_raw_os_error(libc::EINVAL)) } else { Ok(asked) }
        });
        let (flags, missing) = made.expect("a ring without any of them");
        (flags, missing, attempts)
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
    fn older_kernels_get_the_flags_that_they_know() {
        let v5_10 = NewerFlags::default();
        let v5_19 = NewerFlags { coop_taskrun: true, ..v5_10 };
        let v6_0 = NewerFlags { single_issuer: true, ..v5_19 };
        let v6_1 = NewerFlags { defer_taskrun: true, ..v6_0 };
        let v6_6 = NewerFlags { no_sqarray: true, ..v6_1 };
        assert_eq!(on(v6_6, EVERYTHING), (v6_6, None, 1));
        assert_eq!(on(v6_1, EVERYTHING), (v6_1, Some("NO_SQARRAY (Linux 6.6)"), 2));
        // SINGLE_ISSUER alone gains nothing.
        let without_defer = Some("DEFER_TASKRUN (Linux 6.1) and NO_SQARRAY");
        assert_eq!(on(v6_0, EVERYTHING), (v5_19, without_defer, 3));
        assert_eq!(on(v5_19, EVERYTHING), (v5_19, without_defer, 3));
        assert_eq!(on(v5_10, EVERYTHING).0, v5_10);
    }

    #[test]
    fn submission_polling_excludes_the_task_run_flags() {
        let all = NewerFlags { coop_taskrun: true, single_issuer: true, defer_taskrun: true, no_sqarray: true };
        let (flags, ..) = on(all, RingSettings { submission_polling: true, ..EVERYTHING });
        assert_eq!(flags, NewerFlags { single_issuer: true, no_sqarray: true, ..NewerFlags::default() });
    }

    #[test]
    fn other_errors_are_not_tried_around() {
        let mut attempts = 0;
        let result = downwards(EVERYTHING, |_| {
            attempts += 1;
            Err::<(), _>(io::Error::from_raw_os_error(libc::EPERM))
        });
        assert_eq!((result.map_err(|error| error.raw_os_error()), attempts), (Err(Some(libc::EPERM)), 1));
    }
}
