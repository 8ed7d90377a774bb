//! How the kernel passes requests to the disks, and how these lie below the targets.

use super::checklist::{ALL_TARGETS, Checklist};
use super::{carriers, devices, disks, each_once};
use model::block_device::{BlockDevice, DeviceKind, Queue};
use model::check::{Check, CheckFacts};
use model::units::Bytes;

/// What partitioning tools align to: a multiple of every page, stripe and erase block that is common.
const USUAL_ALIGNMENT_BYTES: u64 = 1 << 20;

pub(super) fn check(facts: &CheckFacts, list: &mut Checklist) {
    schedulers(facts, list);
    partitions(facts, list);
    drive_sleep(facts, list);
}

fn schedulers(facts: &CheckFacts, list: &mut Checklist) {
    let carriers = each_once(facts.targets.iter().flat_map(carriers));
    if carriers.is_empty() {
        list.unknown(Check::Scheduler, ALL_TARGETS, "the underlying block device is unknown");
    }
    for device in carriers {
        let Queue { scheduler, rotational, .. } = &device.queue;
        match (scheduler.as_deref(), rotational) {
            (None, _) => {
                list.unknown(
                    Check::Scheduler,
                    &device.name,
                    "not reported by the kernel; the device may have no queue",
                );
            }
            (Some("none"), _) => list.pass(Check::Scheduler, &device.name, "none"),
            (Some(name), Some(true)) => {
                list.pass(Check::Scheduler, &device.name, format!("{name}; the kernel reports the disk as rotational"));
            }
            (Some(name), _) => list.warn(
                Check::Scheduler,
                &device.name,
                format!("{name} reorders and delays requests"),
                format!("to measure the device alone: echo none > /sys/block/{}/queue/scheduler", device.name),
            ),
        }
    }
}

fn partitions(facts: &CheckFacts, list: &mut Checklist) {
    let partitions: Vec<&BlockDevice> =
        devices(facts).into_iter().filter(|device| matches!(device.kind, DeviceKind::Partition { .. })).collect();
    if partitions.is_empty() {
        list.pass(Check::Alignment, ALL_TARGETS, "no partitions in use");
    }
    for partition in partitions {
        let start = facts.devices.get(&partition.name).and_then(|state| state.start_bytes);
        let Some(start_bytes) = start else {
            list.unknown(Check::Alignment, &partition.name, "start offset not reported by the kernel");
            continue;
        };
        let queue = partition.below.first().map(|disk| &disk.queue);
        let sector_bytes = queue.and_then(|queue| queue.physical_sector_bytes).map_or(4096, u64::from).max(512);
        let found = format!("starts at {start_bytes} bytes");
        let advice = "recreate the partition aligned (parted -a optimal): misaligned I/Os touch two sectors or stripe \
                      units";
        if !start_bytes.is_multiple_of(sector_bytes) {
            let found = format!("{found}, not aligned to its {} sectors", Bytes(sector_bytes));
            list.fail(Check::Alignment, &partition.name, found, advice);
        } else if !start_bytes.is_multiple_of(USUAL_ALIGNMENT_BYTES) {
            let found = format!("{found}, not a multiple of {}", Bytes(USUAL_ALIGNMENT_BYTES));
            list.warn(Check::Alignment, &partition.name, found, advice);
        } else {
            list.pass(Check::Alignment, &partition.name, format!("starts at {}", Bytes(start_bytes)));
        }
    }
}

fn drive_sleep(facts: &CheckFacts, list: &mut Checklist) {
    let disks = disks(facts);
    if disks.is_empty() {
        list.unknown(Check::DrivePowerStates, ALL_TARGETS, "the underlying disk is unknown");
    }
    for disk in disks {
        let told = facts.devices.get(&disk.name).map(|state| state.wake_latency_us.as_ref());
        match told {
            Some(Ok(0)) => list.pass(Check::DrivePowerStates, &disk.name, "the drive does not enter low-power states"),
            Some(Ok(latency_us)) => list.warn(
                Check::DrivePowerStates,
                &disk.name,
                format!("may enter a power state with {latency_us} µs wake-up latency (APST)"),
                "APST adds latency at low depths and rates; to disable it: nvme_core.default_ps_max_latency_us=0 at \
                 boot, or nvme set-feature -f 0x0c -v 0",
            ),
            Some(Err(reason)) => list.unknown(Check::DrivePowerStates, &disk.name, reason),
            None => list.unknown(Check::DrivePowerStates, &disk.name, "the drive was not queried"),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::check::fixture::{answers, below, facts, outcomes, state_of};
    use model::block_device::{BlockDevice, DeviceKind};
    use model::check::{Check, Outcome};

    // Shows check: scheduler
    #[test]
    fn a_scheduler_warns_unless_the_disk_turns() {
        let mut facts = facts();
        assert_eq!(answers(&facts, Check::Scheduler), ["pass nvme0n1: none"]);
        below(&mut facts).queue.scheduler = Some("bfq".to_owned());
        assert_eq!(answers(&facts, Check::Scheduler), ["warn nvme0n1: bfq reorders and delays requests"]);
        below(&mut facts).queue.rotational = Some(true);
        assert_eq!(outcomes(&facts, Check::Scheduler), [Outcome::Pass]);
        below(&mut facts).queue.scheduler = None;
        assert_eq!(outcomes(&facts, Check::Scheduler), [Outcome::Unknown]);
    }

    // Shows check: alignment
    #[test]
    fn partitions_begin_on_boundaries() {
        let mut facts = facts();
        assert_eq!(outcomes(&facts, Check::Alignment), [Outcome::Pass]);
        let mut disk = below(&mut facts).clone();
        disk.queue.physical_sector_bytes = Some(4096);
        let kind = DeviceKind::Partition { number: Some(1) };
        *below(&mut facts) =
            BlockDevice { name: "nvme0n1p1".to_owned(), kind, below: vec![disk], ..BlockDevice::default() };
        assert_eq!(outcomes(&facts, Check::Alignment), [Outcome::Unknown]);
        let state = state_of(&mut facts).clone();
        facts.devices.insert("nvme0n1p1".to_owned(), state);
        for (start_bytes, expected) in [
            (1 << 20, "pass nvme0n1p1: starts at 1MiB"),
            (8192, "warn nvme0n1p1: starts at 8192 bytes, not a multiple of 1MiB"),
            (63 * 512, "fail nvme0n1p1: starts at 32256 bytes, not aligned to its 4KiB sectors"),
        ] {
            facts.devices.get_mut("nvme0n1p1").expect("a device").start_bytes = Some(start_bytes);
            assert_eq!(answers(&facts, Check::Alignment), [expected]);
        }
    }

    // Shows check: drive-power-states
    #[test]
    fn a_drive_that_may_sleep_warns() {
        let mut facts = facts();
        state_of(&mut facts).wake_latency_us = Ok(100_000);
        assert_eq!(
            answers(&facts, Check::DrivePowerStates),
            ["warn nvme0n1: may enter a power state with 100000 µs wake-up latency (APST)"]
        );
        state_of(&mut facts).wake_latency_us = Ok(0);
        assert_eq!(outcomes(&facts, Check::DrivePowerStates), [Outcome::Pass]);
    }
}
