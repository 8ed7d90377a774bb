//! Linux native AIO: many requests where there is no `io_uring`.
//!
//! Five system calls that glibc does not wrap (see `io_submit(2)`); on buffered files the kernel
//! completes an operation before it returns from submitting it.

use crate::buffers::{Region, Regions};
use crate::prepared::Prepared;
use crate::{Completion, Engine, Op, PollResult, Pushed, SlotId, Wait, take_from};
use model::operation::Operation;
use model::profile::FlushCall;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;

/// `struct iocb` of `include/uapi/linux/aio_abi.h`, little-endian.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct ControlBlock {
    data: u64,
    key: u32,
    rw_flags: u32,
    opcode: u16,
    priority: i16,
    file: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    result_file: u32,
}

/// `struct io_event` of the same file.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Event {
    data: u64,
    block: u64,
    result: i64,
    result2: i64,
}

const _: () = assert!(size_of::<ControlBlock>() == 64 && size_of::<Event>() == 32);
const _: () = assert!(
    cfg!(target_endian = "little"),
    "the fields of struct iocb are declared for little-endian \
                                            machines"
);

const OPCODE_READ: u16 = 0;
const OPCODE_WRITE: u16 = 1;
const OPCODE_FSYNC: u16 = 2;
const OPCODE_FDSYNC: u16 = 3;
const FLAG_PRIORITY: u32 = 1 << 1;

/// A kernel AIO context of one thread.
pub struct AioEngine {
    context: u64,
    files: ManuallyDrop<Vec<OwnedFd>>,
    regions: ManuallyDrop<Regions>,
    /// The kernel reads the blocks of operations while it takes them.
    prepared: Prepared<ControlBlock>,
    /// Bytes for which their buffers have room.
    longest: Prepared<u32>,
    staged: Vec<*const ControlBlock>,
    events: Box<[Event]>,
    done: Vec<Completion>,
    /// Operations submitted to the kernel that have not completed.
    submitted: u32,
}

impl AioEngine {
    /// A context for `slots` requests.
    ///
    /// # Errors
    ///
    /// The kernel's: `ENOSYS` without AIO, `EAGAIN` if `fs.aio-max-nr` is exhausted.
    pub fn new(slots: u32, files: Vec<OwnedFd>, regions: Vec<Region>) -> io::Result<Self> {
        let mut context = 0u64;
        // SAFETY: io_setup writes one word to `context`, which must be zero before.
        check(unsafe { libc::syscall(libc::SYS_io_setup, libc::c_long::from(slots), &raw mut context) })?;
        let slots = slots as usize;
        Ok(Self {
            context,
            files: ManuallyDrop::new(files),
            regions: ManuallyDrop::new(Regions::new(regions)),
            prepared: Prepared::new(slots as u32, &ControlBlock::default()),
            longest: Prepared::new(slots as u32, &0),
            staged: Vec::with_capacity(slots),
            events: vec![Event::default(); slots].into_boxed_slice(),
            done: Vec::with_capacity(slots),
            submitted: 0,
        })
    }

    fn submit(&mut self) -> u32 {
        let mut submitted = 0;
        while !self.staged.is_empty() {
            let (count, list) = (self.staged.len(), self.staged.as_mut_ptr());
            // SAFETY: `list` holds `count` pointers to blocks of `self.prepared`; each names a buffer
            // checked by `Regions::address` and an open file of this engine, both kept until the
            // operation has come back.
            let taken = check(unsafe { libc::syscall(libc::SYS_io_submit, self.context, count, list) });
            match taken {
                // The kernel takes fewer than it is given if one of them is wrong; then the next
                // call answers for that one.
                Ok(taken) => {
                    self.staged.drain(..taken as usize);
                    submitted += taken as u32;
                }
                // No room in the context or the device's queue: after completions there will be.
                Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EINTR)) => break,
                Err(error) => self.fail_first(error.raw_os_error().unwrap_or(libc::EIO)),
            }
        }
        self.submitted += submitted;
        submitted
    }

    /// The first staged operation was refused: it comes back with the error.
    fn fail_first(&mut self, errno: i32) {
        let block = self.staged.remove(0);
        // SAFETY: staged pointers point into `self.prepared`, which lives as long as this value.
        let slot = unsafe { (*block).data } as SlotId;
        self.done.push(Completion { slot, result: -errno, begun_ns: 0, ended_ns: 0 });
    }

    fn wait(&mut self, wait: Wait) -> io::Result<()> {
        let (least, left_ns) = match wait {
            Wait::Poll => (0, Some(0)),
            Wait::For { count } => (count, None),
            Wait::Until { count, deadline_ns } => (count, Some(deadline_ns.saturating_sub(sys::clock::monotonic_ns()))),
        };
        // Never for more than can come back.
        let least = least.min(self.submitted);
        let mut timeout = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let mut timeout_pointer = ptr::null_mut();
        if let Some(ns) = left_ns {
            timeout.tv_sec = (ns / 1_000_000_000).cast_signed();
            timeout.tv_nsec = (ns % 1_000_000_000).cast_signed();
            timeout_pointer = &raw mut timeout;
        }
        let most = (self.done.capacity() - self.done.len()).min(self.events.len());
        // SAFETY: the kernel writes at most `most` events into `self.events`, which has that many.
        let count = check(unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.context,
                libc::c_long::from(least),
                most,
                self.events.as_mut_ptr(),
                timeout_pointer,
            )
        });
        let count = match count {
            Ok(count) => count as usize,
            Err(error) if error.raw_os_error() == Some(libc::EINTR) => 0,
            Err(error) => return Err(error),
        };
        for event in &self.events[..count] {
            let result = i32::try_from(event.result).unwrap_or(i32::MAX);
            self.done.push(Completion { slot: event.data as SlotId, result, begun_ns: 0, ended_ns: 0 });
        }
        self.submitted -= count as u32;
        Ok(())
    }
}

/// The result of a system call through `syscall(2)`.
fn check(result: libc::c_long) -> io::Result<u64> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result.cast_unsigned()) }
}

impl Engine for AioEngine {
    const STAMPS: bool = false;
    const TAKES_MANY: bool = true;

    fn prepare(&mut self, slot: SlotId, op: &Op) {
        let opcode = match op.operation {
            Operation::Read => OPCODE_READ,
            Operation::Write => OPCODE_WRITE,
            // It has no others: what is not prepared comes back with an error.
            Operation::Discard | Operation::WriteZeroes => return,
        };
        let block = ControlBlock {
            data: u64::from(slot),
            rw_flags: op.rw_flags.bits(),
            opcode,
            priority: op.priority.cast_signed(),
            flags: if op.priority == 0 { 0 } else { FLAG_PRIORITY },
            file: self.files[op.file as usize].as_raw_fd().cast_unsigned(),
            buffer: self.regions.address(op).as_ptr() as u64,
            bytes: u64::from(op.length),
            ..ControlBlock::default()
        };
        self.longest.set(slot, op.operation, op.length);
        self.prepared.set(slot, op.operation, block);
    }

    #[inline]
    fn set_length(&mut self, slot: SlotId, operation: Operation, length: u32) {
        assert!(length <= *self.longest.get(slot, operation), "an I/O extends beyond its buffer");
        self.prepared.get_mut(slot, operation).bytes = u64::from(length);
    }

    #[inline]
    fn stage_prepared(&mut self, slot: SlotId, operation: Operation, offset: u64) {
        let block = self.prepared.get_mut(slot, operation);
        block.offset = offset.cast_signed();
        self.staged.push(ptr::from_ref(block));
    }

    fn stage_flush(&mut self, slot: SlotId, file: u32, call: FlushCall) {
        let block = ControlBlock {
            data: u64::from(slot),
            opcode: if call == FlushCall::Fdatasync { OPCODE_FDSYNC } else { OPCODE_FSYNC },
            file: self.files[file as usize].as_raw_fd().cast_unsigned(),
            ..ControlBlock::default()
        };
        self.prepared.set(slot, Operation::Write, block);
        self.staged.push(ptr::from_ref(self.prepared.get(slot, Operation::Write)));
    }

    fn push(&mut self, wait: Wait) -> io::Result<Pushed> {
        let submitted = self.submit();
        // With completions at hand nothing is waited for.
        self.wait(if self.done.is_empty() { wait } else { Wait::Poll })?;
        Ok(Pushed { submitted })
    }

    #[inline]
    fn poll(&mut self) -> PollResult {
        PollResult { count: self.done.len() as u32, is_stamped: false }
    }

    #[inline]
    fn take(&mut self, most: u32, each: impl FnMut(Completion)) {
        take_from(&mut self.done, most, each);
    }

    fn cancel_all(&mut self) {
        // The kernel cancels AIO on hardly any file; what was not submitted is dropped at least.
        self.staged.clear();
    }

    fn in_flight(&self) -> u32 {
        self.submitted + (self.staged.len() + self.done.len()) as u32
    }

    fn fill(&mut self, op: &Op, fill: impl FnMut(&mut [u8], u64)) -> bool {
        self.regions.fill(op, fill)
    }

    fn copy_out(&self, op: &Op, at: u64, bytes: &mut [u8]) {
        self.regions.copy_out(op, at, bytes);
    }
}

impl Drop for AioEngine {
    fn drop(&mut self) {
        if self.submitted > 0 {
            // io_destroy would wait for the device; buffers and files stay until the process ends.
            return;
        }
        // SAFETY: the context is this engine's and nothing is in flight; each field is dropped once.
        unsafe {
            libc::syscall(libc::SYS_io_destroy, self.context);
            ManuallyDrop::drop(&mut self.files);
            ManuallyDrop::drop(&mut self.regions);
        }
    }
}
