//! Data reduction in the storage: written data that is not stored as is.

use super::{RuleContext, VerdictRule};
use crate::rule::Observation;
use model::block_device::{BlockDevice, DeviceKind, MapperMaker, Transport};
use model::environment::{Backing, TargetEnvironment};
use model::facts::{Fill, Origin, RegularFacts, TargetKind};
use model::finding::Severity;
use model::operation::Operation;
use model::plan::{Content, Preparation, TargetPlan};
use std::collections::BTreeMap;

pub(super) const RULES: &[VerdictRule] = &[
    VerdictRule {
        name: "shrinking-data",
        severity: Severity::Warn,
        unit: "percent",
        computed_from: "writes of zeros (-Z), or of the default pattern (without -Z or -Zr), to storage that may compress, \
                    if more than 2 % of all bytes. Such storage is btrfs mounted with `compress` (except with direct \
                    I/O, which btrfs does not compress), bcachefs and f2fs with compression options, ZFS file systems \
                    and volumes (whether compression is on can only be read with the tools of ZFS), zram and VDO. Data \
                    from -Z<size> is not counted",
        advice: "the device receives less data than was written: use random data (-Zr), which cannot be \
             compressed or deduplicated",
        evaluate: shrinking_data,
    },
    VerdictRule {
        name: "repeating-data",
        severity: Severity::Note,
        unit: "percent",
        computed_from: "writes of zeros (-Z) or of the default pattern (without -Z or -Zr), or a target that was created \
                        with them (-c), on storage that may compress or deduplicate without this machine seeing it, if \
                        more than 2 % of all bytes: disks of a hypervisor or cloud, arrays (iSCSI, Fibre Channel, NVMe \
                        over a network), network disks, and NFS or SMB shares. Not beside shrinking-data",
        advice: "use random data (-Zr), or a known reduction (--compress, --dedupe), for writes and for the file that -c \
                 creates, if the storage compresses or deduplicates",
        evaluate: repeating_data,
    },
];

fn shrinking_data(context: &RuleContext<'_>) -> Vec<Observation> {
    observations(context, |index, target| {
        let data = written(context, index)?;
        let environment = context.environment(index)?;
        let storage = reducing_file_system(environment, target.open.direct).or_else(|| reducing_device(environment))?;
        Some(ReducibleData { data, operation: Operation::Write, storage })
    })
}

fn repeating_data(context: &RuleContext<'_>) -> Vec<Observation> {
    observations(context, |index, target| {
        let written = written(context, index).map(|data| (data, Operation::Write));
        let (data, operation) = written.or_else(|| Some((created(context, target)?, Operation::Read)))?;
        let environment = context.environment(index)?;
        if reducing_file_system(environment, false).or_else(|| reducing_device(environment)).is_some() {
            return None;
        }
        Some(ReducibleData { data, operation, storage: unseen_storage(environment)? })
    })
}

/// Reducible data, on storage that may reduce it; both in words.
struct ReducibleData {
    data: &'static str,
    /// The I/Os that transfer it: reads or writes.
    operation: Operation,
    storage: String,
}

/// The targets with such data, if its share of the bytes is worth a finding.
fn observations(
    context: &RuleContext<'_>,
    reducing: impl Fn(usize, &TargetPlan) -> Option<ReducibleData>,
) -> Vec<Observation> {
    let mut moved: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
    for row in &context.measured.rows {
        let (read, written) = moved.entry(row.target).or_default();
        *read = read.saturating_add(row.figures.read.bytes);
        *written = written.saturating_add(row.figures.write.bytes);
    }
    let observation = |(index, target): (usize, &TargetPlan)| {
        let ReducibleData { data, operation, storage } = reducing(index, target)?;
        let (read, written) = moved.get(&index).copied().unwrap_or_default();
        let (verb, bytes) = if operation == Operation::Read { ("read from", read) } else { ("written to", written) };
        let share = bytes as f64 / context.measured.total.total.bytes.max(1) as f64;
        let path = target.path.display().to_string();
        let figure = format!("{data} was {verb} '{path}', which is on {storage}");
        let counts = context.reaches_kernel(index) && share > super::WORTH_A_WARNING;
        counts.then(|| Observation::new(figure, share * 100.0).with_subject(path))
    };
    context.plan.into_iter().flat_map(|plan| plan.targets.iter().enumerate()).filter_map(observation).collect()
}

/// The data written to a target, if it is reducible.
fn written(context: &RuleContext<'_>, index: usize) -> Option<&'static str> {
    context.work.workers_on(index).filter(|work| work.does(Operation::Write)).find_map(|work| words(work.content))
}

/// The data that a target was created with, by this run or an earlier one, if it is reducible.
fn created(context: &RuleContext<'_>, target: &TargetPlan) -> Option<&'static str> {
    let kept = || match &context.result.targets.facts.get(&target.path)?.kind {
        TargetKind::Regular(RegularFacts { origin: Origin::Ours { fill, .. }, .. }) => Some(*fill),
        _ => None,
    };
    let fill = match &target.preparation {
        Preparation::Create(creation) => Some(creation.fill),
        _ => kept(),
    };
    match fill? {
        Fill::Ramp => words(Content::Ramp),
        Fill::Zero => words(Content::Zero),
        _ => None,
    }
}

/// Reducible content, in words; a source may or may not be reducible.
const fn words(content: Content) -> Option<&'static str> {
    match content {
        Content::Ramp => Some("a pattern that repeats every 256 bytes"),
        Content::Zero => Some("nothing but zeros"),
        // Reducible data was requested.
        Content::RandomEach | Content::Source | Content::Verified | Content::Reducible(_) => None,
    }
}

/// A compressing file system, according to its options.
fn reducing_file_system(environment: &TargetEnvironment, is_direct: bool) -> Option<String> {
    let mount = environment.mount.as_ref()?;
    let option = |start: &str| {
        let mut options = mount.file_system_options.iter().chain(&mount.mount_options);
        options.find(|option| option.starts_with(start) && !option.ends_with("=no") && !option.ends_with("=none"))
    };
    match mount.file_system.as_str() {
        // btrfs compresses on write-back; direct writes bypass that.
        "btrfs" if !is_direct => option("compress").map(|option| format!("btrfs with {option}")),
        "bcachefs" => option("compression=").map(|option| format!("bcachefs with {option}")),
        "f2fs" => option("compress_extension=").map(|option| format!("f2fs with {option}")),
        // The property of the dataset cannot be read without its tools; it is on by default since OpenZFS 2.2.
        "zfs" => Some("ZFS, which compresses by default".to_owned()),
        _ => None,
    }
}

/// An underlying device that compresses or deduplicates.
fn reducing_device(environment: &TargetEnvironment) -> Option<String> {
    let below = environment.devices().into_iter().flat_map(BlockDevice::walk);
    let shrinks = |device: &&BlockDevice| match &device.kind {
        DeviceKind::Zram { .. } | DeviceKind::ZfsVolume => true,
        DeviceKind::Mapper { maker: Some(MapperMaker::Other(maker)), .. } => maker == "vdo",
        _ => false,
    };
    below.into_iter().find(shrinks).map(|device| format!("{} ({})", device.name, device.kind.word()))
}

/// Storage that may reduce data invisibly to this machine.
fn unseen_storage(environment: &TargetEnvironment) -> Option<String> {
    if let Backing::Remote { address } = &environment.backing {
        return Some(format!("the share {address}"));
    }
    let below = environment.devices().into_iter().flat_map(BlockDevice::walk);
    below.into_iter().find_map(|device| {
        let name = &device.name;
        match &device.connection.transport {
            _ if device.kind == DeviceKind::Network => Some(format!("the network disk {name}")),
            Some(Transport::Virtio | Transport::Vmbus | Transport::Xen) => Some(format!("the virtual disk {name}")),
            Some(Transport::Iscsi | Transport::FibreChannel | Transport::NvmeOver(_)) => {
                Some(format!("the array's disk {name}"))
            }
            _ if device.identity.is_virtual() => Some(format!("the virtual disk {name}")),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::{CaseResult, PATH};
    use model::block_device::{Connection, Identity};
    use model::plan::{Blocks, Creation};
    use std::path::Path;

    /// All bytes are written, to this file system with these options.
    fn written(file_system: &str, options: &[&str]) -> CaseResult {
        let mut built = CaseResult::sound();
        built.stands_on(file_system);
        built.work().write_percent = 100;
        let row = &mut built.measured().rows[0].figures;
        (row.write, row.read) = (row.read, row.write);
        let environment = built.result.targets.environments.get_mut(Path::new(PATH)).expect("the target");
        let mount = environment.mount.as_mut().expect("it is a file");
        mount.file_system_options = options.iter().map(|option| (*option).to_owned()).collect();
        built
    }

    #[test]
    fn a_pattern_on_what_compresses_is_warned_of() {
        let mut built = written("btrfs", &["rw", "compress=zstd:3"]);
        assert_eq!(
            built.found(RULES),
            ["WARN shrinking-data: a pattern that repeats every 256 bytes was written to 'a.dat', which is on btrfs \
              with compress=zstd:3"]
        );
        built.work().content = Content::RandomEach;
        assert_eq!(built.found(RULES), [""; 0]);
        built.work().content = Content::Reducible(model::profile::Reduction::NONE);
        assert_eq!(built.found(RULES), [""; 0]);
        built.work().content = Content::Zero;
        assert!(built.found(RULES)[0].contains("nothing but zeros"));
        built.plan().targets[0].open.direct = true;
        assert_eq!(built.found(RULES), [""; 0], "btrfs does not compress direct writes");
    }

    #[test]
    fn what_stores_data_as_it_is_is_silent() {
        assert_eq!(written("ext4", &["compress"]).found(RULES), [""; 0]);
        assert_eq!(written("btrfs", &["rw"]).found(RULES), [""; 0]);
        assert_eq!(written("btrfs", &["compress=no"]).found(RULES), [""; 0]);
        assert_eq!(CaseResult::sound().found(RULES), [""; 0], "nothing is written");
    }

    #[test]
    fn devices_may_compress_too() {
        let mut built = written("ext4", &[]);
        let kind = DeviceKind::Zram { algorithm: None };
        let zram = BlockDevice { name: "zram0".to_owned(), kind, ..BlockDevice::default() };
        let environment = built.result.targets.environments.get_mut(Path::new(PATH)).expect("the target");
        environment.backing = Backing::Devices(vec![zram]);
        assert!(built.found(RULES)[0].ends_with("which is on zram0 (zram)"));
        assert!(written("zfs", &[]).found(RULES)[0].contains("on ZFS, which compresses"));
    }

    /// The target's file system is on this disk.
    fn on_disk(built: &mut CaseResult, transport: Option<Transport>, model: &str) {
        let connection = Connection { transport, ..Connection::default() };
        let identity = Identity { model: Some(model.to_owned()), ..Identity::default() };
        let disk = BlockDevice {
            name: "vda".to_owned(),
            kind: DeviceKind::Disk,
            connection,
            identity,
            ..BlockDevice::default()
        };
        let environment = built.result.targets.environments.get_mut(Path::new(PATH)).expect("the target");
        environment.backing = Backing::Devices(vec![disk]);
    }

    // Shows verdict: repeating-data
    #[test]
    fn repeating_data_is_noted_on_storage_that_hides_what_it_does() {
        let mut built = written("ext4", &[]);
        on_disk(&mut built, Some(Transport::Virtio), "");
        assert_eq!(
            built.found(RULES),
            ["NOTE repeating-data: a pattern that repeats every 256 bytes was written to 'a.dat', which is on the \
              virtual disk vda"]
        );
        on_disk(&mut built, Some(Transport::Iscsi), "");
        assert!(built.found(RULES)[0].ends_with("the array's disk vda"));
        on_disk(&mut built, Some(Transport::Nvme), "Amazon Elastic Block Store");
        assert!(built.found(RULES)[0].ends_with("the virtual disk vda"));
        on_disk(&mut built, Some(Transport::Nvme), "Samsung 990");
        assert_eq!(built.found(RULES), [""; 0]);
        let environment = built.result.targets.environments.get_mut(Path::new(PATH)).expect("the target");
        environment.backing = Backing::Remote { address: "nas:/export".to_owned() };
        assert!(built.found(RULES)[0].ends_with("the share nas:/export"));
        built.work().content = Content::RandomEach;
        assert_eq!(built.found(RULES), [""; 0]);
    }

    #[test]
    fn what_a_read_file_was_created_with_counts_too() {
        let mut built = CaseResult::sound();
        on_disk(&mut built, Some(Transport::Virtio), "");
        assert_eq!(built.found(RULES), [""; 0], "nothing is known of what it holds");
        let creation = |fill| {
            Preparation::Create(Creation {
                path: PATH.into(),
                size_bytes: 1 << 20,
                fill,
                blocks: Blocks::default(),
                replaces: None,
                new_directory: None,
                direct_alignment_bytes: None,
            })
        };
        built.plan().targets[0].preparation = creation(Fill::Zero);
        assert_eq!(
            built.found(RULES),
            ["NOTE repeating-data: nothing but zeros was read from 'a.dat', which is on the virtual disk vda"]
        );
        built.plan().targets[0].preparation = creation(Fill::Random);
        assert_eq!(built.found(RULES), [""; 0]);
    }
}
