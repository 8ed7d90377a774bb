//! Free requests: the one that came back last goes out first, its buffer still in the cache.

/// A stack of free slot numbers, each in it at most once.
#[derive(Clone, Debug)]
pub struct FreeSlots {
    stack: Box<[u32]>,
    free: usize,
}

impl FreeSlots {
    /// Slots `first .. first + count`, all free; the lowest goes out first.
    pub fn new(first: u32, count: u32) -> Self {
        let stack: Box<[u32]> = (first..first + count).rev().collect();
        Self { free: stack.len(), stack }
    }

    /// Takes a slot.
    #[inline]
    pub fn take(&mut self) -> Option<u32> {
        self.free = self.free.checked_sub(1)?;
        Some(self.stack[self.free])
    }

    /// Gives one back.
    #[inline]
    pub fn give(&mut self, slot: u32) {
        debug_assert!(!self.stack[..self.free].contains(&slot), "slot {slot} came back twice");
        self.stack[self.free] = slot;
        self.free += 1;
    }

    /// Number of free slots.
    #[inline]
    pub fn free_count(&self) -> usize {
        self.free
    }

    /// Number of slots that are out.
    #[inline]
    pub fn used_count(&self) -> usize {
        self.stack.len() - self.free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_back_goes_out_first() {
        let mut slots = FreeSlots::new(4, 3);
        assert_eq!((slots.take(), slots.take(), slots.take(), slots.take()), (Some(4), Some(5), Some(6), None));
        slots.give(5);
        slots.give(4);
        assert_eq!(slots.take(), Some(4));
        assert_eq!((slots.free_count(), slots.used_count()), (1, 2));
    }
}
