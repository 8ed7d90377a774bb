//! The content of each chart, from results.

mod beside;
mod cpu;
mod cpu_course;
mod density;
mod depth;
pub(crate) mod device;
mod differences;
mod grid;
mod heat_map;
mod latency_over_time;
mod overlay;
mod pairs;
mod percentile_curve;
mod ramp;
mod rates;
mod runs;
mod search;
mod settings;
mod slowest;
mod streams;

pub(crate) use depth::over_depth;
pub(crate) use differences::differences;
pub(crate) use grid::grids;
pub(crate) use overlay::overlays;
pub(crate) use pairs::pairs;
pub(crate) use runs::runs;
pub(crate) use settings::over_settings;
pub(crate) use streams::streams;

use super::chart::{Marks, Series};
use super::quantity::Quantity;
use super::role::Role;
use crate::chart::{ChartResult, MissingChart};
use model::figures::Directions;
use model::headline::Headline;
use model::metric::{Metric, ScopedMetric};
use model::profile::TimeSpan;
use model::result::Measured;
use model::sweep::Sweep;

/// Charts of the CPUs of one machine.
pub(crate) const OF_ONE_MACHINE: [&str; 2] = [cpu::TITLE, cpu_course::TITLE];

impl MissingChart {
    fn because(title: &'static str, reason: &str) -> Self {
        Self { title, reason: reason.to_owned() }
    }
}

/// A line with a dot at each value; `None` without values.
pub(crate) fn line(name: &str, role: Role, values: Vec<(f64, f64)>) -> Option<Series> {
    (!values.is_empty()).then(|| Series { name: name.to_owned(), role, marks: Marks::DottedLine(values) })
}

/// Lines of the mean and the 99th percentile of each latency that the application waits for, with values from `values`.
fn latencies(sweep: &Sweep, values: impl Fn(ScopedMetric) -> Vec<(f64, f64)>) -> Vec<Series> {
    let metrics = Headline::scoped_metrics(&[Metric::Mean, Metric::P99], sweep.measured());
    let is_of_all = metrics.len() <= 2;
    let lines = metrics.into_iter().enumerate().map(|(index, metric)| {
        let (name, role) = if metric.1 == Metric::Mean { ("mean", Role::Half) } else { ("99th", Role::Hundredth) };
        line(&metric.0.label(name), if is_of_all { role } else { Role::of_line(index + 1) }, values(metric))
    });
    lines.flatten().collect()
}

/// The charts of a timespan in the order of a report.
pub(crate) fn of_time_span(span: Option<&TimeSpan>, measured: &Measured) -> Vec<ChartResult> {
    let mut charts = vec![rates::iops(span, measured), rates::throughput(measured)];
    charts.extend(ramp::chart(measured));
    charts.extend(latency_over_time::charts(measured));
    charts.extend(beside::charts(span, measured));
    charts.extend([
        density::chart(measured),
        percentile_curve::chart(measured),
        heat_map::chart(measured),
        cpu::chart(measured),
        cpu_course::chart(measured),
        slowest::chart(measured),
    ]);
    charts
}

/// Lines for reads, writes and both, as far as there are such I/Os.
fn lines_of_directions(
    measured: &Measured,
    of: impl Fn(fn(&Directions<f64>) -> f64) -> Vec<(f64, f64)>,
) -> Vec<Series> {
    let series = |name: &str, role, values| Series { name: name.to_owned(), role, marks: Marks::Line(values) };
    let read: fn(&Directions<f64>) -> f64 = |figures| figures.read;
    let write: fn(&Directions<f64>) -> f64 = |figures| figures.write;
    match (measured.total.read.ios > 0, measured.total.write.ios > 0) {
        (true, true) => vec![
            series("total", Role::Total, of(|figures| figures.total)),
            series("reads", Role::Read, of(read)),
            series("writes", Role::Write, of(write)),
        ],
        (_, false) => vec![series("reads", Role::Read, of(read))],
        (false, true) => vec![series("writes", Role::Write, of(write))],
    }
}

/// Nanoseconds as seconds, the unit of time axes.
fn s(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Position of a part of the time in every chart: its middle, in seconds.
fn middle_s(start_ns: u64, end_ns: u64) -> f64 {
    f64::midpoint(s(start_ns), s(end_ns))
}

/// Explanation of the points of such a chart.
fn each_point(width_s: f64) -> String {
    format!("Each point is the mean of the {} around it.", Quantity::TimeS.value(width_s))
}

/// The values of some series.
pub(crate) fn values(series: &[Series]) -> impl Iterator<Item = (f64, f64)> {
    series
        .iter()
        .flat_map(|series| match &series.marks {
            Marks::Line(values) | Marks::DottedLine(values) | Marks::Area(values) | Marks::Dots(values) => &values[..],
            Marks::Events(_) | Marks::Cells(_) | Marks::Intervals(_) => &[],
        })
        .copied()
}
