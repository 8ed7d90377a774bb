//! Times of a host in a load, by its own clock.

use serde::{Deserialize, Serialize};

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
