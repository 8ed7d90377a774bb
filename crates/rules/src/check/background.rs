//! Running and due background work.

use super::checklist::{ALL_TARGETS, Checklist, MACHINE, answers};
use super::{CheckDocumentation, CheckRule, devices};
use model::block_device::DeviceKind;
use model::check::{BACKUP_PROGRAMS, BackupProgram, CheckFacts, ScheduledJob};
use model::finding::Severity;
use model::units::counted;

pub(super) const RULES: &[CheckRule] = &[
    CheckRule {
        name: "background-work",
        severity: Severity::Fail,
        unit: "",
        computed_from: CheckDocumentation {
            looks_at: "`md/sync_action`, `exclusive_operation` of btrfs, running programs (fstrim, e2scrub, mdcheck, \
                       backups: restic, borg, rsync, `zfs send` ...)",
            warns_if: "such work is in progress; note: a backup service is installed (bareos-fd, bacula-fd, veeam ...)",
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
            looks_at: "`systemctl list-timers`, tables of cron and anacron, for the time of `--for-duration`",
            warns_if: "fstrim, a scrub, mdcheck or a backup known by name is due; note: another job is",
            fails_if: "",
        },
        advice: "systemctl stop TIMER or comment out the cron job before the run, or run later",
        evaluate: |facts| answers(facts, soon),
    },
];

/// Timers whose services read or discard whole disks or file systems, by name prefix.
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

fn now(facts: &CheckFacts, list: &mut Checklist) {
    let mut is_quiet = true;
    for device in devices(facts) {
        let DeviceKind::Raid(raid) = &device.kind else { continue };
        match raid.activity.as_deref() {
            None | Some("idle") => {}
            // An incomplete array reads and writes all its devices.
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
    let is_service = |name: &&String| BACKUP_PROGRAMS.iter().any(|program| program.is_service && program.name == *name);
    let (services, working): (Vec<_>, Vec<_>) = facts.housekeeping.iter().partition(is_service);
    if !working.is_empty() {
        list.warn(MACHINE, format!("{} is running", names(&working)));
    } else if is_quiet {
        list.pass(ALL_TARGETS, "no resync, balance, scrub, trim or backup is running");
    }
    if !services.is_empty() {
        let found = format!("{} is running and waits for its server", names(&services));
        list.note_with(MACHINE, found, "make sure that its server starts no backup during the run");
    }
}

fn names(programs: &[&String]) -> String {
    programs.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ")
}

fn soon(facts: &CheckFacts, list: &mut Checklist) {
    if !facts.scheduled.unread.is_empty() {
        list.unknown(MACHINE, facts.scheduled.unread.join("; "));
    }
    let mut planned: Vec<(u64, &ScheduledJob)> =
        facts.scheduled.jobs.iter().filter_map(|job| Some((job.due_in_s?, job))).collect();
    planned.sort_unstable_by_key(|(due_in_s, job)| (*due_in_s, job.name.as_str()));
    let due = || planned.iter().filter(|(due_in_s, _)| *due_in_s <= facts.window_s);
    let heavy: Vec<String> = due()
        .filter_map(|(due_in_s, job)| {
            let backup = backup_of(job).filter(|program| !job.name.starts_with(program.name));
            let program = backup.map(|program| format!(" ({})", program.name)).unwrap_or_default();
            is_heavy(job).then(|| format!("{}{program} in {}", job.name, time(*due_in_s)))
        })
        .collect();
    let window = time(facts.window_s);
    match (heavy.first(), due().next(), planned.first()) {
        (Some(_), ..) => list.warn(MACHINE, format!("due within {window}: {}", heavy.join(", "))),
        (None, Some((due_in_s, job)), _) => {
            let first = format!("{} in {}", job.name, time(*due_in_s));
            list.note(MACHINE, format!("{} due within {window}; first: {first}", counted(due().count() as u64, "job")));
        }
        (None, None, Some((due_in_s, job))) => {
            list.pass(MACHINE, format!("next job: {} in {}", job.name, time(*due_in_s)));
        }
        (None, None, None) if facts.scheduled.unread.is_empty() => list.pass(MACHINE, "no job is scheduled"),
        (None, None, None) => {}
    }
}

fn is_heavy(job: &ScheduledJob) -> bool {
    // For /etc/cron.daily/NAME only the name counts.
    let name = job.name.rsplit('/').next().unwrap_or_default();
    HEAVY.iter().any(|heavy| name.starts_with(heavy)) || backup_of(job).is_some()
}

/// The backup program that the name or the command of a job contains as a word.
fn backup_of(job: &ScheduledJob) -> Option<&'static BackupProgram> {
    let is_in = |text: &str, name: &str| {
        let is_edge = |neighbour: Option<char>| !neighbour.is_some_and(|c| c.is_alphanumeric() || c == '_');
        text.match_indices(name).any(|(start, _)| {
            is_edge(text[..start].chars().next_back()) && is_edge(text[start + name.len()..].chars().next())
        })
    };
    BACKUP_PROGRAMS.iter().find(|program| is_in(&job.name, program.name) || is_in(&job.command, program.name))
}

/// `12 min`, `2.5 h`
fn time(seconds: u64) -> String {
    if seconds <= 3600 { format!("{} min", seconds.div_ceil(60)) } else { format!("{:.1} h", seconds as f64 / 3600.0) }
}

#[cfg(test)]
mod tests {
    use crate::check::fixture::{answers, below, facts, outcomes};
    use model::block_device::{DeviceKind, Raid};
    use model::check::ScheduledJob;
    use model::finding::Severity;

    // Shows check: background-work
    #[test]
    fn work_on_a_raid_warns_and_a_rebuild_fails() {
        let mut facts = facts();
        assert_eq!(outcomes(&facts, "background-work"), [Severity::Pass]);
        for (activity, expected) in [
            ("check", "warn nvme0n1: check in progress"),
            ("recover", "fail nvme0n1: rebuild in progress (recover)"),
            ("idle", "pass targets: no resync, balance, scrub, trim or backup is running"),
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

    // Shows check: background-work
    #[test]
    fn a_running_backup_warns_and_a_service_is_a_note() {
        let mut facts = facts();
        facts.housekeeping = ["bareos-fd", "restic", "zfs send"].map(str::to_owned).to_vec();
        assert_eq!(
            answers(&facts, "background-work"),
            [
                "warn machine: restic, zfs send is running",
                "note machine: bareos-fd is running and waits for its server"
            ]
        );
    }

    fn job(name: &str, command: &str, due_in_s: impl Into<Option<u64>>) -> ScheduledJob {
        ScheduledJob { name: name.to_owned(), command: command.to_owned(), due_in_s: due_in_s.into() }
    }

    // Shows check: timers
    #[test]
    fn heavy_jobs_in_the_time_of_the_load_warn_and_others_are_a_note() {
        let mut facts = facts();
        assert_eq!(answers(&facts, "timers"), ["pass machine: no job is scheduled"]);
        facts.scheduled.jobs = vec![job("fstrim.timer", "", 9000), job("mdcheck_start.timer", "", None)];
        assert_eq!(answers(&facts, "timers"), ["pass machine: next job: fstrim.timer in 2.5 h"]);
        facts.scheduled.jobs.extend([job("logrotate.timer", "", 61), job("/etc/cron.d/sysstat", "sa1", 61)]);
        assert_eq!(
            answers(&facts, "timers"),
            ["note machine: 2 jobs due within 60 min; first: /etc/cron.d/sysstat in 2 min"]
        );
        facts.window_s = 6 * 3600;
        assert_eq!(answers(&facts, "timers"), ["warn machine: due within 6.0 h: fstrim.timer in 2.5 h"]);
        facts.scheduled.unread = vec!["systemctl is not here".to_owned()];
        assert_eq!(outcomes(&facts, "timers"), [Severity::Unknown, Severity::Warn]);
        facts.scheduled.jobs.clear();
        assert_eq!(answers(&facts, "timers"), ["unknown machine: systemctl is not here"]);
    }

    // Shows check: timers
    #[test]
    fn backups_are_found_as_words_of_names_and_commands() {
        let mut facts = facts();
        for (name, command, found) in [
            ("restic-data.timer", "", "warn machine: due within 60 min: restic-data.timer in 1 min"),
            ("pool.timer", "sanoid.service", "warn machine: due within 60 min: pool.timer (sanoid) in 1 min"),
            (
                "/etc/cron.d/night",
                "cd /tmp && /usr/bin/pg_dump -Fc db",
                "warn machine: due within 60 min: /etc/cron.d/night (pg_dump) in 1 min",
            ),
            (
                "/etc/cron.daily/copy",
                "zfs snapshot a@b\nzfs send a@b | ssh c",
                "warn machine: due within 60 min: /etc/cron.daily/copy (zfs send) in 1 min",
            ),
            ("cyborg.timer", "rsyncd_log", "note machine: 1 job due within 60 min; first: cyborg.timer in 1 min"),
        ] {
            facts.scheduled.jobs = vec![job(name, command, 60)];
            assert_eq!(answers(&facts, "timers"), [found], "{name}");
        }
    }
}
