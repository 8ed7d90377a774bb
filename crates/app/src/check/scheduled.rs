//! Times at which jobs of systemd timers (from `systemctl`), cron and anacron are due.

use host::{CronJob, CronMinute, JobSchedule, Root};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned};
use model::check::{KnownFact, ScheduledJob, ScheduledJobs};
use serde_json::Value;
use std::process::{Command, Stdio};

/// Minimum time for which cron jobs are looked up in advance, to name the next one.
const AHEAD_S_MIN: u64 = 24 * 3600;
/// Jobs due later than this are irrelevant.
const AHEAD_S_MAX: u64 = 31 * 24 * 3600;

/// All scheduled jobs; those of cron within `window_s` seconds at least.
pub(super) fn read(root: &Root, window_s: u64) -> ScheduledJobs {
    let mut found = ScheduledJobs::default();
    match timers(sys::clock::realtime_ns()) {
        Ok(timers) => found.jobs = timers,
        Err(reason) => found.unread.push(reason),
    }
    let cron = host::cron_jobs(root);
    found.unread.extend(cron.unread);
    found.jobs.extend(due_jobs(cron.jobs, &Zoned::now(), window_s.clamp(AHEAD_S_MIN, AHEAD_S_MAX)));
    found
}

/// The jobs of systemd timers, from `systemctl`; `now_ns` is the time since the Unix epoch.
fn timers(now_ns: i128) -> KnownFact<Vec<ScheduledJob>> {
    let words = ["list-timers", "--all", "--output=json", "--no-pager"];
    let asked = Command::new("systemctl").args(words).stdin(Stdio::null()).output();
    let output = asked.map_err(|error| format!("systemctl cannot be run: {error}"))?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        let reason = reason.lines().next().unwrap_or("no reason given").trim();
        return Err(format!("systemctl lists no timers: {reason}"));
    }
    parse(&output.stdout, now_ns)
}

/// Parses an array with an object for each timer; `next` is in microseconds since the Unix epoch, 0 or null if it is
/// not scheduled.
fn parse(json: &[u8], now_ns: i128) -> KnownFact<Vec<ScheduledJob>> {
    // Before systemd 247 the option is ignored, and a table is printed.
    let listed: Vec<Value> =
        serde_json::from_slice(json).map_err(|_| "the installed systemctl cannot list timers as JSON".to_owned())?;
    let timer = |value: &Value| {
        let next_us = value["next"].as_u64().filter(|next_us| *next_us > 0);
        let due_in_s = next_us.map(|next_us| (i128::from(next_us) * 1000 - now_ns).max(0) / 1_000_000_000);
        Some(ScheduledJob {
            name: value["unit"].as_str()?.to_owned(),
            command: value["activates"].as_str().unwrap_or_default().to_owned(),
            due_in_s: due_in_s.map(|seconds| seconds as u64),
        })
    };
    Ok(listed.iter().filter_map(timer).collect())
}

/// The jobs with the time until each is due, within the next `ahead_s` seconds.
fn due_jobs(jobs: Vec<CronJob>, now: &Zoned, ahead_s: u64) -> Vec<ScheduledJob> {
    let zone = now.time_zone();
    let now_s = now.timestamp().as_second();
    let first = now_s / 60 + 1;
    let minutes: Vec<CronMinute> =
        (first..=first + (ahead_s / 60).cast_signed()).filter_map(|minute| local_minute(minute, zone)).collect();
    let due = |schedule: &JobSchedule| match schedule {
        JobSchedule::Cron(schedule) => {
            let index = minutes.iter().position(|minute| schedule.matches(*minute))?;
            Some((first + (index as u64).cast_signed()) * 60 - now_s)
        }
        JobSchedule::Anacron { period_days, last_date, start_minute } => {
            let date = Date::strptime("%Y%m%d", last_date).ok()?.checked_add(i64::from(*period_days).days()).ok()?;
            let start = date.to_zoned(zone.clone()).ok()?.checked_add(i64::from(*start_minute).minutes()).ok()?;
            Some((start.timestamp().as_second() - now_s).max(0))
        }
    };
    let job = |CronJob { name, command, schedule }| {
        let due_in_s = due(&schedule).map(|seconds| seconds as u64);
        ScheduledJob { name, command, due_in_s }
    };
    jobs.into_iter().map(job).collect()
}

/// The local time of a minute since the Unix epoch.
fn local_minute(minute: i64, zone: &TimeZone) -> Option<CronMinute> {
    let time = Timestamp::from_second(minute * 60).ok()?.to_zoned(zone.clone());
    Some(CronMinute {
        minute: time.minute() as u8,
        hour: time.hour() as u8,
        day: time.day() as u8,
        month: time.month() as u8,
        weekday: time.weekday().to_sunday_zero_offset() as u8,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // Shows check: timers
    #[test]
    fn timers_have_the_time_that_is_left() {
        let json = br#"[{"next":1763800090000000,"left":90000000,"last":0,"passed":0,"unit":"fstrim.timer","activates":"fstrim.service"},
            {"next":0,"left":0,"last":null,"passed":null,"unit":"mdcheck_start.timer","activates":"mdcheck_start.service"}]"#;
        let timers = parse(json, 1_763_800_000_000_000_000).unwrap();
        let found: Vec<_> = timers.iter().map(|timer| (timer.name.as_str(), timer.due_in_s)).collect();
        assert_eq!(found, [("fstrim.timer", Some(90)), ("mdcheck_start.timer", None)]);
        assert_eq!(timers[0].command, "fstrim.service");
        assert!(parse(b"NEXT LEFT LAST", 0).unwrap_err().contains("cannot list timers as JSON"));
    }

    // Shows check: timers
    #[test]
    fn anacron_is_due_some_days_after_its_last_time() {
        let now = "2026-11-30T02:00:30Z".parse::<Timestamp>().unwrap().to_zoned(TimeZone::UTC);
        for (last_date, period_days, due_in_s) in [
            ("20261129", 1, Some(3 * 3600 + 5 * 60 - 2 * 3600 - 30)),
            ("20261120", 7, Some(0)),
            ("20261130", 1, Some(24 * 3600 + 3 * 3600 + 5 * 60 - 2 * 3600 - 30)),
            ("soon", 1, None),
        ] {
            let schedule =
                JobSchedule::Anacron { period_days, last_date: last_date.to_owned(), start_minute: 3 * 60 + 5 };
            let jobs = vec![CronJob { name: "cron.daily".to_owned(), command: String::new(), schedule }];
            assert_eq!(due_jobs(jobs, &now, 3600)[0].due_in_s, due_in_s, "{last_date}");
        }
    }
}
