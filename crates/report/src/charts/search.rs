//! Each run of a search for a rate against the limits.

use super::values;
use crate::axis::Axis;
use crate::chart::{Chart, Marks, Series};
use crate::quantity::Quantity;
use crate::role::Role;
use crate::words::figure_words::{name, name_of};
use model::limit::LimitFound;
use model::metric::Scope;
use model::sweep::{Purpose, Setting, Sweep, Visit};

/// One for the limited response times, which decide, and one for throughput; none for a metric without figures.
pub(crate) fn of_search(sweep: &Sweep, found: &LimitFound) -> Vec<Chart> {
    let runs: Vec<(f64, &Visit)> = sweep.visits.iter().filter_map(|visit| Some((rate(sweep, visit)?, visit))).collect();
    let kinds = [("confirming runs", Role::Read, true), ("probes", Role::Write, false)];
    let dots = |of: &str, figure: &dyn Fn(&Visit) -> Option<f64>| -> Vec<Series> {
        let of_kind = |(kind, role, is_confirming): (&str, Role, bool)| {
            let of_kind = runs.iter().filter(|(_, visit)| (visit.purpose == Purpose::Confirm) == is_confirming);
            let dots: Vec<(f64, f64)> = of_kind.filter_map(|(rate, visit)| Some((*rate, figure(visit)?))).collect();
            let name = if of.is_empty() { kind.to_owned() } else { format!("{of}, {kind}") };
            (!dots.is_empty()).then_some(Series { name, role, marks: Marks::Dots(dots) })
        };
        kinds.into_iter().filter_map(of_kind).collect()
    };
    let chart = |name, title: &str, caption: &str, series: Vec<Series>, y: fn(&[Series]) -> Axis| {
        (!series.is_empty()).then(|| Chart {
            name,
            title: title.to_owned(),
            caption: caption.to_owned(),
            x: Axis::log("--rate (I/Os per second)", Quantity::Count, runs.iter().map(|(rate, _)| *rate)),
            y: y(&series),
            series,
            right: None,
            markers: Vec::new(),
        })
    };
    let throughput = dots("", &|visit| Some(visit.headline()?.iops));
    let ends = [f64::min, f64::max].map(|end| runs.iter().map(|(rate, _)| *rate).reduce(end));
    let limits: Vec<_> = found.limits.iter().filter(|limit| limit.figure.needs_latency()).collect();
    let mut times = Vec::new();
    for limit in &limits {
        // A single limit is named in the title.
        let of = if limits.len() > 1 { name_of(limit.metric()) } else { String::new() };
        times.extend(dots(&of, &|visit| limit.value(visit.headline()?)));
        if let [Some(from), Some(to)] = ends {
            let name = if of.is_empty() { "limit".to_owned() } else { format!("limit of {of}") };
            let marks = Marks::Line(vec![(from, limit.at_most), (to, limit.at_most)]);
            times.push(Series { name, role: Role::Bad, marks });
        }
    }
    let title = match &limits[..] {
        [only] if only.scope == Scope::Response => {
            format!("Response time ({}) of each run by rate", name(only.figure))
        }
        [only] => format!("Latency, {}, of each run by rate", name_of(only.metric())),
        _ => "Latencies of each run by rate".to_owned(),
    };
    let shown = [
        chart("settings-latency", &title, "A dot is a run; the line is the limit.", times, |dots| {
            Axis::log("response time", Quantity::LatencyNs, values(dots).map(|(_, y)| y))
        }),
        chart("settings-throughput", "IOPS of each run by rate", "", throughput, |dots| {
            Axis::from_zero("IOPS", Quantity::Iops, values(dots).map(|(_, y)| y))
        }),
    ];
    shown.into_iter().flatten().collect()
}

/// The rate of a run of a point.
fn rate(sweep: &Sweep, visit: &Visit) -> Option<f64> {
    let point = sweep.points.get(visit.point).filter(|_| visit.is_of_point())?;
    point.settings.first().and_then(|Setting { value, .. }| value.parse().ok())
}
