//! One system call per I/O: the cheapest way where a thread has one request (a ring costs about
//! a quarter more there).

use crate::buffers::{Region, Regions};
use crate::one_by_one::{OneByOne, Waiting};
use crate::prepared::Prepared;
use crate::target;
use crate::{Completion, Engine, Op, PollResult, Pushed, SlotId, Wait};
use hot::clock::Clock;
use model::operation::Operation;
use model::profile::FlushCall;
use rustix::fs::{FallocateFlags, fallocate, fdatasync, fsync};
use rustix::io::{Errno, ReadWriteFlags};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::slice;

/// `pread` and `pwrite`, or `preadv2` and `pwritev2` with flags, one staged operation after the other.
#[derive(Debug)]
pub struct SyncEngine<C> {
    block_devices: Vec<bool>,
    files: Vec<OwnedFd>,
    regions: Regions,
    prepared: Prepared<Call>,
    operations: OneByOne<C>,
}

/// Everything that a system call for one operation is given, but the offset.
#[derive(Clone, Copy, Debug)]
struct Call {
    operation: Operation,
    form: Form,
    flags: ReadWriteFlags,
    file: RawFd,
    is_block_device: bool,
    /// Dangling if no data is transferred.
    address: NonNull<u8>,
    length: usize,
    /// Bytes for which the address has room.
    length_max: usize,
}

/// The system call of an operation.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// `pread`.
    Read,
    /// `pwrite`.
    Write,
    /// Another one, so that those with flags cost the others nothing.
    Other,
    /// `fdatasync`, `fsync`.
    Flush(FlushCall),
}

impl Form {
    const fn new(op: &Op) -> Self {
        match op.operation {
            Operation::Read if op.rw_flags.is_empty() => Self::Read,
            Operation::Write if op.rw_flags.is_empty() => Self::Write,
            _ => Self::Other,
        }
    }
}

impl Call {
    /// Is refused by the kernel.
    const NONE: Self = Self {
        operation: Operation::Read,
        form: Form::Read,
        flags: ReadWriteFlags::empty(),
        file: RawFd::MAX,
        is_block_device: false,
        address: NonNull::dangling(),
        length: 0,
        length_max: 0,
    };
}

impl<C: Clock> SyncEngine<C> {
    /// An engine for `slots` requests over these targets and buffers.
    pub fn new(clock: C, slots: u32, files: Vec<OwnedFd>, regions: Vec<Region>) -> Self {
        Self {
            block_devices: target::block_devices(&files),
            files,
            regions: Regions::new(regions),
            prepared: Prepared::new(slots, &Call::NONE),
            operations: OneByOne::new(clock, slots),
        }
    }
}

impl<C: Clock> Engine for SyncEngine<C> {
    const STAMPS: bool = true;
    const TAKES_MANY: bool = false;
    const DOES_NOW: bool = true;

    /// The file and the buffer of the operation are checked here, once for all the times that it is done.
    fn prepare(&mut self, slot: SlotId, op: &Op) {
        let call = Call {
            operation: op.operation,
            form: Form::new(op),
            flags: ReadWriteFlags::from_bits_retain(op.rw_flags.bits()),
            file: self.files[op.file as usize].as_raw_fd(),
            is_block_device: self.block_devices[op.file as usize],
            address: if op.operation.transfers_data() { self.regions.address(op) } else { NonNull::dangling() },
            length: op.length as usize,
            length_max: op.length as usize,
        };
        self.prepared.set(slot, op.operation, call);
    }

    #[inline]
    fn set_length(&mut self, slot: SlotId, operation: Operation, length: u32) {
        let call = self.prepared.get_mut(slot, operation);
        assert!(length as usize <= call.length_max, "an I/O extends beyond its buffer");
        call.length = length as usize;
    }

    #[inline]
    fn stage_prepared(&mut self, slot: SlotId, operation: Operation, offset: u64) {
        self.operations.stage(Waiting { slot, operation, offset });
    }

    fn stage_flush(&mut self, slot: SlotId, file: u32, call: FlushCall) {
        let file = self.files[file as usize].as_raw_fd();
        self.prepared.set(slot, Operation::Write, Call { form: Form::Flush(call), file, ..Call::NONE });
        self.operations.stage(Waiting { slot, operation: Operation::Write, offset: 0 });
    }

    #[inline]
    fn push(&mut self, _: Wait) -> io::Result<Pushed> {
        Ok(Pushed { submitted: self.operations.hand_over() })
    }

    #[inline]
    fn poll(&mut self) -> PollResult {
        PollResult { count: self.operations.ready(), is_stamped: true }
    }

    #[inline]
    fn take(&mut self, most: u32, each: impl FnMut(Completion)) {
        let transfer = |next: &Waiting| transfer(self.prepared.get(next.slot, next.operation), next.offset);
        self.operations.take(most, transfer, each);
    }

    #[inline]
    fn do_now(&mut self, slot: SlotId, operation: Operation, offset: u64) -> Option<Completion> {
        let call = self.prepared.get(slot, operation);
        Some(self.operations.stamped(slot, || transfer(call, offset)))
    }

    fn forget_waiting(&mut self) {
        self.operations.forget();
    }

    fn cancel_all(&mut self) {
        self.operations.forget();
    }

    #[inline]
    fn in_flight(&self) -> u32 {
        self.operations.in_flight()
    }

    fn fill(&mut self, op: &Op, fill: impl FnMut(&mut [u8], u64)) -> bool {
        self.regions.fill(op, fill)
    }

    fn copy_out(&self, op: &Op, at: u64, bytes: &mut [u8]) {
        self.regions.copy_out(op, at, bytes);
    }
}

/// Makes the call; its result is bytes or a negative error number.
#[expect(clippy::inline_always, reason = "a return between system calls makes those of the kernel mispredicted")]
#[inline(always)]
#[expect(clippy::cast_possible_wrap, reason = "the kernel transfers no more than 2^31 - 4096 bytes at once")]
fn transfer(call: &Call, offset: u64) -> i32 {
    let Call { form, file, address, length, .. } = *call;
    // SAFETY: the engine keeps the file open.
    let file = unsafe { BorrowedFd::borrow_raw(file) };
    loop {
        // Not the C library's: they are cancellation points, which costs 40 instructions.
        let result = match form {
            Form::Read => {
                // SAFETY: `SyncEngine::prepare` took the address and length from a region that the engine owns; no
                // other reference leads there.
                let buffer = unsafe { slice::from_raw_parts_mut(address.as_ptr(), length) };
                rustix::io::pread(file, buffer, offset)
            }
            Form::Write => {
                // SAFETY: as above; the region may be shared with other readers, and nobody writes to it during the
                // call.
                let buffer = unsafe { slice::from_raw_parts(address.as_ptr(), length) };
                rustix::io::pwrite(file, buffer, offset)
            }
            Form::Other => call_otherwise(call, file, offset),
            Form::Flush(FlushCall::Fdatasync) => fdatasync(file).map(|()| 0),
            Form::Flush(FlushCall::Fsync) => fsync(file).map(|()| 0),
        };
        match result {
            Ok(bytes) => return bytes as i32,
            Err(Errno::INTR) => {}
            Err(error) => return -error.raw_os_error(),
        }
    }
}

/// Makes a call with flags, or one that transfers no data.
#[inline(never)]
fn call_otherwise(call: &Call, file: BorrowedFd<'_>, offset: u64) -> Result<usize, Errno> {
    let Call { address, length, flags, .. } = *call;
    match call.operation {
        Operation::Read => {
            // SAFETY: as in `transfer`.
            let buffer = unsafe { slice::from_raw_parts_mut(address.as_ptr(), length) };
            rustix::io::preadv2(file, &mut [IoSliceMut::new(buffer)], offset, flags)
        }
        Operation::Write => {
            // SAFETY: as in `transfer`.
            let buffer = unsafe { slice::from_raw_parts(address.as_ptr(), length) };
            rustix::io::pwritev2(file, &[IoSlice::new(buffer)], offset, flags)
        }
        Operation::Discard | Operation::WriteZeroes => change_without_data(call, file, offset),
    }
}

/// Discards or zeroes the range of the call; all of it counts as done, or nothing.
fn change_without_data(call: &Call, file: BorrowedFd<'_>, offset: u64) -> Result<usize, Errno> {
    let length = call.length as u64;
    let change = match call.operation {
        Operation::Discard if call.is_block_device => {
            let discarded = sys::block::discard(file, offset, length);
            return match discarded {
                Ok(()) => Ok(call.length),
                Err(error) => Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
            };
        }
        Operation::Discard => FallocateFlags::PUNCH_HOLE,
        _ => FallocateFlags::ZERO_RANGE,
    };
    fallocate(file, change | FallocateFlags::KEEP_SIZE, offset, length).map(|()| call.length)
}
