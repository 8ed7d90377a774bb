//! The end of a load: how long I/Os that are still outstanding are waited for.
//!
//! While completions arrive, a queue is only deep: a volume of 100 I/Os per second needs minutes for a queue that a fast
//! one empties in a millisecond. Without completions, the target hangs.

use model::note::Note;

/// Without a completion for so long, I/Os are lost.
const SILENCE_NS: u64 = 5_000_000_000;

/// The longest wait while completions arrive.
const WAIT_MAX_NS: u64 = 60_000_000_000;

/// The same once the user has asked for the end.
const INTERRUPTED_NS: u64 = 2_000_000_000;

/// The wait is at most this many times as long as the queue should need at the measured rate.
const EXPECTED_TIMES: f64 = 10.0;

/// Time for cancelled I/Os to complete.
pub(crate) const CANCEL_NS: u64 = 500_000_000;

/// A wait of this length is worth a note.
const LATE_NS: u64 = 2_000_000_000;

/// Next step of a drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Wait on.
    Wait,
    /// Cancel what is outstanding, and wait on.
    Cancel,
    /// Leave it behind.
    GiveUp,
}

/// A wait that was cut short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cut {
    at_ns: u64,
    /// Outstanding then.
    left: u64,
    /// No completion arrived any more. Otherwise, it took too long, or the user asked for the end.
    is_silent: bool,
}

/// The wait for what is outstanding at the end of a load.
#[derive(Clone, Debug)]
pub(crate) struct Drain {
    begun_ns: u64,
    /// I/Os still outstanding then are cancelled.
    until_ns: u64,
    /// Outstanding at the end.
    at_end: u64,
    /// Outstanding at the latest look.
    left: u64,
    /// When that last changed.
    changed_ns: u64,
    cut: Option<Cut>,
}

impl Drain {
    /// The load ended at `now_ns` with `outstanding` I/Os, at this rate per second; 0 = unknown.
    pub(crate) fn begin(now_ns: u64, outstanding: u64, iops: f64) -> Self {
        let expected_ns = outstanding as f64 / iops * 1e9;
        let wait_ns = if iops > 0.0 { (expected_ns * EXPECTED_TIMES) as u64 } else { WAIT_MAX_NS };
        Self {
            begun_ns: now_ns,
            until_ns: now_ns.saturating_add(wait_ns.clamp(SILENCE_NS, WAIT_MAX_NS)),
            at_end: outstanding,
            left: outstanding,
            changed_ns: now_ns,
            cut: None,
        }
    }

    /// At `now_ns` this many were outstanding, and the user had asked for the end or not.
    pub(crate) fn next_step(&mut self, now_ns: u64, outstanding: u64, is_interrupted: bool) -> Step {
        if outstanding != self.left {
            (self.left, self.changed_ns) = (outstanding, now_ns);
        }
        if is_interrupted {
            self.until_ns = self.until_ns.min(now_ns + INTERRUPTED_NS);
        }
        if let Some(cut) = self.cut {
            return if now_ns >= cut.at_ns + 2 * CANCEL_NS { Step::GiveUp } else { Step::Wait };
        }
        let is_silent = now_ns >= self.changed_ns + SILENCE_NS;
        if !is_silent && now_ns < self.until_ns {
            return Step::Wait;
        }
        self.cut = Some(Cut { at_ns: now_ns, left: outstanding, is_silent });
        Step::Cancel
    }

    /// The note on a drain that ended at `now_ns`, if it needs one.
    pub(crate) fn note(&self, now_ns: u64) -> Option<Note> {
        let drain_ns = now_ns - self.begun_ns;
        let late = |left| Note::QueueDrainedLate { drain_ns, outstanding: self.at_end, left };
        match self.cut {
            Some(Cut { is_silent: true, left, .. }) => Some(Note::IosNeverReturned { count: left }),
            Some(Cut { left, .. }) => Some(late(left)),
            None => (drain_ns > LATE_NS && self.at_end > 0).then(|| late(0)),
        }
    }
}

/// I/Os that had not completed when the wait for them ended, as a note of it says.
pub(crate) fn left_behind(note: &Note) -> Option<u64> {
    match note {
        Note::IosNeverReturned { count } | Note::QueueDrainedLate { left: count, .. } => {
            Some(*count).filter(|left| *left > 0)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    /// Looks once a second, with what is outstanding then, until the wait is cut.
    fn cut_at(drain: &mut Drain, outstanding: impl Fn(u64) -> u64, interrupted_s: u64) -> Option<u64> {
        (1..200).find(|second| {
            let left = outstanding(*second);
            drain.next_step(second * S, left, *second >= interrupted_s) == Step::Cancel
        })
    }

    #[test]
    fn a_deep_queue_of_a_slow_target_is_waited_for() {
        // 8 threads, -o32, 100 IOPS: 2.6 s to drain.
        let mut drain = Drain::begin(0, 256, 100.0);
        for tenth in 1..=25 {
            assert_eq!(drain.next_step(tenth * S / 10, 256 - tenth * 10, false), Step::Wait);
        }
        let late = Note::QueueDrainedLate { drain_ns: 26 * S / 10, outstanding: 256, left: 0 };
        assert_eq!(drain.note(26 * S / 10), Some(late));
        assert_eq!(Drain::begin(0, 256, 1e5).note(S / 10), None);
    }

    #[test]
    fn silence_for_five_seconds_means_that_ios_are_lost() {
        let mut drain = Drain::begin(0, 40, 10.0);
        // Two more completions, then none.
        assert_eq!(cut_at(&mut drain, |second| if second < 3 { 40 - second } else { 38 }, u64::MAX), Some(7));
        assert_eq!(drain.next_step(7 * S + CANCEL_NS, 38, false), Step::Wait);
        assert_eq!(drain.next_step(8 * S, 38, false), Step::GiveUp);
        assert_eq!(drain.note(8 * S), Some(Note::IosNeverReturned { count: 38 }));
    }

    #[test]
    fn no_wait_is_longer_than_the_queue_explains() {
        // Expected: 1 s; completions trickle in for ever.
        let mut drain = Drain::begin(0, 1000, 1000.0);
        assert_eq!(cut_at(&mut drain, |second| 1000 - second, u64::MAX), Some(10));
        assert_eq!(drain.note(11 * S), Some(Note::QueueDrainedLate { drain_ns: 11 * S, outstanding: 1000, left: 990 }));
        let mut unknown = Drain::begin(0, 1000, 0.0);
        assert_eq!(cut_at(&mut unknown, |second| 1000 - second, u64::MAX), Some(60));
    }

    #[test]
    fn ctrl_c_cuts_it_short() {
        let mut drain = Drain::begin(0, 1000, 1.0);
        assert_eq!(cut_at(&mut drain, |second| 1000 - second, 4), Some(6));
    }
}
