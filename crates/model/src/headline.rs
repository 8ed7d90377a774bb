//! The few figures by which runs are compared.

use crate::engine_kind::EngineKind;
use crate::finding::Severity;
use crate::metric::{self, Metric, Scope, ScopedMetric};
use crate::units::mib;
use serde::{Deserialize, Serialize};

/// The figures of one timespan that sweeps, repeats and comparisons look at; made by `stats`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Headline {
    /// I/Os measured; 0 in older documents.
    #[serde(default)]
    pub ios: u64,
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
    /// Latencies that the application waits for, where these are not those of all reads and writes, and those of the limits of
    /// a search.
    #[serde(default)]
    pub waited_for: Vec<ScopedLatency>,
    /// True if a limit of the load itself (`-g`, `--rate`, `-i` and `-j`) decided its I/Os and bytes per second; false in
    /// older documents.
    #[serde(default)]
    pub is_rate_limited: bool,
    /// Mean usage of all CPUs, in percent.
    pub cpu_percent: f64,
    /// The part of it that is not other programs'; `None` = unknown, as in older documents.
    #[serde(default)]
    pub io_cpu_percent: Option<f64>,
    /// Threads.
    pub threads: u32,
    /// I/Os outstanding at most, all threads together; `None` = unknown.
    pub depth: Option<u32>,
    /// The ways in which its threads did I/O, each once; empty in older documents.
    #[serde(default)]
    pub engines: Vec<EngineKind>,
    /// The most severe finding of the verdict; `None` if nothing was found or nothing was judged.
    pub severity: Option<Severity>,
    /// Names of the verdict's warnings and more severe findings; empty in older documents.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// The figure of each of these findings, in the same order; empty in older documents.
    #[serde(default)]
    pub warning_figures: Vec<String>,
    /// Advice for each of them, in the same order; empty in older documents.
    #[serde(default)]
    pub warning_advice: Vec<String>,
    /// The value of each of them, in the unit of its rule, in the same order; null = it has none; empty in older documents.
    #[serde(default)]
    pub warning_values: Vec<Option<f64>>,
    /// Names of the verdict's notes; empty in older documents.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The figure of each note, in the same order; empty in older documents.
    #[serde(default)]
    pub note_figures: Vec<String>,
    /// Advice for each note, in the same order; empty in older documents.
    #[serde(default)]
    pub note_advice: Vec<String>,
    /// The value of each note, in the same order; null = it has none; empty in older documents.
    #[serde(default)]
    pub note_values: Vec<Option<f64>>,
}

/// The latency of the I/Os of a scope.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScopedLatency {
    /// The I/Os, as before a statistic (docs/metrics.md).
    pub scope: Scope,
    /// Mean in nanoseconds.
    pub mean_ns: Option<f64>,
    /// Median; percentiles need `-L`.
    pub p50_ns: Option<f64>,
    /// 99th percentile.
    pub p99_ns: Option<f64>,
    /// 99.9th percentile.
    pub p999_ns: Option<f64>,
}

impl ScopedLatency {
    fn value(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::Mean => self.mean_ns,
            Metric::P50 => self.p50_ns,
            Metric::P99 => self.p99_ns,
            Metric::P999 => self.p999_ns,
            _ => None,
        }
    }
}

/// From this mean size of an I/O on, throughput is given in MiB per second, not in I/Os per second.
const LARGE_BLOCK_BYTES: f64 = 131_072.0;

impl Headline {
    /// True if the mean size of its I/Os is 128 KiB or more: its throughput is given in MiB per second.
    pub fn has_large_blocks(&self) -> bool {
        self.iops > 0.0 && self.bytes_per_s >= LARGE_BLOCK_BYTES * self.iops
    }

    /// Names of all findings of the verdict, the most severe first.
    pub fn finding_names(&self) -> impl Iterator<Item = &str> {
        self.warnings.iter().chain(&self.notes).map(String::as_str)
    }

    /// The figure of a finding of this name, if it has one and the document includes it.
    pub fn finding_figure(&self, name: &str) -> Option<&str> {
        self.warning_figure(name).or_else(|| beside(name, &self.notes, &self.note_figures).map(String::as_str))
    }

    /// The advice for a finding of this name, if the document includes it.
    pub fn finding_advice(&self, name: &str) -> Option<&str> {
        let of_warning = beside(name, &self.warnings, &self.warning_advice);
        of_warning.or_else(|| beside(name, &self.notes, &self.note_advice)).map(String::as_str)
    }

    /// The value of a finding of this name, if it has one and the document includes it.
    pub fn finding_value(&self, name: &str) -> Option<f64> {
        let of_warning = beside(name, &self.warnings, &self.warning_values);
        of_warning.or_else(|| beside(name, &self.notes, &self.note_values)).copied().flatten()
    }

    /// The figure of a warning of this name, if it has one and the document includes it.
    pub fn warning_figure(&self, name: &str) -> Option<&str> {
        beside(name, &self.warnings, &self.warning_figures).map(String::as_str)
    }

    /// The same without warnings of these names, whose cause lies outside the run.
    #[must_use]
    pub fn without_warnings(&self, names: &[&str]) -> Self {
        let mut kept = self.clone();
        kept.warnings.clear();
        kept.warning_figures.clear();
        kept.warning_advice.clear();
        kept.warning_values.clear();
        for (at, name) in self.warnings.iter().enumerate().filter(|(_, name)| !names.contains(&name.as_str())) {
            kept.warnings.push(name.clone());
            kept.warning_figures.extend(self.warning_figures.get(at).cloned());
            kept.warning_advice.extend(self.warning_advice.get(at).cloned());
            kept.warning_values.extend(self.warning_values.get(at).copied());
        }
        if kept.warnings.len() < self.warnings.len() && kept.warnings.is_empty() {
            kept.severity = self.severity.min(Some(Severity::Note));
        }
        kept
    }

    /// The metrics that it keeps, in the order of tables.
    pub const METRICS: [Metric; 7] =
        [Metric::Iops, Metric::MibPerS, Metric::Mean, Metric::P50, Metric::P99, Metric::P999, Metric::Cpu];

    /// The value of a metric; `None` if it was not measured or is not kept.
    pub fn value(&self, metric: Metric) -> Option<f64> {
        let ns = |latency_ns: Option<u64>| latency_ns.map(|ns| ns as f64);
        match metric {
            Metric::Iops => Some(self.iops),
            Metric::MibPerS => Some(mib(self.bytes_per_s)),
            Metric::Mean => self.mean_ns,
            Metric::P50 => ns(self.p50_ns),
            Metric::P99 => ns(self.p99_ns),
            Metric::P999 => ns(self.p999_ns),
            Metric::Cpu => Some(self.cpu_percent),
            Metric::IoCpu => self.io_cpu_percent,
            _ => None,
        }
    }

    /// The value of a metric of a scope; `None` if it was not measured or is not kept.
    pub fn scoped_value(&self, (scope, metric): ScopedMetric) -> Option<f64> {
        match scope {
            Scope::All => self.value(metric),
            scope => self.waited_for.iter().find(|of| of.scope == scope)?.value(metric),
        }
    }

    /// The scopes that the application waits for; none if runs differ in them.
    pub fn scopes<'a>(runs: impl IntoIterator<Item = &'a Self>) -> Vec<Scope> {
        let mut runs = runs.into_iter();
        let scopes = |run: &Self| -> Vec<Scope> { run.waited_for.iter().map(|of| of.scope).collect() };
        let first = runs.next().map(scopes).unwrap_or_default();
        match runs.any(|run| scopes(run) != first) {
            true => Vec::new(),
            false if first.is_empty() => vec![Scope::All],
            false => first,
        }
    }

    /// Metrics of these runs, with latencies of the scopes that the application waits for; none if those differ: the
    /// copy into the page cache is not compared with a commit.
    pub fn scoped_metrics<'a>(metrics: &[Metric], runs: impl IntoIterator<Item = &'a Self>) -> Vec<ScopedMetric> {
        metric::scoped(metrics, &Self::scopes(runs))
    }

    /// The same for a table: latencies are those of all reads and writes if runs differ in the scopes waited for.
    pub fn shown_metrics<'a>(metrics: &[Metric], runs: impl IntoIterator<Item = &'a Self>) -> Vec<ScopedMetric> {
        let scoped = Self::scoped_metrics(metrics, runs);
        if scoped.iter().any(|(_, metric)| metric.needs_latency()) {
            return scoped;
        }
        metrics.iter().map(|metric| (Scope::All, *metric)).collect()
    }

    /// The same of open loops, with response times as latencies.
    pub fn response_value(&self, metric: Metric) -> Option<f64> {
        let ns = |response_ns: Option<u64>| response_ns.map(|ns| ns as f64);
        match metric {
            Metric::Mean => self.response_mean_ns,
            Metric::P50 => ns(self.response_p50_ns),
            Metric::P99 => ns(self.response_p99_ns),
            Metric::P999 => ns(self.response_p999_ns),
            _ => self.value(metric),
        }
    }
}

/// The element of `all` at the index of a name; older documents may lack it.
fn beside<'a, T>(name: &str, names: &[String], all: &'a [T]) -> Option<&'a T> {
    all.get(names.iter().position(|found| found == name)?)
}
