//! I/Os that did not reach storage: one rule, by the ledger, for each direction.

use super::{RuleContext, VerdictRule, loop_cache};
use crate::rule::{Observation, percent};
use model::environment::Backing;
use model::finding::Severity;
use model::kernel_counters::CacheCounters;
use model::ledger::{Account, CacheUse};
use model::operation::Operation;
use model::units::mib;
use stats::ledger::KERNEL;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

pub(super) const RULES: &[VerdictRule] = &[
    VerdictRule {
        name: "served-from-cache",
        severity: Severity::Invalid,
        unit: "percent",
        computed_from: "with `-Su` or `-Sh`: the bytes that the run read are compared with those that reached storage, by \
                        the [ledger](measurement.md#bytes-asked-and-bytes-at-storage): the fewest that the kernel \
                        fetched for this process, or that one of the levels below the target counted. Reported if they \
                        fall short by more than 2 % plus an allowance for 50 ms of I/O and for the I/Os that may be \
                        outstanding (-o times the block size); WARN up to 10 %. Not for targets with `unwritten-target`. \
                        Also computed from the hits and misses that caches count themselves: ZFS (demand_data_hits, \
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
        severity: Severity::Invalid,
        unit: "percent",
        computed_from: "the bytes that the run wrote are compared with those that reached storage, by the \
                        [ledger](measurement.md#bytes-asked-and-bytes-at-storage). Data written again before it left \
                        memory and data that memory still held at the end did not reach it. From Linux 6.5, and with at \
                        most 100 targets, cachestat counts the latter for the targets alone; otherwise Dirty and \
                        Writeback in /proc/meminfo are used, which include writes by other programs. Same threshold as \
                        `served-from-cache`. WARN for writes through the page cache without `-Sw`, whatever the share",
        advice: "bypass the page cache (-Su, -Sh), write through it (-Sw), or write more than fits in memory: \
                 otherwise, the run measures memory",
        evaluate: writes_in_memory,
    },
    VerdictRule {
        name: "served-from-memory",
        severity: Severity::Warn,
        unit: "percent",
        computed_from: "the bytes that the run read through the page cache or from a mapping are compared with those \
                        that reached storage, as for `served-from-cache`, mostly by the bytes that the kernel fetched for \
                        this process (read_bytes in /proc/self/io, without the direct reads of the run). The value is a \
                        percentage of these reads, and a lower bound, because read-ahead fetches more than is read",
        advice: "bypass the page cache (-Su, -Sh), or read more than fits in memory: the figures are mostly those of \
                 memory, not of the device",
        evaluate: served_from_memory,
    },
    VerdictRule {
        name: "uncounted-bytes",
        severity: Severity::Note,
        unit: "bytes",
        computed_from: "bytes that the run read or wrote on storage where nothing counts how many reached a device: file \
                        systems that a process serves (FUSE), shares without counters, ZFS, file systems that may \
                        compress other than btrfs, and stacks of devices whose lower part cannot be seen",
        advice: "whether caches served these I/Os is unknown: compare with the counters of the server or of the layer \
                 below",
        evaluate: uncounted,
    },
];

/// Share of I/O missing at storage above which results of I/O that bypasses caches are invalid.
pub(super) const INVALID_SHARE: f64 = 0.1;

/// Hit shares at which reads mix the latencies of two devices.
const MIXED: RangeInclusive<f64> = 0.05..=0.95;

const MIXED_ADVICE: &str = "the latencies are those of the cache and of the device behind it together: measure a hot and a \
                            cold range apart, as two streams (docs/placement.md)";

/// I/O of which a part did not reach storage.
pub(super) struct Shortfall<'a> {
    pub(super) account: &'a Account,
    /// Least share of the requested bytes.
    pub(super) share: f64,
}

impl Shortfall<'_> {
    /// INVALID if I/O that was to reach storage did not, else WARN.
    pub(super) fn severity(&self) -> Severity {
        let was_promised = self.account.cache_use != CacheUse::Cached;
        if was_promised && self.share > INVALID_SHARE { Severity::Invalid } else { Severity::Warn }
    }
}

/// The one rule: requested bytes against bytes that reached storage.
pub(super) fn shortfalls<'a>(context: &'a RuleContext<'_>, operation: Operation) -> Vec<Shortfall<'a>> {
    let accounts = context.ledger().into_iter().flat_map(|ledger| &ledger.accounts);
    let shortfall = |account: &'a Account| {
        // I/Os outstanding at the start of the measurement may have reached the device before.
        let early = context.outstanding_bytes(&account.targets.iter().copied().collect());
        let missing = account.asked_bytes.saturating_sub(account.reached_bytes?).saturating_sub(early);
        let share = missing as f64 / account.asked_bytes as f64;
        (share > context.slack()).then_some(Shortfall { account, share })
    };
    accounts.filter(|account| account.operation == operation).filter_map(shortfall).collect()
}

/// True if the targets are known to be in memory, or without data: other findings report that.
fn is_known(context: &RuleContext<'_>, account: &Account) -> bool {
    let mut targets = account.targets.iter().filter_map(|target| context.span.targets.get(*target));
    is_in_memory(context, account) || targets.any(|target| context.unwritten().contains(target.path.as_path()))
}

fn is_in_memory(context: &RuleContext<'_>, account: &Account) -> bool {
    let mut environments = account.targets.iter().filter_map(|target| context.environment(*target));
    environments.any(|below| matches!(below.backing, Backing::Memory))
}

/// The level where bytes were missing.
fn level(account: &Account) -> &str {
    if account.level == KERNEL { &account.storage } else { &account.level }
}

/// Reads past the page cache that storage did not see.
fn served_from_cache(context: &RuleContext<'_>) -> Vec<Observation> {
    let direct =
        |found: &Shortfall<'_>| found.account.cache_use == CacheUse::Direct && !is_known(context, found.account);
    let observation = |found: Shortfall<'_>| {
        let name = level(found.account);
        let figure = format!("at least {} of the bytes read did not come from {name}", percent(found.share));
        Observation::new(figure, found.share * 100.0).with_subject(name).with_severity(found.severity())
    };
    shortfalls(context, Operation::Read).into_iter().filter(direct).map(observation).collect()
}

/// Reads through the page cache that storage did not see.
fn served_from_memory(context: &RuleContext<'_>) -> Vec<Observation> {
    let cached =
        |found: &Shortfall<'_>| found.account.cache_use == CacheUse::Cached && !is_in_memory(context, found.account);
    let observation = |found: Shortfall<'_>| {
        let reached = found.account.reached_bytes.unwrap_or_default();
        let figure = format!(
            "at least {} of the bytes read through the page cache came from memory; the run read {:.1} MiB/s from {}",
            percent(found.share),
            mib(reached as f64) / context.elapsed_s(),
            level(found.account)
        );
        Observation::new(figure, found.share * 100.0).with_subject(&found.account.storage)
    };
    shortfalls(context, Operation::Read).into_iter().filter(cached).map(observation).collect()
}

/// Writes that storage did not see, unless the cache of a loop device took them.
fn writes_in_memory(context: &RuleContext<'_>) -> Vec<Observation> {
    let is_other = |found: &Shortfall<'_>| {
        !is_known(context, found.account) && !loop_cache::is_cached_by_loop(context, found.account)
    };
    let observation = |found: Shortfall<'_>| {
        let left = found.account.dirty_left_bytes.filter(|bytes| *bytes > 0);
        let left = left.map(|bytes| format!("; {:.1} MiB were in memory at the end", mib(bytes as f64)));
        let name = level(found.account);
        let figure = format!(
            "at least {} of the bytes written never reached {name}{}",
            percent(found.share),
            left.unwrap_or_default()
        );
        Observation::new(figure, found.share * 100.0).with_subject(name).with_severity(found.severity())
    };
    shortfalls(context, Operation::Write).into_iter().filter(is_other).map(observation).collect()
}

/// I/O on storage without counters.
fn uncounted(context: &RuleContext<'_>) -> Vec<Observation> {
    let accounts = || context.ledger().into_iter().flat_map(|ledger| &ledger.accounts);
    let fell_short: Vec<&Account> = Operation::TRANSFERS
        .into_iter()
        .flat_map(|operation| shortfalls(context, operation))
        .map(|found| found.account)
        .collect();
    let mut storages: BTreeMap<&str, u64> = BTreeMap::new();
    for account in accounts().filter(|account| !account.is_complete && !fell_short.contains(account)) {
        *storages.entry(&account.storage).or_default() += account.asked_bytes;
    }
    let observation = |(storage, bytes): (&str, u64)| {
        let figure = format!(
            "unknown how many of the {:.1} MiB transferred reached a device below {storage}",
            mib(bytes as f64)
        );
        Observation::new(figure, bytes as f64).with_subject(storage)
    };
    storages.into_iter().map(observation).collect()
}

/// Reads past the page cache that another cache served, by its own counters.
fn counted_by_caches(context: &RuleContext<'_>) -> Vec<Observation> {
    let Some(around) = &context.span_result.kernel_counters else { return Vec::new() };
    let counted = around.after.since(&around.before).caches;
    let observation = |(name, counters): (String, CacheCounters)| {
        let rows = context.measured.rows.iter().filter(|row| context.meant_the_device(row));
        let ios = rows
            .filter(|row| context.environment(row.target).is_some_and(|below| below.stands_on_cache(&name)))
            .map(|row| row.figures.read.ios)
            .sum();
        let share = served_share(ios, counters)?;
        let figure =
            format!("at least {} of the reads were served by {name}, according to its counters", percent(share));
        let observation =
            (share > context.slack()).then(|| Observation::new(figure, share * 100.0).with_subject(name))?;
        Some(if MIXED.contains(&share) { observation.with_advice(MIXED_ADVICE) } else { observation })
    };
    counted.into_iter().filter_map(observation).collect()
}

/// The least share of the run's reads that a cache served: others hit and miss it too, and it may count an I/O as
/// several.
fn served_share(ios: u64, counters: CacheCounters) -> Option<f64> {
    // If fewer came to it, an unknown part of the reads bypassed it.
    let all_came_to_it = counters.read_hits.saturating_add(counters.read_misses) >= ios;
    let served = ios.saturating_sub(counters.read_misses).min(counters.read_hits);
    (ios > 0 && all_came_to_it).then(|| served as f64 / ios as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::{BYTES, CaseResult, IOS};
    use model::block_device::{BlockDevice, DeviceKind};
    use model::engine_kind::EngineKind;
    use model::kernel_counters::{DirtyMemory, OtherBytes, ProcessCounters, ZFS_CACHE};
    use model::plan::{MappedPlan, Pace};

    /// Reads past the cache of which these bytes came from the partition and from the disk.
    fn direct(partition_bytes: u64, disk_bytes: u64) -> CaseResult {
        let mut built = CaseResult::sound();
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
            ["INVALID served-from-cache: at least 75.0 % of the bytes read did not come from sda"]
        );
        assert_eq!(
            direct(0, BYTES).found(RULES),
            ["INVALID served-from-cache: at least 99.9 % of the bytes read did not come from sda1"]
        );
    }

    #[test]
    fn up_to_a_tenth_it_is_a_warning() {
        let found = |bytes| direct(BYTES, bytes).found(RULES)[0].clone();
        assert!(found(BYTES - BYTES / 12).starts_with("WARN served-from-cache: at least 8.3 %"));
        assert!(found(BYTES - BYTES / 8).starts_with("INVALID served-from-cache: at least 12.5 %"));
    }

    #[test]
    fn what_other_programs_read_from_the_disk_hides_no_shortfall() {
        let mut built = direct(2 * BYTES, 2 * BYTES);
        let others = OtherBytes { read_bytes: 2 * BYTES, ..OtherBytes::default() };
        let around = built.span_result().kernel_counters.get_or_insert_default();
        (around.before.others, around.after.others) = (Some(OtherBytes::default()), Some(others.clone()));
        let found = ["INVALID served-from-cache: at least 99.9 % of the bytes read did not come from sda"];
        assert_eq!(built.found(RULES), found);
        let around = built.span_result().kernel_counters.get_or_insert_default();
        around.after.others = Some(OtherBytes { meanwhile_read_bytes: 2 * BYTES, ..others });
        assert_eq!(built.found(RULES), [""; 0], "they may have read from another disk");
    }

    #[test]
    fn where_no_device_was_meant_or_nothing_was_counted_it_is_silent() {
        let mut null = direct(0, 0);
        null.span_result().engines = vec![EngineKind::Null];
        assert_eq!(null.found(RULES), [""; 0]);
        let mut compressed = direct(BYTES / 16, BYTES / 16);
        compressed.stands_on("btrfs");
        assert_eq!(compressed.found(RULES), [""; 0], "32 bytes of a file in one at most");
        let mut uncounted = direct(0, 0);
        uncounted.span_result().kernel_counters = None;
        assert_eq!(uncounted.found(RULES), [""; 0]);
    }

    /// Reads past the page cache, from bcache or ZFS, with these hits and misses.
    fn cached(backing: Backing, name: &str, read_hits: u64, read_misses: u64) -> Vec<String> {
        let mut built = CaseResult::sound();
        built.plan().targets[0].open.direct = true;
        built.result.targets.environments.values_mut().next().expect("the target").backing = backing;
        let around = built.span_result().kernel_counters.get_or_insert_default();
        let counters =
            |hits, misses| CacheCounters { read_hits: hits, read_misses: misses, ..CacheCounters::default() };
        around.before.caches = [(name.to_owned(), counters(5, 7))].into();
        around.after.caches = [(name.to_owned(), counters(5 + read_hits, 7 + read_misses))].into();
        built.found(&RULES[..1])
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
    fn dirty(before: u64, after: u64) -> CaseResult {
        let mut built = CaseResult::sound();
        let row = &mut built.measured().rows[0].figures;
        (row.write, row.read) = (row.read, row.write);
        (built.counted("sda1").write.bytes, built.counted("sda").write.bytes) = (BYTES, BYTES);
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
        assert_eq!(
            found,
            [
                "WARN writes-in-memory: at least 50.0 % of the bytes written never reached sda1; 390.6 MiB were in memory at the end"
            ]
        );
        let mut through = dirty(0, BYTES / 2);
        through.plan().targets[0].open.write_through = true;
        assert_eq!(through.found(RULES), [""; 0]);
    }

    // Shows verdict: writes-in-memory
    #[test]
    fn data_that_is_written_again_in_memory_never_reaches_the_device() {
        let written = |bytes| {
            let mut built = dirty(0, 0);
            let around = built.span_result().kernel_counters.get_or_insert_default();
            let process = |bytes| Some(ProcessCounters { storage_write_bytes: bytes, ..ProcessCounters::default() });
            (around.before.process, around.after.process) = (process(7), process(7 + bytes));
            built
        };
        assert_eq!(written(BYTES).found(RULES), [""; 0]);
        let found = written(BYTES / 4).found(RULES);
        assert_eq!(found, ["WARN writes-in-memory: at least 75.0 % of the bytes written never reached sda1"]);
    }

    #[test]
    fn writes_that_were_to_reach_the_device_and_did_not_make_it_invalid() {
        let found = |direct, write_through, bytes| {
            let mut built = dirty(0, 0);
            let open = &mut built.plan().targets[0].open;
            (open.direct, open.write_through) = (direct, write_through);
            built.counted("sda").write.bytes = bytes;
            built.found(RULES)
        };
        for (direct, write_through) in [(true, false), (true, true), (false, true)] {
            let invalid = ["INVALID writes-in-memory: at least 75.0 % of the bytes written never reached sda"];
            assert_eq!(found(direct, write_through, BYTES / 4), invalid);
            assert_eq!(found(direct, write_through, BYTES), [""; 0]);
        }
        let warn = ["WARN writes-in-memory: at least 75.0 % of the bytes written never reached sda"];
        assert_eq!(found(false, false, BYTES / 4), warn);
    }

    #[test]
    fn where_nothing_counts_the_bytes_that_is_noted() {
        let mut built = direct(0, 0);
        built.stands_on("zfs");
        let note = "NOTE uncounted-bytes: unknown how many of the 781.2 MiB transferred reached a device below sda1";
        assert_eq!(built.found(RULES), [note]);
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
            [
                "WARN writes-in-memory: at least 25.0 % of the bytes written never reached sda1; 195.3 MiB were in memory at the end"
            ]
        );
    }

    /// Reads through the page cache, of which these bytes came from storage.
    fn fetched(fetched_bytes: u64) -> CaseResult {
        let mut built = CaseResult::sound();
        (built.counted("sda1").read.bytes, built.counted("sda").read.bytes) = (3 * BYTES, 3 * BYTES);
        let around = built.span_result().kernel_counters.get_or_insert_default();
        let fetched = |bytes| Some(ProcessCounters { storage_read_bytes: bytes, ..ProcessCounters::default() });
        (around.before.process, around.after.process) = (fetched(7), fetched(7 + fetched_bytes));
        built
    }

    // Shows verdict: served-from-memory
    #[test]
    fn reads_that_never_reached_the_device_are_warned_of() {
        let found = [
            "WARN served-from-memory: at least 75.0 % of the bytes read through the page cache came from memory; the \
                      run read 2.0 MiB/s from sda1",
        ];
        assert_eq!(fetched(BYTES / 4).found(RULES), found);
        let mut paced = fetched(BYTES / 4);
        paced.work().pace = Pace::Burst { ios: 1, pause_ns: 1 };
        assert_eq!(paced.found(RULES), found);
        let mut mapped = fetched(BYTES / 4);
        mapped.plan().targets[0].open.direct = true;
        mapped.work().mapped = Some(MappedPlan::default());
        assert_eq!(mapped.found(RULES), found);
    }

    #[test]
    fn reads_that_were_fetched_are_silent() {
        assert_eq!(fetched(BYTES).found(RULES), [""; 0]);
        assert_eq!(fetched(3 * BYTES).found(RULES), [""; 0], "read-ahead");
        assert_eq!(fetched(BYTES - BYTES / 50).found(RULES), [""; 0], "2 %");
        let mut outstanding = fetched(BYTES / 2);
        (outstanding.plan().workers[0].slots, outstanding.work().slots) = (50_000, 50_000);
        assert_eq!(outstanding.found(RULES), [""; 0], "the rest may have been fetched before");
    }

    #[test]
    fn what_is_not_cached_or_not_known_is_silent() {
        let mut direct = fetched(0);
        direct.plan().targets[0].open.direct = true;
        let found = ["INVALID served-from-cache: at least 99.9 % of the bytes read did not come from sda1"];
        assert_eq!(direct.found(RULES), found, "a file system that ignores O_DIRECT, beside other programs");
        let mut compressed = fetched(BYTES / 16);
        compressed.stands_on("btrfs");
        assert_eq!(compressed.found(RULES), [""; 0]);
        let mut null = fetched(0);
        null.span_result().engines = vec![EngineKind::Null];
        assert_eq!(null.found(RULES), [""; 0]);
        assert_eq!(CaseResult::sound().found(RULES), [""; 0], "nothing was counted");
    }
}
