//! What requests do again and again, as operations that lack only their offset.

use crate::SlotId;

/// One operation of each kind per request.
#[derive(Debug)]
pub(crate) struct Prepared<T> {
    /// The read and the write of the first request, of the second, and so on.
    items: Box<[T]>,
}

impl<T: Clone> Prepared<T> {
    /// Each of them `unprepared` at first.
    pub(crate) fn new(slots: u32, unprepared: &T) -> Self {
        Self { items: vec![unprepared.clone(); 2 * slots as usize].into_boxed_slice() }
    }

    pub(crate) fn set(&mut self, slot: SlotId, write: bool, item: T) {
        *self.get_mut(slot, write) = item;
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, slot: SlotId, write: bool) -> &mut T {
        &mut self.items[(slot as usize) << 1 | usize::from(write)]
    }

    #[inline]
    pub(crate) fn get(&self, slot: SlotId, write: bool) -> &T {
        &self.items[(slot as usize) << 1 | usize::from(write)]
    }
}
