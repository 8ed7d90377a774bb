//! Storage requirements of SQL Server on Linux (Microsoft, "Performance best practices and configuration guidelines for
//! SQL Server on Linux").

use super::checklist::{ALL_TARGETS, Checklist, answers};
use super::footprint::LUN_COUNT;
use super::{CheckDocumentation, CheckRule, carriers, each_once};
use model::block_device::{BlockDevice, Queue, WriteCache};
use model::check::{CheckFacts, CheckedTarget};
use model::facts::TargetKind;
use model::finding::Severity;
use model::units::Bytes;

pub(super) const RULES: &[CheckRule] = &[
    CheckRule {
        name: "fua",
        severity: Severity::Warn,
        unit: "",
        computed_from: CheckDocumentation {
            looks_at: "`queue/fua`, `queue/write_cache`",
            warns_if: "the disk has a volatile write cache but no FUA",
            fails_if: "",
        },
        advice: "prefer drives with FUA or power-loss protection; for SQL Server, see trace flag 3979, or \
                 writethrough and alternatewritethrough in mssql-conf",
        evaluate: |facts| answers(facts, fua),
    },
    CheckRule {
        name: "sql-file-system",
        severity: Severity::Fail,
        unit: "",
        computed_from: CheckDocumentation {
            looks_at: "file system and kernel",
            warns_if: "the kernel flushes the cache for each durable write (before 4.18 on XFS, 5.6 on ext4)",
            fails_if: "the file system is neither XFS nor ext4",
        },
        advice: "use XFS, which Microsoft recommends, or ext4",
        evaluate: |facts| answers(facts, file_systems),
    },
    CheckRule {
        name: "access-times",
        severity: Severity::Warn,
        unit: "",
        computed_from: CheckDocumentation {
            looks_at: "mount options",
            warns_if: "the file system is not mounted with `noatime`",
            fails_if: "",
        },
        advice: "mount with noatime, as SQL Server's guidelines recommend",
        evaluate: |facts| answers(facts, access_times),
    },
    CheckRule {
        name: "read-ahead",
        severity: Severity::Warn,
        unit: "",
        computed_from: CheckDocumentation {
            looks_at: "`queue/read_ahead_kb`",
            warns_if: "read-ahead is below 2 MiB (4096 sectors)",
            fails_if: "",
        },
        advice: "blockdev --setra 4096 /dev/NAME",
        evaluate: |facts| answers(facts, read_ahead),
    },
    CheckRule {
        name: "sector-size",
        severity: Severity::Fail,
        unit: "",
        computed_from: CheckDocumentation {
            looks_at: "logical and physical sector size",
            warns_if: "",
            fails_if: "a sector is larger than 4096 bytes",
        },
        advice: "SQL Server supports 512-byte and 4096-byte sectors: reformat the namespace (nvme format)",
        evaluate: |facts| answers(facts, sectors),
    },
    LUN_COUNT,
];

/// Supported file systems, and the first kernel that makes a write with `O_DIRECT` and `O_DSYNC` durable by FUA on
/// them instead of a flush of the whole cache.
const FILE_SYSTEMS: [(&str, (u32, u32)); 2] = [("xfs", (4, 18)), ("ext4", (5, 6))];
/// 4096 sectors of 512 bytes.
const READ_AHEAD_BYTES: u64 = 2 << 20;
/// Sectors that SQL Server can use; it writes its log in units of these.
const SECTOR_BYTES_MAX: u32 = 4096;

fn file_systems(facts: &CheckFacts, list: &mut Checklist) {
    for target in &facts.targets {
        file_system(facts, target, &target.path.display().to_string(), list);
    }
}

fn access_times(facts: &CheckFacts, list: &mut Checklist) {
    for target in &facts.targets {
        access_times_of(target, &target.path.display().to_string(), list);
    }
}

fn fua(facts: &CheckFacts, list: &mut Checklist) {
    on_each(facts.targets.iter().flat_map(carriers), list, |device, list| fua_of(&device.name, &device.queue, list));
}

fn sectors(facts: &CheckFacts, list: &mut Checklist) {
    let carriers = facts.targets.iter().flat_map(carriers);
    on_each(carriers, list, |device, list| sectors_of(&device.name, &device.queue, list));
}

/// Read-ahead of the top device, which the file system is on.
fn read_ahead(facts: &CheckFacts, list: &mut Checklist) {
    let devices = facts.targets.iter().flat_map(|target| target.environment.devices());
    on_each(devices, list, |device, list| {
        // A partition has the read-ahead of its disk.
        let queue = if device.queue.read_ahead_bytes.is_some() {
            Some(&device.queue)
        } else {
            device.below.first().map(|disk| &disk.queue)
        };
        read_ahead_of(&device.name, queue.and_then(|queue| queue.read_ahead_bytes), list);
    });
}

/// Runs a check on each device, once.
fn on_each<'a>(
    devices: impl Iterator<Item = &'a BlockDevice>,
    list: &mut Checklist,
    ask: fn(&BlockDevice, &mut Checklist),
) {
    let devices = each_once(devices);
    if devices.is_empty() {
        list.unknown(ALL_TARGETS, "the underlying block device is unknown");
    }
    for device in devices {
        ask(device, list);
    }
}

fn file_system(facts: &CheckFacts, target: &CheckedTarget, subject: &str, list: &mut Checklist) {
    let name = match &target.facts.kind {
        TargetKind::Regular(file) => file.file_system.name.as_str(),
        TargetKind::Missing(missing) => missing.file_system.name.as_str(),
        _ => {
            let advice = "SQL Server keeps its data in files: test a file on the file system that it will use";
            return list.warn_with(subject, "no file system", advice);
        }
    };
    let Some((_, needed)) = FILE_SYSTEMS.iter().find(|(known, _)| *known == name) else {
        let found = format!("{name}; SQL Server supports only XFS and ext4");
        return list.fail(subject, found);
    };
    let release = facts.system.kernel_release.as_str();
    let (major, minor) = needed;
    match version(release) {
        Some(version) if version >= *needed => {
            list.pass(subject, format!("{name} on Linux {release}"));
        }
        Some(_) => list.warn_with(
            subject,
            format!("{name} on Linux {release}: each durable write flushes the drive's whole cache"),
            format!("{name} uses FUA for durable writes as of Linux {major}.{minor}"),
        ),
        None => list.unknown(subject, format!("{name} on a kernel of unknown version")),
    }
}

/// `5.15.0-91-generic` is 5.15.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(['.', '-']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn access_times_of(target: &CheckedTarget, subject: &str, list: &mut Checklist) {
    let Some(mount) = &target.environment.mount else {
        return list.pass(subject, "no file system, so no access times");
    };
    if mount.mount_options.iter().any(|option| option == "noatime") {
        list.pass(subject, "noatime");
    } else {
        let kept = mount.mount_options.iter().find(|option| *option == "relatime").map_or("atime", String::as_str);
        let found = format!("{kept}: reads may update access times");
        list.warn(subject, found);
    }
}

fn fua_of(name: &str, queue: &Queue, list: &mut Checklist) {
    match (queue.fua, queue.write_cache) {
        (_, Some(WriteCache::WriteThrough)) => list.pass(name, "FUA is not needed: no volatile cache"),
        (Some(true), _) => list.pass(name, "yes"),
        (Some(false), _) => list.warn(name, "no FUA: each durable write flushes the whole cache"),
        (None, _) => list.unknown(name, "not reported by the kernel"),
    }
}

fn read_ahead_of(name: &str, read_ahead_bytes: Option<u64>, list: &mut Checklist) {
    match read_ahead_bytes {
        None => list.unknown(name, "not reported by the kernel"),
        Some(bytes) if bytes >= READ_AHEAD_BYTES => list.pass(name, Bytes(bytes).to_string()),
        Some(bytes) => list.warn_with(
            name,
            format!(
                "{}, less than the {} that SQL Server's guidelines recommend",
                Bytes(bytes),
                Bytes(READ_AHEAD_BYTES)
            ),
            format!("blockdev --setra 4096 /dev/{name}"),
        ),
    }
}

fn sectors_of(name: &str, queue: &Queue, list: &mut Checklist) {
    let Some((logical, physical)) = queue.logical_sector_bytes.zip(queue.physical_sector_bytes) else {
        return list.unknown(name, "not reported by the kernel");
    };
    let found = format!("{logical} bytes logical, {physical} physical");
    if logical.max(physical) > SECTOR_BYTES_MAX {
        list.fail(name, found);
    } else {
        list.pass(name, found);
    }
}

#[cfg(test)]
mod tests {
    use crate::check::fixture::{answers, below, facts, mount_of, outcomes};
    use model::block_device::WriteCache;
    use model::check::{CheckFacts, Workload};
    use model::facts::TargetKind;
    use model::finding::Severity;

    fn sql() -> CheckFacts {
        let mut facts = facts();
        facts.workload = Workload::Sql;
        facts.system.kernel_release = "6.18.44-generic".to_owned();
        facts
    }

    #[test]
    fn nothing_of_it_is_asked_of_other_loads() {
        let is_for_sql = |name: &str| super::RULES.iter().any(|rule| rule.name == name);
        assert!(crate::check::check(&facts()).iter().all(|finding| !is_for_sql(&finding.name)));
        assert!(crate::check::check(&sql()).iter().any(|finding| is_for_sql(&finding.name)));
    }

    // Shows check: sql-file-system
    #[test]
    fn file_system_and_kernel_decide_together() {
        let mut facts = sql();
        assert_eq!(answers(&facts, "sql-file-system"), ["pass a.dat: ext4 on Linux 6.18.44-generic"]);
        facts.system.kernel_release = "5.4.0".to_owned();
        assert_eq!(outcomes(&facts, "sql-file-system"), [Severity::Warn]);
        let TargetKind::Regular(file) = &mut facts.targets[0].facts.kind else { panic!() };
        file.file_system.name = "xfs".to_owned();
        assert_eq!(outcomes(&facts, "sql-file-system"), [Severity::Pass]);
        let TargetKind::Regular(file) = &mut facts.targets[0].facts.kind else { panic!() };
        file.file_system.name = "btrfs".to_owned();
        assert_eq!(outcomes(&facts, "sql-file-system"), [Severity::Fail]);
    }

    // Shows check: fua
    #[test]
    fn durable_writes_want_fua_or_no_cache() {
        let mut facts = sql();
        for (fua, write_cache, outcome) in [
            (Some(true), Some(WriteCache::WriteBack), Severity::Pass),
            (Some(false), Some(WriteCache::WriteBack), Severity::Warn),
            (Some(false), Some(WriteCache::WriteThrough), Severity::Pass),
            (None, None, Severity::Unknown),
        ] {
            (below(&mut facts).queue.fua, below(&mut facts).queue.write_cache) = (fua, write_cache);
            assert_eq!(outcomes(&facts, "fua"), [outcome]);
        }
    }

    // Shows check: access-times
    // Shows check: read-ahead
    // Shows check: sector-size
    #[test]
    fn read_ahead_access_times_and_sectors() {
        let mut facts = sql();
        assert_eq!(outcomes(&facts, "access-times"), [Severity::Warn]);
        mount_of(&mut facts).mount_options = vec!["rw".to_owned(), "noatime".to_owned()];
        assert_eq!(outcomes(&facts, "access-times"), [Severity::Pass]);
        for (bytes, outcome) in
            [(Some(128 << 10), Severity::Warn), (Some(2 << 20), Severity::Pass), (None, Severity::Unknown)]
        {
            below(&mut facts).queue.read_ahead_bytes = bytes;
            assert_eq!(outcomes(&facts, "read-ahead"), [outcome]);
        }
        for (logical, physical, outcome) in
            [(512, 4096, Severity::Pass), (4096, 4096, Severity::Pass), (512, 16_384, Severity::Fail)]
        {
            let queue = &mut below(&mut facts).queue;
            (queue.logical_sector_bytes, queue.physical_sector_bytes) = (Some(logical), Some(physical));
            assert_eq!(outcomes(&facts, "sector-size"), [outcome]);
        }
    }
}
