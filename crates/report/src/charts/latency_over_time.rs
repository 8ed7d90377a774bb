//! Percentiles of latency over time.

use super::{middle_s, s, values};
use crate::axis::Axis;
use crate::chart::{Chart, Marks, Series};
use crate::chart::{ChartResult, MissingChart};
use crate::quantity::Quantity;
use crate::role::Role;
use model::figures::{Directions, Figures, Percentile};
use model::result::Measured;
use stats::Part;
use stats::overview::percentiles_over_time;
use stats::ranks::{P50_PPB, P90_PPB, P99_PPB, P999_PPB};

const TITLE: &str = "Latency over time";

/// Parts of a line: each needs enough I/Os for its percentiles.
const PARTS_MAX: usize = 150;
/// Least number of parts of a course, if the result has them.
const PARTS_MIN: usize = 20;

const RANKS: [(&str, u64, Role); 4] = [
    ("50th", P50_PPB, Role::Half),
    ("90th", P90_PPB, Role::Tenth),
    ("99th", P99_PPB, Role::Hundredth),
    ("99.9th", P999_PPB, Role::Thousandth),
];

/// One for reads and one for writes, as far as there are such I/Os.
pub(crate) fn charts(measured: &Measured) -> Vec<ChartResult> {
    let parts = percentiles_over_time(measured, PARTS_MIN..=PARTS_MAX, &RANKS.map(|(_, rank_ppb, _)| rank_ppb));
    if parts.len() < 2 {
        return vec![Err(MissingChart::because(
            TITLE,
            "the result has no latencies over time; JSON results of runs with -L or -D have them",
        ))];
    }
    let read = chart("read-latency", "Read latency over time", &parts, |of| &of.read, |of| &of.read);
    let write = chart("write-latency", "Write latency over time", &parts, |of| &of.write, |of| &of.write);
    let mut charts: Vec<Chart> = [read, write].into_iter().flatten().collect();
    if charts.is_empty() {
        return vec![Err(MissingChart::because(TITLE, "each interval has too few I/Os for percentiles"))];
    }
    // With a common scale, equal height means equal latency in both charts.
    let y = Axis::log(
        "latency",
        Quantity::LatencyNs,
        charts.iter().flat_map(|chart| values(&chart.series)).map(|(_, y)| y),
    );
    for chart in &mut charts {
        chart.y = y.clone();
    }
    charts.into_iter().map(Ok).collect()
}

fn chart(
    name: &'static str,
    title: &str,
    parts: &[Part],
    percentiles: fn(&Directions<Vec<Percentile>>) -> &Vec<Percentile>,
    figures: fn(&Directions<Figures>) -> &Figures,
) -> Option<Chart> {
    if parts.iter().all(|part| figures(&part.figures).ios == 0) {
        return None;
    }
    let line = |(name, rank_ppb, role): (&str, u64, Role)| {
        let value = |part: &Part| {
            let ios = figures(&part.figures).ios;
            let found = percentiles(&part.percentiles).iter().find(|percentile| percentile.rank_ppb == rank_ppb);
            // A percentile of a handful of I/Os would only be noise.
            found.filter(|_| !stats::is_weak(ios, rank_ppb)).map_or(f64::NAN, |percentile| percentile.value_ns as f64)
        };
        let values: Vec<(f64, f64)> =
            parts.iter().map(|part| (middle_s(part.start_ns, part.end_ns), value(part))).collect();
        let known = values.iter().filter(|(_, ns)| !ns.is_nan()).count();
        // Fragments of a line would only raise questions.
        (known * 2 > values.len()).then(|| Series { name: name.to_owned(), role, marks: Marks::Line(values) })
    };
    let series: Vec<Series> = RANKS.into_iter().filter_map(line).collect();
    if series.is_empty() {
        return None;
    }
    let width_s = parts.first().map_or(0.0, |part| s(part.end_ns - part.start_ns));
    let missing = RANKS.len() - series.len();
    let weak = if missing == 0 { "" } else { " Percentiles with fewer than ten I/Os beyond them are left out." };
    Some(Chart {
        name,
        title: title.to_owned(),
        caption: format!(
            "Latency percentiles of each interval of {}, drawn in its middle.{weak}",
            Quantity::TimeS.value(width_s)
        ),
        x: Axis::linear("", Quantity::TimeS, 0.0, parts.last().map_or(0.0, |part| s(part.end_ns))),
        y: Axis::log("latency", Quantity::LatencyNs, values(&series).map(|(_, y)| y)),
        series,
        right: None,
        markers: Vec::new(),
    })
}
