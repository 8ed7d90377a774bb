//! Requests, and those that are free: the one that completed first is reused first, so that none starves where not all
//! are in flight at once.

use model::operation::Operation;
use std::{mem, slice};

/// A request and its operation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slot {
    /// Index of the target of the operation.
    pub work: u32,
    /// The operation.
    pub operation: Operation,
    /// Index of its size, where there are several.
    pub size: u8,
    /// Offset in the target, in bytes.
    pub offset: u64,
    /// Time of its start, in nanoseconds of the loop's clock.
    pub started_ns: u64,
    /// Intended start: in an open loop its due time; in a closed loop the completion of the one before.
    pub intended_ns: u64,
}

impl Slot {
    /// Begins an operation.
    #[inline]
    pub fn begin(&mut self, operation: Operation, offset: u64, now_ns: u64) {
        self.operation = operation;
        self.offset = offset;
        self.started_ns = now_ns;
    }

    /// The operation completed at `now_ns`; returns the start of its latency. If waits count, that was when its request
    /// was free, and the next one is intended to start now.
    #[inline]
    pub fn end(&mut self, waits_count: bool, now_ns: u64) -> u64 {
        if waits_count { mem::replace(&mut self.intended_ns, now_ns) } else { self.started_ns }
    }
}

/// A queue of free slot numbers, each in it at most once.
#[derive(Clone, Debug)]
pub struct FreeSlots {
    /// Those from `first` to `end` are free. Twice as long as there are slots, so that they are moved rarely.
    queue: Box<[u32]>,
    first: usize,
    end: usize,
}

impl FreeSlots {
    /// Slots `first .. first + count`, all free; the lowest is taken first.
    pub fn new(first: u32, count: u32) -> Self {
        let end = count as usize;
        let mut queue = vec![0; 2 * end].into_boxed_slice();
        for (place, slot) in queue.iter_mut().zip(first..first + count) {
            *place = slot;
        }
        Self { queue, first: 0, end }
    }

    /// Takes a slot.
    #[inline]
    pub fn take(&mut self) -> Option<u32> {
        let slot = *self.queue.get(self.first).filter(|_| self.first < self.end)?;
        self.first += 1;
        Some(slot)
    }

    /// Takes the first `count` slots of the queue, in this order; fewer if there are fewer.
    #[inline]
    pub fn take_many(&mut self, count: usize) -> &[u32] {
        let (first, end) = (self.first, self.end);
        let taken = first..end.min(first + count);
        // Mostly all are taken, so that the next ones have room without being moved.
        (self.first, self.end) = if taken.end == end { (0, 0) } else { (taken.end, end) };
        &self.queue[taken]
    }

    /// Returns a slot to the queue.
    #[inline]
    pub fn give(&mut self, slot: u32) {
        debug_assert!(!self.queue[self.first..self.end].contains(&slot), "slot {slot} was freed twice");
        match self.queue.get_mut(self.end) {
            Some(place) => {
                *place = slot;
                self.end += 1;
            }
            None => self.give_after_moving(slot),
        }
    }

    /// A separate call, so that `give` stays small.
    #[cold]
    #[inline(never)]
    fn give_after_moving(&mut self, slot: u32) {
        self.give_many(|given| given.push(slot));
    }

    /// Returns the slots that `fill` pushes.
    #[inline]
    pub fn give_many(&mut self, fill: impl FnOnce(&mut ReturnedSlots)) {
        if self.queue.len() - self.end < self.used_count() {
            self.queue.copy_within(self.first..self.end, 0);
            (self.first, self.end) = (0, self.end - self.first);
        }
        let mut given = ReturnedSlots(self.queue[self.end..].iter_mut());
        fill(&mut given);
        let left = given.0.len();
        let end = self.queue.len() - left;
        debug_assert!(
            (self.end..end).all(|at| !self.queue[self.first..at].contains(&self.queue[at])),
            "a slot was freed twice: {:?}",
            &self.queue[self.first..end]
        );
        self.end = end;
    }

    /// Number of free slots.
    #[inline]
    pub fn free_count(&self) -> usize {
        self.end - self.first
    }

    /// Number of slots in use.
    #[inline]
    pub fn used_count(&self) -> usize {
        self.queue.len() / 2 - self.free_count()
    }
}

/// Slots to be returned.
#[derive(Debug)]
pub struct ReturnedSlots<'a>(slice::IterMut<'a, u32>);

impl ReturnedSlots<'_> {
    /// Adds a slot; no effect if all are free.
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
    fn the_first_one_back_goes_out_first() {
        let mut slots = FreeSlots::new(4, 3);
        assert_eq!((slots.take(), slots.take(), slots.take(), slots.take()), (Some(4), Some(5), Some(6), None));
        slots.give(5);
        slots.give(4);
        assert_eq!(slots.take(), Some(5));
        assert_eq!((slots.free_count(), slots.used_count()), (1, 2));
    }

    #[test]
    fn many_come_back_as_they_would_one_by_one() {
        let (mut slots, mut one_by_one) = (FreeSlots::new(0, 8), FreeSlots::new(0, 8));
        assert_eq!(slots.take_many(5), [0, 1, 2, 3, 4]);
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

    #[test]
    fn none_is_left_behind_where_not_all_go_out() {
        let mut slots = FreeSlots::new(0, 5);
        let mut waited = [0; 5];
        for _ in 0..100 {
            let out = slots.take_many(3).to_vec();
            assert_eq!(out.len(), 3);
            for turns in &mut waited {
                *turns += 1;
            }
            for &slot in &out {
                waited[slot as usize] = 0;
            }
            assert!(waited.iter().all(|turns| *turns < 2), "{waited:?}");
            slots.give_many(|given| out.iter().for_each(|slot| given.push(*slot)));
        }
    }
}
