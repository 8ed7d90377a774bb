//! The machine's monotonic clock, as the loop takes it.

use hot::clock::Clock;
use sys::tsc::MachineClock;

/// The clock of this run; all workers share its origin and its rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunClock(pub(crate) MachineClock);

impl Clock for RunClock {
    #[inline]
    fn now_ns(&self) -> u64 {
        self.0.now_ns()
    }
}
