//! Background work that is running, and work that is due.

use super::checklist::{ALL_TARGETS, Checklist, MACHINE, answers};
use super::{CheckDocumentation, CheckRule, devices};
use model::block_device::DeviceKind;
use model::check::{CheckFacts, Timer};
use model::finding::Severity;

pub(super) const RULES: &[CheckRule] = &[
    CheckRule {
        name: "background-work",
        severity: Severity::Fail,
        unit: "",
        computed_from: CheckDocumentation {
            looks_at: "`md/sync_action`, `exclusive_operation` of btrfs, running programs (fstrim, e2scrub, mdcheck \
                       ...)",
            warns_if: "such work is in progress",
            fails_if: "a RAID is being rebuilt",
        },
        advice: "wait until this work finishes",
        evaluate: |facts| answers(facts, now),
    },
    CheckRule {
        name: "timers",
        severity: Severity::Warn,
        unit: "",
        computed_from: CheckDocumentation {
            looks_at: "`systemctl list-timers`",
            warns_if: "fstrim, a scrub or mdcheck is due within an hour",
            fails_if: "",
        },
        advice: "systemctl stop TIMER before the run, or run later",
        evaluate: |facts| answers(facts, soon),
    },
];

/// Timers whose services read or discard whole disks or file systems, by the beginning of their names.
const HEAVY: [&str; 10] = [
    "fstrim",
    "e2scrub",
    "xfs_scrub",
    "btrfs-",
    "zfs-scrub",
    "zfs-trim",
    "mdcheck",
    "raid-check",
    "plocate-",
    "mlocate-",
];
/// A run of some minutes should be over before the next one is due.
const SOON_S: u64 = 3600;

fn now(facts: &CheckFacts, list: &mut Checklist) {
    let mut is_quiet = true;
    for device in devices(facts) {
        let DeviceKind::Raid(raid) = &device.kind else { continue };
        match raid.activity.as_deref() {
            None | Some("idle") => {}
            // What is not whole yet reads and writes every device of it.
            Some(activity @ ("recover" | "reshape")) => {
                is_quiet = false;
                let found = format!("rebuild in progress ({activity})");
                list.fail_with(&device.name, found, "wait until /proc/mdstat shows no progress bar");
            }
            Some(activity) => {
                is_quiet = false;
                let advice =
                    "wait until this work finishes, or echo idle > /sys/block/mdN/md/sync_action and restart it later";
                list.warn_with(&device.name, format!("{activity} in progress"), advice);
            }
        }
    }
    for target in &facts.targets {
        let subject = target.path.display().to_string();
        match &target.file_system.work {
            Ok(Some(work)) => {
                is_quiet = false;
                let found = format!("the file system is busy: {work}");
                list.warn(&subject, found);
            }
            Err(reason) if target.environment.mount.is_some() => {
                is_quiet = false;
                list.unknown(&subject, reason);
            }
            Ok(None) | Err(_) => {}
        }
    }
    if !facts.housekeeping.is_empty() {
        let found = format!("{} is running", facts.housekeeping.join(", "));
        list.warn(MACHINE, found);
    } else if is_quiet {
        list.pass(ALL_TARGETS, "no resync, balance, scrub or trim is running");
    }
}

fn soon(facts: &CheckFacts, list: &mut Checklist) {
    let timers = match &facts.timers {
        Ok(timers) => timers,
        Err(reason) => return list.unknown(MACHINE, reason),
    };
    let is_heavy = |timer: &&Timer| HEAVY.iter().any(|name| timer.unit.starts_with(name));
    let mut planned: Vec<(u64, &str)> =
        timers.iter().filter(is_heavy).filter_map(|timer| Some((timer.due_in_s?, timer.unit.as_str()))).collect();
    planned.sort_unstable();
    let due: Vec<String> = planned
        .iter()
        .filter(|(due_in_s, _)| *due_in_s <= SOON_S)
        .map(|(due_in_s, unit)| format!("{unit} in {} min", due_in_s.div_ceil(60)))
        .collect();
    match (due.is_empty(), planned.first()) {
        (false, _) => list.warn(MACHINE, format!("due soon: {}", due.join(", "))),
        (true, Some((due_in_s, unit))) => {
            let hours = *due_in_s as f64 / 3600.0;
            list.pass(MACHINE, format!("next timer: {unit} in {hours:.1} h"));
        }
        (true, None) => list.pass(MACHINE, "no trim, scrub or check is scheduled by systemd"),
    }
}

#[cfg(test)]
mod tests {
    use crate::check::fixture::{answers, below, facts, outcomes};
    use model::block_device::{DeviceKind, Raid};
    use model::check::Timer;
    use model::finding::Severity;

    // Shows check: background-work
    #[test]
    fn work_on_a_raid_warns_and_a_rebuild_fails() {
        let mut facts = facts();
        assert_eq!(outcomes(&facts, "background-work"), [Severity::Pass]);
        for (activity, expected) in [
            ("check", "warn nvme0n1: check in progress"),
            ("recover", "fail nvme0n1: rebuild in progress (recover)"),
            ("idle", "pass targets: no resync, balance, scrub or trim is running"),
        ] {
            below(&mut facts).kind = DeviceKind::Raid(Raid { activity: Some(activity.to_owned()), ..Raid::default() });
            assert_eq!(answers(&facts, "background-work"), [expected]);
        }
    }

    // Shows check: background-work
    #[test]
    fn file_systems_and_programs_at_work_warn() {
        let mut facts = facts();
        facts.targets[0].file_system.work = Ok(Some("balance".to_owned()));
        assert_eq!(answers(&facts, "background-work"), ["warn a.dat: the file system is busy: balance"]);
        facts.targets[0].file_system.work = Ok(None);
        facts.housekeeping = vec!["fstrim".to_owned()];
        assert_eq!(answers(&facts, "background-work"), ["warn machine: fstrim is running"]);
    }

    // Shows check: timers
    #[test]
    fn only_heavy_timers_within_the_hour_warn() {
        let mut facts = facts();
        let timer = |unit: &str, due_in_s| Timer { unit: unit.to_owned(), due_in_s };
        facts.timers = Ok(vec![
            timer("logrotate.timer", Some(5)),
            timer("fstrim.timer", Some(9000)),
            timer("mdcheck_start.timer", None),
        ]);
        assert_eq!(answers(&facts, "timers"), ["pass machine: next timer: fstrim.timer in 2.5 h"]);
        facts.timers = Ok(vec![timer("fstrim.timer", Some(3600)), timer("e2scrub_all.timer", Some(61))]);
        assert_eq!(
            answers(&facts, "timers"),
            ["warn machine: due soon: e2scrub_all.timer in 2 min, fstrim.timer in 60 min"]
        );
        facts.timers = Err("systemctl is not here".to_owned());
        assert_eq!(answers(&facts, "timers"), ["unknown machine: systemctl is not here"]);
    }
}
