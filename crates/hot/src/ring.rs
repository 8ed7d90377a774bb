//! Records from one thread to another, in a ring of fixed size: neither waits for the other.

use crate::counters::Counter;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Words of a record.
pub const RECORD_WORDS: usize = 4;

/// A record.
pub type Record = [u64; RECORD_WORDS];

/// A ring with one writer and one reader. Records that find no room are lost, and counted.
#[derive(Debug)]
pub struct Ring {
    cells: Box<[[AtomicU64; RECORD_WORDS]]>,
    written: Place,
    read: Place,
    lost: Counter,
}

/// A number of records, on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Place(AtomicU64);

impl Ring {
    /// A ring with room for this number of records, rounded up to a power of two.
    pub fn new(records: usize) -> Self {
        let cells = (0..records.next_power_of_two()).map(|_| [const { AtomicU64::new(0) }; RECORD_WORDS]).collect();
        Self { cells, written: Place::default(), read: Place::default(), lost: Counter::default() }
    }

    fn cell(&self, number: u64) -> &[AtomicU64; RECORD_WORDS] {
        &self.cells[number as usize & (self.cells.len() - 1)]
    }

    /// Adds a record; only the writer may.
    #[inline]
    pub fn push(&self, record: Record) {
        let written = self.written.0.load(Relaxed);
        if written - self.read.0.load(Acquire) == self.cells.len() as u64 {
            self.lost.add(1);
            return;
        }
        for (cell, word) in self.cell(written).iter().zip(record) {
            cell.store(word, Relaxed);
        }
        self.written.0.store(written + 1, Release);
    }

    /// Takes the records that were there at the beginning of the call, the first one first; only the reader may.
    pub fn take(&self, mut each: impl FnMut(Record)) {
        let (read, written) = (self.read.0.load(Relaxed), self.written.0.load(Acquire));
        for number in read..written {
            each(std::array::from_fn(|word| self.cell(number)[word].load(Relaxed)));
        }
        self.read.0.store(written, Release);
    }

    /// Records that found no room so far.
    pub fn lost(&self) -> u64 {
        self.lost.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(ring: &Ring) -> Vec<u64> {
        let mut records = Vec::new();
        ring.take(|record| records.push(record[0]));
        records
    }

    #[test]
    fn records_come_out_in_order_and_those_without_room_are_counted() {
        let ring = Ring::new(3);
        (0..6).for_each(|number| ring.push([number; RECORD_WORDS]));
        assert_eq!((taken(&ring), ring.lost()), (vec![0, 1, 2, 3], 2));
        (6..9).for_each(|number| ring.push([number; RECORD_WORDS]));
        assert_eq!((taken(&ring), taken(&ring), ring.lost()), (vec![6, 7, 8], vec![], 2));
    }

    #[test]
    fn a_reader_beside_the_writer_sees_whole_records() {
        const COUNT: u64 = 200_000;
        let ring = Ring::new(64);
        let (mut next, mut seen) = (0, 0);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| (0..COUNT).for_each(|number| ring.push([number; RECORD_WORDS])));
            while !writer.is_finished() || ring.written.0.load(Acquire) != ring.read.0.load(Acquire) {
                ring.take(|record| {
                    assert!(record[0] >= next && record.iter().all(|word| *word == record[0]), "{record:?}");
                    (next, seen) = (record[0] + 1, seen + 1);
                });
            }
        });
        assert_eq!(seen + ring.lost(), COUNT);
    }
}
