//! The kernel's door for I/O: one trait, one file per way through it.
//!
//! An engine belongs to one thread. It owns the open targets and the buffers that its operations
//! use, because the kernel may use both until the last operation has come back. It knows nothing
//! of options, profiles or statistics.

pub mod aio;
pub mod buffers;
pub mod mapped;
pub mod null;
mod one_by_one;
mod prepared;
pub mod sync;
pub mod target;
pub mod uring;

use std::io;
use sys::mapping::Mapping;

/// Number of a request; it has one operation in flight at most.
pub type SlotId = u32;

/// One read or write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// True to write.
    pub write: bool,
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
}

/// An operation that came back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Its request.
    pub slot: SlotId,
    /// Bytes transferred, or a negative error number.
    pub result: i32,
    /// When it was handed to the kernel, on the engine's clock; only with `ended_ns`.
    pub begun_ns: u64,
    /// When it came back; 0 = nobody looked, because it completed behind the engine's back. Engines
    /// that complete operations one by one inside [`Engine::push`] stamp each, so that the eighth
    /// does not carry the time of the seven before it.
    pub ended_ns: u64,
}

/// Operations that came back together; room for every request of the thread.
#[derive(Debug)]
pub struct DoneBatch {
    items: Box<[Done]>,
    count: usize,
}

impl DoneBatch {
    /// Room for `slots` completions.
    pub fn new(slots: u32) -> Self {
        Self { items: vec![Done::default(); slots as usize].into_boxed_slice(), count: 0 }
    }

    /// What is in it.
    #[inline]
    pub fn items(&self) -> &[Done] {
        &self.items[..self.count]
    }

    /// Forgets what is in it.
    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// What is not filled yet.
    fn room(&mut self) -> &mut [Done] {
        &mut self.items[self.count..]
    }

    /// Moves the oldest of `from` in, at most `most`.
    fn take_from(&mut self, from: &mut Vec<Done>, most: u32) {
        let room = self.room();
        let count = from.len().min(most as usize).min(room.len());
        room[..count].copy_from_slice(&from[..count]);
        self.count += count;
        if count == from.len() {
            from.clear();
        } else {
            from.drain(..count);
        }
    }
}

/// What [`Engine::push`] waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Nothing: submit and look.
    Poll,
    /// At least so many completions, or a signal.
    For {
        /// Number of completions, at least 1.
        count: u32,
    },
    /// At least so many completions, a signal, or this time (`CLOCK_MONOTONIC`).
    Until {
        /// Number of completions, at least 1.
        count: u32,
        /// Nanoseconds.
        deadline_ns: u64,
    },
}

/// What [`Engine::push`] did.
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
    /// True if completions may carry stamps ([`Done::ended_ns`]).
    const STAMPS: bool;

    /// True if the kernel takes many operations at a time and may complete them later.
    const TAKES_MANY: bool;

    /// Keeps what a request will do when it reads, or writes; a request has one operation of each kind.
    /// The offset is given at the start.
    fn prepare(&mut self, slot: SlotId, op: &Op);

    /// Stages the operation of this kind that was prepared, at `offset`.
    ///
    /// # Panics
    ///
    /// If none was prepared.
    fn stage_prepared(&mut self, slot: SlotId, write: bool, offset: u64);

    /// Stages one operation that need not have been prepared. Never blocks, never fails: there are never more operations than
    /// requests.
    fn stage(&mut self, slot: SlotId, op: &Op);

    /// Hands staged operations to the kernel and waits: at most one system call. A signal ends the
    /// wait without an error.
    ///
    /// # Errors
    ///
    /// The kernel's, if it refuses the call as a whole. Errors of operations come with them.
    fn push(&mut self, wait: Wait) -> io::Result<Pushed>;

    /// Copies at most `most` completions out. No system call.
    fn reap(&mut self, done: &mut DoneBatch, most: u32);

    /// Asks the kernel to give up on what is in flight; completions still have to be reaped.
    fn cancel_all(&mut self);

    /// Operations staged or in flight that have not been reaped.
    fn in_flight(&self) -> u32;

    /// A buffer region, to change what writes contain; `None` if it is shared with other threads.
    fn region_mut(&mut self, region: u32) -> Option<&mut Mapping>;
}
