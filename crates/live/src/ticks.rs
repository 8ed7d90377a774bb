//! Ends of intervals: at whole multiples of the interval after the start, so that nothing drifts.

/// Ticks on a monotonic clock, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticks {
    start_ns: u64,
    interval_ns: u64,
    /// Number of the next tick, from 1.
    next: u64,
    missed_count: u64,
}

impl Ticks {
    /// Every `interval_ns` after `start_ns`.
    pub fn new(start_ns: u64, interval_ns: u64) -> Self {
        Self { start_ns, interval_ns: interval_ns.max(1), next: 1, missed_count: 0 }
    }

    /// Time of the next tick.
    pub fn next_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.interval_ns.saturating_mul(self.next))
    }

    /// The number of the tick that is due at `now_ns`; later ones that have passed too, as on a machine that was
    /// suspended, are missed and not made up for. `None` if none is due.
    pub fn due(&mut self, now_ns: u64) -> Option<u64> {
        let passed = now_ns.saturating_sub(self.start_ns) / self.interval_ns;
        if passed < self.next {
            return None;
        }
        self.missed_count += passed - self.next;
        self.next = passed + 1;
        Some(passed)
    }

    /// Number of ticks that were missed.
    pub fn missed_count(&self) -> u64 {
        self.missed_count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_stay_on_their_grid() {
        let mut ticks = Ticks::new(1_000, 100);
        assert_eq!((ticks.next_ns(), ticks.due(1_099)), (1_100, None));
        assert_eq!((ticks.due(1_150), ticks.next_ns()), (Some(1), 1_200));
        assert_eq!((ticks.due(1_200), ticks.due(1_200), ticks.missed_count()), (Some(2), None, 0));
        // Suspended for a while.
        assert_eq!((ticks.due(1_777), ticks.next_ns(), ticks.missed_count()), (Some(7), 1_800, 4));
    }
}
