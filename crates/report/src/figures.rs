//! Names and values of metrics, as tables and sentences have them.

use super::quantity::{Quantity, latency};
use crate::words::figure_words::name;
use model::metric::{Metric, MetricUnit};

/// The name in a sentence, where a plain mean would be ambiguous.
pub(crate) fn name_in_words(figure: Metric) -> String {
    match figure {
        Metric::Mean | Metric::P50 | Metric::P99 | Metric::P999 => format!("{} latency", name(figure)),
        _ => name(figure).to_owned(),
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
