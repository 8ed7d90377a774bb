//! Tables of cron and anacron.

use super::cron_schedule::{CronSchedule, split_word};
use crate::root::Root;
use model::units::counted;
use std::fs;
use std::io::ErrorKind;

/// Names of cron's process; without one, tables have no effect.
const DAEMONS: [&str; 5] = ["cron", "crond", "fcron", "dcron", "busybox"];
/// Tables of the system, which name a user before the command.
const SYSTEM_TABLE: &str = "/etc/crontab";
const SYSTEM_TABLES: &str = "/etc/cron.d";
/// Tables of users, on Debian, SUSE and Red Hat.
const USER_TABLES: [&str; 3] = ["/var/spool/cron/crontabs", "/var/spool/cron/tabs", "/var/spool/cron"];
/// Directories of scripts that a table or anacron runs.
const SCRIPTS: [&str; 4] = ["/etc/cron.hourly", "/etc/cron.daily", "/etc/cron.weekly", "/etc/cron.monthly"];
const ANACRON: &str = "/usr/sbin/anacron";
/// Suffixes of files that package managers and editors leave behind, which cron ignores.
const LEFT_OVER: [&str; 7] = ["~", ".rpmsave", ".rpmnew", ".rpmorig", ".dpkg-old", ".dpkg-dist", ".dpkg-new"];
const DAYS_OF_A_MONTH: u32 = 30;

/// A job of cron or anacron.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CronJob {
    /// The table or script: `/etc/cron.d/sysstat`, `/etc/cron.daily/man-db`.
    pub name: String,
    /// Its command, or the text of the script.
    pub command: String,
    /// Its due times.
    pub schedule: JobSchedule,
}

/// Due times of a job, in local time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobSchedule {
    /// In each of these minutes.
    Cron(CronSchedule),
    /// A number of days after the last time, once on that day.
    Anacron {
        /// Days from one time to the next.
        period_days: u32,
        /// Date of the last time: `20261130`.
        last_date: String,
        /// The earliest minute of the day.
        start_minute: u32,
    },
}

/// The jobs of all tables readable by this process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CronJobs {
    /// In the order of the tables.
    pub jobs: Vec<CronJob>,
    /// Reasons why others are unknown.
    pub unread: Vec<String>,
}

/// Reads all tables.
pub fn cron_jobs(root: &Root) -> CronJobs {
    let mut found = CronJobs::default();
    if is_cron_running(root) {
        found.read_table(root, SYSTEM_TABLE, true);
        for name in found.list(root, SYSTEM_TABLES) {
            found.read_table(root, &format!("{SYSTEM_TABLES}/{name}"), true);
        }
        for folder in USER_TABLES {
            for name in found.list(root, folder) {
                found.read_table(root, &format!("{folder}/{name}"), false);
            }
        }
    }
    if root.exists(ANACRON) {
        found.read_anacron(root);
    }
    found
}

fn is_cron_running(root: &Root) -> bool {
    let mut running = root.numbered("/proc", "").into_iter().filter_map(|id| root.word(format!("/proc/{id}/comm")));
    running.any(|name| DAEMONS.contains(&name.as_str()))
}

impl CronJobs {
    /// The files of a directory, sorted; none if it is missing.
    fn list(&mut self, root: &Root, folder: &str) -> Vec<String> {
        let entries = match fs::read_dir(root.path(folder)) {
            Ok(entries) => entries,
            Err(error) => {
                if error.kind() != ErrorKind::NotFound {
                    self.unread.push(unreadable(folder, &error));
                }
                return Vec::new();
            }
        };
        let is_file = |entry: &fs::DirEntry| fs::metadata(entry.path()).is_ok_and(|found| found.is_file());
        let files = entries.flatten().filter(is_file).filter_map(|entry| entry.file_name().into_string().ok());
        let is_table = |name: &String| !name.starts_with('.') && !LEFT_OVER.iter().any(|end| name.ends_with(end));
        let mut names: Vec<String> = files.filter(is_table).collect();
        names.sort_unstable();
        names
    }

    fn read_table(&mut self, root: &Root, path: &str, has_user: bool) {
        let Some(text) = root.text(path) else {
            if let Err(error) = fs::File::open(root.path(path))
                && error.kind() != ErrorKind::NotFound
            {
                self.unread.push(unreadable(path, &error));
            }
            return;
        };
        let mut not_understood = 0;
        for line in text.lines().map(str::trim).filter(|line| is_entry(line)) {
            // SUSE: a minus means that the start is not logged.
            let line = line.strip_prefix('-').unwrap_or(line);
            let Some((schedule, rest)) = CronSchedule::parse(line) else {
                not_understood += 1;
                continue;
            };
            let command = if has_user { split_word(rest).1 } else { rest };
            if command.contains(&format!("test -x {ANACRON} ||")) && root.exists(ANACRON) {
                continue;
            }
            let schedule = JobSchedule::Cron(schedule);
            match SCRIPTS.iter().find(|folder| command.contains(*folder)) {
                Some(folder) => self.add_scripts(root, folder, &schedule),
                None => self.jobs.push(CronJob { name: path.to_owned(), command: command.to_owned(), schedule }),
            }
        }
        if not_understood > 0 {
            self.unread.push(format!("{path}: {} not understood", counted(not_understood, "line")));
        }
    }

    fn add_scripts(&mut self, root: &Root, folder: &str, schedule: &JobSchedule) {
        for name in self.list(root, folder) {
            let name = format!("{folder}/{name}");
            let text = root.text(&name).unwrap_or_default();
            let lines: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with('#')).collect();
            self.jobs.push(CronJob { name, command: lines.join("\n"), schedule: schedule.clone() });
        }
    }

    /// `/etc/anacrontab`: lines of a period in days, a delay in minutes, a name and a command.
    fn read_anacron(&mut self, root: &Root) {
        let text = root.text("/etc/anacrontab").unwrap_or_default();
        let hours = text.lines().find_map(|line| line.trim().strip_prefix("START_HOURS_RANGE="));
        let start_hour: u32 = hours.and_then(|range| range.split('-').next()?.trim().parse().ok()).unwrap_or(0);
        for line in text.lines().map(str::trim).filter(|line| is_entry(line)) {
            let (period, rest) = split_word(line);
            let (delay, rest) = split_word(rest);
            let (name, command) = split_word(rest);
            let period_days = match period {
                "@daily" => Some(1),
                "@weekly" => Some(7),
                "@monthly" => Some(DAYS_OF_A_MONTH),
                days => days.parse().ok(),
            };
            let Some((period_days, delay)) = period_days.zip(delay.parse::<u32>().ok()) else {
                self.unread.push("/etc/anacrontab: a line is not understood".to_owned());
                continue;
            };
            let stamp = format!("/var/spool/anacron/{name}");
            let Some(last_date) = root.word(&stamp) else {
                self.unread.push(format!("{stamp} cannot be read"));
                continue;
            };
            let start_minute = start_hour.saturating_mul(60).saturating_add(delay);
            let schedule = JobSchedule::Anacron { period_days, last_date, start_minute };
            match SCRIPTS.iter().find(|folder| command.contains(*folder)) {
                Some(folder) => self.add_scripts(root, folder, &schedule),
                None => {
                    self.jobs.push(CronJob {
                        name: format!("{name} of anacron"),
                        command: command.to_owned(),
                        schedule,
                    });
                }
            }
        }
    }
}

/// Entries begin with a number, `*`, `@` or `-`; other lines are comments and settings.
fn is_entry(line: &str) -> bool {
    line.starts_with(|first: char| first.is_ascii_digit() || "*@-".contains(first))
}

fn unreadable(path: &str, error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::PermissionDenied => format!("{path} needs root"),
        _ => format!("{path} cannot be read: {error}"),
    }
}
