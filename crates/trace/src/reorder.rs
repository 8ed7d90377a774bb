//! Puts records in the order of their times, within a bounded window.

use std::collections::BTreeMap;

/// Records that a trace may be out of order by.
pub const WINDOW: usize = 65_536;

/// A window of records, of which the earliest leaves first. Records with the same time keep their order.
#[derive(Debug)]
pub struct Reorder<T> {
    /// By time and number of arrival.
    records: BTreeMap<(u64, u64), T>,
    capacity: usize,
    /// No more records come.
    is_complete: bool,
    arrivals: u64,
    latest_ns: u64,
    last_out_ns: u64,
    sorted: u64,
    late: u64,
}

impl<T> Reorder<T> {
    /// A window of `capacity` records.
    pub fn new(capacity: usize) -> Self {
        Self {
            records: BTreeMap::new(),
            capacity,
            is_complete: false,
            arrivals: 0,
            latest_ns: 0,
            last_out_ns: 0,
            sorted: 0,
            late: 0,
        }
    }

    /// The earliest record of those in the window, which `next` fills first until it has no more. The time that comes with
    /// it is at least that of the record before it.
    pub fn next_from(&mut self, mut next: impl FnMut() -> Option<(u64, T)>) -> Option<(u64, T)> {
        while !self.is_complete && self.records.len() < self.capacity {
            match next() {
                Some((time_ns, record)) => self.push(time_ns, record),
                None => self.is_complete = true,
            }
        }
        self.pop()
    }

    fn push(&mut self, time_ns: u64, record: T) {
        self.sorted += u64::from(time_ns < self.latest_ns);
        self.latest_ns = self.latest_ns.max(time_ns);
        self.records.insert((time_ns, self.arrivals), record);
        self.arrivals += 1;
    }

    fn pop(&mut self) -> Option<(u64, T)> {
        let ((time_ns, _), record) = self.records.pop_first()?;
        self.late += u64::from(time_ns < self.last_out_ns);
        self.last_out_ns = self.last_out_ns.max(time_ns);
        Some((self.last_out_ns, record))
    }

    /// Records that came after a later one and were put before it.
    pub fn sorted(&self) -> u64 {
        self.sorted - self.late
    }

    /// Records that left with a later time than their own.
    pub fn late(&self) -> u64 {
        self.late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_sorted_within_the_window_and_counted() {
        let mut window = Reorder::new(2);
        let mut records = [10, 30, 20, 40, 5, 50].into_iter().zip(0..);
        let out: Vec<_> = std::iter::from_fn(|| window.next_from(|| records.next())).collect();
        assert_eq!(out, [(10, 0), (20, 2), (30, 1), (30, 4), (40, 3), (50, 5)]);
        assert_eq!((window.sorted(), window.late()), (1, 1));
    }
}
