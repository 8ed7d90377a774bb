//! Limits that a load shall keep, and the highest rate that keeps them.

use crate::headline::Headline;
use crate::metric::Metric;
use serde::{Deserialize, Serialize};

/// A figure that shall not be exceeded (`--limit`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limit {
    /// The figure that the limit holds.
    pub figure: LimitFigure,
    /// Response times in nanoseconds, CPU usage in percent.
    pub at_most: f64,
}

/// Figures that a limit may be put on: response times of an open loop, from intended start to completion,
/// and CPU usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LimitFigure {
    /// Mean.
    Mean,
    /// Median.
    P50,
    /// 99th percentile.
    P99,
    /// 99.9th percentile.
    P999,
    /// Mean usage of all CPUs.
    Cpu,
}

impl LimitFigure {
    pub const ALL: [Self; 5] = [Self::Mean, Self::P50, Self::P99, Self::P999, Self::Cpu];

    /// The metric that it is.
    pub const fn metric(self) -> Metric {
        match self {
            Self::Mean => Metric::Mean,
            Self::P50 => Metric::P50,
            Self::P99 => Metric::P99,
            Self::P999 => Metric::P999,
            Self::Cpu => Metric::Cpu,
        }
    }

    /// Its name on a command line.
    pub const fn name(self) -> &'static str {
        self.metric().name()
    }

    /// The figure with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|figure| figure.name() == name)
    }

    /// Its value, if it was measured.
    pub fn of(self, headline: &Headline) -> Option<f64> {
        let ns = |ns: Option<u64>| ns.map(|ns| ns as f64);
        match self {
            Self::Mean => headline.response_mean_ns,
            Self::P50 => ns(headline.response_p50_ns),
            Self::P99 => ns(headline.response_p99_ns),
            Self::P999 => ns(headline.response_p999_ns),
            Self::Cpu => Some(headline.cpu_percent),
        }
    }
}

impl LimitFigure {
    /// Completions that a run must have for the figure to mean something: ten beyond a percentile.
    pub const fn completions_min(self) -> u64 {
        match self {
            Self::Mean | Self::Cpu => 100,
            Self::P50 => 20,
            Self::P99 => 1_000,
            Self::P999 => 10_000,
        }
    }
}

/// What one run says of the limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitSample {
    /// How much of what the limits allow was used, the largest of all limits: the share of I/Os that took longer
    /// than the limit of a percentile as a multiple of the share that may; the mean or the CPU usage as a multiple of
    /// its limit. Above 1 = a limit was exceeded.
    pub used: f64,
    /// Starts that were intended while measuring.
    pub intended_starts: u64,
    /// True if so many of them had not been made at the end that the target cannot keep the rate.
    pub is_short: bool,
}

/// The highest rate that keeps the limits, among the points of a sweep over rising rates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitFound {
    /// All of them hold or fail together.
    pub limits: Vec<Limit>,
    /// Index of the highest point that keeps them; `None` = not even the lowest that was tried does.
    pub holds: Option<usize>,
    /// Index of a point some percent above that does not; `None` = even the highest keeps them.
    pub fails: Option<usize>,
    /// True if the confirming runs at each of the two, pooled, lie on their side of the limits by more than chance.
    pub is_confirmed: bool,
    /// I/Os per second without a rate, in a closed loop: no rate above it was tried.
    #[serde(default)]
    pub capacity_iops: Option<f64>,
    /// Rates over which the limited figure does not depend on the rate: chance decides which of them keeps the
    /// limits.
    #[serde(default)]
    pub noise: Option<NoiseRange>,
}

/// Rates at which a figure is on both sides of its limit without a trend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NoiseRange {
    /// The point with the lowest rate.
    pub first: usize,
    /// The point with the highest rate.
    pub last: usize,
}

impl NoiseRange {
    /// The same range of points that `count` others precede.
    #[must_use]
    pub const fn after(self, count: usize) -> Self {
        Self { first: self.first + count, last: self.last + count }
    }
}
