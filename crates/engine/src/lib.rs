//! The kernel's door for I/O: one trait, one file per way through it.
//!
//! An engine belongs to one thread. It owns the open targets and the buffers that its operations
//! use, because the kernel may use both until the last operation has come back. It knows nothing
//! of options, profiles or statistics.

pub mod aio;
pub mod below;
pub mod buffers;
pub mod mapped;
pub mod null;
mod one_by_one;
mod prepared;
mod ring_handle;
pub mod ring_setup;
pub mod sync;
pub mod target;
pub mod uring;

use model::operation::Operation;
use model::profile::FlushCall;
use model::rw_flags::RwFlags;
use std::io;

/// Number of a request; it has one operation in flight at most.
pub type SlotId = u32;

/// One I/O.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Op {
    /// Its kind.
    pub operation: Operation,
    /// Which of the engine's open targets.
    pub file: u32,
    /// Which of the engine's buffer regions.
    pub region: u32,
    /// First byte in the region.
    pub region_offset: u64,
    /// First byte on the target.
    pub offset: u64,
    /// Bytes to transfer.
    pub length: u32,
    /// The kernel's I/O priority value (`IOPRIO_PRIO_VALUE`); 0 = that of the thread.
    pub priority: u16,
    /// Flags of this read or write; ignored by engines without system calls for I/O.
    pub rw_flags: RwFlags,
}

/// A start of an operation that was prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Its request.
    pub slot: SlotId,
    /// Which of those prepared.
    pub operation: Operation,
    /// First byte on the target.
    pub offset: u64,
    /// Bytes to transfer; `None` = as many as before.
    pub length: Option<u32>,
}

/// A completed operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// Its request.
    pub slot: SlotId,
    /// Bytes transferred, or a negative error number.
    pub result: i32,
    /// When it was handed to the kernel, on the engine's clock; only with `ended_ns`.
    pub begun_ns: u64,
    /// When it came back; 0 = nobody looked, because it completed behind the engine's back. Engines
    /// that do operations one by one inside [`Engine::take`] stamp each, so that the eighth does not
    /// carry the time of the seven before it.
    pub ended_ns: u64,
}

/// Result of [`Engine::poll`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PollResult {
    /// Completions that can be taken.
    pub count: u32,
    /// Each of them has stamps of its own, or will have once it is taken.
    pub is_stamped: bool,
}

/// Gives the first `most` of `done` to `each` and forgets them.
#[inline]
pub(crate) fn take_from(done: &mut Vec<Completion>, most: u32, mut each: impl FnMut(Completion)) {
    let count = done.len().min(most as usize);
    done[..count].iter().for_each(|done| each(*done));
    if count == done.len() {
        done.clear();
    } else {
        done.drain(..count);
    }
}

/// Condition that [`Engine::push`] waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Nothing: submit and look.
    Poll,
    /// At least `count` completions, or a signal.
    For {
        /// Number of completions, at least 1.
        count: u32,
    },
    /// At least `count` completions, a signal, or this time (`CLOCK_MONOTONIC`).
    Until {
        /// Number of completions, at least 1.
        count: u32,
        /// Nanoseconds.
        deadline_ns: u64,
    },
}

/// Result of [`Engine::push`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pushed {
    /// Operations handed to the kernel.
    pub submitted: u32,
}

/// A way to do I/O.
///
/// Most requests do the same again and again, at another place: what stays is prepared once, in
/// [`prepare`](Self::prepare), so that each start costs little.
pub trait Engine {
    /// True if completions may carry stamps ([`Completion::ended_ns`]).
    const STAMPS: bool;

    /// True if the kernel takes many operations at a time and may complete them later.
    const TAKES_MANY: bool;

    /// True if it looks at the data of each I/O, so that nothing is gained by a shorter loop around it.
    const VERIFIES: bool = false;

    /// True if it has [`do_now`](Self::do_now).
    const DOES_NOW: bool = false;

    /// Keeps what a request does when it reads, or when it writes: one of each [`Operation`].
    /// The offset is given at the start.
    fn prepare(&mut self, slot: SlotId, op: &Op);

    /// Stages the operation of this kind that was prepared last, at `offset`. Never blocks, never fails: there are
    /// never more operations than requests. One that was never prepared does nothing, or fails. Discards of block
    /// devices go through [`stage`](Self::stage): `io_uring` has their offset in a place of its own.
    fn stage_prepared(&mut self, slot: SlotId, operation: Operation, offset: u64);

    /// Changes how much the operation of this kind that was prepared last transfers, if it is not under way.
    ///
    /// # Panics
    ///
    /// If that is more than was prepared.
    fn set_length(&mut self, slot: SlotId, operation: Operation, length: u32);

    /// Stages several operations that were prepared.
    ///
    /// # Panics
    ///
    /// As [`set_length`](Self::set_length).
    #[inline]
    fn stage_each(&mut self, starts: impl ExactSizeIterator<Item = Start>) {
        for Start { slot, operation, offset, length } in starts {
            if let Some(length) = length {
                self.set_length(slot, operation, length);
            }
            self.stage_prepared(slot, operation, offset);
        }
    }

    /// Prepares an operation and stages it.
    #[inline]
    fn stage(&mut self, slot: SlotId, op: &Op) {
        self.prepare(slot, op);
        self.stage_prepared(slot, op.operation, op.offset);
    }

    /// Stages a flush of a target, which covers the writes that have completed; its result is 0. It takes the place of
    /// the write that was prepared for the request.
    fn stage_flush(&mut self, slot: SlotId, file: u32, call: FlushCall);

    /// Hands staged operations to the kernel and waits: at most one system call. A signal ends the
    /// wait without an error.
    ///
    /// # Errors
    ///
    /// The kernel's, if it refuses the call as a whole. Errors of operations come with them.
    fn push(&mut self, wait: Wait) -> io::Result<Pushed>;

    /// Looks for completions, without a system call. A stamp taken after it is later than all that it found.
    fn poll(&mut self) -> PollResult;

    /// Gives the oldest completions to `each`, at most `most`. If that is more than the latest look found, those that
    /// came back after it may be among them.
    fn take(&mut self, most: u32, each: impl FnMut(Completion));

    /// Looks for completions, and takes the oldest.
    #[inline]
    fn take_oldest(&mut self) -> Option<Completion> {
        let mut oldest = None;
        self.poll();
        self.take(1, |done| oldest = Some(done));
        oldest
    }

    /// Does an operation that was prepared, at once and with stamps, while nothing else is under way. `None` from an
    /// engine that has no such way.
    #[inline]
    fn do_now(&mut self, _slot: SlotId, _operation: Operation, _offset: u64) -> Option<Completion> {
        None
    }

    /// Forgets operations that were handed over and not begun, where the engine does one after the other.
    fn forget_waiting(&mut self) {}

    /// Asks the kernel to give up on what is in flight; completions still have to be taken.
    fn cancel_all(&mut self);

    /// Operations staged or in flight that have not been taken.
    fn in_flight(&self) -> u32;

    /// Fills the buffer of a write that is not under way; leaves a region that is shared with other threads as it is,
    /// and says so with false.
    fn fill(&mut self, op: &Op, fill: impl FnMut(&mut [u8], u64)) -> bool;

    /// Copies bytes out of the buffer of an operation that is not under way, from the one with number `at` on.
    ///
    /// # Panics
    ///
    /// If they are not all in its region.
    fn copy_out(&self, op: &Op, at: u64, bytes: &mut [u8]);

    /// A target is about to be flushed (`fdatasync`), while nothing of this engine is under way.
    fn begin_flush(&mut self, _file: u32) {}

    /// The flush that was begun last came back.
    fn end_flush(&mut self, _is_durable: bool) {}

    /// A target is about to be emptied while nothing is under way.
    fn begin_emptying(&mut self, _file: u32) {}

    /// A target was emptied while nothing was under way.
    fn emptied(&mut self, _file: u32) {}
}
