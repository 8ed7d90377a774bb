//! Request queues of the disks, and alignment and layers between targets and disks.

use super::checklist::{ALL_TARGETS, Checklist, answers};
use super::{CheckDocumentation, CheckRule, carriers, devices, disks, each_once};
use model::block_device::{BlockDevice, DeviceKind, Queue};
use model::check::CheckFacts;
use model::finding::Severity;
use model::units::Bytes;

pub(super) const RULES: &[CheckRule] = &[
    CheckRule {
        name: "scheduler",
        severity: Severity::Warn,
        unit: "",
        computed_from: CheckDocumentation {
            looks_at: "the I/O scheduler of the disks",
            warns_if: "a disk that is not rotational has an I/O scheduler",
            fails_if: "",
        },
        advice: "to measure the device alone: echo none > /sys/block/NAME/queue/scheduler",
        evaluate: |facts| answers(facts, schedulers),
    },
    CheckRule {
        name: "alignment",
        severity: Severity::Fail,
        unit: "",
        computed_from: CheckDocumentation {
            looks_at: "the start offset of partitions",
            warns_if: "a partition does not start at a multiple of 1 MiB",
            fails_if: "a partition starts inside a physical sector",
        },
        advice: "recreate the partition aligned (parted -a optimal): misaligned I/Os touch two sectors or stripe units",
        evaluate: |facts| answers(facts, partitions),
    },
    CheckRule {
        name: "drive-power-states",
        severity: Severity::Warn,
        unit: "",
        computed_from: CheckDocumentation {
            looks_at: "exit latencies of the power states that an NVMe drive may enter on its own (APST)",
            warns_if: "the drive may enter a power state from which waking up takes time",
            fails_if: "",
        },
        advice: "APST adds latency at low depths and rates; to disable it: nvme_core.default_ps_max_latency_us=0 at \
                 boot, or nvme set-feature -f 0x0c -v 0",
        evaluate: |facts| answers(facts, drive_sleep),
    },
];

/// Default alignment of partitioning tools: a multiple of all common page, stripe and erase block sizes.
const USUAL_ALIGNMENT_BYTES: u64 = 1 << 20;

fn schedulers(facts: &CheckFacts, list: &mut Checklist) {
    let carriers = each_once(facts.targets.iter().flat_map(carriers));
    if carriers.is_empty() {
        list.unknown(ALL_TARGETS, "the underlying block device is unknown");
    }
    for device in carriers {
        let Queue { scheduler, rotational, .. } = &device.queue;
        match (scheduler.as_deref(), rotational) {
            (None, _) => {
                list.unknown(&device.name, "not reported by the kernel; the device may have no queue");
            }
            (Some("none"), _) => list.pass(&device.name, "none"),
            (Some(name), Some(true)) => {
                list.pass(&device.name, format!("{name}; the kernel reports the disk as rotational"));
            }
            (Some(name), _) => list.warn_with(
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
        list.pass(ALL_TARGETS, "no partitions in use");
    }
    for partition in partitions {
        let start = facts.devices.get(&partition.name).and_then(|state| state.start_bytes);
        let Some(start_bytes) = start else {
            list.unknown(&partition.name, "start offset not reported by the kernel");
            continue;
        };
        let queue = partition.below.first().map(|disk| &disk.queue);
        let sector_bytes = queue.and_then(|queue| queue.physical_sector_bytes).map_or(4096, u64::from).max(512);
        let found = format!("starts at {start_bytes} bytes");
        if !start_bytes.is_multiple_of(sector_bytes) {
            let found = format!("{found}, not aligned to its {} sectors", Bytes(sector_bytes));
            list.fail(&partition.name, found);
        } else if !start_bytes.is_multiple_of(USUAL_ALIGNMENT_BYTES) {
            let found = format!("{found}, not a multiple of {}", Bytes(USUAL_ALIGNMENT_BYTES));
            list.warn(&partition.name, found);
        } else {
            list.pass(&partition.name, format!("starts at {}", Bytes(start_bytes)));
        }
    }
}

fn drive_sleep(facts: &CheckFacts, list: &mut Checklist) {
    let disks = disks(facts);
    if disks.is_empty() {
        list.unknown(ALL_TARGETS, "the underlying disk is unknown");
    }
    for disk in disks {
        let told = facts.devices.get(&disk.name).map(|state| state.wake_latency_us.as_ref());
        match told {
            Some(Ok(0)) => list.pass(&disk.name, "the drive does not enter low-power states"),
            Some(Ok(latency_us)) => {
                let found = format!("may enter a power state with {latency_us} µs wake-up latency (APST)");
                list.warn(&disk.name, found);
            }
            Some(Err(reason)) => list.unknown(&disk.name, reason),
            None => list.unknown(&disk.name, "the drive was not queried"),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::check::fixture::{answers, below, facts, outcomes, state_of};
    use model::block_device::{BlockDevice, DeviceKind};
    use model::finding::Severity;

    // Shows check: scheduler
    #[test]
    fn a_scheduler_warns_unless_the_disk_turns() {
        let mut facts = facts();
        assert_eq!(answers(&facts, "scheduler"), ["pass nvme0n1: none"]);
        below(&mut facts).queue.scheduler = Some("bfq".to_owned());
        assert_eq!(answers(&facts, "scheduler"), ["warn nvme0n1: bfq reorders and delays requests"]);
        below(&mut facts).queue.rotational = Some(true);
        assert_eq!(outcomes(&facts, "scheduler"), [Severity::Pass]);
        below(&mut facts).queue.scheduler = None;
        assert_eq!(outcomes(&facts, "scheduler"), [Severity::Unknown]);
    }

    // Shows check: alignment
    #[test]
    fn partitions_begin_on_boundaries() {
        let mut facts = facts();
        assert_eq!(outcomes(&facts, "alignment"), [Severity::Pass]);
        let mut disk = below(&mut facts).clone();
        disk.queue.physical_sector_bytes = Some(4096);
        let kind = DeviceKind::Partition { number: Some(1) };
        *below(&mut facts) =
            BlockDevice { name: "nvme0n1p1".to_owned(), kind, below: vec![disk], ..BlockDevice::default() };
        assert_eq!(outcomes(&facts, "alignment"), [Severity::Unknown]);
        let state = state_of(&mut facts).clone();
        facts.devices.insert("nvme0n1p1".to_owned(), state);
        for (start_bytes, expected) in [
            (1 << 20, "pass nvme0n1p1: starts at 1MiB"),
            (8192, "warn nvme0n1p1: starts at 8192 bytes, not a multiple of 1MiB"),
            (63 * 512, "fail nvme0n1p1: starts at 32256 bytes, not aligned to its 4KiB sectors"),
        ] {
            facts.devices.get_mut("nvme0n1p1").expect("a device").start_bytes = Some(start_bytes);
            assert_eq!(answers(&facts, "alignment"), [expected]);
        }
    }

    // Shows check: drive-power-states
    #[test]
    fn a_drive_that_may_sleep_warns() {
        let mut facts = facts();
        state_of(&mut facts).wake_latency_us = Ok(100_000);
        assert_eq!(
            answers(&facts, "drive-power-states"),
            ["warn nvme0n1: may enter a power state with 100000 µs wake-up latency (APST)"]
        );
        state_of(&mut facts).wake_latency_us = Ok(0);
        assert_eq!(outcomes(&facts, "drive-power-states"), [Severity::Pass]);
    }
}
