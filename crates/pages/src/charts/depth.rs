//! Throughput and latency over depth, with the two depths that matter.

use super::values;
use crate::axis::Axis;
use crate::chart::{Chart, Marker, Marks, Series};
use crate::palette::Role;
use crate::quantity::Quantity;
use model::headline::Headline;
use model::sweep::{DepthEstimate, DepthSeries, Knee, Saturation, Setting, Sweep};

/// `None` without figures.
pub(crate) fn throughput_over_depth(sweep: &Sweep, series: &DepthSeries) -> Option<Chart> {
    let lines = [line("", Role::Read, by_depth(sweep, series, |figures| Some(figures.iops)))];
    chart("depth-throughput", "Throughput over depth", series, lines, |values| {
        Axis::from_zero("IOPS", Quantity::Iops, values)
    })
}

/// `None` where latencies were not measured.
pub(crate) fn latency_over_depth(sweep: &Sweep, series: &DepthSeries) -> Option<Chart> {
    let lines = [
        line("mean", Role::Half, by_depth(sweep, series, |figures| figures.mean_ns)),
        line("99th", Role::Hundredth, by_depth(sweep, series, |figures| figures.p99_ns.map(|ns| ns as f64))),
    ];
    chart("depth-latency", "Latency over depth", series, lines, |values| {
        Axis::log("latency", Quantity::LatencyNs, values)
    })
}

fn line(name: &str, role: Role, values: Vec<(f64, f64)>) -> Option<Series> {
    (!values.is_empty()).then(|| Series { name: name.to_owned(), role, marks: Marks::DottedLine(values) })
}

fn chart<const N: usize>(
    name: &'static str,
    title: &str,
    series: &DepthSeries,
    lines: [Option<Series>; N],
    y: impl Fn(&mut dyn Iterator<Item = f64>) -> Axis,
) -> Option<Chart> {
    let lines: Vec<Series> = lines.into_iter().flatten().collect();
    let depths = || values(&lines).map(|(depth, _)| depth);
    let (least, most) = (depths().reduce(f64::min)?, depths().reduce(f64::max)?);
    let with = Setting::typed_all(&series.settings);
    let markers = series.knee.as_ref().map(markers).unwrap_or_default();
    let y = y(&mut values(&lines).map(|(_, y)| y));
    Some(Chart {
        name,
        title: if with.is_empty() { title.to_owned() } else { format!("{title}, {with}") },
        caption: if markers.is_empty() {
            String::new()
        } else {
            "The bands are the 95 % confidence intervals of the recommended queue depths.".to_owned()
        },
        x: depth_axis(least, most),
        y,
        series: lines,
        right: None,
        markers,
    })
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
