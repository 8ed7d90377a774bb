//! Whether what was written is stored as it was written.

use super::{RuleContext, VerdictRule};
use crate::rule::Observation;
use model::block_device::{BlockDevice, DeviceKind, MapperMaker};
use model::environment::TargetEnvironment;
use model::finding::Severity;
use model::operation::Operation;
use model::plan::{Content, TargetPlan};
use std::collections::BTreeMap;

pub(super) const RULES: &[VerdictRule] = &[VerdictRule {
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
}];

fn shrinking_data(context: &RuleContext<'_>) -> Vec<Observation> {
    let targets = context.plan.into_iter().flat_map(|plan| plan.targets.iter().enumerate());
    let mut written: BTreeMap<usize, u64> = BTreeMap::new();
    for row in &context.measured.rows {
        let bytes = written.entry(row.target).or_default();
        *bytes = bytes.saturating_add(row.figures.write.bytes);
    }
    let written = |index| written.get(&index).copied().unwrap_or_default();
    targets.filter_map(|(index, target)| shrinking(context, index, target, written(index))).collect()
}

/// Writes of data that compresses or repeats, to what makes use of that.
fn shrinking(context: &RuleContext<'_>, index: usize, target: &TargetPlan, written_bytes: u64) -> Option<Observation> {
    let share = written_bytes as f64 / context.measured.total.total.bytes.max(1) as f64;
    let written =
        context.work.of(index).filter(|work| work.does(Operation::Write)).find_map(|work| words(work.content))?;
    let environment = context.environment(index)?;
    let by = file_system(environment, target.open.direct).or_else(|| device(environment))?;
    let path = target.path.display().to_string();
    let figure = format!("{written} was written to '{path}', which is on {by}");
    let counts = context.reaches_kernel(index) && share > super::WORTH_A_WARNING;
    counts.then(|| Observation::new(figure, share * 100.0).of(path))
}

/// Content that shrinks, in words; that of a source may or may not.
const fn words(content: Content) -> Option<&'static str> {
    match content {
        Content::Ramp => Some("a pattern that repeats every 256 bytes"),
        Content::Zero => Some("nothing but zeros"),
        // Data that reduces was asked for.
        Content::RandomEach | Content::Source | Content::Verified | Content::Reducible(_) => None,
    }
}

/// A file system that compresses, according to its options.
fn file_system(environment: &TargetEnvironment, is_direct: bool) -> Option<String> {
    let mount = environment.mount.as_ref()?;
    let option = |start: &str| {
        let mut options = mount.file_system_options.iter().chain(&mount.mount_options);
        options.find(|option| option.starts_with(start) && !option.ends_with("=no") && !option.ends_with("=none"))
    };
    match mount.file_system.as_str() {
        // btrfs compresses when it writes its cache back; direct writes do not come that way.
        "btrfs" if !is_direct => option("compress").map(|option| format!("btrfs with {option}")),
        "bcachefs" => option("compression=").map(|option| format!("bcachefs with {option}")),
        "f2fs" => option("compress_extension=").map(|option| format!("f2fs with {option}")),
        // The property of the dataset is not to be read without its tools; it is on unless switched off
        // since OpenZFS 2.2.
        "zfs" => Some("ZFS, which compresses by default".to_owned()),
        _ => None,
    }
}

/// A device below that compresses or deduplicates.
fn device(environment: &TargetEnvironment) -> Option<String> {
    let below = environment.devices().into_iter().flat_map(BlockDevice::walk);
    let shrinks = |device: &&BlockDevice| match &device.kind {
        DeviceKind::Zram { .. } | DeviceKind::ZfsVolume => true,
        DeviceKind::Mapper { maker: Some(MapperMaker::Other(maker)), .. } => maker == "vdo",
        _ => false,
    };
    below.into_iter().find(shrinks).map(|device| format!("{} ({})", device.name, device.kind.word()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cases::{Built, PATH};
    use model::environment::Backing;
    use std::path::Path;

    /// All bytes are written, to this file system with these options.
    fn written(file_system: &str, options: &[&str]) -> Built {
        let mut built = Built::sound();
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
        assert_eq!(Built::sound().found(RULES), [""; 0], "nothing is written");
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
}
