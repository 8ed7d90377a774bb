//! Counts so far, and when to report them.

use crate::observer::Phase;
use crate::phase::Phases;
use crate::worker_threads::WorkerThreads;
use model::live::{LivePhase, LiveRow};

/// Times at which counts are reported: at whole multiples of what the observer wants since the phase began.
pub(crate) struct CountsClock {
    pub(crate) phase: LivePhase,
    /// When the phase began.
    pub(crate) begin_ns: u64,
    every_ns: u64,
    pub(crate) due_ns: u64,
}

impl CountsClock {
    /// Nothing is counted in the cool-down.
    pub(crate) fn new(phase: Phase, phases: &Phases, every_ns: Option<u64>) -> Self {
        let (counted, begin_ns) = match phase {
            Phase::WarmUp { .. } => (LivePhase::WarmUp, phases.start_ns),
            Phase::Measure { .. } | Phase::CoolDown { .. } => (LivePhase::Measurement, phases.measure_ns),
        };
        let every_ns = every_ns.filter(|_| !matches!(phase, Phase::CoolDown { .. })).unwrap_or(u64::MAX).max(1);
        Self { phase: counted, begin_ns, every_ns, due_ns: begin_ns.saturating_add(every_ns) }
    }

    /// True once for each time that it is due; what was missed is passed over.
    pub(crate) fn is_due(&mut self, now_ns: u64) -> bool {
        let is_due = now_ns >= self.due_ns;
        if is_due {
            let passed = now_ns.saturating_sub(self.begin_ns) / self.every_ns;
            self.due_ns = self.begin_ns.saturating_add((passed + 1).saturating_mul(self.every_ns));
        }
        is_due
    }
}

/// Counts of a phase up to now, by thread and target.
pub(crate) fn rows(worker_threads: &WorkerThreads, phase: LivePhase) -> Vec<LiveRow> {
    worker_threads.recorders.iter().flat_map(|recorder| recorder.live(phase)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_told_at_whole_multiples_and_never_late_twice() {
        let phases = Phases { start_ns: 0, measure_ns: 1000, cool_down_ns: 9000, end_ns: 9000 };
        let mut clock = CountsClock::new(Phase::Measure { length_ns: 8000 }, &phases, Some(100));
        assert_eq!((clock.is_due(1099), clock.is_due(1101), clock.is_due(1199)), (false, true, false));
        assert_eq!((clock.is_due(1450), clock.due_ns), (true, 1500));
        for (phase, every_ns) in
            [(Phase::CoolDown { length_ns: 5 }, Some(100)), (Phase::Measure { length_ns: 5 }, None)]
        {
            assert!(!CountsClock::new(phase, &phases, every_ns).is_due(u64::MAX - 1));
        }
    }
}
