//! The phases of a timespan as points in time.

use model::plan::TimeSpanPlan;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// When each phase begins, in nanoseconds of the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phases {
    /// Warm-up, or the measurement if there is none.
    pub start_ns: u64,
    /// Measurement.
    pub measure_ns: u64,
    /// Cool-down.
    pub cool_down_ns: u64,
    /// Nothing more is issued.
    pub end_ns: u64,
}

impl Phases {
    /// The phases of a timespan that starts at `start_ns`.
    pub fn new(plan: &TimeSpanPlan, start_ns: u64) -> Self {
        let measure_ns = start_ns.saturating_add(plan.warm_up_ns);
        let cool_down_ns = measure_ns.saturating_add(plan.duration_ns);
        Self { start_ns, measure_ns, cool_down_ns, end_ns: cool_down_ns.saturating_add(plan.cool_down_ns) }
    }
}

impl Phases {
    /// The measurement, as far as it is known now.
    pub(crate) fn measurement(&self, stop: &Stop) -> Range<u64> {
        self.measure_ns..self.cool_down_ns.min(stop.at_ns())
    }
}

/// A request to end early; every worker checks it once per iteration.
#[derive(Debug)]
pub struct Stop {
    /// `u64::MAX` = go on.
    at_ns: AtomicU64,
    /// As `at_ns`, and 0 once the run is over for those who did not see it themselves: all that a worker looks at
    /// each turn.
    leave_ns: AtomicU64,
    failed: AtomicBool,
    /// True if outstanding I/Os are to be cancelled.
    cancelled: AtomicBool,
}

impl Default for Stop {
    fn default() -> Self {
        Self {
            at_ns: AtomicU64::new(u64::MAX),
            leave_ns: AtomicU64::new(u64::MAX),
            failed: AtomicBool::new(false),
            cancelled: AtomicBool::new(false),
        }
    }
}

impl Stop {
    /// Nothing that completes from `now_ns` on counts; the first request wins.
    pub fn request(&self, now_ns: u64) {
        // Whoever comes second finds a time already set, and leaves it.
        if self.at_ns.compare_exchange(u64::MAX, now_ns, Relaxed, Relaxed).is_ok() {
            self.leave_ns.fetch_min(now_ns, Relaxed);
        }
    }

    /// As [`request`](Self::request), because of an error.
    pub fn fail(&self, now_ns: u64) {
        self.failed.store(true, Relaxed);
        self.request(now_ns);
    }

    /// When the run was stopped; `u64::MAX` if it was not.
    #[inline]
    pub fn at_ns(&self) -> u64 {
        self.at_ns.load(Relaxed)
    }

    /// The run is over by the kernel's clock, whatever the workers' own says; what was measured stays.
    pub fn end(&self) {
        self.leave_ns.store(0, Relaxed);
    }

    /// When workers start no more; `u64::MAX` if the run was not ended.
    #[inline]
    pub(crate) fn leave_ns(&self) -> u64 {
        self.leave_ns.load(Relaxed)
    }

    /// Nobody waits any longer for what is outstanding.
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Relaxed);
    }

    /// True if outstanding operations are to be cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Relaxed)
    }

    /// True if an error stopped it.
    pub fn is_failure(&self) -> bool {
        self.failed.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_stop_counts_and_an_error_is_remembered() {
        let stop = Stop::default();
        assert_eq!((stop.at_ns(), stop.leave_ns()), (u64::MAX, u64::MAX));
        stop.request(5);
        stop.fail(9);
        assert_eq!((stop.at_ns(), stop.leave_ns()), (5, 5));
        assert!(stop.is_failure());
    }

    #[test]
    fn workers_leave_at_the_end_whatever_their_clocks_say() {
        let stop = Stop::default();
        stop.end();
        stop.request(7);
        assert_eq!((stop.at_ns(), stop.leave_ns()), (7, 0));
    }

    #[test]
    fn phases_follow_each_other() {
        let plan = TimeSpanPlan { warm_up_ns: 5, duration_ns: 10, cool_down_ns: 2, ..TimeSpanPlan::default() };
        let phases = Phases::new(&plan, 100);
        assert_eq!((phases.measure_ns, phases.cool_down_ns, phases.end_ns), (105, 115, 117));
    }
}
