//! Health of drives, RAIDs and links.

use super::checklist::{ALL_TARGETS, Checklist, answers};
use super::{CheckDocumentation, CheckRule, devices, disks};
use model::block_device::{BlockDevice, DeviceKind, PcieLink, Raid};
use model::check::{CheckFacts, DeviceState, DriveHealth, Temperature};
use model::environment::Backing;
use model::finding::Severity;
use model::units::counted;

pub(super) const RULES: &[CheckRule] = &[
    CheckRule {
        name: "raid",
        severity: Severity::Fail,
        unit: "",
        computed_from: CheckDocumentation {
            looks_at: "`md/degraded`, the state of ZFS pools",
            warns_if: "",
            fails_if: "a device is missing, or the pool is not ONLINE",
        },
        advice: "replace the missing devices and let the array rebuild: a degraded RAID reads more and tolerates fewer \
                 failures",
        evaluate: |facts| answers(facts, raids),
    },
    CheckRule {
        name: "smart",
        severity: Severity::Fail,
        unit: "",
        computed_from: CheckDocumentation {
            looks_at: "the SMART log of an NVMe drive (root only)",
            warns_if: "the drive has recorded media errors, or the rated endurance is used up",
            fails_if: "the drive reports a critical warning",
        },
        advice: "replace the drive, or measure another",
        evaluate: |facts| answers(facts, smart),
    },
    CheckRule {
        name: "temperature",
        severity: Severity::Warn,
        unit: "",
        computed_from: CheckDocumentation {
            looks_at: "the first sensor of the drive in hwmon",
            warns_if: "the drive has reached its temperature limit (70 °C if it reports none), or is within 5 °C of it",
            fails_if: "",
        },
        advice: "let the drive cool down and check the airflow before a long run",
        evaluate: |facts| answers(facts, temperature),
    },
    CheckRule {
        name: "pcie-link",
        severity: Severity::Warn,
        unit: "",
        computed_from: CheckDocumentation {
            looks_at: "speed and width of the PCIe link",
            warns_if: "the speed or the width is below the device's maximum",
            fails_if: "",
        },
        advice: "try another slot, riser or BIOS setting; some drives lower the link speed when idle, so check again \
                 under load",
        evaluate: |facts| answers(facts, links),
    },
];

/// A drive is called warm from this distance below its own limit, in thousandths of a degree Celsius.
const MARGIN_MILLIDEGREES: i64 = 5_000;
/// Assumed limit of a drive that reports none: most are rated for 70 °C.
const USUAL_LIMIT_MILLIDEGREES: i64 = 70_000;

/// Runs a check on each disk.
fn on_each_disk(facts: &CheckFacts, list: &mut Checklist, ask: fn(&BlockDevice, &CheckFacts, &mut Checklist)) {
    let disks = disks(facts);
    if disks.is_empty() {
        list.unknown(ALL_TARGETS, "the underlying disk is unknown");
    }
    for disk in disks {
        ask(disk, facts, list);
    }
}

/// A queried value of a drive; adds "unknown" with the reason if there is none.
fn value_or_unknown<'a, T>(
    disk: &BlockDevice,
    facts: &'a CheckFacts,
    list: &mut Checklist,
    of: fn(&DeviceState) -> &Result<T, String>,
) -> Option<&'a T> {
    let Some(state) = facts.devices.get(&disk.name) else {
        list.unknown(&disk.name, "the drive was not queried");
        return None;
    };
    of(state).as_ref().map_err(|reason| list.unknown(&disk.name, reason)).ok()
}

fn smart(facts: &CheckFacts, list: &mut Checklist) {
    on_each_disk(facts, list, |disk, facts, list| {
        if let Some(health) = value_or_unknown(disk, facts, list, |state| &state.health) {
            healthy(&disk.name, *health, list);
        }
    });
}

fn temperature(facts: &CheckFacts, list: &mut Checklist) {
    on_each_disk(facts, list, |disk, facts, list| {
        if let Some(temperature) = value_or_unknown(disk, facts, list, |state| &state.temperature) {
            warmth(&disk.name, *temperature, list);
        }
    });
}

fn links(facts: &CheckFacts, list: &mut Checklist) {
    on_each_disk(facts, list, |disk, _, list| links_of(disk, list));
}

fn raids(facts: &CheckFacts, list: &mut Checklist) {
    let mut count = 0;
    for device in devices(facts) {
        if let DeviceKind::Raid(raid) = &device.kind {
            count += 1;
            whole(&device.name, raid, list);
        }
    }
    for target in &facts.targets {
        if let Backing::Zfs(dataset) = &target.environment.backing {
            count += 1;
            match dataset.pool_state.as_deref() {
                Some("ONLINE") => list.pass(&dataset.pool, "the pool is ONLINE"),
                Some(state) => list.fail_with(
                    &dataset.pool,
                    format!("the pool is {state}"),
                    "see zpool status; results of a faulty pool are not representative",
                ),
                None => {
                    list.unknown(&dataset.pool, "the pool state cannot be read; see zpool status");
                }
            }
        }
    }
    if count == 0 {
        list.pass(ALL_TARGETS, "no software RAID in use");
    }
}

fn whole(name: &str, raid: &Raid, list: &mut Checklist) {
    let level = raid.level.as_deref().unwrap_or("md");
    match (raid.missing_count, raid.disk_count) {
        (Some(0), Some(disks)) => list.pass(name, format!("{level}: all {} present", counted(disks, "device"))),
        (Some(missing), disks) if missing > 0 => list.fail(
            name,
            format!(
                "{level} is missing {missing} of {} devices",
                disks.map_or("its".to_owned(), |disks| disks.to_string())
            ),
        ),
        // raid0 and linear have no redundancy and report no missing devices.
        _ => list.pass(name, format!("{level}: no redundancy")),
    }
}

fn healthy(name: &str, health: DriveHealth, list: &mut Checklist) {
    let critical = [
        "available spare below threshold",
        "temperature out of range",
        "unreliable",
        "read-only",
        "backup power failed",
        "persistent memory unreliable",
    ];
    let warnings: Vec<&str> = critical
        .iter()
        .enumerate()
        .filter(|(bit, _)| health.critical_warning >> bit & 1 == 1)
        .map(|(_, words)| *words)
        .collect();
    if !warnings.is_empty() {
        list.fail(name, format!("SMART critical warning: {}", warnings.join(", ")));
    } else if health.media_error_count > 0 {
        let found = format!("{} over its lifetime", counted(health.media_error_count, "media error"));
        list.warn_with(name, found, "expect retries; see smartctl -a or nvme error-log");
    } else if health.worn_percent >= 100 {
        let found = format!("{} % of its rated endurance is used up", health.worn_percent);
        list.warn_with(name, found, "a worn drive writes slower: the results do not represent a new drive");
    } else {
        let DriveHealth { worn_percent, spare_percent, .. } = health;
        list.pass(name, format!("{worn_percent} % worn, {spare_percent} % spare, no media errors"));
    }
}

fn warmth(name: &str, temperature: Temperature, list: &mut Checklist) {
    let degrees = |millidegrees: i64| format!("{:.0} °C", millidegrees as f64 / 1000.0);
    let limit = temperature.warning_millidegrees.filter(|limit| *limit > 0).unwrap_or(USUAL_LIMIT_MILLIDEGREES);
    let found = format!("{} of {}", degrees(temperature.millidegrees), degrees(limit));
    if temperature.millidegrees >= limit - MARGIN_MILLIDEGREES {
        list.warn(name, format!("{found}: it may throttle"));
    } else {
        list.pass(name, found);
    }
}

/// The links of a disk, or of each path to it.
fn links_of(disk: &BlockDevice, list: &mut Checklist) {
    let mut count = 0;
    for device in disk.walk() {
        if let Some(link) = &device.connection.pcie {
            count += 1;
            full_speed(&device.name, link, list);
        }
    }
    if count == 0 {
        list.unknown(&disk.name, "no PCI Express link reported by the kernel");
    }
}

fn full_speed(name: &str, link: &PcieLink, list: &mut Checklist) {
    let shown = |speed: Option<u32>, lanes: Option<u32>| {
        let speed = speed.map_or("unknown speed".to_owned(), |speed| format!("{} GT/s", f64::from(speed) / 1000.0));
        let lanes = lanes.map_or(String::new(), |lanes| format!(" x{lanes}"));
        format!("{speed}{lanes}")
    };
    let now = shown(link.megatransfers_per_s, link.lanes);
    let is_below = |now: Option<u32>, max: Option<u32>| now.zip(max).is_some_and(|(now, max)| now < max);
    if is_below(link.megatransfers_per_s, link.megatransfers_per_s_max) || is_below(link.lanes, link.lanes_max) {
        let max = shown(link.megatransfers_per_s_max, link.lanes_max);
        list.warn(name, format!("{} runs at {now} of {max}", link.address));
    } else if link.megatransfers_per_s.is_some() {
        list.pass(name, format!("{} at {now}, its maximum", link.address));
    } else {
        list.unknown(name, format!("{} reports no link speed", link.address));
    }
}

#[cfg(test)]
mod tests {
    use crate::check::fixture::{answers, below, facts, outcomes, state_of};
    use model::block_device::{BlockDevice, DeviceKind, PcieLink, Raid};
    use model::check::{DriveHealth, Temperature};
    use model::finding::Severity;

    // Shows check: raid
    #[test]
    fn a_raid_without_a_device_fails() {
        let mut facts = facts();
        assert_eq!(outcomes(&facts, "raid"), [Severity::Pass]);
        let raid =
            Raid { level: Some("raid5".to_owned()), disk_count: Some(4), missing_count: Some(1), ..Raid::default() };
        let disk = below(&mut facts).clone();
        *below(&mut facts) = BlockDevice {
            name: "md0".to_owned(),
            kind: DeviceKind::Raid(raid.clone()),
            below: vec![disk.clone()],
            ..BlockDevice::default()
        };
        assert_eq!(answers(&facts, "raid"), ["fail md0: raid5 is missing 1 of 4 devices"]);
        below(&mut facts).kind = DeviceKind::Raid(Raid { missing_count: Some(0), ..raid });
        assert_eq!(answers(&facts, "raid"), ["pass md0: raid5: all 4 devices present"]);
    }

    // Shows check: smart
    #[test]
    fn what_the_drive_calls_critical_fails_and_wear_warns() {
        let mut facts = facts();
        let healthy =
            DriveHealth { spare_percent: 100, spare_percent_min: 10, worn_percent: 3, ..DriveHealth::default() };
        for (health, expected) in [
            (healthy, "pass nvme0n1: 3 % worn, 100 % spare, no media errors"),
            (
                DriveHealth { critical_warning: 0b1001, ..healthy },
                "fail nvme0n1: SMART critical warning: available spare below threshold, read-only",
            ),
            (DriveHealth { media_error_count: 2, ..healthy }, "warn nvme0n1: 2 media errors over its lifetime"),
            (DriveHealth { worn_percent: 104, ..healthy }, "warn nvme0n1: 104 % of its rated endurance is used up"),
        ] {
            state_of(&mut facts).health = Ok(health);
            assert_eq!(answers(&facts, "smart"), [expected]);
        }
        state_of(&mut facts).health = Err("querying the drive needs root".to_owned());
        assert_eq!(answers(&facts, "smart"), ["unknown nvme0n1: querying the drive needs root"]);
    }

    // Shows check: temperature
    #[test]
    fn a_drive_is_warm_five_degrees_below_its_limit() {
        let mut facts = facts();
        for (millidegrees, warning_millidegrees, outcome) in [
            (64_900, None, Severity::Pass),
            (65_000, None, Severity::Warn),
            (69_000, Some(80_000), Severity::Pass),
            (75_000, Some(80_000), Severity::Warn),
        ] {
            state_of(&mut facts).temperature = Ok(Temperature { millidegrees, warning_millidegrees });
            assert_eq!(outcomes(&facts, "temperature"), [outcome], "{millidegrees}");
        }
    }

    // Shows check: pcie-link
    #[test]
    fn a_link_below_its_most_warns() {
        let mut facts = facts();
        assert_eq!(outcomes(&facts, "pcie-link"), [Severity::Unknown]);
        let link = PcieLink {
            address: "0000:01:00.0".to_owned(),
            megatransfers_per_s: Some(8000),
            megatransfers_per_s_max: Some(16_000),
            lanes: Some(4),
            lanes_max: Some(4),
        };
        below(&mut facts).connection.pcie = Some(link.clone());
        assert_eq!(answers(&facts, "pcie-link"), ["warn nvme0n1: 0000:01:00.0 runs at 8 GT/s x4 of 16 GT/s x4"]);
        below(&mut facts).connection.pcie = Some(PcieLink { megatransfers_per_s: Some(16_000), ..link });
        assert_eq!(outcomes(&facts, "pcie-link"), [Severity::Pass]);
    }
}
