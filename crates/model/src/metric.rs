//! The metrics that can be named on a command line, with their units.

use crate::figures::Summary;
use crate::units::mib;
use serde::{Deserialize, Serialize};

/// A metric of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// I/Os per second.
    Iops,
    /// MiB per second.
    MibPerS,
    /// Mean latency.
    Mean,
    /// Median latency.
    P50,
    /// 90th percentile of the latency.
    P90,
    /// 99th percentile of the latency.
    P99,
    /// 99.9th percentile of the latency.
    P999,
    /// Highest latency.
    Max,
    /// Mean usage of all CPUs.
    Cpu,
}

/// What the values of a metric are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricUnit {
    /// I/Os per second.
    IosPerSecond,
    /// MiB per second.
    MibPerSecond,
    /// Nanoseconds.
    Nanoseconds,
    /// Percent.
    Percent,
}

impl Metric {
    /// All, in the order of tables.
    pub const ALL: [Self; 9] =
        [Self::Iops, Self::MibPerS, Self::Mean, Self::P50, Self::P90, Self::P99, Self::P999, Self::Max, Self::Cpu];

    /// Name and unit.
    const fn row(self) -> (&'static str, MetricUnit) {
        match self {
            Self::Iops => ("iops", MetricUnit::IosPerSecond),
            Self::MibPerS => ("mib", MetricUnit::MibPerSecond),
            Self::Mean => ("mean", MetricUnit::Nanoseconds),
            Self::P50 => ("p50", MetricUnit::Nanoseconds),
            Self::P90 => ("p90", MetricUnit::Nanoseconds),
            Self::P99 => ("p99", MetricUnit::Nanoseconds),
            Self::P999 => ("p99.9", MetricUnit::Nanoseconds),
            Self::Max => ("max", MetricUnit::Nanoseconds),
            Self::Cpu => ("cpu", MetricUnit::Percent),
        }
    }

    /// Its name on a command line.
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// The unit of its values.
    pub const fn unit(self) -> MetricUnit {
        self.row().1
    }

    /// The metric with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.name() == name)
    }

    /// True if it is known only where latencies are measured (`-L`).
    pub fn needs_latency(self) -> bool {
        self.unit() == MetricUnit::Nanoseconds
    }

    /// True if more of it is better.
    pub const fn is_more_better(self) -> bool {
        matches!(self, Self::Iops | Self::MibPerS)
    }

    /// Its value, if it was measured; `cpu_percent` is the mean usage of all CPUs.
    pub fn of(self, summary: &Summary, cpu_percent: Option<f64>) -> Option<f64> {
        let ns = |latency_ns: Option<u64>| latency_ns.map(|ns| ns as f64);
        match self {
            Self::Iops => Some(summary.iops),
            Self::MibPerS => Some(mib(summary.bytes_per_s)),
            Self::Mean => summary.mean_ns,
            Self::P50 => ns(summary.p50_ns),
            Self::P90 => ns(summary.p90_ns),
            Self::P99 => ns(summary.p99_ns),
            Self::P999 => ns(summary.p999_ns),
            Self::Max => ns(summary.max_ns),
            Self::Cpu => cpu_percent,
        }
    }
}

impl MetricUnit {
    /// A value with its unit, exact to six decimals: `12.5 ms`, `5234.1 I/O per s`.
    pub fn shown(self, value: f64) -> String {
        let (scale, unit) = match self {
            Self::IosPerSecond => (1.0, "I/O per s"),
            Self::MibPerSecond => (1.0, "MiB/s"),
            Self::Percent => (1.0, "%"),
            Self::Nanoseconds if value < 1e6 => (1e3, "us"),
            Self::Nanoseconds if value < 1e9 => (1e6, "ms"),
            Self::Nanoseconds => (1e9, "s"),
        };
        let decimals = if self == Self::Nanoseconds { 6 } else { 3 };
        let number = format!("{:.decimals$}", value / scale);
        format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_metrics() {
        for metric in Metric::ALL {
            assert_eq!(Metric::from_name(metric.name()), Some(metric));
        }
        assert_eq!(Metric::from_name("p98"), None);
    }

    #[test]
    fn values_are_shown_in_a_unit_that_fits_them() {
        let shown = |ns: f64| MetricUnit::Nanoseconds.shown(ns);
        assert_eq!(
            [shown(87_432.0), shown(10_000_400.0), shown(2_500_000_000.0)],
            ["87.432 us", "10.0004 ms", "2.5 s"]
        );
        assert_eq!(shown(0.0), "0 us");
        assert_eq!(MetricUnit::IosPerSecond.shown(5234.1166), "5234.117 I/O per s");
        assert_eq!(MetricUnit::IosPerSecond.shown(5000.0), "5000 I/O per s");
        assert_eq!(MetricUnit::MibPerSecond.shown(100.0), "100 MiB/s");
        assert_eq!(MetricUnit::Percent.shown(12.5), "12.5 %");
    }
}
