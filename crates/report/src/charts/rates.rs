//! I/Os and bytes per second over time.

use super::{each_point, lines_of_directions, middle_s, s, values};
use crate::axis::Axis;
use crate::chart::Chart;
use crate::chart::{ChartResult, MissingChart};
use crate::quantity::Quantity;
use model::figures::Directions;
use model::profile::TimeSpan;
use model::result::Measured;
use stats::overview::{Moment, timeline};

/// Steps of a line: more would not be visible.
const STEPS_MAX: usize = 300;

pub(crate) fn iops(span: Option<&TimeSpan>, measured: &Measured) -> ChartResult {
    const TITLE: &str = "I/Os per second";
    let chart = of_series(measured, "iops", TITLE, ("IOPS", Quantity::Iops), |moment| &moment.iops);
    chart.or_else(|| of_intervals(span, measured)).ok_or_else(|| MissingChart::because(TITLE, NO_SERIES))
}

pub(crate) fn throughput(measured: &Measured) -> ChartResult {
    const TITLE: &str = "Throughput";
    let chart = of_series(measured, "throughput", TITLE, ("MiB/s", Quantity::MibPerS), |moment| &moment.mib_per_s);
    chart.ok_or_else(|| MissingChart::because(TITLE, NO_SERIES))
}

/// A rate over the series of the run; `None` if the result has none.
fn of_series(
    measured: &Measured,
    name: &'static str,
    title: &str,
    (unit, quantity): (&str, Quantity),
    rate: fn(&Moment) -> &Directions<f64>,
) -> Option<Chart> {
    let moments = timeline(&measured.series, STEPS_MAX);
    if moments.is_empty() {
        return None;
    }
    let series = lines_of_directions(measured, |side| steps(&moments, |moment| side(rate(moment))));
    Some(Chart {
        name,
        title: title.to_owned(),
        caption: each(&moments),
        x: time(&moments),
        y: Axis::from_zero(unit, quantity, values(&series).map(|(_, y)| y)),
        series,
        right: None,
        markers: Vec::new(),
    })
}

const NO_SERIES: &str = "the result has no time series; JSON results of this program have one";

fn each(moments: &[Moment]) -> String {
    let width_ns = moments.first().map_or(0, |moment| moment.end_ns - moment.start_ns);
    each_point(s(width_ns))
}

fn time(moments: &[Moment]) -> Axis {
    let end_ns = moments.last().map_or(0, |moment| moment.end_ns);
    Axis::linear("", Quantity::TimeS, 0.0, s(end_ns))
}

fn steps(moments: &[Moment], of: impl Fn(&Moment) -> f64) -> Vec<(f64, f64)> {
    moments.iter().map(|moment| (middle_s(moment.start_ns, moment.end_ns), of(moment))).collect()
}

/// Results of `DiskSpd` have intervals (`-D`) without bytes.
fn of_intervals(span: Option<&TimeSpan>, measured: &Measured) -> Option<Chart> {
    let width_s = f64::from(span?.interval_ms) / 1e3;
    let intervals = &measured.intervals;
    if intervals.is_empty() {
        return None;
    }
    let series = lines_of_directions(measured, |side| {
        let rates = intervals.iter().map(|interval| {
            let Directions { read, write, total } = interval;
            side(&Directions { read: read.iops, write: write.iops, total: total.iops })
        });
        (0u32..).zip(rates).map(|(index, iops)| ((f64::from(index) + 0.5) * width_s, iops)).collect()
    });
    Some(Chart {
        name: "iops",
        title: "I/Os per second".to_owned(),
        caption: each_point(width_s),
        x: Axis::linear("", Quantity::TimeS, 0.0, intervals.len() as f64 * width_s),
        y: Axis::from_zero("IOPS", Quantity::Iops, values(&series).map(|(_, y)| y)),
        series,
        right: None,
        markers: Vec::new(),
    })
}
