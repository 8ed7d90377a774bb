//! Operations that complete one after the other inside [`Engine::push`](crate::Engine::push), each
//! with its own stamps.

use crate::{Done, DoneBatch, Op, SlotId};
use hot::clock::Clock;

/// What is staged and what has come back.
#[derive(Debug)]
pub(crate) struct OneByOne<C> {
    clock: C,
    staged: Vec<(SlotId, Op)>,
    done: Vec<Done>,
}

impl<C: Clock> OneByOne<C> {
    /// Room for `slots` requests.
    pub(crate) fn new(clock: C, slots: u32) -> Self {
        let slots = slots as usize;
        Self { clock, staged: Vec::with_capacity(slots), done: Vec::with_capacity(slots) }
    }

    /// Keeps an operation for [`complete`](Self::complete).
    pub(crate) fn stage(&mut self, slot: SlotId, op: &Op) {
        self.staged.push((slot, *op));
    }

    /// Lets `transfer` do every staged operation: its result is bytes or a negative error number.
    /// Gives the number of operations done.
    pub(crate) fn complete(&mut self, mut transfer: impl FnMut(&Op) -> i32) -> u32 {
        let count = self.staged.len() as u32;
        for (slot, op) in self.staged.drain(..) {
            let begun_ns = self.clock.now_ns();
            let result = transfer(&op);
            self.done.push(Done { slot, result, begun_ns, ended_ns: self.clock.now_ns() });
        }
        count
    }

    /// True if completions are at hand.
    pub(crate) fn has_done(&self) -> bool {
        !self.done.is_empty()
    }

    /// Moves at most `most` completions out.
    pub(crate) fn reap(&mut self, done: &mut DoneBatch, most: u32) {
        done.take_from(&mut self.done, most);
    }

    /// Forgets what is staged.
    pub(crate) fn cancel(&mut self) {
        self.staged.clear();
    }

    /// Operations staged, or done and not reaped.
    pub(crate) fn in_flight(&self) -> u32 {
        (self.staged.len() + self.done.len()) as u32
    }
}
