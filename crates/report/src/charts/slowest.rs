//! Completion times of the slowest I/Os.

use super::s;
use crate::axis::Axis;
use crate::chart::{Chart, Event, Marks, Series};
use crate::chart::{ChartResult, MissingChart};
use crate::quantity::{Quantity, latency};
use crate::role::Role;
use model::operation::Operation;
use model::record::SlowIo;
use model::result::Measured;
use model::units::counted;

const TITLE: &str = "Slowest I/Os";

pub(crate) fn chart(measured: &Measured) -> ChartResult {
    if measured.slowest.is_empty() {
        return Err(MissingChart::because(
            TITLE,
            "the result has no list of individual I/Os; JSON results of runs with -L or -D have one",
        ));
    }
    let events = |name: &str, role, operations: &[Operation]| {
        let ios = measured.slowest.iter().filter(|io| operations.contains(&io.operation()));
        let events: Vec<Event> = ios.map(event).collect();
        (!events.is_empty()).then(|| Series { name: name.to_owned(), role, marks: Marks::Events(events) })
    };
    let series: Vec<Series> = [
        events("reads", Role::Read, &[Operation::Read]),
        events("writes", Role::Write, &[Operation::Write]),
        events("discards and write-zeroes", Role::Total, &Operation::WITHOUT_DATA),
    ]
    .into_iter()
    .flatten()
    .collect();
    Ok(Chart {
        name: "slowest",
        title: TITLE.to_owned(),
        caption: format!(
            "The {}: each dot marks a completion, and its line spans the time that the I/O took.",
            counted(measured.slowest.len(), "slowest I/O")
        ),
        x: Axis::linear("", Quantity::TimeS, 0.0, s(measured.elapsed_ns)),
        y: Axis::log("latency", Quantity::LatencyNs, measured.slowest.iter().map(|io| io.latency_ns as f64)),
        series,
        right: None,
        markers: Vec::new(),
    })
}

fn event(io: &SlowIo) -> Event {
    let ended = s(io.ended_at_ns);
    Event {
        // It may have begun before the measurement.
        began: (ended - s(io.latency_ns)).max(0.0),
        ended,
        y: io.latency_ns as f64,
        text: format!("{}, thread {}, offset {}", latency(io.latency_ns as f64), io.thread, io.offset_bytes),
    }
}
