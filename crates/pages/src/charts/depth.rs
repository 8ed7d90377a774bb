//! Throughput and latency over depth, with the two depths that matter.

use super::values;
use crate::axis::Axis;
use crate::chart::{Chart, Marker, Marks, RightAxis, Series};
use crate::palette::Role;
use crate::quantity::Quantity;
use model::headline::Headline;
use model::sweep::{DepthEstimate, DepthSeries, Knee, Saturation, Setting, Sweep};

/// Series of depths that have a line; more could not be told apart.
const LINES_MAX: usize = 8;

/// Series of depths that have a chart of their own.
const ALONE_MAX: usize = 4;

/// Throughput and latency of each series on the same depths; of several series, one line for each before that.
pub(crate) fn over_depth(sweep: &Sweep) -> Vec<Chart> {
    let together = (sweep.depths.len() > 1).then(|| [throughput_of_each(sweep), latency_of_each(sweep)]);
    let alone = sweep.depths.iter().take(ALONE_MAX).map(|series| both(sweep, series));
    together.into_iter().flatten().chain(alone).flatten().collect()
}

/// One line for each setting of the other options; `None` without figures.
fn throughput_of_each(sweep: &Sweep) -> Option<Chart> {
    let lines = of_each(sweep, |figures| Some(figures.iops));
    let y = Axis::from_zero("IOPS", Quantity::Iops, values(&lines).map(|(_, y)| y));
    chart("depth-throughput", "Throughput over depth".to_owned(), lines, y)
}

/// The same for latencies; `None` where they were not measured.
fn latency_of_each(sweep: &Sweep) -> Option<Chart> {
    let lines = of_each(sweep, |figures| figures.mean_ns);
    let y = Axis::log("latency", Quantity::LatencyNs, values(&lines).map(|(_, y)| y));
    chart("depth-latency", "Mean latency over depth".to_owned(), lines, y)
}

fn of_each(sweep: &Sweep, of: fn(&Headline) -> Option<f64>) -> Vec<Series> {
    let series = sweep.depths.iter().take(LINES_MAX).enumerate();
    let lines = series.map(|(index, series)| {
        line(&Setting::typed_all(&series.settings), Role::of_line(index), by_depth(sweep, series, of))
    });
    lines.flatten().collect()
}

/// Throughput on the left axis, latency on the right one, and the depths that matter; `None` without figures.
fn both(sweep: &Sweep, series: &DepthSeries) -> Option<Chart> {
    let rates = line("IOPS", Role::Read, by_depth(sweep, series, |figures| Some(figures.iops)))?;
    let latencies: Vec<Series> = [
        line("mean", Role::Half, by_depth(sweep, series, |figures| figures.mean_ns)),
        line("99th", Role::Hundredth, by_depth(sweep, series, |figures| figures.p99_ns.map(|ns| ns as f64))),
    ]
    .into_iter()
    .flatten()
    .collect();
    let with = Setting::typed_all(&series.settings);
    let title = if latencies.is_empty() { "Throughput over depth" } else { "Throughput and latency over depth" };
    let title = if with.is_empty() { title.to_owned() } else { format!("{title}, {with}") };
    let y = Axis::from_zero("IOPS", Quantity::Iops, values(std::slice::from_ref(&rates)).map(|(_, y)| y));
    let axis = Axis::from_zero("latency", Quantity::LatencyNs, values(&latencies).map(|(_, y)| y));
    let right = (!latencies.is_empty()).then_some(RightAxis { axis, first_series: 1 });
    let lines = std::iter::once(rates).chain(latencies).collect();
    let mut caption =
        if right.is_some() { "IOPS on the left axis, latencies on the right one." } else { "" }.to_owned();
    let markers = series.knee.as_ref().map(markers).unwrap_or_default();
    if !markers.is_empty() {
        caption.push_str(" The bands are the 95 % confidence intervals of the recommended queue depths.");
    }
    let caption = caption.trim_start().to_owned();
    Some(Chart { caption, right, markers, ..chart("depth", title, lines, y)? })
}

fn line(name: &str, role: Role, values: Vec<(f64, f64)>) -> Option<Series> {
    (!values.is_empty()).then(|| Series { name: name.to_owned(), role, marks: Marks::DottedLine(values) })
}

fn chart(name: &'static str, title: String, series: Vec<Series>, y: Axis) -> Option<Chart> {
    let depths = || values(&series).map(|(depth, _)| depth);
    let x = depth_axis(depths().reduce(f64::min)?, depths().reduce(f64::max)?);
    Some(Chart { name, title, caption: String::new(), x, y, right: None, series, markers: Vec::new() })
}

/// Depths that are far apart double.
fn depth_axis(least: f64, most: f64) -> Axis {
    const LABEL: &str = "I/Os outstanding (depth)";
    if most >= 12.0 * least.max(1.0) {
        Axis::powers(LABEL, Quantity::Count, [least, most].into_iter())
    } else {
        let room = ((most - least) * 0.06).max(0.5);
        Axis::linear(LABEL, Quantity::Count, least - room, most + room)
    }
}

fn by_depth(sweep: &Sweep, series: &DepthSeries, of: fn(&Headline) -> Option<f64>) -> Vec<(f64, f64)> {
    let figures = series.points.iter().filter_map(|point| stats::sweep::figures(sweep, *point));
    figures.filter_map(|figures| Some((f64::from(figures.depth?), of(figures)?))).collect()
}

fn markers(knee: &Knee) -> Vec<Marker> {
    let marker = |estimate: &DepthEstimate, role, name: &str| Marker {
        x: estimate.depth.into(),
        bounds: (estimate.low.into(), estimate.high.into()),
        role,
        label: format!("{name}: {}", estimate.depth),
    };
    let efficient = marker(&knee.efficient, Role::Good, "efficient");
    match &knee.saturation {
        Saturation::At { depth, .. } => vec![efficient, marker(depth, Role::Edge, "saturation")],
        Saturation::StillRising { .. } => vec![efficient],
    }
}
