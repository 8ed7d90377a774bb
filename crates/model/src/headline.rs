//! The few figures by which runs are compared.

use crate::verdict::Severity;
use serde::{Deserialize, Serialize};

/// The figures of one timespan that sweeps, repeats and comparisons look at; made by `stats`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Headline {
    /// I/Os per second.
    pub iops: f64,
    /// Share of writes among the I/Os, from 0 to 1.
    pub write_share: f64,
    /// MiB per second.
    pub mib_per_s: f64,
    /// Mean latency of reads and writes in nanoseconds; `None` if it was not measured.
    pub mean_ns: Option<f64>,
    /// Median latency; percentiles need `-L`.
    pub p50_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// 99.9th percentile.
    pub p999_ns: Option<u64>,
    /// 99th percentile of the response time; open loops only.
    pub response_p99_ns: Option<u64>,
    /// Mean usage of all CPUs in percent.
    pub cpu_percent: f64,
    /// Threads.
    pub threads: u32,
    /// I/Os outstanding at most, all threads together; `None` = unknown.
    pub depth: Option<u32>,
    /// The gravest finding of the verdict; `None` if nothing was found or nothing was judged.
    pub severity: Option<Severity>,
}

/// One of the figures, for whoever waits until it is known well enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// I/Os per second.
    Iops,
    /// Mean latency.
    MeanLatency,
    /// 99th percentile of the latency.
    P99,
}

impl Figure {
    /// All.
    pub const ALL: [Self; 3] = [Self::Iops, Self::MeanLatency, Self::P99];

    /// Its name on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Iops => "iops",
            Self::MeanLatency => "mean",
            Self::P99 => "p99",
        }
    }

    /// Its value, if it was measured.
    pub fn of(self, headline: &Headline) -> Option<f64> {
        match self {
            Self::Iops => Some(headline.iops),
            Self::MeanLatency => headline.mean_ns,
            Self::P99 => headline.p99_ns.map(|ns| ns as f64),
        }
    }
}
