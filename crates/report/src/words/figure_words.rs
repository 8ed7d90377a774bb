//! Headline figures as words.

use crate::block::dash;
use crate::numbers::ms;
use model::headline::Headline;
use model::metric::{Metric, MetricUnit, ScopedMetric};

/// The name without its unit, for values that have another one.
pub fn name(metric: Metric) -> &'static str {
    let label = metric.heading();
    label.strip_suffix(" ms").or(label.strip_suffix(" %")).unwrap_or(label)
}

/// The name without its unit, of some I/Os: `p99 (commit)`.
pub fn name_of((scope, metric): ScopedMetric) -> String {
    scope.label(name(metric))
}

/// A figure as a cell of a table; `-` if it was not measured.
pub fn cell(metric: ScopedMetric, headline: &Headline) -> String {
    headline.scoped_value(metric).map_or_else(dash, |value| shown_figure(metric.1, value, 3))
}

/// A value in that unit; latencies in milliseconds with `decimals` decimals.
pub fn shown_figure(metric: Metric, value: f64, decimals: usize) -> String {
    match metric.unit() {
        MetricUnit::Nanoseconds => format!("{:.decimals$}", ms(value)),
        MetricUnit::IosPerSecond | MetricUnit::MibPerSecond | MetricUnit::Percent => format!("{value:.2}"),
    }
}
