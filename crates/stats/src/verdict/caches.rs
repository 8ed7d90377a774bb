//! Whether the I/Os reached the device that the figures are taken for.

use super::{Case, Rule, rule, stack};
use model::result::Row;
use model::verdict::{Finding, Severity};
use std::collections::BTreeMap;

pub(super) const SERVED_FROM_CACHE: Rule = Rule {
    name: "served-from-cache",
    severity: Severity::Invalid,
    advice: "keep the data out of memory: a file system that takes -Su for advice, or a loop device over a cached file, \
             reads from the page cache",
};

pub(super) const WRITES_IN_MEMORY: Rule = Rule {
    name: "writes-in-memory",
    severity: Severity::Warn,
    advice: "write past the cache (-Su, -Sh) or through it (-Sw), or so long that memory is full: until then the rate \
             is that of memory",
};

pub(super) fn look(case: &Case<'_>) -> Vec<Finding> {
    let mut findings = served_from_cache(case);
    findings.extend(writes_in_memory(case));
    findings
}

/// Reads past the cache that a device below did not see.
fn served_from_cache(case: &Case<'_>) -> Vec<Finding> {
    let Some(around) = &case.happened.kernel_counters else { return Vec::new() };
    let counted = around.after.since(&around.before);
    // Rows by the device that they stand on, if it can be understood.
    let mut by_device: BTreeMap<&str, (Vec<&str>, Vec<&Row>)> = BTreeMap::new();
    for row in &case.measured.rows {
        let Some(chain) = stack::chain(case, &row.path) else { continue };
        let names: Vec<&str> = chain.iter().map(|device| device.name.as_str()).collect();
        by_device.entry(names[0]).or_insert_with(|| (names, Vec::new())).1.push(row);
    }
    let mut findings = Vec::new();
    for (chain, rows) in by_device.into_values() {
        if !rows.iter().all(|row| case.meant_the_device(row)) {
            continue;
        }
        let issued: u64 = rows.iter().map(|row| row.figures.read.bytes).sum();
        let at_device = |name: &&&str| counted.devices.get(**name).map(|counters| counters.read.bytes);
        // The one that saw the least is the one behind the cache.
        let seen = chain.iter().filter_map(|name| Some((at_device(&name)?, name))).min();
        let Some((bytes, name)) = seen.filter(|_| issued > 0) else { continue };
        let missing = issued.saturating_sub(bytes) as f64 / issued as f64;
        if missing > case.slack() {
            let figure = format!("{} of the bytes that were read did not come from {name}", rule::percent(missing));
            findings.push(SERVED_FROM_CACHE.finding(figure, missing * 100.0));
        }
    }
    findings
}

/// Buffered writes that memory still held when the measurement ended.
fn writes_in_memory(case: &Case<'_>) -> Option<Finding> {
    let around = case.happened.kernel_counters.as_ref()?;
    let (before, after) = (around.before.dirty?, around.after.dirty?);
    let is_buffered = |row: &&Row| {
        let open = case.target(row.target).map(|target| target.open).unwrap_or_default();
        let on_disk = case.result.target_environments.get(&row.path).is_some_and(|below| !below.devices().is_empty());
        !open.direct && !open.write_through && on_disk && case.reaches_kernel(row.target)
    };
    let written: u64 = case.measured.rows.iter().filter(is_buffered).map(|row| row.figures.write.bytes).sum();
    let left = after.total_bytes().saturating_sub(before.total_bytes()).min(written);
    let share = left as f64 / written as f64;
    let figure = format!("{} of what was written was still in memory at the end", rule::percent(share));
    (written > 0 && share > super::WORTH_A_WARNING).then(|| WRITES_IN_MEMORY.finding(figure, share * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::{BYTES, Built};
    use model::kernel_counters::DirtyMemory;
    use model::plan::EngineKind;

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
        assert_eq!(direct(BYTES, BYTES).found(look), [""; 0]);
        assert_eq!(direct(BYTES, 3 * BYTES).found(look), [""; 0], "others read too");
        assert_eq!(direct(BYTES - BYTES / 50, BYTES).found(look), [""; 0], "2 %");
    }

    #[test]
    fn reads_that_no_device_saw_make_it_invalid() {
        assert_eq!(
            direct(BYTES, BYTES / 4).found(look),
            ["INVALID served-from-cache: 75.0 % of the bytes that were read did not come from sda"]
        );
        assert_eq!(
            direct(0, BYTES).found(look),
            ["INVALID served-from-cache: 100.0 % of the bytes that were read did not come from sda1"]
        );
    }

    #[test]
    fn where_the_device_was_not_meant_or_is_not_understood_it_is_silent() {
        let mut buffered = direct(0, 0);
        buffered.plan().targets[0].open.direct = false;
        assert_eq!(buffered.found(look), [""; 0]);
        let mut null = direct(0, 0);
        null.happened().engines = vec![EngineKind::Null];
        assert_eq!(null.found(look), [""; 0]);
        let mut compressed = direct(0, 0);
        compressed.stands_on("btrfs");
        assert_eq!(compressed.found(look), [""; 0]);
        let mut uncounted = direct(0, 0);
        uncounted.happened().kernel_counters = None;
        assert_eq!(uncounted.found(look), [""; 0]);
    }

    /// Buffered writes, of which so many bytes are dirty before and after.
    fn dirty(before: u64, after: u64) -> Built {
        let mut built = Built::sound();
        let row = &mut built.measured().rows[0].figures;
        (row.write, row.read) = (row.read, row.write);
        let around = built.happened().kernel_counters.get_or_insert_default();
        let dirty = |dirty_bytes| Some(DirtyMemory { dirty_bytes: dirty_bytes / 2, writeback_bytes: dirty_bytes / 2 });
        (around.before.dirty, around.after.dirty) = (dirty(before), dirty(after));
        built
    }

    #[test]
    fn writes_that_memory_still_holds_are_warned_of() {
        assert_eq!(dirty(BYTES, BYTES).found(look), [""; 0], "no more than before");
        assert_eq!(dirty(0, BYTES / 100).found(look), [""; 0], "next to nothing");
        let found = dirty(0, BYTES / 2).found(look);
        assert_eq!(found, ["WARN writes-in-memory: 50.0 % of what was written was still in memory at the end"]);
        let mut through = dirty(0, BYTES / 2);
        through.plan().targets[0].open.write_through = true;
        assert_eq!(through.found(look), [""; 0]);
    }
}
