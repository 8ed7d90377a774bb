//! Limits that a load shall keep, and the highest rate that keeps them.

use crate::metric::Metric;
use serde::{Deserialize, Serialize};

/// A metric that shall not exceed a value (`--limit`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limit {
    /// The metric that the limit holds.
    pub figure: Metric,
    /// Response times in nanoseconds, CPU usage in percent.
    pub at_most: f64,
}

impl Limit {
    /// Metrics that may be limited: response times of an open loop, from intended start to completion, and
    /// CPU usage.
    pub const METRICS: [Metric; 5] = [Metric::Mean, Metric::P50, Metric::P99, Metric::P999, Metric::Cpu];
}

/// The highest rate that keeps the limits, among the points of a sweep over rising rates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitFound {
    /// All of them hold or fail together.
    pub limits: Vec<Limit>,
    /// Index of the highest point that surely keeps them; `None` = not even the first does.
    pub holds: Option<usize>,
    /// Index of the next point that surely does not, a few percent above; `None` = even the last keeps them.
    pub fails: Option<usize>,
    /// True if a run of the full length confirmed both rates.
    pub is_confirmed: bool,
}
