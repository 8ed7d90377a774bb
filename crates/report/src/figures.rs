//! Names and values of metrics, as tables and sentences have them.

use super::quantity::{Quantity, latency};
use model::metric::{Metric, MetricUnit, ScopedMetric};

/// What tables call the CPU usage: it is that of all programs.
pub(crate) const MACHINE_CPU: &str = "CPU";

/// Without the unit, which its values bring along.
pub(crate) fn name(figure: Metric) -> String {
    if figure == Metric::Cpu {
        return MACHINE_CPU.to_owned();
    }
    crate::words::figure_words::name(figure).to_owned()
}

/// The same of some I/Os: `p99 (commit)`.
pub(crate) fn name_of((scope, metric): ScopedMetric) -> String {
    scope.label(&name(metric))
}

/// In a sentence, where a mean is of nothing in particular.
pub(crate) fn name_in_words(figure: Metric) -> String {
    match figure {
        Metric::Mean | Metric::P50 | Metric::P99 | Metric::P999 => format!("{} latency", name(figure)),
        _ => name(figure),
    }
}

/// A value with its unit.
pub(crate) fn shown(metric: Metric, value: f64) -> String {
    match metric.unit() {
        MetricUnit::IosPerSecond => Quantity::Iops.value(value),
        MetricUnit::MibPerSecond => Quantity::MibPerS.value(value),
        MetricUnit::Nanoseconds => latency(value),
        MetricUnit::Percent => Quantity::Percent.value(value),
    }
}
