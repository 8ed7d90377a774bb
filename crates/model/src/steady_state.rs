//! Whether rounds of one load have come to a steady state.

use serde::{Deserialize, Serialize};

/// The last rounds of a load that was run until it was steady, and what they say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SteadyState {
    /// False if the rounds ended before.
    pub is_reached: bool,
    /// The first and the last round that are looked at, from 1.
    pub rounds: (u32, u32),
    /// Mean of their I/Os per second.
    pub mean_iops: f64,
    /// Largest minus smallest, in percent of the mean.
    pub range_percent: f64,
    /// What the line through them rises or falls from the first to the last, in percent of the mean.
    pub rise_percent: f64,
    /// What SNIA's performance test specification asks for beyond this: sentences.
    pub missing: Vec<String>,
}
