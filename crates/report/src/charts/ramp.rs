//! Response time over an offered rate that rises or falls.

use super::values;
use crate::axis::Axis;
use crate::chart::ChartResult;
use crate::chart::{Chart, Marks, Series};
use crate::quantity::Quantity;
use crate::role::Role;
use model::result::{LoadLoop, Measured, RampInterval};

/// One dot for each part of the measurement; `None` for other loads.
pub(crate) fn chart(measured: &Measured) -> Option<ChartResult> {
    let Some(LoadLoop::Open(open)) = &measured.load_loop else { return None };
    let line = |name: &str, role, of: fn(&RampInterval) -> Option<f64>| {
        let points: Vec<(f64, f64)> =
            open.ramp.iter().filter_map(|part| Some((part.offered_iops, of(part)?))).collect();
        (!points.is_empty()).then(|| Series { name: name.to_owned(), role, marks: Marks::DottedLine(points) })
    };
    let series: Vec<Series> = [
        line("mean", Role::Half, |part| part.response_mean_ns),
        line("99th", Role::Hundredth, |part| part.response_p99_ns.map(|ns| ns as f64)),
    ]
    .into_iter()
    .flatten()
    .collect();
    let most = values(&series).map(|(rate, _)| rate).reduce(f64::max)?;
    Some(Ok(Chart {
        name: "ramp",
        title: "Response time by offered rate".to_owned(),
        caption:
            "Each dot is a part of the measurement. Where the target cannot keep up, I/Os wait for their start, and \
                  response times grow with the wait."
                .to_owned(),
        x: Axis::from_zero("offered I/Os per second", Quantity::Iops, std::iter::once(most)),
        y: Axis::log("response time", Quantity::LatencyNs, values(&series).map(|(_, y)| y)),
        right: None,
        series,
        markers: Vec::new(),
    }))
}
