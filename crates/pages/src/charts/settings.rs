//! Throughput and latency over the values of an option that is not depth.

use super::values;
use crate::axis::Axis;
use crate::chart::{Chart, Marks, Series};
use crate::palette::Role;
use crate::quantity::Quantity;
use model::headline::Headline;
use model::sweep::{Setting, Sweep};

/// One for throughput and one for latency, as far as there are figures.
pub(crate) fn over_settings(sweep: &Sweep) -> Vec<Chart> {
    // A search tries few of many points.
    let tried: Vec<(usize, &Headline)> =
        (0..sweep.points.len()).filter_map(|point| Some((point, stats::sweep::figures(sweep, point)?))).collect();
    let marks = tried.iter().enumerate();
    let marks: Vec<(f64, String)> =
        marks.map(|(index, (point, _))| (place(index), Setting::typed_all(&sweep.points[*point].settings))).collect();
    let line = |name: &str, role, of: fn(&Headline) -> Option<f64>| {
        let figure = |(index, (_, figures)): (usize, &(usize, &Headline))| Some((place(index), of(figures)?));
        let values: Vec<(f64, f64)> = tried.iter().enumerate().filter_map(figure).collect();
        (!values.is_empty()).then(|| Series { name: name.to_owned(), role, marks: Marks::DottedLine(values) })
    };
    let chart = |name, title: &str, series: Vec<Series>, y: fn(&[Series]) -> Axis| {
        (!series.is_empty()).then(|| Chart {
            name,
            title: title.to_owned(),
            caption: String::new(),
            x: Axis::named("", Quantity::Count, (0.5, tried.len() as f64 + 0.5), marks.clone()),
            y: y(&series),
            series,
            right: None,
            markers: Vec::new(),
        })
    };
    let rates: Vec<Series> = line("", Role::Read, |figures| Some(figures.iops)).into_iter().collect();
    let latencies = [
        line("mean", Role::Half, |figures| figures.mean_ns),
        line("99th", Role::Hundredth, |figures| figures.p99_ns.map(|ns| ns as f64)),
        line("99th response", Role::Thousandth, |figures| figures.response_p99_ns.map(|ns| ns as f64)),
    ];
    [
        chart("settings-throughput", "Throughput by setting", rates, |lines| {
            Axis::from_zero("IOPS", Quantity::Iops, values(lines).map(|(_, y)| y))
        }),
        chart("settings-latency", "Latency by setting", latencies.into_iter().flatten().collect(), |lines| {
            Axis::log("latency", Quantity::LatencyNs, values(lines).map(|(_, y)| y))
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn place(index: usize) -> f64 {
    index as f64 + 1.0
}
