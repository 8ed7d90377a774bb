//! Two loads in interleaved pairs of runs, and what they differ by.

use crate::metric::{Metric, Scope, ScopedMetric};
use serde::{Deserialize, Serialize};

/// Combined result of the pairs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AbAnswer {
    /// Complete pairs.
    pub pairs: u32,
    /// Numbers of pairs after which it was looked whether every figure is decided.
    pub looks: Vec<u32>,
    /// Relative difference within which two sides count as equivalent.
    pub margin: f64,
    /// The judged figures that all runs have: I/Os per second, and mean and 99th percentile of the latency that the
    /// application waits for.
    pub figures: Vec<AbFigure>,
    /// CPU usage of the two sides, in percent: shown, not judged.
    pub cpu_percent: (f64, f64),
}

impl AbAnswer {
    /// True if every figure is decided.
    pub fn is_decided(&self) -> bool {
        !self.figures.is_empty() && self.figures.iter().all(|figure| figure.verdict != AbVerdict::CannotTell)
    }
}

/// One figure of both sides.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AbFigure {
    /// Which: `iops`, `mean` or `p99`.
    pub figure: Metric,
    /// Of which I/Os, where the application waits for others than all reads and writes.
    #[serde(default)]
    pub scope: Scope,
    /// Geometric mean of side A.
    pub a: f64,
    /// Geometric mean of side B.
    pub b: f64,
    /// By how much B differs, as a percentage of A.
    pub percent: f64,
    /// Its interval, in percent: 95 % for all looks and figures together.
    pub low_percent: f64,
    /// Upper end.
    pub high_percent: f64,
    /// Meaning of the difference.
    pub verdict: AbVerdict,
    /// True if the difference lies within the margin, whether it is significant or not.
    pub is_within_margin: bool,
    /// The difference, in percent, that this number of pairs with this scatter detects with 90 % probability.
    pub detectable_percent: f64,
    /// The number of pairs after which the difference was found, if there are more now: values, difference and interval are
    /// those of these pairs.
    #[serde(default)]
    pub decided_after: Option<u32>,
}

impl AbFigure {
    /// The figure with its scope.
    pub const fn metric(&self) -> ScopedMetric {
        (self.scope, self.figure)
    }
}

/// Meaning of a difference between the sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AbVerdict {
    /// B is better, and that is not chance.
    Better,
    /// B is worse, and that is not chance.
    Worse,
    /// They differ by less than the margin.
    Equivalent,
    /// The same, and both sides reached a limit of their own (`-g`, `--rate`, `-i` and `-j`): it tells nothing of the storage.
    LimitedByRate,
    /// The pairs cannot show a difference, nor that it is within the margin.
    CannotTell,
}
