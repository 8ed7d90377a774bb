//! Several hosts that carry out one load together (`--on`).

use serde::{Deserialize, Serialize};

/// Difference of two machines' monotonic clocks, measured by exchanges of messages before and after a load.
///
/// Of each group of exchanges the one with the shortest round trip counts: its message was in the agent's hands
/// somewhere within the round trip, so the difference is known to half of it, whatever delayed the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockOffset {
    /// The host's clock minus the controller's, in nanoseconds, when the measurement began.
    pub offset_ns: i64,
    /// The true difference is at most this far from it, in nanoseconds.
    pub uncertainty_ns: u64,
    /// How much faster the host's clock runs, in parts per billion; null = measured only once.
    pub drift_ppb: Option<i64>,
    /// The shortest round trip, in nanoseconds.
    pub round_trip_ns: u64,
}

/// When a host did what, by its own monotonic clock, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostTiming {
    /// When the load was to start, warm-up included.
    pub planned_start_ns: u64,
    /// When the last of its threads began to submit I/Os.
    pub started_ns: u64,
    /// When the measurement began; null = it did not.
    pub measured_from_ns: Option<u64>,
    /// When the measurement ended; null = it did not begin.
    pub measured_to_ns: Option<u64>,
}
