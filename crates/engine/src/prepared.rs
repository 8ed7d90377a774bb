//! Operations that requests repeat, which lack only their offset.

use crate::SlotId;
use model::operation::Operation;

/// One item per operation and request.
#[derive(Debug)]
pub(crate) struct Prepared<T> {
    /// Of all requests for the first operation, then for the second, and so on: what is used lies together.
    items: Box<[T]>,
    slots: usize,
}

impl<T: Clone> Prepared<T> {
    /// Each of them `unprepared` at first.
    pub(crate) fn new(slots: u32, unprepared: &T) -> Self {
        let slots = slots as usize;
        Self { items: vec![unprepared.clone(); Operation::COUNT * slots].into_boxed_slice(), slots }
    }

    pub(crate) fn set(&mut self, slot: SlotId, operation: Operation, item: T) {
        *self.get_mut(slot, operation) = item;
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, slot: SlotId, operation: Operation) -> &mut T {
        &mut self.items[operation.index() * self.slots + slot as usize]
    }

    #[inline]
    pub(crate) fn get(&self, slot: SlotId, operation: Operation) -> &T {
        &self.items[operation.index() * self.slots + slot as usize]
    }
}
