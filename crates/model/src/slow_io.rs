//! One of the slowest I/Os of a run.

use serde::{Deserialize, Serialize};

/// An I/O that took long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlowIo {
    /// When it completed, in nanoseconds since the start of the measurement.
    pub ended_at_ns: u64,
    /// Its latency in nanoseconds. It may have begun before the measurement.
    pub latency_ns: u64,
    /// Thread number.
    pub thread: u32,
    /// Index of the target in the timespan.
    pub target: usize,
    /// True for a write.
    pub is_write: bool,
    /// Where in the target it was.
    pub offset_bytes: u64,
    /// How much was asked for.
    pub size_bytes: u64,
}
