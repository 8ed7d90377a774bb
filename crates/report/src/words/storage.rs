//! Devices and shares over the measurement.

use crate::words::numbers::ms;
use crate::words::plain_table::PlainTable;
use model::storage_course::{DeviceCourse, DeviceFigures, RpcFigures, ShareCourse, ShareFigures};
use model::units::mib;

/// Mean and highest values of devices.
pub fn of_devices(devices: &[DeviceCourse]) -> PlainTable {
    let header =
        ["device", "figure", "reads/s", "writes/s", "MiB/s", "read (ms)", "write (ms)", "queue depth", "busy (%)"];
    let mut table = PlainTable::new(header, 2..header.len());
    for DeviceCourse { device, mean, max, .. } in devices {
        table.add(device_row(device, "mean", mean));
        table.add(device_row(device, "max", max));
    }
    table
}

fn device_row(device: &str, figure: &str, figures: &DeviceFigures) -> [String; 9] {
    let DeviceFigures { read, write, total, queue_depth, busy_percent } = figures;
    [
        device.to_owned(),
        figure.to_owned(),
        format!("{:.2}", read.iops),
        format!("{:.2}", write.iops),
        format!("{:.2}", mib(total.bytes_per_s)),
        milliseconds(read.latency_mean_ns),
        milliseconds(write.latency_mean_ns),
        format!("{queue_depth:.1}"),
        format!("{busy_percent:.1}"),
    ]
}

/// Mean and highest values of shares; times if any of them has some.
pub fn of_shares(shares: &[ShareCourse]) -> PlainTable {
    let mut header = vec!["share", "figure", "reads/s", "writes/s", "MiB/s"];
    if shares.iter().any(|share| share.mean.total.rpc.is_some()) {
        header.extend(["RTT (ms)", "queue (ms)", "execute (ms)", "retransmits/s"]);
    }
    let columns = header.len();
    let mut table = PlainTable::new(header, 2..columns);
    for ShareCourse { source, mean, max, .. } in shares {
        table.add(share_row(source, "mean", mean).into_iter().take(columns));
        table.add(share_row(source, "max", max).into_iter().take(columns));
    }
    table
}

fn share_row(share: &str, figure: &str, figures: &ShareFigures) -> [String; 9] {
    let ShareFigures { read, write, total } = figures;
    let time = |of: fn(&RpcFigures) -> Option<f64>| milliseconds(total.rpc.as_ref().and_then(of));
    [
        share.to_owned(),
        figure.to_owned(),
        format!("{:.2}", read.iops),
        format!("{:.2}", write.iops),
        format!("{:.2}", mib(total.bytes_per_s)),
        time(|rpc| rpc.round_trip_mean_ns),
        time(|rpc| rpc.queue_mean_ns),
        time(|rpc| rpc.execute_mean_ns),
        total.rpc.map_or_else(|| "-".to_owned(), |rpc| format!("{:.2}", rpc.retransmissions_per_s)),
    ]
}

fn milliseconds(ns: Option<f64>) -> String {
    ns.map_or_else(|| "-".to_owned(), |ns| format!("{:.3}", ms(ns)))
}
