//! The kernel's door for I/O: one trait, one file per way through it.
//!
//! An engine belongs to one thread. It owns the open targets and the buffers that its operations
//! use, because the kernel may use both until the last operation has come back. It knows nothing
//! of options, profiles or statistics.

pub mod buffers;
pub mod null;
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
}

/// An operation that came back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Its request.
    pub slot: SlotId,
    /// Bytes transferred, or a negative error number.
    pub result: i32,
    /// When it was handed to the kernel and came back, on the engine's clock; only from engines
    /// that complete inside [`Engine::push`] ([`Engine::STAMPS`]).
    pub begun_ns: u64,
    /// See `begun_ns`.
    pub ended_ns: u64,
}

/// Operations that came back together; room for every request of the thread.
#[derive(Debug)]
pub struct DoneBatch {
    items: Vec<Done>,
}

impl DoneBatch {
    /// Room for `slots` completions.
    pub fn new(slots: u32) -> Self {
        Self { items: Vec::with_capacity(slots as usize) }
    }

    /// What is in it.
    pub fn items(&self) -> &[Done] {
        &self.items
    }

    /// Forgets what is in it.
    pub fn clear(&mut self) {
        self.items.clear();
    }

    /// True if it can take no more without allocating.
    fn is_full(&self) -> bool {
        self.items.len() == self.items.capacity()
    }

    fn push(&mut self, done: Done) {
        debug_assert!(!self.is_full(), "more completions than requests");
        self.items.push(done);
    }
}

/// What [`Engine::push`] waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Nothing: submit and look.
    Poll,
    /// At least one completion, or a signal.
    ForOne,
    /// At least one completion, a signal, or this time (`CLOCK_MONOTONIC`).
    Until {
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
pub trait Engine {
    /// True if operations complete inside [`push`](Self::push) and carry their own stamps.
    const STAMPS: bool;

    /// Prepares one operation. Never blocks, never fails: there are never more operations than
    /// requests.
    fn stage(&mut self, slot: SlotId, op: &Op);

    /// Hands staged operations to the kernel and waits: at most one system call. A signal ends the
    /// wait without an error.
    ///
    /// # Errors
    ///
    /// The kernel's, if it refuses the call as a whole. Errors of operations come with them.
    fn push(&mut self, wait: Wait) -> io::Result<Pushed>;

    /// Copies completions out. No system call.
    fn reap(&mut self, done: &mut DoneBatch);

    /// Asks the kernel to give up on what is in flight; completions still have to be reaped.
    fn cancel_all(&mut self);

    /// Operations staged or in flight that have not been reaped.
    fn in_flight(&self) -> u32;

    /// A buffer region, to change what writes contain; `None` if it is shared with other threads.
    fn region_mut(&mut self, region: u32) -> Option<&mut Mapping>;
}
