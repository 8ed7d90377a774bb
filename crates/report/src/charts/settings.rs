//! Throughput and latency over the values of an option that is not depth, or over the rates of a search.

use super::search::of_search;
use super::{latencies, line, values};
use crate::axis::Axis;
use crate::chart::{Chart, Series};
use crate::quantity::Quantity;
use crate::role::Role;
use model::headline::Headline;
use model::metric::{Metric, Scope, ScopedMetric};
use model::sweep::{Setting, Sweep};

/// One for throughput and one for latency, as far as there are figures.
pub(crate) fn over_settings(sweep: &Sweep) -> Vec<Chart> {
    if let Some(found) = &sweep.limit {
        return of_search(sweep, found);
    }
    let tried: Vec<(usize, &Headline)> =
        (0..sweep.points.len()).filter_map(|point| Some((point, stats::sweep::figures(sweep, point)?))).collect();
    let (places, across) = across(sweep, &tried);
    let of_each = |metric: ScopedMetric| -> Vec<(f64, f64)> {
        let figure = |(place, (_, figures)): (&f64, &(usize, &Headline))| Some((*place, figures.scoped_value(metric)?));
        places.iter().zip(&tried).filter_map(figure).collect()
    };
    let chart = |name, title: &str, series: Vec<Series>, y: fn(&[Series]) -> Axis| {
        (!series.is_empty()).then(|| Chart {
            name,
            title: title.to_owned(),
            caption: String::new(),
            x: across.clone(),
            y: y(&series),
            series,
            right: None,
            markers: Vec::new(),
        })
    };
    let rates = line("", Role::Read, of_each((Scope::All, Metric::Iops))).into_iter().collect();
    [
        chart("settings-throughput", "IOPS by setting", rates, |lines| {
            Axis::from_zero("IOPS", Quantity::Iops, values(lines).map(|(_, y)| y))
        }),
        chart("settings-latency", "Latency by setting", latencies(sweep, of_each), |lines| {
            Axis::log("latency", Quantity::LatencyNs, values(lines).map(|(_, y)| y))
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The place of each point, all different, and the axis.
fn across(sweep: &Sweep, tried: &[(usize, &Headline)]) -> (Vec<f64>, Axis) {
    let settings = |(point, _): &(usize, &Headline)| &sweep.points[*point].settings;
    let places: Vec<f64> = (1..=tried.len()).map(|index| index as f64).collect();
    let marks = places.iter().zip(tried).map(|(place, point)| (*place, Setting::typed_all(settings(point)))).collect();
    let axis = Axis::named("", Quantity::Count, (0.5, tried.len() as f64 + 0.5), marks);
    (places, axis)
}
