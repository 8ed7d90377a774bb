//! How true the replay of a trace was.

use crate::figures::LatencyDistribution;
use crate::replay::ReplayChanges;
use serde::{Deserialize, Serialize};

/// How true a replay was to its trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplayFigures {
    /// Requests to be issued: those made of the trace, and those that were not read.
    pub planned: u64,
    /// Requests issued.
    pub issued: u64,
    /// Requests issued later than their time because the trace was not read fast enough; of a closed replay: waits for
    /// the trace.
    pub delayed_by_reading: u64,
    /// Times from when requests were due to when they were issued; null in a closed replay.
    pub lateness: Option<LatencyDistribution>,
    /// Percent of the requests issued more than 100 us late; 0 in a closed replay.
    pub late_percent: f64,
    /// Percent of the requests issued more than 1 ms late.
    pub very_late_percent: f64,
    /// Latencies of flushes; null = there were none.
    pub flush_latency: Option<LatencyDistribution>,
    /// Changes to the requests.
    pub changes: ReplayChanges,
}
