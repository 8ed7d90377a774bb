//! Charts of a device over time, from a recording of the monitor.

use super::{each_point, values};
use crate::axis::Axis;
use crate::chart::{Chart, Marks, Points, Series};
use crate::chart::{ChartResult, MissingChart};
use crate::quantity::Quantity;
use crate::role::Role;
use model::device_interval::{DeviceInterval, DeviceRates};
use model::units::mib;
use stats::device_course::{DeviceStep, course};

/// Steps of a line: more would not be visible.
const STEPS_MAX: usize = 300;

/// The time axis of charts: start and length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    /// Nanoseconds since 1970-01-01 00:00:00 UTC.
    pub(crate) start_unix_ns: i64,
    pub(crate) length_ns: u64,
}

impl Span {
    fn axis(self) -> Axis {
        Axis::linear("", Quantity::TimeS, 0.0, self.length_ns as f64 / 1e9)
    }

    /// Seconds since the start.
    fn place(self, unix_ns: i64) -> f64 {
        unix_ns.saturating_sub(self.start_unix_ns) as f64 / 1e9
    }

    pub(crate) fn holds(self, interval: &DeviceInterval) -> bool {
        let end_ns = interval.ended_at_unix_ns.saturating_sub(self.start_unix_ns);
        let length_ns = i64::try_from(self.length_ns).unwrap_or(i64::MAX);
        let interval_ns = i64::try_from(interval.interval_ns).unwrap_or(i64::MAX);
        end_ns > 0 && end_ns.saturating_sub(interval_ns) < length_ns
    }
}

/// Name, colour and values of a line.
type Line = (&'static str, Role, fn(&DeviceRates) -> Option<f64>);

struct Kind {
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    quantity: Quantity,
    lines: &'static [Line],
}

const KINDS: [Kind; 5] = [
    Kind {
        name: "device-iops",
        title: "Requests per second",
        unit: "IOPS",
        quantity: Quantity::Iops,
        lines: &[
            ("reads", Role::Read, |rates| Some(rates.read.per_s)),
            ("writes", Role::Write, |rates| Some(rates.write.per_s)),
        ],
    },
    Kind {
        name: "device-throughput",
        title: "Throughput",
        unit: "MiB/s",
        quantity: Quantity::MibPerS,
        lines: &[
            ("reads", Role::Read, |rates| Some(mib(rates.read.bytes_per_s))),
            ("writes", Role::Write, |rates| Some(mib(rates.write.bytes_per_s))),
        ],
    },
    Kind {
        name: "device-latency",
        title: "Mean latency",
        unit: "",
        quantity: Quantity::LatencyNs,
        lines: &[
            ("reads", Role::Read, |rates| rates.read.latency_ns),
            ("writes", Role::Write, |rates| rates.write.latency_ns),
        ],
    },
    Kind {
        name: "device-queue",
        title: "Requests in flight",
        unit: "mean",
        quantity: Quantity::Count,
        lines: &[("queue", Role::Total, |rates| Some(rates.queue_length))],
    },
    Kind {
        name: "device-busy",
        title: "Time with any request in flight",
        unit: "",
        quantity: Quantity::Percent,
        lines: &[("busy", Role::Total, |rates| Some(rates.busy_percent))],
    },
];

/// The charts of a device.
pub(crate) fn charts(intervals: &[DeviceInterval], device: &str, span: Span) -> Vec<ChartResult> {
    let inside: Vec<DeviceInterval> = intervals.iter().filter(|interval| span.holds(interval)).cloned().collect();
    let steps = course(&inside, device, STEPS_MAX);
    KINDS.iter().map(|kind| chart(kind, &steps, span)).collect()
}

fn chart(kind: &Kind, steps: &[DeviceStep], span: Span) -> ChartResult {
    let series: Vec<Series> = kind.lines.iter().filter_map(|line| line_of(line, steps, span)).collect();
    if series.is_empty() {
        return Err(MissingChart::because(kind.title, "the device had no I/O"));
    }
    let width_ns = steps.first().map_or(0, |step| step.end_unix_ns.saturating_sub(step.start_unix_ns));
    Ok(Chart {
        name: kind.name,
        title: kind.title.to_owned(),
        caption: each_point(width_ns as f64 / 1e9),
        x: span.axis(),
        y: Axis::from_zero(kind.unit, kind.quantity, values(&series).map(|(_, y)| y)),
        series,
        right: None,
        markers: Vec::new(),
    })
}

/// A line; `None` if it has no value but 0. It breaks where nothing is known.
fn line_of((name, role, value): &Line, steps: &[DeviceStep], span: Span) -> Option<Series> {
    let at = |step: &DeviceStep| {
        let y = step.rates.as_ref().and_then(value).filter(|y| y.is_finite()).unwrap_or(f64::NAN);
        (f64::midpoint(span.place(step.start_unix_ns), span.place(step.end_unix_ns)), y)
    };
    let points: Points = steps.iter().map(at).collect();
    let is_any = points.iter().any(|(_, y)| *y > 0.0);
    is_any.then(|| Series { name: (*name).to_owned(), role: *role, marks: Marks::Line(points) })
}
