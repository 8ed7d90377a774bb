//! The few figures by which runs are compared.

use crate::finding::Severity;
use crate::metric::Metric;
use crate::units::mib;
use serde::{Deserialize, Serialize};

/// The figures of one timespan that sweeps, repeats and comparisons look at; made by `stats`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Headline {
    /// I/Os per second.
    pub iops: f64,
    /// Share of writes among the I/Os, from 0 to 1.
    pub write_share: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Mean latency of reads and writes in nanoseconds; `None` if it was not measured.
    pub mean_ns: Option<f64>,
    /// Median latency; percentiles need `-L`.
    pub p50_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// 99.9th percentile.
    pub p999_ns: Option<u64>,
    /// Mean response time; response times are those of open loops only.
    #[serde(default)]
    pub response_mean_ns: Option<f64>,
    /// Median of the response time.
    #[serde(default)]
    pub response_p50_ns: Option<u64>,
    /// 99th percentile of the response time.
    pub response_p99_ns: Option<u64>,
    /// 99.9th percentile of the response time.
    #[serde(default)]
    pub response_p999_ns: Option<u64>,
    /// Mean usage of all CPUs in percent.
    pub cpu_percent: f64,
    /// Threads.
    pub threads: u32,
    /// I/Os outstanding at most, all threads together; `None` = unknown.
    pub depth: Option<u32>,
    /// The gravest finding of the verdict; `None` if nothing was found or nothing was judged.
    pub severity: Option<Severity>,
}

/// One of the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Figure {
    /// I/Os per second.
    #[serde(rename = "iops")]
    Iops,
    /// MiB per second.
    #[serde(rename = "mib")]
    MibPerS,
    /// Mean latency in nanoseconds.
    #[serde(rename = "mean")]
    MeanLatency,
    /// Median latency in nanoseconds.
    #[serde(rename = "p50")]
    P50,
    /// 99th percentile of the latency in nanoseconds.
    #[serde(rename = "p99")]
    P99,
    /// 99.9th percentile of the latency in nanoseconds.
    #[serde(rename = "p99.9")]
    P999,
    /// CPU usage in percent.
    #[serde(rename = "cpu")]
    Cpu,
}

impl Figure {
    /// All, in the order of tables.
    pub const ALL: [Self; 7] =
        [Self::Iops, Self::MibPerS, Self::MeanLatency, Self::P50, Self::P99, Self::P999, Self::Cpu];

    /// The metric that it is.
    pub const fn metric(self) -> Metric {
        match self {
            Self::Iops => Metric::Iops,
            Self::MibPerS => Metric::MibPerS,
            Self::MeanLatency => Metric::Mean,
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

    /// True if more of it is better.
    pub const fn is_more_better(self) -> bool {
        matches!(self, Self::Iops | Self::MibPerS)
    }

    /// Its value, if it was measured.
    pub fn of(self, headline: &Headline) -> Option<f64> {
        let ns = |latency_ns: Option<u64>| latency_ns.map(|ns| ns as f64);
        match self {
            Self::Iops => Some(headline.iops),
            Self::MibPerS => Some(mib(headline.bytes_per_s)),
            Self::MeanLatency => headline.mean_ns,
            Self::P50 => ns(headline.p50_ns),
            Self::P99 => ns(headline.p99_ns),
            Self::P999 => ns(headline.p999_ns),
            Self::Cpu => Some(headline.cpu_percent),
        }
    }
}
