//! What the data is kept on: memory, or a cache that loses it.

use super::{RuleContext, VerdictRule};
use crate::rule::{Observation, percent};
use model::block_device::WriteCache;
use model::finding::Severity;
use model::result::Row;
use std::collections::BTreeMap;
use std::path::Path;

pub(super) const RULES: &[VerdictRule] = &[
    VerdictRule {
        name: "tmpfs-target",
        severity: Severity::Warn,
        unit: "percent",
        computed_from: "bytes read from and written to targets on tmpfs or ramfs, as a share of all bytes, if above 2 \
                        %",
        advice: "use a target on storage: tmpfs is memory",
        evaluate: tmpfs_targets,
    },
    VerdictRule {
        name: "volatile-cache",
        severity: Severity::Note,
        unit: "percent",
        computed_from: "bytes written with direct I/O, but without write-through or `--fdatasync-every`, to a disk \
                        that reports a volatile write cache (`write back` in queue/write_cache), as a share of all \
                        bytes, if above 2 %",
        advice: "to measure durable writes, use -Sh or --fdatasync-every: writes in the cache are lost if the power \
                 fails",
        evaluate: volatile_caches,
    },
];

/// File systems without storage.
const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];

fn tmpfs_targets(context: &RuleContext<'_>) -> Vec<Observation> {
    let mut bytes: BTreeMap<(&Path, &str), u64> = BTreeMap::new();
    for row in context.measured.rows.iter().filter(|row| context.reaches_kernel(row.target)) {
        let mount = context.result.targets.environments.get(&row.path).and_then(|below| below.mount.as_ref());
        if let Some(mount) = mount.filter(|mount| IN_MEMORY.contains(&mount.file_system.as_str())) {
            *bytes.entry((&row.path, &mount.file_system)).or_default() += row.figures.total.bytes;
        }
    }
    let observation = |((path, file_system), bytes): ((&Path, &str), u64)| {
        let share = share(context, bytes)?;
        let path = path.display();
        let figure = format!("{} of the bytes were transferred on '{path}', which is on {file_system}", percent(share));
        Some(Observation::new(figure, share * 100.0).of(path.to_string()))
    };
    bytes.into_iter().filter_map(observation).collect()
}

fn volatile_caches(context: &RuleContext<'_>) -> Vec<Observation> {
    if context.span.flush_after_writes.is_some() {
        return Vec::new();
    }
    let mut bytes: BTreeMap<&str, u64> = BTreeMap::new();
    for row in context.measured.rows.iter().filter(|row| may_stay_in_cache(context, row)) {
        let disks = context.result.targets.environments.get(&row.path).into_iter().flat_map(|below| below.disks());
        for disk in disks.filter(|disk| disk.queue.write_cache == Some(WriteCache::WriteBack)) {
            *bytes.entry(&disk.name).or_default() += row.figures.write.bytes;
        }
    }
    let observation = |(disk, bytes): (&str, u64)| {
        let share = share(context, bytes)?;
        let figure = format!(
            "{} of the bytes were written to {disk}, which has a volatile write cache, without a flush",
            percent(share)
        );
        Some(Observation::new(figure, share * 100.0).of(disk))
    };
    bytes.into_iter().filter_map(observation).collect()
}

/// True if writes of the row bypass the page cache, and nothing makes them durable.
fn may_stay_in_cache(context: &RuleContext<'_>, row: &Row) -> bool {
    let open = context.target(row.target).map(|target| target.open).unwrap_or_default();
    let is_mapped = context.work.of(row.target).any(|work| work.mapped.is_some());
    open.direct && !open.write_through && !is_mapped && context.reaches_kernel(row.target)
}

/// The share of all bytes, if it is worth telling.
fn share(context: &RuleContext<'_>, bytes: u64) -> Option<f64> {
    let share = bytes as f64 / context.measured.total.total.bytes.max(1) as f64;
    (share > super::WORTH_A_WARNING).then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::{BYTES, Built, PATH};
    use model::engine_kind::EngineKind;
    use model::environment::Backing;

    // Shows verdict: tmpfs-target
    #[test]
    fn a_target_in_memory_is_warned_of() {
        let mut built = Built::sound();
        built.stands_on("tmpfs");
        assert_eq!(
            built.found(RULES),
            ["WARN tmpfs-target: 100.0 % of the bytes were transferred on 'a.dat', which is on tmpfs"]
        );
        built.span_result().engines = vec![EngineKind::Null];
        assert_eq!(built.found(RULES), [""; 0]);
        assert_eq!(Built::sound().found(RULES), [""; 0]);
    }

    /// Direct writes to a disk with this cache.
    fn written(write_cache: Option<WriteCache>) -> Built {
        let mut built = Built::sound();
        built.plan().targets[0].open.direct = true;
        let row = &mut built.measured().rows[0].figures;
        (row.write, row.read) = (row.read, row.write);
        let environment = built.result.targets.environments.get_mut(Path::new(PATH)).expect("the target");
        let Backing::Devices(devices) = &mut environment.backing else { panic!("a partition") };
        devices[0].below[0].queue.write_cache = write_cache;
        built
    }

    // Shows verdict: volatile-cache
    #[test]
    fn writes_that_a_power_failure_would_lose_are_noted() {
        let volatile = || written(Some(WriteCache::WriteBack));
        assert_eq!(
            volatile().found(RULES),
            [
                "NOTE volatile-cache: 100.0 % of the bytes were written to sda, which has a volatile write cache, without \
              a flush"
            ]
        );
        assert_eq!(written(Some(WriteCache::WriteThrough)).found(RULES), [""; 0]);
        assert_eq!(written(None).found(RULES), [""; 0]);
        let mut through = volatile();
        through.plan().targets[0].open.write_through = true;
        assert_eq!(through.found(RULES), [""; 0]);
        let mut buffered = volatile();
        buffered.plan().targets[0].open.direct = false;
        assert_eq!(buffered.found(RULES), [""; 0]);
        let mut flushed = volatile();
        flushed.result.profile.time_spans[0].flush_after_writes = Some(8);
        assert_eq!(flushed.found(RULES), [""; 0]);
        let mut few = volatile();
        few.measured().rows[0].figures.write.bytes = BYTES / 100;
        assert_eq!(few.found(RULES), [""; 0]);
    }
}
