//! When the slowest I/Os completed.

use super::{Absent, Shown, values};
use crate::axis::Axis;
use crate::chart::{Chart, Marks, Series};
use crate::palette::Role;
use crate::quantity::Quantity;
use model::operation::Operation;
use model::record::SlowIo;
use model::result::Measured;

const TITLE: &str = "Slowest I/Os";

pub(super) fn chart(measured: &Measured) -> Shown {
    if measured.slowest.is_empty() {
        return Err(Absent::because(
            TITLE,
            "the result has no list of individual I/Os; JSON results of runs with -L or -D have one",
        ));
    }
    let dots = |name: &str, role, operations: &[Operation]| {
        let ios = measured.slowest.iter().filter(|io| operations.contains(&io.operation()));
        let values: Vec<(f64, f64)> =
            ios.map(|io: &SlowIo| (io.ended_at_ns as f64 / 1e9, io.latency_ns as f64)).collect();
        (!values.is_empty()).then(|| Series { name: name.to_owned(), role, marks: Marks::Dots(values) })
    };
    let series: Vec<Series> = [
        dots("reads", Role::Read, &[Operation::Read]),
        dots("writes", Role::Write, &[Operation::Write]),
        dots("discards and write-zeroes", Role::Total, &Operation::WITHOUT_DATA),
    ]
    .into_iter()
    .flatten()
    .collect();
    Ok(Chart {
        name: "slowest",
        title: TITLE.to_owned(),
        caption: format!("The {} slowest I/Os, plotted at their completion times.", measured.slowest.len()),
        x: Axis::linear("", Quantity::TimeS, 0.0, measured.elapsed_ns as f64 / 1e9),
        y: Axis::log("latency", Quantity::LatencyNs, values(&series).map(|(_, y)| y)),
        series,
        markers: Vec::new(),
    })
}
