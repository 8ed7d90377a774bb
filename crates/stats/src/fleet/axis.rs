//! Times of several hosts on one axis: the controller's monotonic clock.

use model::fleet::ClockOffset;
use model::host_timing::HostTiming;

/// A host's clock beside the controller's.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostClock {
    offset: ClockOffset,
    /// When the offset was that, by the host's clock.
    at_ns: u64,
}

impl HostClock {
    /// The offset is that at the start of the host's first measurement.
    pub(super) fn new(offset: ClockOffset, timing: &HostTiming) -> Self {
        Self { offset, at_ns: timing.measured_from_ns.unwrap_or(timing.planned_start_ns) }
    }

    fn drift_ppb(&self) -> i64 {
        self.offset.drift_ppb.unwrap_or(0)
    }

    /// The axis time of a time of the host's clock.
    pub(super) fn on_axis(&self, host_ns: u64) -> i64 {
        let since_ns = i128::from(host_ns) - i128::from(self.at_ns);
        let drift_ns = drifted(since_ns, self.drift_ppb());
        narrow(i128::from(host_ns) - i128::from(self.offset.offset_ns) - drift_ns)
    }
}

/// When a host measured a timespan, by the controller's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct HostAxis {
    /// The start of its measurement in nanoseconds.
    pub(super) begins_ns: i64,
    /// Its length in nanoseconds of the host's clock.
    pub(super) elapsed_ns: u64,
    /// How much faster the host's clock runs, in parts per billion.
    drift_ppb: i64,
    /// The start may be off by this; `None` = the start is not known, and taken to be that of all others.
    pub(super) uncertainty_ns: Option<u64>,
}

impl HostAxis {
    /// `from_ns` is the start of the measurement by the host's clock; `None` = unknown.
    pub(super) fn new(from_ns: Option<u64>, clock: &HostClock, elapsed_ns: u64) -> Self {
        match from_ns {
            Some(from_ns) => Self {
                begins_ns: clock.on_axis(from_ns),
                elapsed_ns,
                drift_ppb: clock.drift_ppb(),
                uncertainty_ns: Some(clock.offset.uncertainty_ns),
            },
            None => Self { begins_ns: 0, elapsed_ns, drift_ppb: 0, uncertainty_ns: None },
        }
    }

    pub(super) fn ends_ns(&self) -> i64 {
        self.on_axis(self.elapsed_ns)
    }

    /// The axis time of a time since the start of the host's measurement.
    fn on_axis(&self, since_start_ns: u64) -> i64 {
        let drift_ns = drifted(i128::from(since_start_ns), self.drift_ppb);
        narrow(i128::from(self.begins_ns) + i128::from(since_start_ns) - drift_ns)
    }

    /// The time since the start of the host's measurement at an axis time; negative = before it.
    pub(super) fn since_start_ns(&self, axis_ns: i64) -> i64 {
        let since_ns = i128::from(axis_ns) - i128::from(self.begins_ns);
        narrow(since_ns + drifted(since_ns, self.drift_ppb))
    }

    /// Offset to be added to times since the start of the host's measurement for times since `start_ns` of the axis:
    /// exact in the middle of the measurement, so that drift is least wrong at both ends.
    pub(super) fn shift_ns(&self, start_ns: i64) -> i64 {
        let middle_ns = self.elapsed_ns / 2;
        self.on_axis(middle_ns).saturating_sub(start_ns).saturating_sub_unsigned(middle_ns)
    }
}

fn drifted(ns: i128, ppb: i64) -> i128 {
    ns * i128::from(ppb) / 1_000_000_000
}

fn narrow(ns: i128) -> i64 {
    ns.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn times_of_a_host_lose_its_offset_and_drift() {
        // The host's clock is an hour ahead and gains 100 us in a second.
        let offset_ns = 3600 * S.cast_signed();
        let clock = ClockOffset { offset_ns, drift_ppb: Some(100_000), uncertainty_ns: 7, ..ClockOffset::default() };
        let timing = HostTiming { measured_from_ns: Some(3610 * S), ..HostTiming::default() };
        let clock = HostClock::new(clock, &timing);
        assert_eq!(clock.on_axis(3610 * S), 10 * S.cast_signed());
        assert_eq!(clock.on_axis(3620 * S), 20 * S.cast_signed() - 1_000_000);
        let axis = HostAxis::new(timing.measured_from_ns, &clock, 10 * S);
        assert_eq!((axis.begins_ns, axis.uncertainty_ns), (10 * S.cast_signed(), Some(7)));
        assert_eq!(axis.ends_ns(), 20 * S.cast_signed() - 1_000_000);
        assert!((axis.since_start_ns(axis.ends_ns()) - 10 * S.cast_signed()).abs() <= 100);
        assert_eq!(axis.shift_ns(9 * S.cast_signed()), S.cast_signed() - 500_000);
    }

    #[test]
    fn a_start_that_is_not_known_is_that_of_all_others() {
        let clock = ClockOffset { offset_ns: 5, drift_ppb: Some(9), ..ClockOffset::default() };
        let axis = HostAxis::new(None, &HostClock::new(clock, &HostTiming::default()), S);
        assert_eq!((axis.begins_ns, axis.ends_ns(), axis.uncertainty_ns), (0, S.cast_signed(), None));
    }
}
