//! Devices and shares beside the program, over the time axis of the other charts: they show where time is spent.

use super::{middle_s, s, values};
use crate::axis::Axis;
use crate::chart::ChartResult;
use crate::chart::{Chart, Marks, Points, Series};
use crate::foreign_text::text;
use crate::quantity::Quantity;
use crate::role::Role;
use crate::storage;
use model::profile::TimeSpan;
use model::result::Measured;
use model::storage_course::{DeviceCourse, DeviceRequests, DeviceStep, ShareCourse, ShareStep, ShareTransfers};
use stats::overview::{Moment, timeline};

/// Steps of the program's own line: more would not be visible.
const STEPS_MAX: usize = 300;

/// Devices or shares in a chart; tables have the others.
const LINES_MAX: usize = 4;

/// A kind of chart.
struct Kind {
    name: &'static str,
    title: &'static str,
    caption: &'static str,
    /// The value of the program's own line.
    own: fn(&Moment) -> Option<f64>,
    axis: fn(&[Series]) -> Axis,
}

const DEVICE_IOPS: Kind = Kind {
    name: "beside-iops",
    title: "IOPS: program and devices",
    caption: "diskspd: its own I/Os. Devices: requests of all programs, by the kernel's counters.",
    own: |moment| Some(moment.iops.total),
    axis: iops,
};

const DEVICE_LATENCY: Kind = Kind {
    name: "beside-latency",
    title: "Mean latency: program and devices",
    caption: "Means of each interval, of different requests. diskspd: its own I/Os. Devices: requests of all programs, \
              including write-back of cached data. Where a device's line is below diskspd's, the gap is mainly time spent \
              in this machine, above the device, or a durable write is several requests of the device: the data, its \
              journal, and flushes. Where it is above, a cache completed I/Os of diskspd, or the device had other, slower \
              requests.",
    own: |moment| moment.latency_mean_ns,
    axis: latency,
};

const SHARE_IOPS: Kind = Kind {
    name: "share-iops",
    title: "IOPS: program and shares",
    caption: "diskspd: its own I/Os. Shares: reads and writes that this machine sent to the server.",
    own: |moment| Some(moment.iops.total),
    axis: iops,
};

const SHARE_LATENCY: Kind = Kind {
    name: "share-latency",
    title: "Mean latency: program and RPCs",
    caption: "RTT: time in the network and server. Execute minus RTT: mainly time in the client's queue.",
    own: |moment| moment.latency_mean_ns,
    axis: latency,
};

/// Charts of rates and latencies of the program and devices, then of the program and shares, as far as the result has
/// them.
pub(crate) fn charts(span: Option<&TimeSpan>, measured: &Measured) -> Vec<ChartResult> {
    let devices = || measured.devices.iter().take(LINES_MAX);
    let shares = || measured.shares.iter().take(LINES_MAX);
    let charts = [
        chart(&DEVICE_IOPS, measured, devices().map(|device| of_device(device, |requests| Some(requests.iops)))),
        chart(
            &DEVICE_LATENCY,
            measured,
            devices().map(|device| of_device(device, |requests| requests.latency_mean_ns)),
        ),
        chart(&SHARE_IOPS, measured, shares().map(|share| of_share(share, "", |transfers| Some(transfers.iops)))),
        chart(
            &SHARE_LATENCY,
            measured,
            shares().flat_map(|share| {
                [
                    of_share(share, " execute", |transfers| transfers.rpc?.execute_mean_ns),
                    of_share(share, " RTT", |transfers| transfers.rpc?.round_trip_mean_ns),
                ]
            }),
        ),
    ];
    let mut charts: Vec<Chart> = charts.into_iter().flatten().collect();
    let of_devices = charts.iter_mut().find(|chart| chart.name == DEVICE_IOPS.name);
    if let Some(chart) = of_devices.filter(|_| storage::flushes(span, measured)) {
        chart.caption.push_str(storage::FLUSHES_COUNT);
    }
    charts.into_iter().map(Ok).collect()
}

/// The name of a line and its values.
type Line = (String, Points);

/// A figure of a device in each of its steps.
fn of_device(device: &DeviceCourse, figure: fn(&DeviceRequests) -> Option<f64>) -> Line {
    let point = |step: &DeviceStep| (middle_s(step.start_ns, step.end_ns), known(figure(&step.figures.total)));
    (text(&device.device), device.steps.iter().map(point).collect())
}

/// A figure of a share in each of its steps; `what` is appended to its name.
fn of_share(share: &ShareCourse, what: &str, figure: fn(&ShareTransfers) -> Option<f64>) -> Line {
    let point = |step: &ShareStep| (middle_s(step.start_ns, step.end_ns), known(figure(&step.figures.total)));
    (format!("{}{what}", text(&share.source)), share.steps.iter().map(point).collect())
}

/// The program's own line and the others; none if these have no values.
fn chart(kind: &Kind, measured: &Measured, lines: impl Iterator<Item = Line>) -> Option<Chart> {
    let has_values = |(_, points): &Line| points.iter().any(|(_, y)| y.is_finite());
    let others: Vec<Line> = lines.filter(has_values).collect();
    if others.is_empty() {
        return None;
    }
    let moments = timeline(&measured.series, STEPS_MAX);
    let own = moments.iter().map(|moment| (middle_s(moment.start_ns, moment.end_ns), known((kind.own)(moment))));
    let own = ("diskspd".to_owned(), own.collect());
    // The counters are read a moment after the measurement.
    let end_s = s(measured.elapsed_ns);
    let in_time = |points: Points| points.into_iter().map(|(x, y)| (x.min(end_s), y)).collect();
    let line = |(index, (name, points)): (usize, Line)| {
        let role = if index == 0 { Role::Total } else { Role::of_line([0, 1, 2, 3, 5, 6, 7][(index - 1) % 7]) };
        Series { name, role, marks: Marks::Line(in_time(points)) }
    };
    let all = std::iter::once(own).filter(has_values).chain(others);
    let series: Vec<Series> = all.enumerate().map(line).collect();
    Some(Chart {
        name: kind.name,
        title: kind.title.to_owned(),
        caption: kind.caption.to_owned(),
        x: Axis::linear("", Quantity::TimeS, 0.0, end_s),
        y: (kind.axis)(&series),
        series,
        right: None,
        markers: Vec::new(),
    })
}

fn iops(series: &[Series]) -> Axis {
    Axis::from_zero("IOPS", Quantity::Iops, values(series).map(|(_, y)| y))
}

fn latency(series: &[Series]) -> Axis {
    Axis::log("mean latency", Quantity::LatencyNs, values(series).map(|(_, y)| y))
}

/// An unknown value as NaN, which breaks the line.
fn known(value: Option<f64>) -> f64 {
    value.filter(|value| value.is_finite()).unwrap_or(f64::NAN)
}
