//! Tables of the devices and shares below the targets.

use super::block::{Column, Table};
use super::foreign_text::text;
use super::quantity::{Quantity, grouped, latency, significant};
use crate::words::storage;
use model::plan::OpenPlan;
use model::profile::{Target, TimeSpan};
use model::result::Measured;
use model::storage_course::{DeviceCourse, DeviceFigures};
use model::units::mib;

/// Both, as far as the result has them.
pub(crate) fn tables(span: Option<&TimeSpan>, measured: &Measured) -> [Option<Table>; 2] {
    [devices(measured, flushes(span, measured)), shares(measured)]
}

/// Why a device has more writes than the run that flushes them.
pub(crate) const FLUSHES_COUNT: &str = " This run flushes what it writes: the kernel counts flushes of a device's cache, and \
                                        the journal of the file system, as writes of the device, and \
                                        in its depth.";

/// True if writes were made durable one by one.
pub(crate) fn flushes(span: Option<&TimeSpan>, measured: &Measured) -> bool {
    let is_through = |target: &Target, span| OpenPlan::new(span, target).write_through;
    let is_any_through = span.is_some_and(|span| span.targets.iter().any(|target| is_through(target, span)));
    measured.total.write.ios > 0 && (measured.flushes.is_some() || is_any_through)
}

/// The devices over the measurement.
fn devices(measured: &Measured, flushes: bool) -> Option<Table> {
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
        note: format!(
            "Requests of all programs, by the kernel's counters (/sys/block/*/stat).{}",
            if flushes { FLUSHES_COUNT } else { "" }
        ),
        ..Table::default()
    })
}

fn rate(per_s: f64) -> String {
    if per_s >= 1000.0 { grouped(per_s) } else { significant(per_s) }
}

/// The shares over the measurement.
fn shares(measured: &Measured) -> Option<Table> {
    let table = storage::of_shares(&measured.shares);
    (!measured.shares.is_empty()).then(|| Table {
        heading: "Shares over the measurement".to_owned(),
        note: "Requests of all programs of this machine, by the kernel's counters (/proc/self/mountstats, \
               /proc/fs/cifs/Stats). RTT: from sending to the reply; queue: before sending; execute: the whole RPC."
            .to_owned(),
        ..Table::judged_first(&table, table.header())
    })
}
