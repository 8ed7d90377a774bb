//! What SQL Server on Linux asks of its storage (Microsoft, "Performance best practices and configuration
//! guidelines for SQL Server on Linux").

use super::checklist::{ALL_TARGETS, Checklist};
use super::{carriers, each_once};
use model::block_device::{Queue, WriteCache};
use model::check::{Check, CheckFacts, CheckedTarget};
use model::facts::TargetKind;
use model::units::Bytes;

/// Supported file systems, and the first kernel that makes a write with `O_DIRECT` and `O_DSYNC` durable by FUA on
/// them instead of a flush of the whole cache.
const FILE_SYSTEMS: [(&str, (u32, u32)); 2] = [("xfs", (4, 18)), ("ext4", (5, 6))];
/// 4096 sectors of 512 bytes.
const READ_AHEAD_BYTES: u64 = 2 << 20;
/// Sectors that SQL Server can use; it writes its log in units of these.
const SECTOR_BYTES_MAX: u32 = 4096;

pub(super) fn check(facts: &CheckFacts, list: &mut Checklist) {
    for target in &facts.targets {
        let subject = target.path.display().to_string();
        file_system(facts, target, &subject, list);
        access_times(target, &subject, list);
    }
    let carriers = each_once(facts.targets.iter().flat_map(carriers));
    if carriers.is_empty() {
        for check in [Check::Fua, Check::ReadAhead, Check::SectorSize] {
            list.unknown(check, ALL_TARGETS, "the underlying block device is unknown");
        }
    }
    for device in carriers {
        fua(&device.name, &device.queue, list);
        sectors(&device.name, &device.queue, list);
    }
    // Read-ahead is that of the device on top, which the file system is on.
    for device in each_once(facts.targets.iter().flat_map(|target| target.environment.devices())) {
        // A partition has the read-ahead of its disk.
        let queue = if device.queue.read_ahead_bytes.is_some() {
            Some(&device.queue)
        } else {
            device.below.first().map(|disk| &disk.queue)
        };
        read_ahead(&device.name, queue.and_then(|queue| queue.read_ahead_bytes), list);
    }
}

fn file_system(facts: &CheckFacts, target: &CheckedTarget, subject: &str, list: &mut Checklist) {
    let name = match &target.facts.kind {
        TargetKind::Regular(file) => file.file_system.name.as_str(),
        TargetKind::Missing(missing) => missing.file_system.name.as_str(),
        _ => {
            let advice = "SQL Server keeps its data in files: test a file on the file system that it will use";
            return list.warn(Check::SqlFileSystem, subject, "no file system", advice);
        }
    };
    let Some((_, needed)) = FILE_SYSTEMS.iter().find(|(known, _)| *known == name) else {
        let found = format!("{name}; SQL Server supports only XFS and ext4");
        return list.fail(Check::SqlFileSystem, subject, found, "use XFS, which Microsoft recommends, or ext4");
    };
    let release = facts.system.kernel_release.as_str();
    let (major, minor) = needed;
    match version(release) {
        Some(version) if version >= *needed => {
            list.pass(Check::SqlFileSystem, subject, format!("{name} on Linux {release}"));
        }
        Some(_) => list.warn(
            Check::SqlFileSystem,
            subject,
            format!("{name} on Linux {release}: each durable write flushes the drive's whole cache"),
            format!("{name} uses FUA for durable writes as of Linux {major}.{minor}"),
        ),
        None => list.unknown(Check::SqlFileSystem, subject, format!("{name} on a kernel of unknown version")),
    }
}

/// `5.15.0-91-generic` is 5.15.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(['.', '-']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn access_times(target: &CheckedTarget, subject: &str, list: &mut Checklist) {
    let Some(mount) = &target.environment.mount else {
        return list.pass(Check::AccessTimes, subject, "no file system, so no access times");
    };
    if mount.mount_options.iter().any(|option| option == "noatime") {
        list.pass(Check::AccessTimes, subject, "noatime");
    } else {
        let kept = mount.mount_options.iter().find(|option| *option == "relatime").map_or("atime", String::as_str);
        let found = format!("{kept}: reads may update access times");
        list.warn(Check::AccessTimes, subject, found, "mount with noatime, as SQL Server's guidelines recommend");
    }
}

fn fua(name: &str, queue: &Queue, list: &mut Checklist) {
    match (queue.fua, queue.write_cache) {
        (_, Some(WriteCache::WriteThrough)) => list.pass(Check::Fua, name, "FUA is not needed: no volatile cache"),
        (Some(true), _) => list.pass(Check::Fua, name, "yes"),
        (Some(false), _) => list.warn(
            Check::Fua,
            name,
            "no FUA: each durable write flushes the whole cache",
            "prefer drives with FUA or power-loss protection; for SQL Server, see trace flag 3979, \
             or writethrough and alternatewritethrough in mssql-conf",
        ),
        (None, _) => list.unknown(Check::Fua, name, "not reported by the kernel"),
    }
}

fn read_ahead(name: &str, read_ahead_bytes: Option<u64>, list: &mut Checklist) {
    match read_ahead_bytes {
        None => list.unknown(Check::ReadAhead, name, "not reported by the kernel"),
        Some(bytes) if bytes >= READ_AHEAD_BYTES => list.pass(Check::ReadAhead, name, Bytes(bytes).to_string()),
        Some(bytes) => list.warn(
            Check::ReadAhead,
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

fn sectors(name: &str, queue: &Queue, list: &mut Checklist) {
    let Some((logical, physical)) = queue.logical_sector_bytes.zip(queue.physical_sector_bytes) else {
        return list.unknown(Check::SectorSize, name, "not reported by the kernel");
    };
    let found = format!("{logical} bytes logical, {physical} physical");
    if logical.max(physical) > SECTOR_BYTES_MAX {
        list.fail(
            Check::SectorSize,
            name,
            found,
            "SQL Server supports 512-byte and 4096-byte sectors: reformat the namespace (nvme format)",
        );
    } else {
        list.pass(Check::SectorSize, name, found);
    }
}

#[cfg(test)]
mod tests {
    use crate::check::fixture::{answers, below, facts, mount_of, outcomes};
    use model::block_device::WriteCache;
    use model::check::{Check, CheckFacts, Outcome, Workload};
    use model::facts::TargetKind;

    fn sql() -> CheckFacts {
        let mut facts = facts();
        facts.workload = Workload::Sql;
        facts.system.kernel_release = "6.18.44-generic".to_owned();
        facts
    }

    #[test]
    fn nothing_of_it_is_asked_of_other_loads() {
        assert!(crate::check::check(&facts()).iter().all(|finding| !finding.check.is_for_sql()));
    }

    // Shows check: sql-file-system
    #[test]
    fn file_system_and_kernel_decide_together() {
        let mut facts = sql();
        assert_eq!(answers(&facts, Check::SqlFileSystem), ["pass a.dat: ext4 on Linux 6.18.44-generic"]);
        facts.system.kernel_release = "5.4.0".to_owned();
        assert_eq!(outcomes(&facts, Check::SqlFileSystem), [Outcome::Warn]);
        let TargetKind::Regular(file) = &mut facts.targets[0].facts.kind else { panic!() };
        file.file_system.name = "xfs".to_owned();
        assert_eq!(outcomes(&facts, Check::SqlFileSystem), [Outcome::Pass]);
        let TargetKind::Regular(file) = &mut facts.targets[0].facts.kind else { panic!() };
        file.file_system.name = "btrfs".to_owned();
        assert_eq!(outcomes(&facts, Check::SqlFileSystem), [Outcome::Fail]);
    }

    // Shows check: fua
    #[test]
    fn durable_writes_want_fua_or_no_cache() {
        let mut facts = sql();
        for (fua, write_cache, outcome) in [
            (Some(true), Some(WriteCache::WriteBack), Outcome::Pass),
            (Some(false), Some(WriteCache::WriteBack), Outcome::Warn),
            (Some(false), Some(WriteCache::WriteThrough), Outcome::Pass),
            (None, None, Outcome::Unknown),
        ] {
            (below(&mut facts).queue.fua, below(&mut facts).queue.write_cache) = (fua, write_cache);
            assert_eq!(outcomes(&facts, Check::Fua), [outcome]);
        }
    }

    // Shows check: access-times
    // Shows check: read-ahead
    // Shows check: sector-size
    #[test]
    fn read_ahead_access_times_and_sectors() {
        let mut facts = sql();
        assert_eq!(outcomes(&facts, Check::AccessTimes), [Outcome::Warn]);
        mount_of(&mut facts).mount_options = vec!["rw".to_owned(), "noatime".to_owned()];
        assert_eq!(outcomes(&facts, Check::AccessTimes), [Outcome::Pass]);
        for (bytes, outcome) in
            [(Some(128 << 10), Outcome::Warn), (Some(2 << 20), Outcome::Pass), (None, Outcome::Unknown)]
        {
            below(&mut facts).queue.read_ahead_bytes = bytes;
            assert_eq!(outcomes(&facts, Check::ReadAhead), [outcome]);
        }
        for (logical, physical, outcome) in
            [(512, 4096, Outcome::Pass), (4096, 4096, Outcome::Pass), (512, 16_384, Outcome::Fail)]
        {
            let queue = &mut below(&mut facts).queue;
            (queue.logical_sector_bytes, queue.physical_sector_bytes) = (Some(logical), Some(physical));
            assert_eq!(outcomes(&facts, Check::SectorSize), [outcome]);
        }
    }
}
