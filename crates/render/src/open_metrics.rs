//! Figures as `OpenMetrics` text, in a file for the textfile collector of Prometheus' `node_exporter`.
//!
//! All of them are gauges and histograms, which are the same in `OpenMetrics` and in Prometheus' older text format.

use model::figures::{Directions, Figures, Summary};
use model::metric::MetricName;
use model::printable::metric_label;
use model::result::{Measured, RunResult, TimeSpanResult, Tool};
use model::units::UnixTime;
use model::verdict::{Level, Verdict};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};
use report::MetricBuckets;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};

/// The prefix of all names; those of a run in progress (`--metrics`) begin with `diskspd` alone.
pub(crate) const PREFIX: &str = "diskspd_result";

/// Writes the figures of a result.
pub fn open_metrics(result: &RunResult, out: &mut dyn Write) -> io::Result<()> {
    let mut registry = Registry::with_prefix(PREFIX);
    registry.register_collector(Box::new(Families::from_result(result)));
    let mut text = String::new();
    encode(&mut text, &registry).map_err(io::Error::other)?;
    out.write_all(text.as_bytes())
}

type Labels = Vec<(&'static str, String)>;

/// A family of gauges, and its samples.
#[derive(Debug)]
struct Gauges {
    name: &'static str,
    help: &'static str,
    unit: Option<Unit>,
    samples: Vec<(Labels, f64)>,
}

/// The content of the file, in its order.
#[derive(Debug)]
struct Families {
    gauges: Vec<Gauges>,
    latencies: Vec<(Labels, Latencies)>,
}

/// Latencies of one target in one direction.
#[derive(Debug, Default)]
struct Latencies {
    sum_s: f64,
    buckets: MetricBuckets,
}

impl Families {
    fn from_result(result: &RunResult) -> Self {
        let spans: Vec<(String, &TimeSpanResult, &Measured)> = (1..)
            .zip(&result.time_spans)
            .filter_map(|(number, span): (u32, _)| Some((number.to_string(), span, span.measured.as_ref()?)))
            .collect();
        let mut gauges = about(result);
        let elapsed = |(number, _, measured): &(String, _, &Measured)| {
            (vec![("time_span", number.clone())], measured.elapsed_ns as f64 / 1e9)
        };
        let elapsed = spans.iter().map(elapsed).collect();
        gauges.push(Gauges { name: "elapsed", help: "Measured time", unit: Some(Unit::Seconds), samples: elapsed });
        let summaries: Vec<(&str, &Directions<Summary>)> =
            spans.iter().filter_map(|(number, span, _)| Some((number.as_str(), span.summary.as_ref()?))).collect();
        gauges.extend(rates(&summaries));
        gauges.extend(latencies(&summaries));
        gauges.push(by_name(&spans));
        let (mut ios, mut bytes, mut histograms) = (Vec::new(), Vec::new(), Vec::new());
        for (number, _, measured) in &spans {
            for ((path, direction), sum) in by_target(measured) {
                let labels = vec![
                    ("time_span", number.clone()),
                    ("target", metric_label(&path)),
                    ("direction", direction.to_owned()),
                ];
                ios.push((labels.clone(), sum.ios as f64));
                bytes.push((labels.clone(), sum.bytes as f64));
                histograms.extend((sum.latencies.buckets.count() > 0).then_some((labels, sum.latencies)));
            }
        }
        gauges.push(Gauges { name: "ios", help: "Measured I/Os", unit: None, samples: ios });
        let help = "Bytes transferred by measured I/Os";
        gauges.push(Gauges { name: "transferred", help, unit: Some(Unit::Bytes), samples: bytes });
        gauges.push(verdicts(&spans));
        gauges.retain(|family| !family.samples.is_empty());
        Self { gauges, latencies: histograms }
    }
}

/// Known facts of the whole run.
fn about(result: &RunResult) -> Vec<Gauges> {
    let Tool { version, implementation, .. } = &result.tool;
    let version = implementation.as_ref().map_or(version, |implementation| &implementation.version);
    let label =
        |(name, value): &(String, String)| (vec![("name", metric_label(name)), ("value", metric_label(value))], 1.0);
    let started = (result.started_at != UnixTime::UNKNOWN).then_some((Vec::new(), result.started_at.0 as f64 / 1e9));
    vec![
        Gauges {
            name: "build_info",
            help: "Always 1; the version of the measuring program is in the labels",
            unit: None,
            samples: vec![(vec![("version", metric_label(version))], 1.0)],
        },
        Gauges {
            name: "label_info",
            help: "Always 1; one sample for each --label of the run",
            unit: None,
            samples: result.labels.iter().map(label).collect(),
        },
        Gauges {
            name: "start_time",
            help: "Start time of the run, in seconds since 1970-01-01 00:00:00 UTC",
            unit: Some(Unit::Seconds),
            samples: started.into_iter().collect(),
        },
    ]
}

/// Samples of a figure of reads, writes and both, if known.
fn samples(
    summaries: &[(&str, &Directions<Summary>)],
    more: &[(&'static str, &str)],
    figure: impl Fn(&Summary) -> Option<f64>,
) -> Vec<(Labels, f64)> {
    let mut samples = Vec::new();
    for (number, Directions { read, write, total }) in summaries {
        for (direction, summary) in [("read", read), ("write", write), ("total", total)] {
            let mut labels = vec![("time_span", (*number).to_owned()), ("direction", direction.to_owned())];
            labels.extend(more.iter().map(|(name, value)| (*name, (*value).to_owned())));
            samples.extend(figure(summary).map(|value| (labels, value)));
        }
    }
    samples
}

fn rates(summaries: &[(&str, &Directions<Summary>)]) -> [Gauges; 2] {
    [
        Gauges {
            name: "iops",
            help: "I/Os per second: reads, writes and total",
            unit: None,
            samples: samples(summaries, &[], |summary| Some(summary.iops)),
        },
        Gauges {
            name: "throughput",
            help: "Bytes per second: reads, writes and total",
            unit: Some(Unit::Other("bytes_per_second".to_owned())),
            samples: samples(summaries, &[], |summary| Some(summary.bytes_per_s)),
        },
    ]
}

fn latencies(summaries: &[(&str, &Directions<Summary>)]) -> [Gauges; 3] {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let mut quantiles = samples(summaries, &[("quantile", "0.5")], |summary| summary.p50_ns.map(seconds));
    quantiles.extend(samples(summaries, &[("quantile", "0.9")], |summary| summary.p90_ns.map(seconds)));
    quantiles.extend(samples(summaries, &[("quantile", "0.99")], |summary| summary.p99_ns.map(seconds)));
    quantiles.extend(samples(summaries, &[("quantile", "0.999")], |summary| summary.p999_ns.map(seconds)));
    let family = |name, help, samples| Gauges { name, help, unit: Some(Unit::Seconds), samples };
    [
        family(
            "io_latency_mean",
            "Mean latency",
            samples(summaries, &[], |summary| summary.mean_ns.map(|ns| ns / 1e9)),
        ),
        family(
            "io_latency_quantile",
            "Latency percentiles; the label \"quantile\" is the fraction of I/Os that took this long or less",
            quantiles,
        ),
        family("io_latency_max", "Longest latency", samples(summaries, &[], |summary| summary.max_ns.map(seconds))),
    ]
}

/// Latencies by their full names, as in `--require`.
fn by_name(spans: &[(String, &TimeSpanResult, &Measured)]) -> Gauges {
    let is_latency = |name: &str| MetricName::parse(name).is_ok_and(|name| name.metric.needs_latency());
    let samples = spans.iter().flat_map(|(number, span, _)| {
        let latencies = span.metrics.iter().filter(|(name, _)| is_latency(name));
        latencies.map(|(name, ns)| (vec![("time_span", number.clone()), ("metric", name.clone())], ns / 1e9))
    });
    Gauges {
        name: "latency",
        help: "Latencies; the label \"metric\" is the name that --require has for them, as in commit.p99",
        unit: Some(Unit::Seconds),
        samples: samples.collect(),
    }
}

/// Sums of the I/O to one path in one direction.
#[derive(Default)]
struct TargetSum {
    ios: u64,
    bytes: u64,
    latencies: Latencies,
}

/// Sums over the threads, and over targets with the same path.
fn by_target(measured: &Measured) -> BTreeMap<(String, &'static str), TargetSum> {
    let mut sums: BTreeMap<(String, &'static str), TargetSum> = BTreeMap::new();
    for row in &measured.rows {
        let directions =
            [("read", &row.figures.read, &row.read_buckets), ("write", &row.figures.write, &row.write_buckets)];
        for (direction, Figures { ios, bytes, latency, .. }, buckets) in directions {
            let sum = sums.entry((row.path.display().to_string(), direction)).or_default();
            sum.ios = sum.ios.saturating_add(*ios);
            sum.bytes = sum.bytes.saturating_add(*bytes);
            sum.latencies.sum_s += latency.map_or(0.0, |latency| latency.mean_ns * *ios as f64 / 1e9);
            for &(index, count) in buckets {
                sum.latencies.buckets.add_fine(index, count);
            }
        }
    }
    sums
}

/// 1 for the level of a timespan's verdict, 0 for the others.
fn verdicts(spans: &[(String, &TimeSpanResult, &Measured)]) -> Gauges {
    let mut samples = Vec::new();
    for (number, span_result, _) in spans {
        let Some(found) = span_result.verdict.as_ref().map(Verdict::level) else { continue };
        for level in Level::ALL {
            let labels = vec![("time_span", number.clone()), ("level", level.word().to_owned())];
            samples.push((labels, f64::from(u8::from(level == found))));
        }
    }
    Gauges { name: "verdict", help: "1 for the level of the verdict, 0 for the others", unit: None, samples }
}

impl Collector for Families {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for Gauges { name, help, unit, samples } in &self.gauges {
            let mut family = encoder.encode_descriptor(name, help, unit.as_ref(), MetricType::Gauge)?;
            for (labels, value) in samples {
                ConstGauge::new(*value).encode(family.encode_family(labels)?)?;
            }
        }
        if self.latencies.is_empty() {
            return Ok(());
        }
        let help = "Latencies of measured I/Os, each rounded up by at most 0.1 %";
        let mut family = encoder.encode_descriptor("io_latency", help, Some(&Unit::Seconds), MetricType::Histogram)?;
        for (labels, Latencies { sum_s, buckets }) in &self.latencies {
            let mut of_target = family.encode_family(labels)?;
            let in_seconds = buckets.in_seconds();
            of_target.encode_histogram::<[(&str, &str); 0]>(*sum_s, buckets.count(), &in_seconds, None)?;
        }
        Ok(())
    }
}
