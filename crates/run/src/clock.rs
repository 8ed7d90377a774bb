//! The machine's monotonic clock, as the loop takes it.

use hot::clock::Clock;

/// `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Monotonic;

impl Clock for Monotonic {
    #[inline]
    fn now_ns(&self) -> u64 {
        sys::clock::monotonic_ns()
    }
}
