//! The part of the run that a worker is in.

use crate::allowance::Allowance;
use crate::phase::{Phases, Stop};
use crate::recorder::Recorder;

/// The part of the run that I/Os are counted in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IntervalCursor {
    phase: Phase,
    /// First nanosecond of the next part.
    pub(crate) end_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Rows count, for those who look on.
    WarmUp,
    Measurement,
    /// Nothing counts.
    Over,
}

impl IntervalCursor {
    /// Before the measurement, which begins at `measure_ns`.
    pub(crate) fn until(measure_ns: u64) -> Self {
        Self { phase: Phase::WarmUp, end_ns: measure_ns }
    }

    /// True from the start of the measurement to its end.
    #[inline]
    pub(crate) fn is_measuring(&self) -> bool {
        self.phase == Phase::Measurement
    }

    /// True before the end of the measurement.
    #[inline]
    pub(crate) fn counts(&self) -> bool {
        self.phase != Phase::Over
    }

    /// The phase that an I/O belongs to which ended at `ended_ns`, if the run was stopped at `stopped_ns`.
    #[inline]
    pub(crate) fn phase_at(&self, ended_ns: u64, stopped_ns: u64) -> Phase {
        if ended_ns < stopped_ns { self.phase } else { Phase::Over }
    }

    /// True if another part has begun by now.
    #[inline]
    pub(crate) fn is_over(&self, now_ns: u64) -> bool {
        now_ns >= self.end_ns
    }

    /// To the part of `now_ns`. Divides, so only when it is a new one.
    #[cold]
    pub(crate) fn advance(
        &mut self,
        now_ns: u64,
        phases: &Phases,
        stop: &Stop,
        recorder: &Recorder,
        allowance: &mut Option<Allowance>,
    ) {
        let until_ns = phases.measurement(stop).end;
        let since_start_ns = now_ns.saturating_sub(phases.measure_ns);
        let next_ns = if self.phase == Phase::Measurement && now_ns < until_ns {
            recorder.advance(since_start_ns)
        } else if self.phase == Phase::WarmUp && now_ns < phases.cool_down_ns {
            self.phase = Phase::Measurement;
            if let Some(allowance) = allowance {
                allowance.start_measuring();
            }
            recorder.start_measuring(since_start_ns)
        } else {
            if self.phase == Phase::Measurement {
                recorder.end_measuring();
            }
            (self.phase, self.end_ns) = (Phase::Over, u64::MAX);
            return;
        };
        self.end_ns = phases.measure_ns.saturating_add(next_ns).min(phases.cool_down_ns);
    }
}
