//! Operations that are done one after the other while they are taken, each with its own stamps.

use crate::{Completion, SlotId};
use hot::clock::Clock;
use model::operation::Operation;

/// A queued operation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waiting {
    pub(crate) slot: SlotId,
    pub(crate) operation: Operation,
    pub(crate) offset: u64,
}

/// A queue in order. The counts wrap; an operation is at its count's remainder by the number of places, a power of two.
#[derive(Debug)]
pub(crate) struct OneByOne<C> {
    clock: C,
    waiting: Box<[Waiting]>,
    /// Operations that were ever staged, handed over, and taken.
    staged: u32,
    handed_over: u32,
    taken: u32,
}

impl<C: Clock> OneByOne<C> {
    /// Room for `slots` requests.
    pub(crate) fn new(clock: C, slots: u32) -> Self {
        let places = slots.max(1).next_power_of_two() as usize;
        let waiting = vec![Waiting::default(); places].into_boxed_slice();
        Self { clock, waiting, staged: 0, handed_over: 0, taken: 0 }
    }

    /// Keeps an operation for [`take`](Self::take).
    #[inline]
    pub(crate) fn stage(&mut self, waiting: Waiting) {
        let place = self.staged as usize & (self.waiting.len() - 1);
        self.waiting[place] = waiting;
        self.staged = self.staged.wrapping_add(1);
    }

    /// Hands staged operations over to be done. Returns their number.
    #[inline]
    pub(crate) fn hand_over(&mut self) -> u32 {
        let before = self.handed_over;
        self.handed_over = self.staged;
        self.staged.wrapping_sub(before)
    }

    /// How many operations can be taken now: one, so that its request may start again before the next is done.
    #[inline]
    pub(crate) fn ready(&self) -> u32 {
        self.handed_over.wrapping_sub(self.taken).min(1)
    }

    /// Lets `transfer` do the first operation, unless `most` is 0: its result is bytes or a negative error number.
    #[inline]
    pub(crate) fn take(&mut self, most: u32, transfer: impl FnOnce(&Waiting) -> i32, each: impl FnOnce(Completion)) {
        if most == 0 || self.ready() == 0 {
            return;
        }
        let next = self.waiting[self.taken as usize & (self.waiting.len() - 1)];
        self.taken = self.taken.wrapping_add(1);
        each(self.stamped(next.slot, || transfer(&next)));
    }

    /// The completion of `transfer`, with a stamp before and after.
    #[inline]
    pub(crate) fn stamped(&self, slot: SlotId, transfer: impl FnOnce() -> i32) -> Completion {
        let begun_ns = self.clock.now_ns();
        let result = transfer();
        Completion { slot, result, begun_ns, ended_ns: self.clock.now_ns() }
    }

    /// Forgets what waits.
    pub(crate) fn forget(&mut self) {
        (self.handed_over, self.taken) = (self.staged, self.staged);
    }

    /// Operations that wait.
    #[inline]
    pub(crate) fn in_flight(&self) -> u32 {
        self.staged.wrapping_sub(self.taken)
    }
}
