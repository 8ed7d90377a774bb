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
    /// True if a run of the full length at each of the two said so.
    pub is_confirmed: bool,
}
