//! Tables of the devices and shares below the targets.

use super::block::Table;
use model::result::Measured;
use render::storage_table;

/// Both, as far as the result has them.
pub(super) fn tables(measured: &Measured) -> [Option<Table>; 2] {
    [devices(measured), shares(measured)]
}

/// The devices over the measurement.
fn devices(measured: &Measured) -> Option<Table> {
    let table = storage_table::of_devices(&measured.devices);
    (!measured.devices.is_empty()).then(|| Table {
        heading: "Devices over the measurement".to_owned(),
        note: "Requests of all programs, by the kernel's counters (/sys/block/*/stat).".to_owned(),
        ..Table::judged_first(&table, table.header())
    })
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
