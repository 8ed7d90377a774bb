//! Storage media of the data: memory, or a volatile cache.

use super::caches::{self, INVALID_SHARE};
use super::loop_cache::{cached_loop, may_stay_in_cache};
use super::{RuleContext, VerdictRule, stack};
use crate::rule::{Observation, percent};
use model::block_device::WriteCache;
use model::finding::Severity;
use model::operation::Operation;
use model::profile::Target;
use model::tier::{TargetMedia, Tier, TierMismatch};
use std::collections::BTreeMap;
use std::path::Path;

pub(super) const RULES: &[VerdictRule] = &[
    VerdictRule {
        name: "tmpfs-target",
        severity: Severity::Invalid,
        unit: "percent",
        computed_from: "share of all bytes transferred that were read from or written to targets on tmpfs or ramfs; \
                        reported if above 2 %. INVALID above 10 % if these I/Os were to bypass the page cache (-Su, -Sh)",
        advice: "use a target on a storage device: tmpfs keeps its data in memory",
        evaluate: tmpfs_targets,
    },
    VerdictRule {
        name: "volatile-cache",
        severity: Severity::Note,
        unit: "percent",
        computed_from: "share of all bytes transferred that were written with direct I/O to a disk that reports a \
                        volatile write cache (`write back` in queue/write_cache), with neither write-through (-Sh) nor \
                        `--fdatasync-every`; reported if above 2 %",
        advice: "to measure durable writes, use -Sh or --fdatasync-every: writes in the cache are lost if the power \
                 fails",
        evaluate: volatile_caches,
    },
    VerdictRule {
        name: "loop-cached-writes",
        severity: Severity::Invalid,
        unit: "percent",
        computed_from: "direct writes, with neither write-through (-Sh) nor `--fdatasync-every`, to loop devices that \
                        access their backing file through the page cache (loop/dio in /sys is 0), as a share of all \
                        bytes transferred; reported if above 2 %. If there is a single disk below, the finding also \
                        shows how much of this data reached the disk during the measurement. INVALID if more than a \
                        tenth did not, by the [ledger](measurement.md#bytes-asked-and-bytes-at-storage)",
        advice: "set up the loop device with losetup --direct-io=on, or use write-through (-Sh): otherwise, writes go \
                 to the page cache of the backing file",
        evaluate: loop_cached_writes,
    },
    VerdictRule {
        name: "wrong-tier",
        severity: Severity::Warn,
        unit: "percent",
        computed_from: "with `--expect-tier`: the bytes of each target, after the run, on media of another type, as a \
                        percentage of its bytes ([what lies under a file](placement.md)). Of a target without extents, \
                        such as a device, the types of all disks below it are compared",
        advice: "move the file, or use a path on the right tier: the results are those of other media",
        evaluate: |context| tiers(context, false),
    },
    VerdictRule {
        name: "unknown-tier",
        severity: Severity::Note,
        unit: "none",
        computed_from: "with `--expect-tier`: the media of some bytes of a target are unknown: disks of hypervisors and \
                        arrays, caches that may hold copies, maps that need root, file systems that do not report \
                        extents",
        advice: "run as root, or look at the host, array or file system for the place of the file",
        evaluate: |context| tiers(context, true),
    },
];

/// Targets on other media than expected; if `unknown`, those whose media are unknown.
fn tiers(context: &RuleContext<'_>, unknown: bool) -> Vec<Observation> {
    // Comparing paths costs more than checking this field.
    let expected =
        context.span.targets.iter().enumerate().filter_map(|(at, target)| Some((at, target, target.expected_tier?)));
    let observation = |(index, target, tier): (usize, &Target, Tier)| {
        let media = TargetMedia::new(context.environment(index), context.placement(&target.path));
        let path = target.path.display();
        let observation = match media.misplaced(tier)? {
            TierMismatch::Unknown if unknown => {
                let figure = format!("unknown if '{path}' is on {}: {}", tier.word(), media.words());
                Observation::without_value(figure)
            }
            TierMismatch::Other(percent) if !unknown => {
                let figure = format!("'{path}' is not wholly on {}: {}", tier.word(), media.words());
                Observation::new(figure, percent.unwrap_or(100.0))
            }
            _ => return None,
        };
        Some(observation.with_subject(path.to_string()))
    };
    expected.filter_map(observation).collect()
}

/// File systems without storage.
const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];

fn tmpfs_targets(context: &RuleContext<'_>) -> Vec<Observation> {
    let mut bytes: BTreeMap<(&Path, &str, bool), u64> = BTreeMap::new();
    for row in context.measured.rows.iter().filter(|row| context.reaches_kernel(row.target)) {
        let mount = context.environment(row.target).and_then(|below| below.mount.as_ref());
        if let Some(mount) = mount.filter(|mount| IN_MEMORY.contains(&mount.file_system.as_str())) {
            let is_direct = context.target(row.target).is_some_and(|target| target.open.direct);
            *bytes.entry((&row.path, &mount.file_system, is_direct)).or_default() += row.figures.total.bytes;
        }
    }
    let observation = |((path, file_system, is_direct), bytes): ((&Path, &str, bool), u64)| {
        let share = share(context, bytes)?;
        let path = path.display();
        let figure = format!("{} of the bytes were transferred on '{path}', which is on {file_system}", percent(share));
        let severity = if is_direct && share > INVALID_SHARE { Severity::Invalid } else { Severity::Warn };
        Some(Observation::new(figure, share * 100.0).with_subject(path.to_string()).with_severity(severity))
    };
    bytes.into_iter().filter_map(observation).collect()
}

fn volatile_caches(context: &RuleContext<'_>) -> Vec<Observation> {
    if context.span.flushes().is_some() {
        return Vec::new();
    }
    let mut bytes: BTreeMap<&str, u64> = BTreeMap::new();
    for row in context.measured.rows.iter().filter(|row| may_stay_in_cache(context, row)) {
        let disks = context.environment(row.target).into_iter().flat_map(|below| below.disks());
        for disk in disks.filter(|disk| disk.queue.write_cache == Some(WriteCache::WriteBack)) {
            *bytes.entry(&disk.name).or_default() += row.figures.write.bytes;
        }
    }
    let observation = |(disk, bytes): (&str, u64)| {
        let share = share(context, bytes)?;
        let figure = format!(
            "{} of the bytes were written to {disk} without a flush, and its write cache is volatile",
            percent(share)
        );
        Some(Observation::new(figure, share * 100.0).with_subject(disk))
    };
    bytes.into_iter().filter_map(observation).collect()
}

fn loop_cached_writes(context: &RuleContext<'_>) -> Vec<Observation> {
    if context.span.flushes().is_some() {
        return Vec::new();
    }
    let mut written: BTreeMap<&str, (u64, Option<&str>)> = BTreeMap::new();
    for row in context.measured.rows.iter().filter(|row| may_stay_in_cache(context, row)) {
        let Some(device) = cached_loop(context, row.target) else { continue };
        let disk = stack::chain(context, row.target).and_then(|chain| chain.last().copied());
        let (bytes, _) = written.entry(&device.name).or_insert((0, disk.map(|disk| disk.name.as_str())));
        *bytes += row.figures.write.bytes;
    }
    let shortfalls = caches::shortfalls(context, Operation::Write);
    let observation = |(device, (bytes, disk)): (&str, (u64, Option<&str>))| {
        let share = share(context, bytes)?;
        let reached = disk.and_then(|disk| Some((disk, written_bytes(context, disk)?)));
        let reached = reached.map(|(disk, reached)| {
            let reached = (reached as f64 / bytes as f64).min(1.0);
            format!("; {disk} wrote {} of them meanwhile", percent(reached))
        });
        let figure = format!(
            "{} of the bytes were written to {device}, which leaves them in the page cache of its backing file{}",
            percent(share),
            reached.unwrap_or_default()
        );
        let fell_short = shortfalls.iter().any(|found| {
            let mut below = found.account.targets.iter().filter_map(|target| cached_loop(context, *target));
            found.severity() == Severity::Invalid && below.any(|below| below.name == device)
        });
        let severity = if fell_short { Severity::Invalid } else { Severity::Warn };
        Some(Observation::new(figure, share * 100.0).with_subject(device).with_severity(severity))
    };
    written.into_iter().filter_map(observation).collect()
}

/// Bytes that a device wrote during the measurement.
fn written_bytes(context: &RuleContext<'_>, device: &str) -> Option<u64> {
    let around = context.span_result.kernel_counters.as_ref()?;
    around.after.since(&around.before).devices.get(device).map(|counted| counted.write.bytes)
}

/// The share of all bytes, if it is worth a finding.
fn share(context: &RuleContext<'_>, bytes: u64) -> Option<f64> {
    let share = bytes as f64 / context.measured.total.total.bytes.max(1) as f64;
    (share > super::WORTH_A_WARNING).then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::{BYTES, CaseResult, PATH};
    use model::block_device::{BlockDevice, DeviceKind, MediaType};
    use model::engine_kind::EngineKind;
    use model::environment::Backing;
    use model::placement::{DeviceShare, Placement};

    // Shows verdict: wrong-tier
    // Shows verdict: unknown-tier
    #[test]
    fn a_target_on_other_media_than_expected_is_warned_of() {
        let mut built = CaseResult::sound();
        let share = |media, bytes| DeviceShare { media, bytes, is_disk: true, ..DeviceShare::default() };
        let on = |built: &mut CaseResult, shares: Vec<DeviceShare>| {
            let placed_bytes = shares.iter().map(|share| share.bytes).sum();
            let placement = Placement { placed_bytes, shares, ..Placement::default() };
            built.result.targets.placements.insert(PATH.into(), placement);
            built.found(RULES)
        };
        let both = || vec![share(MediaType::Nvme, 3 << 20), share(MediaType::Hdd, 1 << 20)];
        assert_eq!(on(&mut built, both()), [""; 0], "nothing is expected");
        built.result.profile.time_spans[0].targets[0].expected_tier = Some(Tier::Nvme);
        assert_eq!(
            on(&mut built, both()),
            ["WARN wrong-tier: 'a.dat' is not wholly on nvme: 3MiB on nvme, 1MiB on hdd"]
        );
        assert_eq!(on(&mut built, vec![share(MediaType::Nvme, 1)]), [""; 0]);
        assert_eq!(
            on(&mut built, vec![share(MediaType::Virtual, 1 << 20)]),
            ["NOTE unknown-tier: unknown if 'a.dat' is on nvme: 1MiB on virtual"]
        );
    }

    // Shows verdict: tmpfs-target
    #[test]
    fn a_target_in_memory_is_warned_of() {
        let mut built = CaseResult::sound();
        built.stands_on("tmpfs");
        assert_eq!(
            built.found(RULES),
            ["WARN tmpfs-target: 100.0 % of the bytes were transferred on 'a.dat', which is on tmpfs"]
        );
        built.span_result().engines = vec![EngineKind::Null];
        assert_eq!(built.found(RULES), [""; 0]);
        assert_eq!(CaseResult::sound().found(RULES), [""; 0]);
    }

    /// Direct writes to a disk with this cache.
    fn written(write_cache: Option<WriteCache>) -> CaseResult {
        let mut built = CaseResult::sound();
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
            ["NOTE volatile-cache: 100.0 % of the bytes were written to sda without a flush, and its write cache is \
                 volatile"]
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

    /// Direct writes to a loop device over a file on the disk.
    fn on_loop(direct: Option<bool>) -> CaseResult {
        let mut built = written(None);
        let environment = built.result.targets.environments.get_mut(Path::new(PATH)).expect("the target");
        let Backing::Devices(devices) = &mut environment.backing else { panic!("a partition") };
        let kind =
            DeviceKind::Loop { file: Some("/own.img".to_owned()), offset_bytes: None, direct, file_system: None };
        let device =
            BlockDevice { name: "loop0".to_owned(), kind, below: std::mem::take(devices), ..BlockDevice::default() };
        *devices = vec![device];
        built
    }

    // Shows verdict: loop-cached-writes
    #[test]
    fn writes_that_a_loop_device_leaves_to_the_page_cache_are_warned_of() {
        let figure = "WARN loop-cached-writes: 100.0 % of the bytes were written to loop0, which leaves them in the \
                      page cache of its backing file";
        let mut cached = on_loop(Some(false));
        assert_eq!(cached.found(RULES), [figure]);
        cached.counted("sda").write.bytes = BYTES / 8;
        assert_eq!(cached.found(RULES), [format!("{figure}; sda wrote 12.5 % of them meanwhile")]);
        let Backing::Devices(devices) =
            &mut cached.result.targets.environments.values_mut().next().expect("one").backing
        else {
            panic!("a loop device")
        };
        let DeviceKind::Loop { file_system, .. } = &mut devices[0].kind else { panic!("a loop device") };
        *file_system = Some("ext4".to_owned());
        assert!(cached.found(RULES)[0].starts_with("INVALID loop-cached-writes: 100.0 %"), "most never reached sda");
        cached.plan().targets[0].open.write_through = true;
        assert_eq!(cached.found(RULES), [""; 0]);
        assert_eq!(on_loop(Some(true)).found(RULES), [""; 0]);
        assert_eq!(on_loop(None).found(RULES), [""; 0]);
        let mut read = on_loop(Some(false));
        read.measured().rows[0].figures.write.bytes = 0;
        assert_eq!(read.found(RULES), [""; 0]);
    }
}
