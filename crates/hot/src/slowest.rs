//! The slowest of many I/Os: a heap of fixed size that one thread writes and any may read.
//!
//! An I/O that is not among them costs one comparison, with the fastest of those that are.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// An entry of the heap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlowIo {
    /// Its latency in nanoseconds.
    pub latency_ns: u64,
    /// When it completed, in nanoseconds of the clock.
    pub ended_ns: u64,
    /// Its offset, in bytes.
    pub offset: u64,
    /// Further facts in the thread's own encoding.
    pub tag: u64,
}

/// The slowest I/Os of one thread.
#[derive(Debug)]
pub struct Slowest {
    /// A latency must be above it to be kept.
    floor_ns: AtomicU64,
    kept: AtomicU64,
    /// A heap by latency, the smallest first: the children of `i` are `2 i + 1` and `2 i + 2`.
    cells: Box<[[AtomicU64; 4]]>,
}

impl Slowest {
    /// Keeps at most `most` I/Os, and none before [`open`](Self::open).
    pub fn new(most: usize) -> Self {
        let cells = (0..most).map(|_| Default::default()).collect();
        Self { floor_ns: AtomicU64::new(u64::MAX), kept: AtomicU64::new(0), cells }
    }

    /// Begins to keep I/Os, but none without a latency. Only the owner may.
    pub fn open(&self) {
        if !self.cells.is_empty() {
            self.floor_ns.store(0, Relaxed);
        }
    }

    /// True if an I/O of this latency is among the slowest.
    #[inline]
    pub fn wants(&self, latency_ns: u64) -> bool {
        latency_ns > self.floor_ns.load(Relaxed)
    }

    /// Keeps an I/O that is [among the slowest](Self::wants), instead of the fastest if the heap is full. Only the
    /// owner may.
    #[cold]
    pub fn keep(&self, io: SlowIo) {
        let kept = self.kept.load(Relaxed) as usize;
        if kept < self.cells.len() {
            self.rise(kept, io);
            self.kept.store(kept as u64 + 1, Relaxed);
        } else {
            self.sink(io);
        }
        if self.kept.load(Relaxed) as usize == self.cells.len() {
            self.floor_ns.store(self.latency_ns(0), Relaxed);
        }
    }

    /// The I/Os that are kept, in no order.
    pub fn kept(&self) -> Vec<SlowIo> {
        let kept = self.kept.load(Relaxed) as usize;
        self.cells.iter().take(kept).map(io).collect()
    }

    /// Moves an I/O up from a new leaf.
    fn rise(&self, mut place: usize, io: SlowIo) {
        while place > 0 && self.latency_ns((place - 1) / 2) > io.latency_ns {
            self.copy((place - 1) / 2, place);
            place = (place - 1) / 2;
        }
        self.put(place, io);
    }

    /// Moves an I/O down from the root.
    fn sink(&self, io: SlowIo) {
        let mut place = 0;
        loop {
            let (left, right) = (2 * place + 1, 2 * place + 2);
            let is_right = right < self.cells.len() && self.latency_ns(right) < self.latency_ns(left);
            let child = if is_right { right } else { left };
            if child >= self.cells.len() || self.latency_ns(child) >= io.latency_ns {
                break;
            }
            self.copy(child, place);
            place = child;
        }
        self.put(place, io);
    }

    fn latency_ns(&self, place: usize) -> u64 {
        self.cells[place][0].load(Relaxed)
    }

    fn copy(&self, from: usize, to: usize) {
        self.put(to, io(&self.cells[from]));
    }

    fn put(&self, place: usize, io: SlowIo) {
        let values = [io.latency_ns, io.ended_ns, io.offset, io.tag];
        for (cell, value) in self.cells[place].iter().zip(values) {
            cell.store(value, Relaxed);
        }
    }
}

fn io(cells: &[AtomicU64; 4]) -> SlowIo {
    let [latency_ns, ended_ns, offset, tag] = cells.each_ref().map(|cell| cell.load(Relaxed));
    SlowIo { latency_ns, ended_ns, offset, tag }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kept(most: usize, latencies_ns: &[u64]) -> Vec<u64> {
        let slowest = Slowest::new(most);
        slowest.open();
        for (index, &latency_ns) in latencies_ns.iter().enumerate() {
            if slowest.wants(latency_ns) {
                slowest.keep(SlowIo { latency_ns, offset: index as u64, ..SlowIo::default() });
            }
        }
        let kept = slowest.kept();
        assert!(kept.iter().all(|io| latencies_ns[io.offset as usize] == io.latency_ns), "{kept:?}");
        let mut kept: Vec<u64> = kept.iter().map(|io| io.latency_ns).collect();
        kept.sort_unstable();
        kept
    }

    #[test]
    fn nothing_is_wanted_before_the_measurement_or_without_places() {
        let slowest = Slowest::new(3);
        assert!(!slowest.wants(u64::MAX));
        slowest.open();
        assert!(slowest.wants(1) && !slowest.wants(0));
        let none = Slowest::new(0);
        none.open();
        assert!(!none.wants(5));
    }

    proptest! {
        #[test]
        fn the_largest_are_kept(most in 1usize..40, latencies_ns in prop::collection::vec(1u64..100, 0..200)) {
            let mut expected = latencies_ns.clone();
            expected.sort_unstable();
            let expected = expected.split_off(latencies_ns.len().saturating_sub(most));
            prop_assert_eq!(kept(most, &latencies_ns), expected);
        }
    }
}
