//! Changes of a rate within one measurement.

use serde::{Deserialize, Serialize};

/// A part of the measurement in which a figure stayed at one level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Level {
    /// How much of the measurement it is, from 0 to 1.
    pub length: f64,
    /// Its mean, as a share of the mean of the whole measurement.
    pub mean: f64,
}

/// A short part of the measurement whose I/Os per second differ from all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BriefChange {
    /// Where it begins, in nanoseconds since the start of the measurement.
    pub start_ns: u64,
    /// Where it ends.
    pub end_ns: u64,
    /// I/Os per second in it.
    pub iops: f64,
    /// I/Os per second in the rest: their median per 100 ms.
    pub usual_iops: f64,
    /// Change in the mean if it is left out, as a share of the mean.
    pub shift: f64,
}

/// A part of the measurement in which no I/O completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CompletionGap {
    /// Where it begins, in nanoseconds since the start of the measurement.
    pub start_ns: u64,
    /// Where it ends.
    pub end_ns: u64,
}

impl CompletionGap {
    /// Its length.
    pub fn length_ns(self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// How much of a range of time lies in it.
    pub fn overlap_ns(self, start_ns: u64, end_ns: u64) -> u64 {
        self.end_ns.min(end_ns).saturating_sub(self.start_ns.max(start_ns))
    }
}

/// Stalls that recur at regular intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PeriodicStalls {
    /// Time from one stall to the next, in nanoseconds.
    pub period_ns: u64,
    /// Usual length of a stall, in nanoseconds.
    pub length_ns: u64,
    /// Stalls that were seen; with few slow I/Os in the result not all are.
    pub count: u32,
}
