//! Selection of the devices to watch.

use model::block_device::{DeviceKind, DeviceRow};
use model::counter_object::CounterObject;
use model::kernel_counters::DeviceCounters;

/// Devices to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Whole disks, RAIDs and volumes with a medium; loop devices and RAM disks that were used. Partitions are counted
    /// in their disks.
    Usual,
    /// The same with partitions, and those with these names of whatever kind. Case does not matter.
    Used(Vec<String>),
    /// Every one.
    All,
    /// Those with these names.
    Named(Vec<String>),
}

impl Choice {
    /// True if a device is watched, given its counters since it was found.
    pub fn takes(&self, device: &DeviceRow, counters: &DeviceCounters) -> bool {
        match self {
            Self::All => true,
            Self::Named(names) => names.contains(&device.name),
            Self::Used(names) => {
                names.iter().any(|name| name.eq_ignore_ascii_case(&device.name)) || is_worth_a_look(device, counters)
            }
            Self::Usual => {
                let is_part = matches!(device.kind, DeviceKind::Partition { .. } | DeviceKind::NvmePath { .. });
                !is_part && is_worth_a_look(device, counters)
            }
        }
    }
}

/// There are often dozens of free loop devices and RAM disks.
fn is_worth_a_look(device: &DeviceRow, counters: &DeviceCounters) -> bool {
    let has_medium = device.size_bytes != Some(0);
    let was_used = counters.read.count > 0 || counters.write.count > 0;
    match device.kind {
        DeviceKind::Loop { .. } | DeviceKind::Ram | DeviceKind::Zram { .. } => has_medium && was_used,
        _ => has_medium,
    }
}

/// The Windows object of a device: a disk, or a volume on one.
pub fn object_of(kind: &DeviceKind) -> CounterObject {
    match kind {
        DeviceKind::Partition { .. }
        | DeviceKind::Mapper { .. }
        | DeviceKind::Raid(_)
        | DeviceKind::Loop { .. }
        | DeviceKind::Bcache { .. }
        | DeviceKind::ZfsVolume => CounterObject::LogicalDisk,
        _ => CounterObject::PhysicalDisk,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::kernel_counters::RequestCounters;

    #[test]
    fn the_usual_choice_leaves_out_what_nobody_uses() {
        let device = |kind, size_bytes| DeviceRow { kind, size_bytes: Some(size_bytes), ..DeviceRow::default() };
        let loop_device = |size_bytes| {
            device(DeviceKind::Loop { file: None, offset_bytes: None, direct: None, file_system: None }, size_bytes)
        };
        let idle = DeviceCounters::default();
        let used = DeviceCounters { read: RequestCounters { count: 1, ..RequestCounters::default() }, ..idle };
        let disk = device(DeviceKind::Disk, 512);
        let partition = device(DeviceKind::Partition { number: Some(1) }, 512);
        assert!(Choice::Usual.takes(&disk, &idle) && !Choice::Usual.takes(&device(DeviceKind::Disk, 0), &idle));
        assert!(!Choice::Usual.takes(&partition, &used) && Choice::Used(vec![]).takes(&partition, &idle));
        assert!(!Choice::Usual.takes(&loop_device(512), &idle) && Choice::Usual.takes(&loop_device(512), &used));
        // A loop device that was used and is free again has no size, but its counters are still there.
        assert!(
            !Choice::Used(vec!["sda".to_owned()]).takes(&loop_device(0), &used)
                && Choice::All.takes(&loop_device(0), &idle)
        );
        let named = Choice::Named(vec!["sda".to_owned()]);
        assert!(
            named.takes(&DeviceRow { name: "sda".to_owned(), ..disk.clone() }, &idle) && !named.takes(&disk, &idle)
        );
    }
}
