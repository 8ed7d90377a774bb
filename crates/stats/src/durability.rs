//! How writes with `-Sw` became durable, from the counters of the devices.

use model::block_device::{BlockDevice, DeviceKind, Queue, WriteCache};
use model::durability::Durability;
use model::engine_kind::EngineKind;
use model::environment::TargetEnvironment;
use model::kernel_counters::{DeviceCounters, FlushCounters, KernelCounters};
use model::note::Note;
use model::profile::{Target, TimeSpan};
use model::result::{Row, TimeSpanResult};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// One note per device that took writes with `-Sw` in a timespan, and one per target where it is unknown. None if
/// nothing was measured, or the kernel's counters were not read around it.
pub(crate) fn durability_notes(
    span: &TimeSpan,
    span_result: &TimeSpanResult,
    environments: &BTreeMap<PathBuf, TargetEnvironment>,
) -> Vec<Note> {
    let (Some(measured), Some(around)) = (&span_result.measured, &span_result.kernel_counters) else {
        return Vec::new();
    };
    let counted = around.after.since(&around.before);
    let rows = measured.rows.iter().filter(|row| writes_through(row, span, span_result));
    let rows: Vec<(&Row, Vec<&BlockDevice>)> =
        rows.map(|row| (row, environments.get(&row.path).map(ending_devices).unwrap_or_default())).collect();
    let devices: BTreeMap<&str, &BlockDevice> =
        rows.iter().flat_map(|(_, below)| below).map(|device| (device.name.as_str(), *device)).collect();
    let mut notes = Vec::new();
    let mut unknown: BTreeMap<&Path, String> = BTreeMap::new();
    for (row, _) in rows.iter().filter(|(_, below)| below.is_empty()) {
        unknown.insert(&row.path, "no block device is visible beneath it".to_owned());
    }
    for (name, device) in devices {
        let on_it: Vec<&Row> =
            rows.iter().filter(|(_, below)| below.iter().any(|one| one.name == name)).map(|(row, _)| *row).collect();
        let write_count = on_it.iter().map(|row| row.figures.write.ios).sum();
        match verdict(device, write_count, &counted) {
            Ok(note) => notes.push(note),
            Err(reason) => unknown.extend(on_it.iter().map(|row| (row.path.as_path(), reason.clone()))),
        }
    }
    let unknown = unknown.into_iter();
    notes.extend(unknown.map(|(path, reason)| Note::DurabilityUnknown { path: path.to_owned(), reason }));
    notes
}

/// True if the row has writes and they reached the kernel with the request to be durable.
fn writes_through(row: &Row, span: &TimeSpan, span_result: &TimeSpanResult) -> bool {
    let is_asked = |target: &Target| target.write_through && !target.memory_mapped;
    let reaches_kernel = span_result.engines.get(row.target) != Some(&EngineKind::Null);
    row.figures.write.ios > 0 && reaches_kernel && span.targets.get(row.target).is_some_and(is_asked)
}

/// The devices that flushes end at: disks and what has nothing below it, and loop devices on the
/// way, which count the flushes that they turn into those of a file.
fn ending_devices(environment: &TargetEnvironment) -> Vec<&BlockDevice> {
    let mut found: Vec<&BlockDevice> = Vec::new();
    for device in environment.devices().into_iter().flat_map(BlockDevice::walk) {
        let is_end = device.below.is_empty() || matches!(device.kind, DeviceKind::Disk | DeviceKind::Loop { .. });
        if is_end && !found.iter().any(|known| known.name == device.name) {
            found.push(device);
        }
    }
    found
}

/// Only drivers that take requests count flushes; those that take bios count none and report 0.
const fn counts_flushes(kind: &DeviceKind) -> bool {
    matches!(kind, DeviceKind::Disk | DeviceKind::Loop { .. } | DeviceKind::NvmePath { .. })
}

fn verdict(device: &BlockDevice, write_count: u64, counted: &KernelCounters) -> Result<Note, String> {
    let name = &device.name;
    let counters = counted.devices.get(name).ok_or_else(|| format!("{name} has no statistics"))?;
    let flush = match counters {
        DeviceCounters { flush: Some(flush), .. } if counts_flushes(&device.kind) => Some(*flush),
        _ => None,
    };
    let how = how(&device.queue, write_count, flush).map_err(|reason| format!("{name} {reason}"))?;
    let flush = flush.unwrap_or_default();
    Ok(Note::WritesMadeDurable {
        device: name.clone(),
        how,
        write_count,
        flush_count: flush.count,
        flush_mean_us: flush.time_ms.saturating_mul(1000).checked_div(flush.count),
    })
}

/// The kind of durability, from the flushes and properties of a device. A tenth more or less than one flush per write
/// is one: the file system's own blocks are flushed too, and I/Os are in flight at both ends. Next to none is less than
/// one in a thousand, as one flush cannot wait for more writes than are outstanding.
fn how(queue: &Queue, write_count: u64, flush: Option<FlushCounters>) -> Result<Durability, &'static str> {
    let is_volatile = queue.write_cache.map(|cache| cache == WriteCache::WriteBack);
    let Some(FlushCounters { count, .. }) = flush else {
        return match is_volatile {
            Some(false) => Ok(Durability::NotVolatile),
            _ => Err("does not count flushes"),
        };
    };
    let (flushes, writes) = (u128::from(count), u128::from(write_count));
    let has_fua = queue.fua == Some(true) && is_volatile != Some(false);
    Ok(match () {
        () if is_volatile == Some(false) && flushes * 1000 < writes => Durability::NotVolatile,
        () if flushes * 10 > writes * 11 => Durability::SeveralFlushesPerWrite,
        () if flushes * 10 >= writes * 9 => Durability::FlushPerWrite,
        () if has_fua && flushes * 10 < writes => Durability::Fua,
        () if has_fua => Durability::FuaAndFlushes,
        () if flushes * 1000 >= writes => Durability::SharedFlushes,
        () if is_volatile == Some(true) => Durability::Nothing,
        () => return Err("does not report whether its cache is volatile"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::environment::Backing;
    use model::figures::{Directions, Figures};
    use model::kernel_counters::KernelCountersAround;
    use model::result::Measured;

    fn queue(write_cache: WriteCache, fua: bool) -> Queue {
        Queue { write_cache: Some(write_cache), fua: Some(fua), ..Queue::default() }
    }

    fn flushes(count: u64) -> FlushCounters {
        FlushCounters { count, time_ms: count / 10 }
    }

    #[test]
    fn flushes_and_properties_amount_to_one_answer() {
        use Durability::{
            FlushPerWrite, Fua, FuaAndFlushes, NotVolatile, Nothing, SeveralFlushesPerWrite, SharedFlushes,
        };
        use WriteCache::{WriteBack, WriteThrough};
        for (cache, fua, count, expected) in [
            (WriteThrough, false, 0, NotVolatile),
            (WriteThrough, true, 0, NotVolatile),
            (WriteThrough, false, 9, NotVolatile),
            // It was switched meanwhile.
            (WriteThrough, false, 10_000, FlushPerWrite),
            (WriteBack, true, 0, Fua),
            (WriteBack, true, 999, Fua),
            (WriteBack, true, 1000, FuaAndFlushes),
            (WriteBack, true, 9000, FlushPerWrite),
            (WriteBack, false, 0, Nothing),
            (WriteBack, false, 9, Nothing),
            (WriteBack, false, 10, SharedFlushes),
            (WriteBack, false, 8999, SharedFlushes),
            (WriteBack, false, 9000, FlushPerWrite),
            (WriteBack, false, 11_000, FlushPerWrite),
            (WriteBack, false, 11_001, SeveralFlushesPerWrite),
            (WriteBack, true, 20_000, SeveralFlushesPerWrite),
        ] {
            assert_eq!(how(&queue(cache, fua), 10_000, Some(flushes(count))), Ok(expected), "{cache:?} {fua} {count}");
        }
    }

    #[test]
    fn what_is_not_known_is_not_claimed() {
        assert_eq!(how(&queue(WriteCache::WriteThrough, false), 5, None), Ok(Durability::NotVolatile));
        assert!(how(&queue(WriteCache::WriteBack, true), 5, None).is_err());
        assert!(how(&Queue::default(), 10_000, Some(flushes(0))).is_err());
        assert_eq!(how(&Queue::default(), 10_000, Some(flushes(10_000))), Ok(Durability::FlushPerWrite));
        let limits = how(&queue(WriteCache::WriteBack, false), u64::MAX, Some(flushes(u64::MAX)));
        assert_eq!(limits, Ok(Durability::FlushPerWrite));
    }

    fn disk(name: &str) -> BlockDevice {
        let queue = queue(WriteCache::WriteBack, false);
        BlockDevice { name: name.to_owned(), kind: DeviceKind::Disk, queue, ..BlockDevice::default() }
    }

    /// A target on a partition, one on a tmpfs, and a third without `-Sw`.
    fn case() -> (TimeSpan, TimeSpanResult, BTreeMap<PathBuf, TargetEnvironment>) {
        let kind = DeviceKind::Partition { number: Some(1) };
        let partition =
            BlockDevice { name: "sda1".to_owned(), kind, below: vec![disk("sda")], ..BlockDevice::default() };
        let on = |backing| TargetEnvironment { mount: None, backing };
        let environments = BTreeMap::from([
            ("a".into(), on(Backing::Devices(vec![partition]))),
            ("b".into(), on(Backing::Memory)),
            ("c".into(), on(Backing::Devices(vec![disk("sdb")]))),
        ]);
        let target = |path: &str, write_through| Target { write_through, ..Target::new(path) };
        let span =
            TimeSpan { targets: vec![target("a", true), target("b", true), target("c", false)], ..TimeSpan::default() };
        let row = |target: usize, path: &str| {
            let write = Figures { ios: 1000, ..Figures::default() };
            Row { target, path: path.into(), figures: Directions { write, ..Directions::default() }, ..Row::default() }
        };
        let measured =
            Measured { rows: vec![row(0, "a"), row(0, "a"), row(1, "b"), row(2, "c")], ..Measured::default() };
        let counters = |count| {
            let flush = Some(FlushCounters { count, time_ms: count / 4 });
            let devices = ["sda1", "sda", "sdb"]
                .map(|name| (name.to_owned(), DeviceCounters { flush, ..DeviceCounters::default() }));
            KernelCounters { devices: devices.into(), ..KernelCounters::default() }
        };
        let around = KernelCountersAround { before: counters(600), after: counters(2600) };
        let span_result = TimeSpanResult {
            measured: Some(measured),
            kernel_counters: Some(around),
            engines: vec![EngineKind::IoUring; 3],
            ..TimeSpanResult::default()
        };
        (span, span_result, environments)
    }

    #[test]
    fn each_disk_is_told_of_once_and_partitions_have_no_counters() {
        let (span, span_result, environments) = case();
        assert_eq!(
            durability_notes(&span, &span_result, &environments),
            [
                Note::WritesMadeDurable {
                    device: "sda".to_owned(),
                    how: Durability::FlushPerWrite,
                    write_count: 2000,
                    flush_count: 2000,
                    flush_mean_us: Some(250),
                },
                Note::DurabilityUnknown {
                    path: "b".into(),
                    reason: "no block device is visible beneath it".to_owned()
                },
            ]
        );
    }

    #[test]
    fn what_never_reached_a_device_is_not_told_of() {
        let (span, mut span_result, environments) = case();
        span_result.engines = vec![EngineKind::Null; 3];
        assert_eq!(durability_notes(&span, &span_result, &environments), []);
        let (mut span, span_result, environments) = case();
        for target in &mut span.targets {
            target.memory_mapped = true;
        }
        assert_eq!(durability_notes(&span, &span_result, &environments), []);
    }

    #[test]
    fn a_device_without_counters_leaves_its_targets_unknown() {
        let (span, mut span_result, environments) = case();
        let around = span_result.kernel_counters.as_mut().expect("they were read");
        around.after.devices.remove("sda");
        let notes = durability_notes(&span, &span_result, &environments);
        assert_eq!(
            notes.iter().map(ToString::to_string).collect::<Vec<_>>(),
            [
                "write-through on 'a': cannot determine how writes were made durable: sda has no statistics",
                "write-through on 'b': cannot determine how writes were made durable: no block device is visible beneath it",
            ]
        );
    }
}
