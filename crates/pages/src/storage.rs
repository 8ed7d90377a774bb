//! Tables of the devices and shares below the targets.

use super::block::{Column, Table};
use super::foreign_text::text;
use super::quantity::{Quantity, grouped, latency, significant};
use model::result::Measured;
use model::storage_course::{DeviceCourse, DeviceFigures};
use model::units::mib;
use render::storage_table;

/// Both, as far as the result has them.
pub(super) fn tables(measured: &Measured) -> [Option<Table>; 2] {
    [devices(measured), shares(measured)]
}

/// The devices over the measurement.
fn devices(measured: &Measured) -> Option<Table> {
    let row = |device: &str, figure: &str, figures: &DeviceFigures| {
        let DeviceFigures { read, write, total, queue_depth, busy_percent } = figures;
        let time = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), latency);
        vec![
            text(device.as_bytes()),
            figure.to_owned(),
            rate(read.iops),
            rate(write.iops),
            rate(mib(total.bytes_per_s)),
            time(read.latency_mean_ns),
            time(write.latency_mean_ns),
            significant(*queue_depth),
            Quantity::Percent.value(*busy_percent),
        ]
    };
    let rows_of =
        |DeviceCourse { device, mean, max, .. }: &DeviceCourse| [row(device, "mean", mean), row(device, "max", max)];
    let numbers = ["reads/s", "writes/s", "MiB/s", "read latency", "write latency", "queue depth", "busy"];
    (!measured.devices.is_empty()).then(|| Table {
        heading: "Devices over the measurement".to_owned(),
        columns: ["device", "figure"].map(Column::text).into_iter().chain(numbers.map(Column::number)).collect(),
        rows: measured.devices.iter().flat_map(rows_of).collect(),
        note: "Requests of all programs, by the kernel's counters (/sys/block/*/stat).".to_owned(),
        ..Table::default()
    })
}

fn rate(per_s: f64) -> String {
    if per_s >= 1000.0 { grouped(per_s) } else { significant(per_s) }
}

/// The shares over the measurement.
fn shares(measured: &Measured) -> Option<Table> {
    let table = storage_table::of_shares(&measured.shares);
    (!measured.shares.is_empty()).then(|| Table {
        heading: "Shares over the measurement".to_owned(),
        note: "Requests of all programs of this machine, by the kernel's counters (/proc/self/mountstats, \
               /proc/fs/cifs/Stats). RTT: from sending to the reply; queue: before sending; execute: the whole RPC."
            .to_owned(),
        ..Table::judged_first(&table, table.header())
    })
}
