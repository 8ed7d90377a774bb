//! A bounded queue of records between two threads, without locks: one puts records, the other takes them.

use crate::counters::Counter;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

/// A queue of records of `WORDS` words.
#[derive(Debug)]
pub struct Ring<const WORDS: usize> {
    /// A power of two of them; the record with number n is at its remainder.
    records: Box<[[AtomicU64; WORDS]]>,
    producer: Side,
    consumer: Side,
    lost: Counter,
}

/// The progress of one of the threads, on cache lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Side {
    /// Records put, or taken.
    count: AtomicU64,
    /// It puts, or takes, no more.
    is_over: AtomicBool,
}

impl<const WORDS: usize> Ring<WORDS> {
    /// A queue for at least `capacity` records.
    pub fn new(capacity: usize) -> Self {
        let empty = || std::array::from_fn(|_| AtomicU64::new(0));
        let records = (0..capacity.max(1).next_power_of_two()).map(|_| empty()).collect();
        Self { records, producer: Side::default(), consumer: Side::default(), lost: Counter::default() }
    }

    /// Puts a record; false if the queue is full. Only the producer may.
    #[inline]
    pub fn put(&self, record: [u64; WORDS]) -> bool {
        let count = self.producer.count.load(Relaxed);
        if count - self.consumer.count.load(Acquire) == self.records.len() as u64 {
            return false;
        }
        for (cell, word) in self.at(count).iter().zip(record) {
            cell.store(word, Relaxed);
        }
        self.producer.count.store(count + 1, Release);
        true
    }

    /// Puts a record; one that finds no room is lost, and counted. Only the producer may.
    #[inline]
    pub fn push(&self, record: [u64; WORDS]) {
        if !self.put(record) {
            self.lost.add(1);
        }
    }

    /// Records that found no room so far.
    pub fn lost(&self) -> u64 {
        self.lost.get()
    }

    /// Takes the oldest record. Only the consumer may.
    #[inline]
    pub fn take(&self) -> Option<[u64; WORDS]> {
        let count = self.consumer.count.load(Relaxed);
        if count == self.producer.count.load(Acquire) {
            return None;
        }
        let record = self.at(count).each_ref().map(|cell| cell.load(Relaxed));
        self.consumer.count.store(count + 1, Release);
        Some(record)
    }

    /// Nothing more is put. Only the producer may.
    pub fn finish(&self) {
        self.producer.is_over.store(true, Release);
    }

    /// True once nothing more is put; records may be left.
    #[inline]
    pub fn is_finished(&self) -> bool {
        self.producer.is_over.load(Acquire)
    }

    /// Nothing more is taken: what is put is for nobody. Any thread may.
    pub fn close(&self) {
        self.consumer.is_over.store(true, Release);
    }

    /// True once nothing more is taken.
    pub fn is_closed(&self) -> bool {
        self.consumer.is_over.load(Acquire)
    }

    fn at(&self, number: u64) -> &[AtomicU64; WORDS] {
        &self.records[number as usize & (self.records.len() - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_queue_takes_what_it_has_room_for_and_gives_it_in_order() {
        let ring = Ring::<2>::new(3);
        assert_eq!(ring.take(), None);
        assert_eq!((0..5).filter(|&number| ring.put([number, 0])).count(), 4, "a power of two");
        assert_eq!(ring.take(), Some([0, 0]));
        assert!(ring.put([9, 1]) && !ring.put([10, 1]));
        ring.push([11, 1]);
        assert_eq!(ring.lost(), 1);
        ring.finish();
        assert!(ring.is_finished() && !ring.is_closed());
        assert_eq!(std::iter::from_fn(|| ring.take()).map(|[number, _]| number).collect::<Vec<_>>(), [1, 2, 3, 9]);
    }

    #[test]
    fn no_record_is_lost_doubled_or_torn_between_threads() {
        let ring = Ring::<3>::new(64);
        thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..100_000_u64 {
                    while !ring.put([number, !number, number.rotate_left(7)]) {
                        thread::yield_now();
                    }
                }
                ring.finish();
            });
            let mut expected = 0_u64;
            loop {
                let is_finished = ring.is_finished();
                while let Some(record) = ring.take() {
                    assert_eq!(record, [expected, !expected, expected.rotate_left(7)]);
                    expected += 1;
                }
                if is_finished {
                    break;
                }
                thread::yield_now();
            }
            assert_eq!(expected, 100_000);
        });
    }
}
