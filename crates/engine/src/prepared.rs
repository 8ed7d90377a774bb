//! What requests do again and again, as operations that lack only their offset.

use crate::{Op, SlotId};

/// One operation of each kind per request.
#[derive(Debug)]
pub(crate) struct Prepared<T> {
    /// Reads, then writes, of each request.
    items: Box<[[Option<T>; 2]]>,
}

impl<T> Prepared<T> {
    /// None yet.
    pub(crate) fn new(slots: u32) -> Self {
        Self { items: (0..slots).map(|_| [None, None]).collect() }
    }

    pub(crate) fn set(&mut self, slot: SlotId, write: bool, item: T) {
        self.items[slot as usize][usize::from(write)] = Some(item);
    }

    /// # Panics
    ///
    /// If none was prepared.
    #[inline]
    pub(crate) fn get(&mut self, slot: SlotId, write: bool) -> &mut T {
        match &mut self.items[slot as usize][usize::from(write)] {
            Some(item) => item,
            None => panic!("an operation that was not prepared"),
        }
    }
}

impl Prepared<Op> {
    /// The operation at `offset`.
    #[inline]
    pub(crate) fn at(&mut self, slot: SlotId, write: bool, offset: u64) -> Op {
        Op { offset, ..*self.get(slot, write) }
    }
}
