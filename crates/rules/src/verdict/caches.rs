//! Whether the I/Os reached the device that the figures are taken for.

use super::{RuleContext, VerdictRule, stack};
use crate::rule::{Observation, percent};
use model::block_device::{BlockDevice, DeviceKind};
use model::environment::Backing;
use model::finding::Severity;
use model::kernel_counters::{CacheCounters, ZFS_CACHE};
use model::result::Row;
use std::collections::BTreeMap;

pub(super) const RULES: &[VerdictRule] = &[
    VerdictRule {
        name: "served-from-cache",
        severity: Severity::Invalid,
        unit: "percent",
        computed_from: "with `-Su`: the bytes that the run read are compared with the bytes that /sys/block/*/stat \
                        counted for each underlying device. Reported if the count of a device falls short by more than \
                        2 % plus an allowance for 50 ms of I/O and for the I/Os that may be outstanding (-o times the \
                        block size). Only for block devices and for files on ext2-4, xfs or vfat, and only if these \
                        are on a single disk, with nothing but partitions and loop devices in between. Also computed \
                        from the hits and misses that caches count themselves: ZFS (demand_data_hits, \
                        demand_data_misses and prefetch_data_misses in arcstats), bcache (cache_hits and cache_misses \
                        in stats_total) and dm-cache (hits and misses in its status). The reads served by such a cache \
                        are the run's reads minus all misses, but no more than the hits. Reported above the same \
                        threshold, as a percentage of the reads; not checked if hits and misses together are fewer \
                        than the run's reads",
        advice: "bypass the caches, or use a working set larger than the cache: the reads came from memory (because \
                 the file system does not enforce -Su, or a loop device uses a cached file) or from the cache disk of \
                 bcache or dm-cache",
        evaluate: |context| {
            let mut observations = served_from_cache(context);
            observations.extend(counted_by_caches(context));
            observations
        },
    },
    VerdictRule {
        name: "writes-in-memory",
        severity: Severity::Warn,
        unit: "percent",
        computed_from: "growth of dirty and writeback data during the measurement, as a share of the bytes that the \
                        run wrote through the page cache, if above 2 %. From Linux 6.5, and with at most 100 targets, \
                        cachestat counts this data for the targets alone. Otherwise Dirty and Writeback in \
                        /proc/meminfo are used, which include writes by other programs",
        advice: "bypass the page cache (-Su, -Sh), write through it (-Sw), or write more than fits in memory: \
                 otherwise, the run measures memory",
        evaluate: |context| writes_in_memory(context).into_iter().collect(),
    },
];

/// Reads past the cache that a device below did not see.
fn served_from_cache(context: &RuleContext<'_>) -> Vec<Observation> {
    let Some(around) = &context.span_result.kernel_counters else { return Vec::new() };
    let counted = around.after.since(&around.before);
    // Rows by the device below them, if the stack is a simple chain.
    let mut by_device: BTreeMap<&str, (Vec<&str>, Vec<&Row>)> = BTreeMap::new();
    for row in &context.measured.rows {
        let Some(chain) = stack::chain(context, row.target) else { continue };
        let names: Vec<&str> = chain.iter().map(|device| device.name.as_str()).collect();
        by_device.entry(names[0]).or_insert_with(|| (names, Vec::new())).1.push(row);
    }
    let mut observations = Vec::new();
    for (chain, rows) in by_device.into_values() {
        if !rows.iter().all(|row| context.meant_the_device(row)) {
            continue;
        }
        let issued: u64 = rows.iter().map(|row| row.figures.read.bytes).sum();
        let at_device = |name: &&&str| counted.devices.get(**name).map(|counters| counters.read.bytes);
        // The one that saw the least is below the cache.
        let seen = chain.iter().filter_map(|name| Some((at_device(&name)?, name))).min();
        let Some((bytes, name)) = seen.filter(|_| issued > 0) else { continue };
        // The device may have transferred what was outstanding when the measurement began before it did.
        let early = context.outstanding_bytes(&rows.iter().map(|row| row.target).collect());
        let missing = issued.saturating_sub(bytes) as f64 / issued as f64;
        if missing - early as f64 / issued as f64 > context.slack() {
            let figure = format!("{} of the bytes read did not come from {name}", percent(missing));
            observations.push(Observation::new(figure, missing * 100.0).of(*name));
        }
    }
    observations
}

/// Reads past the page cache that another cache served, as it counts itself.
fn counted_by_caches(context: &RuleContext<'_>) -> Vec<Observation> {
    let Some(around) = &context.span_result.kernel_counters else { return Vec::new() };
    let counted = around.after.since(&around.before).caches;
    let observation = |(name, counters): (String, CacheCounters)| {
        let rows = context.measured.rows.iter().filter(|row| context.meant_the_device(row));
        let ios = rows.filter(|row| stands_on(context, row, &name)).map(|row| row.figures.read.ios).sum();
        let share = served_share(ios, counters)?;
        let figure =
            format!("at least {} of the reads were served by {name}, according to its counters", percent(share));
        (share > context.slack()).then(|| Observation::new(figure, share * 100.0).of(name))
    };
    counted.into_iter().filter_map(observation).collect()
}

/// The part of our reads that a cache must have served, whatever else it did: others hit and miss it too, and
/// it may count an I/O as several.
fn served_share(ios: u64, counters: CacheCounters) -> Option<f64> {
    // Otherwise an unknown part of the reads bypassed it.
    let all_came_to_it = counters.read_hits.saturating_add(counters.read_misses) >= ios;
    let served = ios.saturating_sub(counters.read_misses).min(counters.read_hits);
    (ios > 0 && all_came_to_it).then(|| served as f64 / ios as f64)
}

fn stands_on(context: &RuleContext<'_>, row: &Row, cache: &str) -> bool {
    let Some(environment) = context.environment(row.target) else { return false };
    let devices: Vec<&BlockDevice> = environment.devices().into_iter().flat_map(BlockDevice::walk).collect();
    match cache {
        ZFS_CACHE => {
            let is_volume = |device: &&BlockDevice| device.kind == DeviceKind::ZfsVolume;
            matches!(environment.backing, Backing::Zfs(_)) || devices.iter().any(is_volume)
        }
        name => devices.iter().any(|device| device.name == name),
    }
}

/// Buffered writes that memory still held when the measurement ended.
fn writes_in_memory(context: &RuleContext<'_>) -> Option<Observation> {
    let around = context.span_result.kernel_counters.as_ref()?;
    let of_targets = around.before.dirty_of_targets.zip(around.after.dirty_of_targets);
    let (before, after) = of_targets.or_else(|| around.before.dirty.zip(around.after.dirty))?;
    let is_buffered = |row: &&Row| {
        let open = context.target(row.target).map(|target| target.open).unwrap_or_default();
        let on_disk = context.environment(row.target).is_some_and(|below| !below.devices().is_empty());
        open.is_written_back() && on_disk && context.reaches_kernel(row.target)
    };
    let written: u64 = context.measured.rows.iter().filter(is_buffered).map(|row| row.figures.write.bytes).sum();
    let left = after.total_bytes().saturating_sub(before.total_bytes()).min(written);
    let share = left as f64 / written as f64;
    let figure = format!("{} of the data written was still in memory at the end", percent(share));
    (written > 0 && share > super::WORTH_A_WARNING).then(|| Observation::new(figure, share * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::{BYTES, Built, IOS};
    use model::engine_kind::EngineKind;
    use model::kernel_counters::DirtyMemory;

    /// Reads past the cache of which these bytes came from the partition and from the disk.
    fn direct(partition_bytes: u64, disk_bytes: u64) -> Built {
        let mut built = Built::sound();
        built.plan().targets[0].open.direct = true;
        built.counted("sda1").read.bytes = partition_bytes;
        built.counted("sda").read.bytes = disk_bytes;
        built
    }

    #[test]
    fn reads_that_came_from_the_device_are_silent() {
        assert_eq!(direct(BYTES, BYTES).found(RULES), [""; 0]);
        assert_eq!(direct(BYTES, 3 * BYTES).found(RULES), [""; 0], "others read too");
        assert_eq!(direct(BYTES - BYTES / 50, BYTES).found(RULES), [""; 0], "2 %");
    }

    #[test]
    fn reads_that_no_device_saw_make_it_invalid() {
        assert_eq!(
            direct(BYTES, BYTES / 4).found(RULES),
            ["INVALID served-from-cache: 75.0 % of the bytes read did not come from sda"]
        );
        assert_eq!(
            direct(0, BYTES).found(RULES),
            ["INVALID served-from-cache: 100.0 % of the bytes read did not come from sda1"]
        );
    }

    #[test]
    fn where_the_device_was_not_meant_or_is_not_understood_it_is_silent() {
        let mut buffered = direct(0, 0);
        buffered.plan().targets[0].open.direct = false;
        assert_eq!(buffered.found(RULES), [""; 0]);
        let mut null = direct(0, 0);
        null.span_result().engines = vec![EngineKind::Null];
        assert_eq!(null.found(RULES), [""; 0]);
        let mut compressed = direct(0, 0);
        compressed.stands_on("btrfs");
        assert_eq!(compressed.found(RULES), [""; 0]);
        let mut uncounted = direct(0, 0);
        uncounted.span_result().kernel_counters = None;
        assert_eq!(uncounted.found(RULES), [""; 0]);
    }

    /// Reads past the page cache, from bcache or ZFS, with these hits and misses.
    fn cached(backing: Backing, name: &str, read_hits: u64, read_misses: u64) -> Vec<String> {
        let mut built = Built::sound();
        built.plan().targets[0].open.direct = true;
        built.result.targets.environments.values_mut().next().expect("the target").backing = backing;
        let around = built.span_result().kernel_counters.get_or_insert_default();
        let counters = |hits, misses| CacheCounters { read_hits: hits, read_misses: misses };
        around.before.caches = [(name.to_owned(), counters(5, 7))].into();
        around.after.caches = [(name.to_owned(), counters(5 + read_hits, 7 + read_misses))].into();
        built.found(RULES)
    }

    #[test]
    fn reads_that_a_cache_counts_as_its_own_make_it_invalid() {
        let on_bcache = |hits, misses| {
            let kind = DeviceKind::Bcache { cache_mode: None, state: None };
            let device = BlockDevice { name: "bcache0".to_owned(), kind, ..BlockDevice::default() };
            cached(Backing::Devices(vec![device]), "bcache0", hits, misses)
        };
        assert_eq!(on_bcache(0, IOS), [""; 0]);
        assert_eq!(on_bcache(IOS / 100, IOS - IOS / 100), [""; 0], "1 %");
        let found = [
            "INVALID served-from-cache: at least 60.0 % of the reads were served by bcache0, according to its counters",
        ];
        assert_eq!(on_bcache(IOS * 6 / 10, IOS * 4 / 10), found);
        assert_eq!(on_bcache(5 * IOS, IOS * 4 / 10), found, "others hit it too");
        assert_eq!(on_bcache(IOS, IOS), [""; 0], "the hits may be those of others");
        assert_eq!(on_bcache(IOS / 2, 0), [""; 0], "not all went by it");
    }

    #[test]
    fn only_caches_below_the_target_count() {
        let zfs = || Backing::Zfs(model::environment::ZfsDataset::default());
        assert!(cached(zfs(), ZFS_CACHE, IOS, 0)[0].contains("at least 100.0 % of the reads were served by ZFS ARC"));
        assert_eq!(cached(Backing::Unknown, ZFS_CACHE, IOS, 0), [""; 0]);
        assert_eq!(cached(zfs(), "bcache0", IOS, 0), [""; 0]);
    }

    /// Buffered writes, with these dirty bytes before and after.
    fn dirty(before: u64, after: u64) -> Built {
        let mut built = Built::sound();
        let row = &mut built.measured().rows[0].figures;
        (row.write, row.read) = (row.read, row.write);
        let around = built.span_result().kernel_counters.get_or_insert_default();
        let dirty = |dirty_bytes| Some(DirtyMemory { dirty_bytes: dirty_bytes / 2, writeback_bytes: dirty_bytes / 2 });
        (around.before.dirty, around.after.dirty) = (dirty(before), dirty(after));
        built
    }

    #[test]
    fn writes_that_memory_still_holds_are_warned_of() {
        assert_eq!(dirty(BYTES, BYTES).found(RULES), [""; 0], "no more than before");
        assert_eq!(dirty(0, BYTES / 100).found(RULES), [""; 0], "next to nothing");
        let found = dirty(0, BYTES / 2).found(RULES);
        assert_eq!(found, ["WARN writes-in-memory: 50.0 % of the data written was still in memory at the end"]);
        let mut through = dirty(0, BYTES / 2);
        through.plan().targets[0].open.write_through = true;
        assert_eq!(through.found(RULES), [""; 0]);
    }

    #[test]
    fn what_is_known_of_the_targets_counts_and_not_that_of_others() {
        let found = |after: u64| {
            let mut built = dirty(0, BYTES / 2);
            let around = built.span_result().kernel_counters.get_or_insert_default();
            let of_targets = |dirty_bytes| Some(DirtyMemory { dirty_bytes, writeback_bytes: 0 });
            (around.before.dirty_of_targets, around.after.dirty_of_targets) = (of_targets(0), of_targets(after));
            built.found(RULES)
        };
        assert_eq!(found(BYTES / 100), [""; 0]);
        assert_eq!(
            found(BYTES / 4),
            ["WARN writes-in-memory: 25.0 % of the data written was still in memory at the end"]
        );
    }
}
