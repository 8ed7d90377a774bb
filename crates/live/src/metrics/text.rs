//! Counters since the program began, as `OpenMetrics` text.

use model::live::{LivePhase, LiveTally};
use model::printable::metric_label;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};
use stats::metric_buckets::MetricBuckets;
use std::collections::BTreeMap;
use std::fmt;

/// Reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// Reads.
    Read,
    /// Writes.
    Write,
}

impl Direction {
    /// Reads, then writes.
    pub const ALL: [Self; 2] = [Self::Read, Self::Write];

    const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// All metrics of the page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunMetrics {
    /// The program's version.
    pub version: String,
    /// Number of the timespan, from 1; 0 before the first.
    pub time_span: u64,
    /// The phase; `None` between timespans.
    pub phase: Option<LivePhase>,
    /// Seconds left in the phase.
    pub left_s: f64,
    /// By path and direction.
    pub targets: BTreeMap<(String, Direction), TargetMetrics>,
    /// Commits and responses of all targets, by scope.
    pub waited_for: BTreeMap<&'static str, TargetMetrics>,
}

/// I/O of one target in one direction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetMetrics {
    ios: u64,
    bytes: u64,
    measured_sum_ns: u64,
    measured: MetricBuckets,
}

impl TargetMetrics {
    /// Adds the I/O since the last time.
    pub fn add(&mut self, phase: LivePhase, counted: &LiveTally) {
        self.ios = self.ios.saturating_add(counted.ios);
        self.bytes = self.bytes.saturating_add(counted.bytes);
        if phase != LivePhase::Measurement {
            return;
        }
        self.measured_sum_ns = self.measured_sum_ns.wrapping_add(counted.latency_sum_ns);
        for &(index, count) in &counted.buckets {
            self.measured.add_coarse(index, count);
        }
    }

    fn encode_latency(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let sum_s = self.measured_sum_ns as f64 / 1e9;
        let (count, buckets) = (self.measured.count(), self.measured.in_seconds());
        encoder.encode_histogram::<[(&str, &str); 0]>(sum_s, count, &buckets, None)
    }
}

impl RunMetrics {
    /// As `OpenMetrics` text.
    pub fn text(&self) -> String {
        let mut registry = Registry::with_prefix("diskspd");
        registry.register_collector(Box::new(self.clone()));
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &registry);
        text
    }

    /// As Prometheus' older text format, which has no units, no end marker, and counters by the names of their samples.
    pub fn plain_text(&self) -> String {
        let mut plain = String::new();
        let text = self.text();
        let mut help = "";
        for line in text.lines().filter(|line| !line.starts_with("# UNIT ") && *line != "# EOF") {
            if line.starts_with("# HELP ") {
                help = line;
                continue;
            }
            let counter = line.strip_prefix("# TYPE ").and_then(|line| line.strip_suffix(" counter"));
            for line in [std::mem::take(&mut help), line].into_iter().filter(|line| !line.is_empty()) {
                let line = match counter {
                    Some(name) => line.replacen(name, &format!("{name}_total"), 1),
                    None => line.to_owned(),
                };
                plain.extend([line.as_str(), "\n"]);
            }
        }
        plain
    }

    fn each_target(&self, family: &mut impl FnMut(&[(&str, &str); 2], &TargetMetrics) -> fmt::Result) -> fmt::Result {
        let labelled = |((path, direction), metrics): (&(String, Direction), &TargetMetrics)| {
            family(&[("target", &metric_label(path)), ("direction", direction.name())], metrics)
        };
        self.targets.iter().try_for_each(labelled)
    }
}

impl Collector for RunMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        // A gauge, as is usual: the older text format has no info type.
        let mut build = encoder.encode_descriptor(
            "build_info",
            "Always 1; the program's version is in the labels",
            None,
            MetricType::Gauge,
        )?;
        ConstGauge::new(1).encode(build.encode_family(&[("version", self.version.as_str())])?)?;
        let time_span = encoder.encode_descriptor(
            "time_span",
            "Current timespan, numbered from 1; 0 before the first",
            None,
            MetricType::Gauge,
        )?;
        ConstGauge::new(self.time_span.cast_signed()).encode(time_span)?;
        let mut phase = encoder.encode_descriptor(
            "phase",
            "1 for the current phase of the run, 0 for the others",
            None,
            MetricType::Gauge,
        )?;
        for (name, of) in [("warm_up", LivePhase::WarmUp), ("measurement", LivePhase::Measurement)] {
            ConstGauge::new(i64::from(self.phase == Some(of))).encode(phase.encode_family(&[("phase", name)])?)?;
        }
        let left = "Time left in the phase";
        let left = encoder.encode_descriptor("phase_left", left, Some(&Unit::Seconds), MetricType::Gauge)?;
        ConstGauge::new(self.left_s).encode(left)?;
        let mut ios = encoder.encode_descriptor("ios", "I/Os completed in all phases", None, MetricType::Counter)?;
        self.each_target(&mut |labels, metrics| ConstCounter::new(metrics.ios).encode(ios.encode_family(labels)?))?;
        let bytes = "Bytes transferred in all phases";
        let mut bytes = encoder.encode_descriptor("transferred", bytes, Some(&Unit::Bytes), MetricType::Counter)?;
        self.each_target(&mut |labels, metrics| ConstCounter::new(metrics.bytes).encode(bytes.encode_family(labels)?))?;
        let latency = "Latencies of measured reads and writes alone (no flush, no wait for the start), rounded up by at most 0.8 %";
        let mut latency =
            encoder.encode_descriptor("io_latency", latency, Some(&Unit::Seconds), MetricType::Histogram)?;
        self.each_target(&mut |labels, metrics| metrics.encode_latency(latency.encode_family(labels)?))?;
        if self.waited_for.is_empty() {
            return Ok(());
        }
        let latency = "Latencies of what the application waits for: commits, and responses from the intended start";
        let mut latency = encoder.encode_descriptor("latency", latency, Some(&Unit::Seconds), MetricType::Histogram)?;
        self.waited_for
            .iter()
            .try_for_each(|(scope, metrics)| metrics.encode_latency(latency.encode_family(&[("scope", *scope)])?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hot::buckets::{coarse, index};

    fn metrics() -> RunMetrics {
        let tally = |ns: u64, count: u64| LiveTally {
            ios: count,
            bytes: count * 4096,
            latency_sum_ns: count * ns,
            latency_max_ns: ns,
            buckets: vec![(coarse(index(ns)) as u32, count)],
        };
        let mut read = TargetMetrics::default();
        read.add(LivePhase::WarmUp, &LiveTally { buckets: Vec::new(), ..tally(7_000, 5) });
        read.add(LivePhase::Measurement, &tally(150_000, 3));
        read.add(LivePhase::Measurement, &tally(60_000_000_000, 1));
        let mut commit = TargetMetrics::default();
        commit.add(LivePhase::Measurement, &tally(9_000_000, 2));
        RunMetrics {
            version: "1.2.3".to_owned(),
            time_span: 1,
            phase: Some(LivePhase::Measurement),
            left_s: 7.5,
            targets: BTreeMap::from([(("/a \"b\"\n\\.dat".to_owned(), Direction::Read), read)]),
            waited_for: BTreeMap::from([("commit", commit)]),
        }
    }

    #[test]
    fn the_text_is_what_prometheus_reads() {
        insta::assert_snapshot!(metrics().text());
        insta::assert_snapshot!("plain", metrics().plain_text());
    }
}
