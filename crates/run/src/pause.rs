//! How long the process was kept from running.

use crate::phase::Phases;

/// To come so much later to the clock than was meant is more than a busy machine does: the process was stopped.
const PAUSE_NS: u64 = 1_000_000_000;

/// Time of the measurement in which the process did not run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pause {
    pub(crate) pause_ns: u64,
    /// The part that lasted until the end.
    pub(crate) at_end_ns: u64,
}

impl Pause {
    /// The clock was due to be looked at at `due_ns`, and was at `now_ns`.
    pub(crate) fn add(&mut self, phases: &Phases, due_ns: u64, now_ns: u64) {
        if now_ns.saturating_sub(due_ns) < PAUSE_NS {
            return;
        }
        let measured_ns = now_ns.min(phases.cool_down_ns).saturating_sub(due_ns.max(phases.measure_ns));
        self.pause_ns += measured_ns;
        if now_ns >= phases.cool_down_ns {
            self.at_end_ns += measured_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_pauses_count_and_only_inside_the_measurement() {
        let s = 1_000_000_000;
        let phases = Phases { start_ns: 0, measure_ns: 10 * s, cool_down_ns: 20 * s, end_ns: 25 * s };
        let pause = |due_ns, now_ns| {
            let mut pause = Pause::default();
            pause.add(&phases, due_ns, now_ns);
            (pause.pause_ns, pause.at_end_ns)
        };
        assert_eq!(pause(12 * s, 12 * s + s / 2), (0, 0));
        assert_eq!(pause(12 * s, 15 * s), (3 * s, 0));
        assert_eq!(pause(5 * s, 12 * s), (2 * s, 0));
        assert_eq!(pause(19 * s, 60 * s), (s, s));
        assert_eq!(pause(2 * s, 9 * s), (0, 0));
        assert_eq!(pause(21 * s, 60 * s), (0, 0));
    }
}
