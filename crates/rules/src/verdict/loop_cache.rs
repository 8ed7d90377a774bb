//! Writes that a loop device keeps in the page cache of its backing file.

use super::RuleContext;
use model::block_device::{BlockDevice, DeviceKind};
use model::ledger::Account;
use model::result::Row;

/// The loop device below a target that keeps writes in the page cache.
pub(super) fn cached_loop<'a>(context: &RuleContext<'a>, target: usize) -> Option<&'a BlockDevice> {
    let devices = context.environment(target)?.devices();
    let is_cached = |device: &&BlockDevice| matches!(device.kind, DeviceKind::Loop { direct: Some(false), .. });
    devices.into_iter().flat_map(BlockDevice::walk).find(is_cached)
}

/// True if `loop-cached-writes` reports these writes.
pub(super) fn is_cached_by_loop(context: &RuleContext<'_>, account: &Account) -> bool {
    let rows = context.measured.rows.iter().filter(|row| account.targets.contains(&row.target));
    let mut rows = rows.filter(|row| may_stay_in_cache(context, row) && cached_loop(context, row.target).is_some());
    context.span.flushes().is_none() && rows.next().is_some()
}

/// True if writes of the row bypass the page cache, and nothing makes them durable.
pub(super) fn may_stay_in_cache(context: &RuleContext<'_>, row: &Row) -> bool {
    let open = context.target(row.target).map(|target| target.open).unwrap_or_default();
    let is_mapped = context.work.workers_on(row.target).any(|work| work.mapped.is_some());
    open.direct && !open.write_through && !is_mapped && context.reaches_kernel(row.target)
}
