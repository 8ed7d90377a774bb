//! The devices that a target's I/O passes, if they are certain.

use super::RuleContext;
use model::block_device::{BlockDevice, DeviceKind};
use model::environment::Backing;
use model::figures::Figures;
use model::kernel_counters::DeviceCounters;
use model::plan::WorkerTarget;
use model::result::Row;
use stats::ledger::PLAIN_FILE_SYSTEMS;
use std::collections::{BTreeMap, BTreeSet};

/// The device of a target and those below it, each the only one of the device above; `None` if more than one disk, or a
/// layer that caches or changes data, is in the way.
pub(super) fn chain<'a>(context: &RuleContext<'a>, target: usize) -> Option<Vec<&'a BlockDevice>> {
    let environment = context.environment(target)?;
    if environment.mount.as_ref().is_some_and(|mount| !PLAIN_FILE_SYSTEMS.contains(&mount.file_system.as_str())) {
        return None;
    }
    let Backing::Devices(devices) = &environment.backing else { return None };
    let [top] = devices.as_slice() else { return None };
    let mut chain = vec![top];
    let mut device = top;
    while !matches!(device.kind, DeviceKind::Disk) {
        let passes_on = matches!(device.kind, DeviceKind::Partition { .. } | DeviceKind::Loop { .. });
        let [below] = device.below.as_slice() else { return None };
        if !passes_on {
            return None;
        }
        chain.push(below);
        device = below;
    }
    Some(chain)
}

/// A disk or loop device, and all I/O of the run on it, which bypasses the page cache.
pub(super) struct DeviceIo<'a> {
    pub(super) device: &'a BlockDevice,
    /// Its counters during the measurement.
    pub(super) counted: DeviceCounters,
    pub(super) rows: Vec<&'a Row>,
}

/// I/Os and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Amount {
    pub(super) ios: u64,
    pub(super) bytes: u64,
}

impl DeviceIo<'_> {
    /// Reads of the run.
    pub(super) fn reads(&self) -> Amount {
        self.sum(|row| &row.figures.read)
    }

    /// Writes of the run.
    pub(super) fn writes(&self) -> Amount {
        self.sum(|row| &row.figures.write)
    }

    /// Bytes of the run that the device may have transferred before this program counted them, or vice versa.
    pub(super) fn outstanding_bytes(&self, context: &RuleContext<'_>) -> u64 {
        context.outstanding_bytes(&self.rows.iter().map(|row| row.target).collect())
    }

    /// True if a file system is between some of it and the device.
    pub(super) fn has_file_system(&self, context: &RuleContext<'_>) -> bool {
        let environment = |row: &&Row| context.environment(row.target);
        self.rows.iter().filter_map(environment).any(|environment| environment.mount.is_some())
    }

    fn sum(&self, direction: fn(&Row) -> &Figures) -> Amount {
        let figures = self.rows.iter().map(|row| direction(row));
        figures.fold(Amount::default(), |sum, figures| Amount {
            ios: sum.ios.saturating_add(figures.ios),
            bytes: sum.bytes.saturating_add(figures.bytes),
        })
    }
}

/// The devices at which requests of the run wait, if all of the run's I/O on them is known to arrive there unchanged.
pub(super) fn by_device<'a>(context: &RuleContext<'a>) -> Vec<DeviceIo<'a>> {
    let Some(around) = &context.span_result.kernel_counters else { return Vec::new() };
    let counted = around.after.since(&around.before);
    let mut devices: BTreeMap<&str, (&BlockDevice, Vec<&Row>)> = BTreeMap::new();
    for row in &context.measured.rows {
        // Partitions have no queue of their own.
        let queue = |device: &&BlockDevice| !matches!(device.kind, DeviceKind::Partition { .. });
        let Some(device) = chain(context, row.target).and_then(|chain| chain.into_iter().find(queue)) else { continue };
        devices.entry(&device.name).or_insert_with(|| (device, Vec::new())).1.push(row);
    }
    let touching = rows_touching(context);
    let known = devices.into_values().filter_map(|(device, rows)| {
        let counted = *counted.devices.get(&device.name)?;
        Some(DeviceIo { device, counted, rows })
    });
    let all_arrive = |on: &DeviceIo<'_>| {
        touching.get(on.device.name.as_str()) == Some(&on.rows.len())
            && on.rows.iter().all(|row| context.meant_the_device(row) && !changes_without_data(context, row))
    };
    known.filter(all_arrive).collect()
}

/// True if some I/Os of a row become requests that depend on the device: discards, or write-zeroes.
fn changes_without_data(context: &RuleContext<'_>, row: &Row) -> bool {
    context.work.workers_on(row.target).any(WorkerTarget::changes_without_data)
}

/// Number of rows on each device, including rows with I/O that need not reach it.
fn rows_touching<'a>(context: &RuleContext<'a>) -> BTreeMap<&'a str, usize> {
    let mut touching = BTreeMap::new();
    for row in &context.measured.rows {
        let environment = context.environment(row.target);
        let below = environment.into_iter().flat_map(|below| below.devices()).flat_map(BlockDevice::walk);
        let names: BTreeSet<&str> = below.map(|device| device.name.as_str()).collect();
        for name in names {
            *touching.entry(name).or_default() += 1;
        }
    }
    touching
}
