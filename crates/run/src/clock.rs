//! The machine's monotonic clock, as the loop takes it.

use hot::clock::Clock;
use model::note::Note;
use sys::machine_clock::MachineClock;

/// The clock of this run; all workers share its origin and its rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunClock(pub(crate) MachineClock);

impl Clock for RunClock {
    #[inline]
    fn now_ns(&self) -> u64 {
        self.0.now_ns()
    }
}

/// Steps above this are reported: a fast device completes an I/O in some microseconds.
const STEP_NS_MAX: u64 = 100;

/// The note about a clock that advances by so much at once.
pub(crate) fn note(step_ns: u64) -> Option<Note> {
    (step_ns > STEP_NS_MAX).then_some(Note::ClockSteps { step_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    // Shows faults: The clock of the latencies advances in large steps (acpi_pm, a slow generic timer)
    #[test]
    fn only_steps_that_spoil_latencies_are_told() {
        assert_eq!([1, 42, 100].map(note), [None, None, None]);
        let coarse = note(280).expect("a note");
        assert_eq!(coarse.to_string().split(';').next(), Some("clock resolution: 280 ns"));
    }
}
