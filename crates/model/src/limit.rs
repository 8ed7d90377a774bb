//! Limits that a load shall keep, and the highest rate that keeps them.

use crate::headline::Headline;
use crate::metric::{Metric, MetricName, Scope, ScopedMetric};
use crate::profile::TimeSpan;
use serde::{Deserialize, Serialize};

/// A metric that shall not exceed a value (`--limit`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limit {
    /// The metric that is limited.
    pub figure: Metric,
    /// Of which I/Os; that of the CPU usage means nothing. Documents of earlier versions lack it and mean response times.
    #[serde(default = "response")]
    pub scope: Scope,
    /// Latencies in nanoseconds, CPU usage in percent.
    pub at_most: f64,
}

const fn response() -> Scope {
    Scope::Response
}

impl Limit {
    /// Metrics that may be limited: latencies and CPU usage.
    pub const METRICS: [Metric; 6] = [Metric::Mean, Metric::P50, Metric::P99, Metric::P999, Metric::Cpu, Metric::IoCpu];

    /// The limits that a limit as typed stands for in a load with intended starts: it must hold for reads and for commits
    /// separately.
    ///
    /// # Errors
    ///
    /// A sentence with the requirement of the metric that the load does not meet.
    pub fn resolve(self, span: &TimeSpan) -> Result<Vec<Self>, String> {
        let names = MetricName { stream: None, scope: self.scope, metric: self.figure }.resolve(span)?;
        Ok(names.into_iter().map(|name| Self { scope: name.scope, ..self }).collect())
    }

    /// The metric with its scope.
    pub const fn metric(&self) -> ScopedMetric {
        (self.scope, self.figure)
    }

    /// Value of the metric in a run.
    pub fn value(&self, run: &Headline) -> Option<f64> {
        match self.metric() {
            // Runs of earlier versions have only these.
            (_, Metric::Cpu | Metric::IoCpu) | (Scope::Response, _) => run.response_value(self.figure),
            metric => run.scoped_value(metric),
        }
    }

    /// Completions that a run must have for the metric to mean something: ten beyond a percentile.
    pub const fn completions_min(&self) -> u64 {
        match self.figure {
            Metric::P50 => 20,
            Metric::P99 => 1_000,
            Metric::P999 => 10_000,
            _ => 100,
        }
    }
}

/// Result of one run against the limits.
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
    /// The limits; a rate must meet all of them.
    pub limits: Vec<Limit>,
    /// Index of the highest rate that meets them, an estimate unless `is_confirmed`; `None` = even the lowest rate tried
    /// does not.
    pub holds: Option<usize>,
    /// Index of a rate a few percent above it that does not; `None` = even the highest rate tried meets them.
    pub fails: Option<usize>,
    /// True if the confirming runs at each of the two, pooled, lie on their side of the limits by more than chance.
    pub is_confirmed: bool,
    /// I/Os per second without a rate, in a closed loop: no rate above it was tried.
    #[serde(default)]
    pub capacity_iops: Option<f64>,
    /// Rates over which the limited figure does not depend on the rate: chance decides which of them meets the limits. All
    /// runs below met them, and none above.
    #[serde(default)]
    pub noise: Option<NoiseRange>,
}

/// Rates at which a figure is on both sides of its limit without a trend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NoiseRange {
    /// The point with the lowest rate at which a run exceeded the limit.
    pub first: usize,
    /// The point with the highest rate at which a run was within the limit.
    pub last: usize,
}

impl NoiseRange {
    /// The same range of points that `count` others precede.
    #[must_use]
    pub const fn after(self, count: usize) -> Self {
        Self { first: self.first + count, last: self.last + count }
    }
}
