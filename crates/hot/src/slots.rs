//! Requests, and those that are free: the one that came back last goes out first, its buffer still in the cache.

use model::operation::Operation;
use std::slice;

/// A request and its operation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slot {
    /// Index of the target that the operation goes to.
    pub work: u32,
    /// What it does.
    pub operation: Operation,
    /// Index of its size, where there are several.
    pub size: u8,
    /// Where in the target, in bytes.
    pub offset: u64,
    /// When it began.
    pub started_ns: u64,
    /// When it was meant to start, in an open loop.
    pub intended_ns: u64,
}

impl Slot {
    /// An operation begins.
    #[inline]
    pub fn begin(&mut self, operation: Operation, offset: u64, now_ns: u64) {
        self.operation = operation;
        self.offset = offset;
        self.started_ns = now_ns;
    }
}

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

    /// Takes the `count` slots that would go out next, the last of them first in line; fewer if there are fewer.
    #[inline]
    pub fn take_many(&mut self, count: usize) -> &[u32] {
        let (left, all) = (self.free.saturating_sub(count), self.free);
        self.free = left;
        &self.stack[left..all]
    }

    /// Gives one back.
    #[inline]
    pub fn give(&mut self, slot: u32) {
        debug_assert!(!self.stack[..self.free].contains(&slot), "slot {slot} was freed twice");
        self.stack[self.free] = slot;
        self.free += 1;
    }

    /// Gives back those that `fill` pushes.
    #[inline]
    pub fn give_many(&mut self, fill: impl FnOnce(&mut Given)) {
        let mut given = Given(self.stack[self.free..].iter_mut());
        fill(&mut given);
        let left = given.0.len();
        let free = self.stack.len() - left;
        debug_assert!(
            (self.free..free).all(|at| !self.stack[..at].contains(&self.stack[at])),
            "a slot was freed twice: {:?}",
            &self.stack[..free]
        );
        self.free = free;
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

/// Slots that are given back.
#[derive(Debug)]
pub struct Given<'a>(slice::IterMut<'a, u32>);

impl Given<'_> {
    /// This one too; nothing if all are.
    #[inline]
    pub fn push(&mut self, slot: u32) {
        if let Some(place) = self.0.next() {
            *place = slot;
        }
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

    #[test]
    fn many_come_back_as_they_would_one_by_one() {
        let (mut slots, mut one_by_one) = (FreeSlots::new(0, 8), FreeSlots::new(0, 8));
        assert_eq!(slots.take_many(5), [4, 3, 2, 1, 0]);
        assert_eq!((0..5).filter_map(|_| one_by_one.take()).count(), 5);
        let back = [3, 0, 4];
        slots.give_many(|given| back.into_iter().for_each(|slot| given.push(slot)));
        slots.give_many(|_| ());
        for slot in back {
            one_by_one.give(slot);
        }
        assert_eq!((slots.free_count(), slots.used_count()), (6, 2));
        assert!((0..7).all(|_| slots.take() == one_by_one.take()));
    }
}
